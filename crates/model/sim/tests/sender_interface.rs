//! A sender whose own interface is the slowest link: TCP small queues keep its queue short, as on Linux.

mod support;

use support::{carry_out, goodput, mean, samples, scenario};
use wirespeed_sim::Outcome;

/// Packets that the sender's queueing discipline dropped.
fn dropped(outcome: &Outcome) -> u64 {
    let last = outcome.queues.iter().rfind(|row| row.queue == "sender/qdisc").expect("the host has a queue");
    last.dropped_packets
}

fn limited_by_interface(congestion: &str, host: &str, run: &str) -> Outcome {
    let path = "rate = \"10 Gbit/s\"\nrtt = \"24 ms\"\nbuffer = \"1 bdp\"";
    let host = format!("[host.sender]\nnic_rate = \"10 Gbit/s\"\n{host}\n");
    carry_out(&scenario(path, &[&format!("congestion = \"{congestion}\"")], run, &host)).1
}

/// The kernel has 8.857 Gbit/s over 4 s, a round-trip time of 24.551 ms and no drops: 1 MiB of memory is 460 packets of
/// 1448 B and 832 B each (`tcp_limit_output_bytes`), and a GSO packet may exceed it.
#[test]
fn slow_start_does_not_overflow_the_hosts_queue() {
    for congestion in ["reno", "cubic", "highspeed"] {
        for trains in [true, false] {
            let outcome = limited_by_interface(
                congestion,
                "txqueuelen = 1000",
                &format!("duration = \"4 s\"\ntrains = {trains}"),
            );
            let (rate, rtt) =
                (goodput(&outcome, 0, 0), mean(&outcome, 0, 0, |row| row.rtt_ns.map(|ns| ns as f64 / 1e6)));
            assert_eq!(dropped(&outcome), 0, "{congestion}, trains {trains}");
            assert!((8.7e9..9.0e9).contains(&rate), "{congestion}, trains {trains}: {rate:.3e} bit/s");
            assert!((24.4..24.7).contains(&rtt), "{congestion}, trains {trains}: {rtt} ms");
        }
    }
}

/// A queue of 100 packets overflows in slow start on the kernel as well: 63 packets are dropped (cell 17 of the validation's
/// section `sender-interface`).
#[test]
fn a_queue_shorter_than_small_queues_allow_overflows() {
    let path = "rate = \"10 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"";
    let host = "[host.sender]\nnic_rate = \"10 Gbit/s\"\ntxqueuelen = 100\ntso = false\ngso = false\n";
    let run = "duration = \"3 s\"\ntrains = false";
    let (_, outcome) = carry_out(&scenario(path, &["congestion = \"htcp\""], run, host));
    assert!((58..69).contains(&dropped(&outcome)), "{} packets were dropped", dropped(&outcome));
    let again = samples(&outcome, 0).last().and_then(|row| row.retrans_packets);
    assert_eq!(again, Some(dropped(&outcome)), "each is retransmitted once");
}

/// What fq refuses neither moves the pacer's clock nor is lost: TCP tries it again. It was 0.036 Gbit/s.
#[test]
fn bbr_goes_on_after_fq_has_refused_packets() {
    let hosts = "[host.sender]\npreset = \"xeon-2023-100g\"\n[host.receiver]\npreset = \"xeon-2023-100g\"\n";
    let path = "rate = \"100 Gbit/s\"\nrtt = \"20 ms\"\nbuffer = \"1 bdp\"";
    let (_, outcome) = carry_out(&scenario(path, &["congestion = \"bbr\""], "duration = \"2 s\"", hosts));
    let rate = goodput(&outcome, 0, 1_000_000_000);
    assert!(dropped(&outcome) > 0, "its flow_limit is reached");
    assert!(rate > 40e9, "{rate:.3e} bit/s");
}
