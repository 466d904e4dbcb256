//! Queueing disciplines of hosts that show their inside: what they do before a transmit ring.

mod support;

use support::{carry_out, goodput, invariants, mean, samples, scenario};
use wirespeed_sim::Outcome;

/// Flows out of a host with an inside, by an interface of 1 Gbit/s, which is the narrowest place.
fn by(settings: &str, flows: &[&str]) -> Outcome {
    let path = "rate = \"10 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"10 MB\"";
    let hosts = format!(
        "[host.sender]\npreset = \"xeon-2023-100g\"\nmtu = \"1500 B\"\nnic_rate = \"1 Gbit/s\"\n\
         {settings}\n[host.receiver]\nmtu = \"1500 B\"\n"
    );
    let (run, outcome) = carry_out(&scenario(path, flows, "duration = \"4 s\"", &hosts));
    invariants::check(&run, &outcome).unwrap_or_else(|what| panic!("{what}"));
    outcome
}

/// Packet by packet.
const WHOLE: &str = "tso = false\ngso = false";
/// Without TCP small queues, which would keep in the socket what is to wait in the queue.
const ALL: &str = "small_queues = false";

/// Dropped, marked and requeued by the sender's queue.
fn decided(outcome: &Outcome) -> (u64, u64, u64) {
    let last = outcome.queues.iter().rfind(|row| row.queue == "sender/qdisc");
    let last = last.expect("the queue is sampled");
    (last.dropped_packets, last.marked_packets.unwrap_or(0), last.requeues)
}

/// Smoothed round-trip time of the first flow in its second half, ms.
fn rtt_ms(outcome: &Outcome) -> f64 {
    mean(outcome, 0, 2_000_000_000, |row| row.rtt_ns.map(|ns| ns as f64)) / 1e6
}

#[test]
fn codel_bounds_what_waits_before_a_short_ring_and_not_what_waits_in_a_long_one() {
    let cubic = ["congestion = \"cubic\"\nwindow = \"8 MB\""];
    let with = |qdisc: &str, ring: u32| {
        by(&format!("{WHOLE}\n{ALL}\nqdisc = \"{qdisc}\"\ntxqueuelen = 10000\ntx_ring = {ring}"), &cubic)
    };
    // A packet lasts 12 us: the rings are of 0.8 ms and of 50 ms, the queue of 120 ms. The window takes 128 ms of the line.
    let (short, long, fifo) = (with("fq_codel", 64), with("fq_codel", 4096), with("pfifo_fast", 64));
    let (dropped, _, requeues) = decided(&short);
    assert!(dropped > 0 && requeues > 10_000, "{dropped} dropped, {requeues} requeues");
    let (short_ms, long_ms, fifo_ms) = (rtt_ms(&short), rtt_ms(&long), rtt_ms(&fifo));
    assert!(short_ms < 10.0 + 0.8 + 12.0, "{short_ms} ms");
    assert!(long_ms > short_ms + 25.0, "{long_ms} ms behind a long ring");
    assert!(fifo_ms > short_ms + 40.0, "{fifo_ms} ms in a queue without control");
    // What it drops nobody tells TCP: it is sent again, as what the network loses.
    let last = samples(&short, 0).pop().expect("a flow has samples");
    assert!(last.retrans_packets >= Some(dropped), "{last:?}");
}

#[test]
fn marks_spare_the_drops() {
    let cubic = ["congestion = \"cubic\"\nwindow = \"8 MB\""];
    let marks = by(&format!("{WHOLE}\n{ALL}\nqdisc = \"fq_codel\"\ntx_ring = 64\necn = 1"), &cubic);
    let (dropped, marked, _) = decided(&marks);
    assert!(marked > 0 && dropped == 0, "{marked} marked, {dropped} dropped");
    let last = samples(&marks, 0).pop().expect("a flow has samples");
    assert_eq!(last.retrans_packets, Some(0));
    assert!(goodput(&marks, 0, 1_000_000_000) > 0.8e9, "{last:?}");
}

#[test]
fn a_sparse_flow_waits_for_the_ring_only() {
    let flows = [
        "congestion = \"cubic\"\ncount = 4\nwindow = \"8 MB\"",
        "kind = \"udp\"\nrate = \"1 Mbit/s\"\ndatagram = \"200 B\"",
    ];
    let delay = |qdisc: &str| {
        let outcome =
            by(&format!("{WHOLE}\n{ALL}\nqdisc = \"{qdisc}\"\ntx_ring = 64\ntxqueuelen = 10000"), &flows);
        let late = outcome.datagrams.iter().filter(|d| d.sent_ns > 1_000_000_000);
        let delays: Vec<i64> = late.filter_map(|d| d.arrived_ns.map(|at| at - d.sent_ns)).collect();
        assert!(delays.len() > 1000, "{}", delays.len());
        delays.iter().sum::<i64>() / delays.len() as i64
    };
    // 5 ms of propagation, 64 packets of 12 us in the ring.
    let (fair, fifo) = (delay("fq_codel"), delay("pfifo_fast"));
    assert!((5_600_000..5_900_000).contains(&fair), "{fair} ns");
    assert!(fifo > fair + 20_000_000, "{fifo} ns");
}

#[test]
fn the_queue_counts_gso_packets_and_the_account_packets() {
    let reno = ["congestion = \"reno\"\nwindow = \"8 MB\""];
    let outcome = by(&format!("{ALL}\ntso = true\ngso = true\nqdisc = \"fq_codel\"\ntx_ring = 2"), &reno);
    let (dropped, _, requeues) = decided(&outcome);
    // As many as are sent again: of a GSO packet every one. Two pieces are in the ring, 90 packets of 12 us.
    let last = samples(&outcome, 0).pop().expect("a flow has samples");
    assert!(dropped > 45 && requeues > 1000, "{dropped} dropped, {requeues} requeues");
    assert_eq!(last.retrans_packets, Some(dropped));
    assert!(rtt_ms(&outcome) < 10.0 + 1.1 + 12.0, "{} ms", rtt_ms(&outcome));
}

#[test]
fn fq_keeps_packets_of_a_paced_flow_and_not_the_socket() {
    let outcome =
        by(&format!("{WHOLE}\nqdisc = \"fq\""), &["congestion = \"reno\"\nmax_rate = \"500 Mbit/s\""]);
    let rate = goodput(&outcome, 0, 1_000_000_000);
    assert!((rate / 500e6 - 1.0).abs() < 0.01, "{rate}");
    let queue =
        |row: &&wirespeed_record::QueueSample| row.queue == "sender/qdisc" && row.t_ns > 1_000_000_000;
    let waiting: Vec<f64> =
        outcome.queues.iter().filter(queue).map(|row| row.backlog_packets as f64).collect();
    // TCP small queues let it hand over a millisecond at its rate ahead: 62.5 kB, 27 packets and their memory.
    let waiting = waiting.iter().sum::<f64>() / waiting.len() as f64;
    assert!((20.0..30.0).contains(&waiting), "{waiting} packets");
    // What waits there has not left, and takes no part in the round trip.
    assert!((10.0..10.5).contains(&rtt_ms(&outcome)), "{} ms", rtt_ms(&outcome));
}

#[test]
fn fq_shares_a_hosts_interface_evenly_whatever_their_windows() {
    let flows = ["congestion = \"reno\"", "congestion = \"scalable\"", "congestion = \"cubic\""];
    let outcome = by(&format!("{WHOLE}\nqdisc = \"fq\"\ntx_ring = 64"), &flows);
    let rates: Vec<f64> = (0..3).map(|flow| goodput(&outcome, flow, 1_000_000_000)).collect();
    let mean = rates.iter().sum::<f64>() / 3.0;
    assert!(rates.iter().all(|rate| (rate / mean - 1.0).abs() < 0.05), "{rates:?}");
    assert!(mean * 3.0 > 0.94e9, "{rates:?}");
}
