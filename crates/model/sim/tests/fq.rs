//! A host's fq in whole runs: what it keeps, and how it shares its interface.

mod support;

use support::{carry_out, goodput, mean, samples, scenario};
use wirespeed_sim::Outcome;

/// Flows by an interface of 100 Mbit/s, which is the narrowest place, with a queueing discipline.
fn by(qdisc: &str, flows: &[&str]) -> Outcome {
    let path = "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 MB\"";
    let hosts = format!("[host.sender]\nnic_rate = \"100 Mbit/s\"\ntxqueuelen = 1000\nqdisc = \"{qdisc}\"\n");
    carry_out(&scenario(path, flows, "duration = \"3 s\"", &hosts)).1
}

#[test]
fn a_flow_that_paces_itself_waits_in_the_queue_and_not_in_the_socket() {
    // A GSO packet lasts 1/1024 s at 50 Mbit/s: 6,103 bytes, four packets of 1448.
    let outcome = by("fq", &["congestion = \"reno\"\nmax_rate = \"50 Mbit/s\""]);
    let rate = goodput(&outcome, 0, 1_000_000_000);
    assert!((rate / 50e6 - 1.0).abs() < 0.01, "{rate}");
    let queues: Vec<_> =
        outcome.queues.iter().filter(|row| row.queue == "sender/qdisc" && row.t_ns > 1_000_000_000).collect();
    let waiting = queues.iter().map(|row| row.backlog_bytes as f64).sum::<f64>() / queues.len() as f64;
    // One of them or two wait.
    assert!((3_000.0..14_000.0).contains(&waiting), "{waiting}");
    // What waits there has not left, and takes no part in the round trip.
    let rtt = mean(&outcome, 0, 1_000_000_000, |row| row.rtt_ns.map(|ns| ns as f64));
    assert!((10.0e6..11.2e6).contains(&rtt), "{rtt}");
}

#[test]
fn a_sparse_flow_does_not_wait_behind_a_full_queue() {
    let flows =
        ["congestion = \"cubic\"\ncount = 4", "kind = \"udp\"\nrate = \"100 kbit/s\"\ndatagram = \"200 B\""];
    let delay = |qdisc: &str| {
        let outcome = by(qdisc, &flows);
        let late = outcome.datagrams.iter().filter(|d| d.sent_ns > 1_000_000_000);
        let delays: Vec<i64> = late.filter_map(|d| d.arrived_ns.map(|at| at - d.sent_ns)).collect();
        assert!(delays.len() > 100, "{}", delays.len());
        delays.iter().max().copied().expect("there are some")
    };
    // 5 ms of propagation; of the others at most the GSO packet that is being sent, 11 packets of 1/1024 s.
    let (fq, fifo) = (delay("fq"), delay("pfifo_fast"));
    assert!(fq < 5_000_000 + 2_000_000, "{fq}");
    assert!(fifo > 2 * fq, "{fifo}");
}

/// Reno at 100 Gbit/s, whose host has no rate of its own, with room for so many GSO packets of a flow.
fn without_rate(flow_limit: u32) -> Outcome {
    let path = "rate = \"100 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"";
    let host = |name: &str, more: &str| {
        let memory = "[\"4 KiB\", \"128 KiB\", \"2147483647 B\"]";
        format!("[host.{name}]\nmtu = \"9000 B\"\ntcp_rmem = {memory}\ntcp_wmem = {memory}\n{more}")
    };
    let fq = format!("qdisc = \"fq\"\nfq = {{ flow_limit = {flow_limit} }}\n");
    let hosts = host("sender", &fq) + &host("receiver", "");
    carry_out(&scenario(path, &["congestion = \"reno\""], "duration = \"300 ms\"", &hosts)).1
}

#[test]
fn fq_without_an_interface_rate_refuses_gso_packets_beyond_flow_limit() {
    let dropped = |outcome: &Outcome| {
        let rows = outcome.queues.iter().filter(|row| row.queue == "sender/qdisc");
        rows.map(|row| row.dropped_packets).max().expect("the host has a queue")
    };
    let (short, long) = (without_rate(100), without_rate(10_000));
    assert!(dropped(&short) > 0);
    assert_eq!(dropped(&long), 0);
    // 100 GSO packets wait, not 100 packets: those would stop slow start at a seventh of the rate.
    let [short, long] = [short, long].map(|outcome| goodput(&outcome, 0, 200_000_000));
    assert!((0.4..0.9).contains(&(short / long)), "{short} of {long}");
}

#[test]
fn flows_share_the_interface_evenly_whatever_their_windows() {
    let flows = ["congestion = \"reno\"", "congestion = \"scalable\"", "congestion = \"bbr\""];
    let outcome = by("fq", &flows);
    let rates: Vec<f64> = (0..3).map(|flow| goodput(&outcome, flow, 1_000_000_000)).collect();
    let mean = rates.iter().sum::<f64>() / 3.0;
    assert!(rates.iter().all(|rate| (rate / mean - 1.0).abs() < 0.05), "{rates:?}");
    assert!(mean * 3.0 > 94e6, "{rates:?}");
}

#[test]
fn datagrams_beyond_a_flows_hundred_are_dropped() {
    // 1000 bytes of payload are 1042 of frame; the interface carries 11,996 of 12,500 in a second.
    let udp = "kind = \"udp\"\nrate = \"100 Mbit/s\"\ndatagram = \"1000 B\"";
    let outcome = by("fq", &[udp]);
    let queues: Vec<_> = outcome.queues.iter().filter(|row| row.queue == "sender/qdisc").collect();
    assert_eq!(queues.iter().map(|row| row.backlog_packets).max(), Some(100));
    let last = queues.last().expect("the queue is sampled");
    let sent = samples(&outcome, 0).len();
    assert!(sent > 0 && last.dropped_packets > 1_000, "{last:?}");
}

#[test]
fn the_settings_of_fq_are_those_of_the_scenario() {
    let path = "rate = \"2 Gbit/s\"\nrtt = \"4 ms\"\nbuffer = \"1 bdp\"";
    let with = |interface: &str, settings: &str| {
        let hosts = format!("[host.sender]\n{interface}qdisc = \"fq\"\nfq = {settings}\n");
        carry_out(&scenario(path, &["congestion = \"cubic\""], "duration = \"2 s\"", &hosts)).1
    };
    let dropped = |outcome: &Outcome| {
        let rows = outcome.queues.iter().filter(|row| row.queue == "sender/qdisc");
        rows.map(|row| row.dropped_packets).max()
    };
    let gigabit = "nic_rate = \"1 Gbit/s\"\n";
    assert!(dropped(&with(gigabit, "{ flow_limit = 20 }")) > Some(0));
    assert_eq!(dropped(&with(gigabit, "{ flow_limit = 10000 }")), Some(0));
    // A flow's rate counts frames: 1448 of 1514 bytes are payload.
    for interface in ["", gigabit] {
        let outcome = with(interface, "{ flow_limit = 10000, maxrate = \"200 Mbit/s\" }");
        let ratio = goodput(&outcome, 0, 500_000_000) / (200e6 * 1448.0 / 1514.0);
        assert!((0.99..1.01).contains(&ratio), "{interface}{ratio}");
    }
}
