//! Applications that send datagrams are threads of their host: what their core has no time for is sent later or not at all.

mod support;

use support::{carry_out, invariants, scenario};
use wirespeed_record::Datagram;
use wirespeed_sim::Outcome;

/// Datagrams of a host of cornell-2010 whose writer is on core 0, for a second; packet by packet, for exact times.
fn send(rate: &str, settings: &str, more: &[&str]) -> Outcome {
    let udp = format!("kind = \"udp\"\nrate = \"{rate}\"\ndatagram = \"1472 B\"");
    let mut flows = vec![udp.as_str()];
    flows.extend(more);
    let hosts = format!(
        "[host.sender]\npreset = \"cornell-2010\"\napps = \"0\"\nirq = \"0\"\n{settings}\n\
         [host.receiver]\npreset = \"xeon-2023-100g\"\nmtu = \"1500 B\"\n"
    );
    let path = "rate = \"10 Gbit/s\"\nrtt = \"1 ms\"\nbuffer = \"10 MB\"";
    let (run, outcome) = carry_out(&scenario(path, &flows, "duration = \"1 s\"\ntrains = false", &hosts));
    invariants::check(&run, &outcome).unwrap_or_else(|what| panic!("{what}"));
    outcome
}

fn sent(outcome: &Outcome) -> Vec<&Datagram> {
    outcome.datagrams.iter().filter(|datagram| datagram.flow == 0).collect()
}

/// A call, its copy of a frame of 1514 bytes, and what the stack does: 1.55 us + 0.37 ns a byte + 2.2 us.
const CALL_NS: f64 = 1550.0 + 0.37 * 1514.0 + 2200.0;

/// How late each was by its rate, ns.
fn late(outcome: &Outcome, rate_bps: f64) -> Vec<f64> {
    let gap = 1472.0 * 8e9 / rate_bps;
    sent(outcome).iter().map(|datagram| datagram.sent_ns as f64 - datagram.sequence as f64 * gap).collect()
}

#[test]
fn a_core_sends_what_it_has_time_for() {
    let outcome = send("6 Gbit/s", "", &[]);
    let could = 1e9 / CALL_NS;
    let count = sent(&outcome).len() as f64;
    assert!((count / could - 1.0).abs() < 0.01, "{count} of {could}");
    let busy =
        outcome.cores.iter().rfind(|row| row.host == "sender" && row.core == 0).expect("it works").app_ns;
    assert!(busy > 990_000_000, "{busy} ns of a second");
    // What it can, it sends in time, but for the switch to it and its call.
    let outcome = send("500 Mbit/s", "", &[]);
    let late = late(&outcome, 500e6);
    assert!(late.iter().all(|ns| (CALL_NS..CALL_NS + 2_001.0 + 5.0).contains(ns)), "{:?}", &late[..9]);
    // The last may be due too late to be through at the end.
    assert!((500e6_f64 / 1472.0 / 8.0).ceil() as usize - late.len() <= 1);
}

#[test]
fn work_delayed_by_other_work_is_caught_up() {
    // Half of the core's time is another thread's, in turns of milliseconds; the writer needs a sixth.
    let outcome = send("500 Mbit/s", "load = [{ core = 0, share = 0.5 }]", &[]);
    let late = late(&outcome, 500e6);
    let most = late.iter().copied().fold(0.0, f64::max);
    assert!((1e6..20e6).contains(&most), "{most} ns late at most");
    assert!(late.iter().filter(|ns| **ns < 10_000.0).count() > late.len() / 4, "in between it is in time");
    // Behind time it sends one after the other, at the distance of a call.
    let all = sent(&outcome);
    let gaps: Vec<i64> = all.windows(2).map(|pair| pair[1].sent_ns - pair[0].sent_ns).collect();
    let close = gaps.iter().filter(|gap| (**gap as f64 - CALL_NS).abs() < 2.0).count();
    assert!(close > all.len() / 10, "{close} of {}", all.len());
    let missing = (500e6_f64 / 1472.0 / 8.0).ceil() as usize - all.len();
    assert!(missing < 1000, "{missing} were not sent");
}

#[test]
fn arrivals_take_the_core_from_the_sender() {
    let tcp = "from = \"receiver\"\nto = \"sender\"\ncongestion = \"cubic\"\nwindow = \"4 MB\"";
    let count = |more: &[&str]| sent(&send("6 Gbit/s", "", more)).len() as f64;
    let alone = count(&[]);
    let beside = count(&[tcp]);
    assert!(beside < 0.7 * alone, "{beside} of {alone} datagrams beside the softirq work of a stream");
}

#[test]
fn a_writer_waits_for_memory_and_nothing_is_dropped() {
    let outcome = send("1 Gbit/s", "nic_rate = \"100 Mbit/s\"\ntxqueuelen = 1000\ntx_ring = 64", &[]);
    // 1514 bytes and 832 of the buffer around them; it goes on when half of the 212,992 bytes are free.
    let all = 212_992_u64.div_ceil(1514 + 832);
    let queue = |row: &&wirespeed_record::QueueSample| row.queue == "sender/qdisc" && row.t_ns > 100_000_000;
    let rows: Vec<_> = outcome.queues.iter().filter(queue).collect();
    // One more is being sent than waits.
    let range = rows.iter().map(|row| row.backlog_packets);
    let (least, most) = (range.clone().min().unwrap_or(0), range.max().unwrap_or(0));
    assert!(least >= all / 2 - 1 && most == all - 1, "{least} to {most} of {all}");
    assert_eq!(rows.last().map(|row| row.dropped_packets), Some(0));
    let frames = 100e6_f64 / 8.0 / 1514.0;
    let count = sent(&outcome).len() as f64;
    assert!((frames..frames + all as f64 + 1.0).contains(&count), "{count} of {frames}");
    // A queue that holds less drops, and nobody waits.
    let outcome = send("1 Gbit/s", "nic_rate = \"100 Mbit/s\"\ntxqueuelen = 10\ntx_ring = 64", &[]);
    let last = outcome.queues.iter().rfind(|row| row.queue == "sender/qdisc").expect("it is sampled");
    assert!(last.dropped_packets > 70_000, "{last:?}");
}
