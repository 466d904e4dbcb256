//! What happens inside hosts, shown by runs of the studies' own files: nothing of it is decided anywhere in the code.

mod support;

use std::path::PathBuf;
use support::frames;
use wirespeed_sim::{Outcome, simulate};

/// The runs of a study's file with some settings changed.
fn runs(file: &str, settings: &[(&str, &str)]) -> Vec<Outcome> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../studies").join(file);
    let settings: Vec<_> = settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let study = wirespeed_scenario::load(&path, &settings, None).expect("the study's file is in order");
    study.runs.iter().map(|run| simulate(run, &mut |_| true).expect("the model carries it out")).collect()
}

fn run(file: &str, settings: &[(&str, &str)]) -> Outcome {
    let mut all = runs(file, settings);
    assert_eq!(all.len(), 1, "one run was meant");
    all.remove(0)
}

fn counter(outcome: &Outcome, host: &str, name: &str) -> u64 {
    let found = outcome.counters.iter().find(|c| c.host == host && c.counter == name);
    found.map_or(0, |c| c.after)
}

/// Packets dropped at the queues whose name begins so.
fn dropped(outcome: &Outcome, prefix: &str) -> u64 {
    let end = outcome.queues.last().expect("a run has samples").t_ns;
    let last = outcome.queues.iter().filter(|row| row.t_ns == end && row.queue.starts_with(prefix));
    last.map(|row| row.dropped_packets).sum()
}

fn requeues(outcome: &Outcome) -> u64 {
    outcome.queues.iter().filter(|row| row.queue == "sender/qdisc").map(|row| row.requeues).max().unwrap_or(0)
}

/// Payload that arrived from `from_s` on, all flows, in Gbit/s.
fn rate(outcome: &Outcome, from_s: f64) -> f64 {
    let end = outcome.flows.last().expect("a run has samples").t_ns;
    let from = (from_s * 1e9) as i64;
    let sum = |at: i64| -> u64 {
        outcome.flows.iter().filter(|row| row.t_ns == at).filter_map(|row| row.delivered_bytes).sum()
    };
    (sum(end) - sum(from)) as f64 * 8.0 / (end - from) as f64
}

/// What the applications have read from `from_s` on, all flows, in Gbit/s.
fn rate_read(outcome: &Outcome, from_s: f64) -> f64 {
    let end = outcome.flows.last().expect("a run has samples").t_ns;
    let from = (from_s * 1e9) as i64;
    let sum = |at: i64| -> u64 {
        outcome.flows.iter().filter(|row| row.t_ns == at).filter_map(|row| row.read_bytes).sum()
    };
    (sum(end) - sum(from)) as f64 * 8.0 / (end - from) as f64
}

fn retransmissions(outcome: &Outcome) -> u64 {
    let end = outcome.flows.last().expect("a run has samples").t_ns;
    outcome.flows.iter().filter(|row| row.t_ns == end).filter_map(|row| row.retrans_packets).sum()
}

#[test]
fn a_host_whose_one_core_does_all_collapses_and_a_larger_buffer_loses_more() {
    let lost = |rate: &str, buffer: &str| {
        let outcome = run(
            "cornell-2010/fig6.toml",
            &[
                ("host.receiver.irq", "one-cpu"),
                ("flow.rate", rate),
                ("flow.rcvbuf", buffer),
                ("run.duration", "3 s"),
            ],
        );
        let lost = counter(&outcome, "receiver", "UdpRcvbufErrors") + dropped(&outcome, "receiver/rx");
        lost as f64 / counter(&outcome, "sender", "UdpOutDatagrams") as f64
    };
    assert_eq!(lost("2000 Mbit/s", "1 MB"), 0.0);
    let (small, large) = (lost("2400 Mbit/s", "1 MB"), lost("2400 Mbit/s", "4 MB"));
    assert!(small > 0.05 && large > small && large < 0.25, "{small} {large}");
}

/// Receive livelock: what is offered more takes the core from the reader, until nothing is read at all. The study's senders
/// could not offer so much.
#[test]
fn the_more_a_host_whose_one_core_does_all_is_offered_the_less_it_delivers() {
    let read = |rate: &str| {
        let outcome = run(
            "cornell-2010/fig6.toml",
            &[
                ("host.receiver.irq", "one-cpu"),
                ("host.sender.speed", "5"),
                ("flow.rate", rate),
                ("flow.rcvbuf", "1 MB"),
                ("run.duration", "3 s"),
            ],
        );
        assert_eq!(dropped(&outcome, "bottleneck"), 0, "the network carries it all");
        rate_read(&outcome, 1.0)
    };
    let offered = ["2000 Mbit/s", "2700 Mbit/s", "3100 Mbit/s", "3500 Mbit/s"];
    let rates = offered.map(read);
    assert!(rates[0] > 1.95, "{rates:?}: all of 2 Gbit/s are read");
    assert!(rates.is_sorted_by(|more, less| *less < more - 0.2), "{rates:?} Gbit/s fall");
    assert!(rates[3] < 0.3 * rates[0], "{rates:?}");
}

#[test]
fn at_a_long_round_trip_time_more_acks_are_lost_than_data_and_none_in_the_network() {
    let outcome = run(
        "cornell-2010/fig9a.toml",
        &[
            ("flow.congestion", "cubic"),
            ("path.rtt", "194.9 ms"),
            ("run.duration", "15 s"),
            ("run.repeat", "1"),
        ],
    );
    let (data, acks) = (dropped(&outcome, "receiver/rx"), dropped(&outcome, "sender/rx"));
    assert!(acks > data, "{acks} ACKs and {data} data packets in receive rings");
    assert_eq!(dropped(&outcome, "bottleneck"), 0);
}

#[test]
fn one_drop_of_the_own_queue_ends_slow_start_and_a_longer_ring_prevents_it() {
    let with = |ring: &str| run("onl-wiki/hd.toml", &[("host.sender.tx_ring", ring), ("run.repeat", "1")]);
    let short = with("256");
    assert_eq!((dropped(&short, "sender/qdisc"), retransmissions(&short)), (1, 0));
    let requeue = short
        .events
        .iter()
        .find(|event| event.kind == wirespeed_record::EventKind::Requeue)
        .expect("the ring was full");
    let packet = requeue.burst_packet.expect("a number");
    assert!((460..=565).contains(&packet), "the first requeue was packet {packet} of its round");
    let long = with("16384");
    assert_eq!((dropped(&long, "sender/qdisc"), requeues(&long)), (0, 0));
    assert!(rate(&long, 2.0) > 1.5 * rate(&short, 2.0));
}

/// The frames of a pcap file with data in them: whole ones, for the snap length cuts off less than they have headers.
fn data_frames(capture: &[u8]) -> Vec<&[u8]> {
    frames(capture).into_iter().filter(|(_, length, _)| *length > 200).map(|(.., kept)| kept).collect()
}

/// onl-wiki: hardware duplicates, and a drop that no capture at the sender shows.
#[test]
fn a_capture_shows_requeued_packets_twice_and_not_what_the_queue_drops() {
    let outcome = run(
        "onl-wiki/seq.toml",
        &[("host.sender.tx_ring", "256"), ("run.repeat", "1"), ("run.duration", "2 s")],
    );
    let frames = data_frames(&outcome.captures[0].1);
    let twice = frames.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    let waiting = outcome.in_flight.get("sender/qdisc").copied().unwrap_or(0);
    let (requeues, dropped) = (requeues(&outcome), dropped(&outcome, "sender/qdisc"));
    assert!(
        twice > 1_000 && (twice..=twice + waiting).contains(&requeues),
        "{twice} twice, {requeues} requeues"
    );
    let sent =
        outcome.flows.last().and_then(|row| row.data_packets_out).expect("the model counts what it sends");
    assert_eq!(dropped, 1);
    let seen = frames.len() as u64 - twice;
    assert!((seen..=seen + waiting).contains(&(sent - dropped)), "{seen} seen of {sent} packets");
}

#[test]
fn a_capture_on_the_senders_core_slows_the_flow() {
    let with = |level: &str| {
        run(
            "onl-wiki/tcpdump.toml",
            &[("host.sender.tcpdump", level), ("run.repeat", "1"), ("run.duration", "10 s")],
        )
    };
    let (off, on) = (rate(&with("off"), 5.0), rate(&with("on"), 5.0));
    assert!(on < 0.97 * off, "{on} against {off} Gbit/s");
}

#[test]
fn elephants_on_one_queue_share_one_core() {
    let with = |queues: &str| {
        run(
            "kit-2019/fig1.toml",
            &[
                ("flows", "3"),
                // Small packets: with large ones a core takes in all that the link carries.
                ("host.sender.mtu", "1500 B"),
                ("host.receiver.mtu", "1500 B"),
                ("run.duration", "4 s"),
                ("host.receiver.rx_queues", queues),
                ("host.receiver.rss", "spread"),
                ("host.receiver.irq", "8-10"),
                ("host.receiver.apps", "11-13"),
                ("run.repeat", "1"),
            ],
        )
    };
    let (one, three) = (with("1"), with("3"));
    assert!(rate(&three, 3.0) > 1.5 * rate(&one, 3.0), "{} {}", rate(&three, 3.0), rate(&one, 3.0));
}

/// Which queue a flow's packets come to is the hash's matter, which the seed decides: two of two queues, or both one.
#[test]
fn two_elephants_that_hash_to_one_queue_share_one_core() {
    let (mut together, mut apart) = (Vec::new(), Vec::new());
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let outcome = run(
            "kit-2019/fig5.toml",
            &[
                ("path.mtu", "1500"),
                ("flow.count", "2"),
                ("host.receiver.rss", "hash"),
                ("host.receiver.rx_queues", "2"),
                ("host.receiver.irq", "8-9"),
                ("host.receiver.apps", "11-12"),
                ("run.seed", seed),
                ("run.duration", "1500 ms"),
                ("run.omit", "500 ms"),
                ("run.repeat", "1"),
            ],
        );
        let end = outcome.queues.last().expect("a run has samples").t_ns;
        let rings =
            outcome.queues.iter().filter(|row| row.t_ns == end && row.queue.starts_with("receiver/rx"));
        let used = rings.filter(|row| row.sent_packets > 0).count();
        if used == 1 { &mut together } else { &mut apart }.push(rate(&outcome, 0.5));
    }
    assert!(!together.is_empty() && !apart.is_empty(), "{together:?} {apart:?}");
    // A core's softirq takes in 25 Gbit/s of such packets (kit-5-1500).
    assert!(together.iter().all(|rate| (20.0..27.0).contains(rate)), "{together:?}");
    assert!(apart.iter().all(|rate| *rate > 40.0), "{apart:?}");
}

#[test]
fn interrupts_on_the_wrong_socket_lose_and_the_application_there_does_not() {
    let with = |placement: &str| {
        run("kit-2019/fig9.toml", &[("host.receiver.placement", placement), ("run.repeat", "1")])
    };
    let (good, interrupts, application) = (with("1"), with("2"), with("3"));
    assert!(dropped(&interrupts, "receiver/rx") > 100 && dropped(&application, "receiver/rx") == 0);
    assert!(rate(&good, 1.0) > rate(&application, 1.0) && rate(&application, 1.0) > rate(&interrupts, 1.0));
    assert!(rate(&application, 1.0) < 68.0, "the link between the sockets carries no more");
}

#[test]
fn one_receiver_short_of_memory_bandwidth_loses_at_the_links_rate_and_two_do_not() {
    let with = |roles: &str, memory: &str| {
        run(
            "kit-2019/fig4.toml",
            &[
                ("topology.roles", roles),
                ("host.receiver.machine.memory", memory),
                ("run.duration", "3 s"),
                ("run.omit", "1 s"),
                ("run.repeat", "1"),
            ],
        )
    };
    let lost = |roles: &str, memory: &str| dropped(&with(roles, memory), "receiver");
    assert!(lost("1:1", "239 Gbit/s") > 100, "two of four channels");
    assert_eq!((lost("2:2", "239 Gbit/s"), lost("1:1", "478 Gbit/s")), (0, 0));
}

#[test]
fn ksoftirqd_lets_a_ring_overflow_where_interrupts_leave_the_work_to_it() {
    let lost = |kernel: &str| {
        let outcome = run(
            "kit-2019/fig11.toml",
            &[
                ("host.receiver.distribution", "3"),
                ("host.receiver.machine.kernel", &format!("\"{kernel}\"")),
                // Two of three flows to the core of one reader.
                ("host.receiver.rss", "spread"),
                ("host.receiver.rx_queues", "2"),
                ("run.duration", "4 s"),
                ("run.omit", "1 s"),
                ("run.repeat", "1"),
            ],
        );
        dropped(&outcome, "receiver/rx")
    };
    let (later, earlier) = (lost("6.6"), lost("4.15"));
    assert!(earlier > 10 * later, "{earlier} packets with 4.15, {later} with 6.6");
}
