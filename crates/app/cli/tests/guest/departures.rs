//! Datagrams that leave at times which the sender's kernel keeps (SO_TXTIME): it is said who keeps them, and all that a
//! queueing discipline drops for its limits or because it is late is found there.

use crate::support::bed::Bed;
use crate::support::guest::in_guest;
use crate::support::ledger::{entry, lost, results};
use serde_json::Value;
use wirespeed_record::Recording;

/// Between datagrams of 1000 bytes at 10 Mbit/s, in nanoseconds.
const GAP_NS: i64 = 800_000;

/// A second of datagrams of 1000 bytes; nothing asks before whether the way is open, which `etf` would drop.
fn datagrams(bed: &Bed, rate: &str) -> (Value, Recording) {
    let flow = format!(
        "[[flow]]\nkind = \"udp\"\nrate = \"{rate}\"\ndatagram = \"1000 B\"\nrcvbuf = \"4 MB\"\n[run]\nduration = \"1 s\"\n"
    );
    let file = bed.scenario(&flow);
    let run = results(&bed.wirespeed(&["run", &file, "--on", "hosts", "--json", "--fresh", "--out", "out"]));
    let id = run["id"].as_str().expect("a run has a name");
    let recording = wirespeed_record::read(&bed.folder().join("out/runs").join(id)).expect("it was written");
    (run, recording)
}

/// Who keeps the times, by the sender's settings.
fn timed_by(recording: &Recording) -> &str {
    let sender = recording.info.hosts.iter().find(|host| host.name == "sender").expect("a sender");
    &sender.settings["udp.timed_by"]
}

/// Packets that the sender's queueing discipline dropped, by its own count.
fn dropped(bed: &Bed) -> i64 {
    let text = bed.read(bed.name(0), "tc -s qdisc show dev right");
    let count = text.split("dropped ").nth(1).and_then(|rest| rest.split(',').next());
    count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// How far the distances of arrivals are from those that were asked for: median and 99th percentile, in microseconds.
fn off(recording: &Recording) -> [f64; 2] {
    let arrivals: Vec<i64> = recording.datagrams.iter().filter_map(|row| row.arrived_ns).collect();
    let mut off: Vec<i64> = arrivals.windows(2).map(|pair| (pair[1] - pair[0] - GAP_NS).abs()).collect();
    off.sort_unstable();
    [50, 99].map(|percent| off.get(off.len() * percent / 100).map_or(f64::NAN, |ns| *ns as f64 / 1e3))
}

/// The account is exact, and the queueing discipline has in it what it dropped itself. What was due while the sender was late
/// leaves in pieces, each of which it counts as one.
fn balances(bed: &Bed, run: &Value) {
    let dropped = dropped(bed);
    assert!(lost(run, "qdisc") >= dropped, "{dropped}: {}", run["ledger"]);
    assert_eq!(lost(run, "qdisc") == 0, dropped == 0, "{dropped}: {}", run["ledger"]);
    assert_eq!(lost(run, "network"), 0, "{}", run["ledger"]);
    assert_eq!(entry(run, "data", "unexplained"), 0, "{}", run["ledger"]);
    assert!(entry(run, "data", "sent") > 100, "{}", run["ledger"]);
}

fn bed_with(queue: &str) -> Bed {
    let bed = Bed::new("departures", 0).expect("the guest has namespaces");
    bed.inside(bed.name(0), &format!("tc qdisc replace dev right root {queue}")).unwrap();
    bed
}

#[test]
fn fq_has_datagrams_leave_at_their_times() {
    in_guest("departures::fq_has_datagrams_leave_at_their_times", || {
        for (queue, expected) in [
            ("fq", "fq of right (SO_TXTIME)"),
            ("pfifo", "wirespeed (pfifo of right takes no times)"),
            ("fq flow_limit 10", "fq of right (SO_TXTIME)"),
        ] {
            let bed = bed_with(queue);
            let (run, recording) = datagrams(&bed, "10 Mbit/s");
            let [median, most] = off(&recording);
            println!(
                "{queue}: {median:.0} us off, 1 % more than {most:.0} us, {} s of processor",
                run["cost"]["cpu_s"]
            );
            assert_eq!(timed_by(&recording), expected);
            let by_kernel = |event: &wirespeed_record::Event| event.detail.contains("timed by the kernel");
            assert_eq!(recording.events.iter().any(by_kernel), queue.starts_with("fq"));
            balances(&bed, &run);
        }
    });
}

#[test]
fn fq_below_mq_has_them_leave_at_their_times_too() {
    in_guest("departures::fq_below_mq_has_them_leave_at_their_times_too", || {
        let bed = Bed::new("departures", 0).expect("the guest has namespaces");
        let name = bed.name(0);
        // A veth has as many queues as it was made with.
        bed.inside(name, "ip link del right").unwrap();
        let other = bed.name(-1);
        let made = format!(
            "ip link add right numtxqueues 2 type veth peer name left netns {other} && ip addr add 10.77.0.1/24 dev right && \
             ip link set right up && tc qdisc replace dev right root handle 1: mq && \
             tc qdisc add dev right parent 1:1 fq && tc qdisc add dev right parent 1:2 fq"
        );
        bed.inside(name, &made).unwrap();
        bed.inside(other, "ip addr add 10.77.0.2/24 dev left && ip link set left up").unwrap();
        let (run, recording) = datagrams(&bed, "10 Mbit/s");
        assert_eq!(timed_by(&recording), "mq, fq of right (SO_TXTIME)");
        balances(&bed, &run);
    });
}

/// `etf` drops what has no time, what comes late and what it could not send in time.
#[test]
fn drops_of_etf_are_found_there() {
    in_guest("departures::drops_of_etf_are_found_there", || {
        let bed = bed_with("etf clockid CLOCK_TAI delta 1000000");
        let (run, recording) = datagrams(&bed, "10 Mbit/s");
        assert_eq!(timed_by(&recording), "etf of right (SO_TXTIME)");
        balances(&bed, &run);
        // Some of them it sends also on a machine that is always late.
        assert!(entry(&run, "data", "delivered") > 0, "{}", run["ledger"]);
    });
}
