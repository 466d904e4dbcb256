//! The analysis of captures of the model, compared with what the model knows.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use support::{flow, outcome, runs, trace};
use wirespeed_scenario::Run;
use wirespeed_sim::Outcome;
use wirespeed_trace::{DuplicateCause, FlowTrace, Position, SlowStartEnd};

/// The model's own counts of its only flow.
#[derive(Debug)]
struct Truth {
    retransmitted: u64,
    timeouts: u64,
    probes: u64,
    dsack: u64,
    lost: u64,
    min_rtt_ns: i64,
    max_cwnd: u64,
}

impl Truth {
    fn of(outcome: &Outcome) -> Truth {
        let counters: BTreeMap<&str, u64> =
            outcome.counters.iter().map(|row| (row.counter.as_str(), row.after)).collect();
        let sum = |name: &str| {
            outcome.counters.iter().filter(|row| row.counter == name).map(|row| row.after - row.before).sum()
        };
        assert!(counters.contains_key("TcpRetransSegs"), "{:?}", counters.keys());
        let forward = outcome.drops.iter().filter(|(place, _)| place.ends_with("/forward"));
        Truth {
            retransmitted: sum("TcpRetransSegs"),
            timeouts: sum("TcpExtTCPTimeouts"),
            probes: sum("TcpExtTCPLossProbes"),
            dsack: sum("TcpExtTCPDSACKRecv"),
            lost: forward.flat_map(|(_, causes)| causes).map(|&(_, packets)| packets).sum(),
            min_rtt_ns: outcome.flows.iter().filter_map(|row| row.min_rtt_ns).min().unwrap_or(0),
            max_cwnd: outcome.flows.iter().filter_map(|row| row.cwnd_bytes).max().unwrap_or(0),
        }
    }
}

fn scenario(algorithm: &str, loss: &str, ack_loss: &str, seed: u64, seconds: u32) -> Run {
    let text = format!(
        r#"
schema = 1
name = "trace"

[path]
rate = "100 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = {loss}
[path.reverse]
loss = {ack_loss}

[[flow]]
congestion = "{algorithm}"

[[capture]]
at = "sender"

[[capture]]
at = "receiver"

[run]
duration = "{seconds} s"
sample = "1 ms"
seed = {seed}
"#
    );
    runs(&text).remove(0)
}

/// Exact in `packets`, or to a share of the number.
fn near(found: u64, expected: u64, packets: u64, share: f64) -> bool {
    found.abs_diff(expected) <= packets.max((share * expected as f64) as u64)
}

fn check(name: &str, outcome: &Outcome) -> Vec<String> {
    let truth = Truth::of(outcome);
    let (at_sender, at_receiver) = (trace(outcome, "sender"), trace(outcome, "receiver"));
    let (sender, receiver) = (flow(&at_sender), flow(&at_receiver));
    let mut wrong = Vec::new();
    let mut expect = |what: &str, found: u64, expected: u64, packets: u64, share: f64| {
        if !near(found, expected, packets, share) {
            wrong.push(format!("{name}: {what}: found {found}, expected {expected}"));
        }
    };
    // At the sender every retransmission passes; those of the last moments may wait in the queue.
    expect("retransmitted, at sender", sender.retransmissions.packets, truth.retransmitted, 1, 0.0);
    expect("timeouts, at sender", sender.retransmissions.timeout, truth.timeouts, 1, 0.1);
    // A probe with new data looks like data.
    let probes = sender.retransmissions.tail_loss_probe;
    expect("probes, at sender", probes.max(truth.probes.min(probes + 1)), truth.probes, 1, 0.2);
    expect("spurious, at sender", sender.retransmissions.spurious_dsack, truth.dsack, 2, 0.2);
    expect("lost after sender", sender.losses.after_capture_point, truth.lost, 3, 0.02);
    expect("lost before sender", sender.losses.before_capture_point, 0, 0, 0.0);
    // A retransmission that is lost before the receiver is not seen there: its data counts as lost once.
    let ranges: BTreeSet<i64> = sender.each_retransmission.iter().map(|one| one.start).collect();
    expect("lost before receiver", receiver.losses.before_capture_point, ranges.len() as u64, 4, 0.05);
    expect("lost after receiver", receiver.losses.after_capture_point, 0, 0, 0.0);
    expect("reordered", sender.reordering.packets + receiver.reordering.packets, 0, 0, 0.0);
    expect("missed", sender.artefacts.missed_packets + receiver.artefacts.missed_packets, 0, 0, 0.0);
    let rtt = |flow: &FlowTrace| {
        let sides = [flow.rtt_to_sender_ns, flow.rtt_to_receiver_ns];
        sides.iter().flatten().map(|side| side.min).sum::<i64>() as u64
    };
    expect("least RTT, at sender", rtt(sender), truth.min_rtt_ns as u64, 0, 0.02);
    expect("least RTT, at receiver", rtt(receiver), truth.min_rtt_ns as u64, 0, 0.05);
    expect("largest window, at sender", sender.max_in_flight_bytes, truth.max_cwnd, 4_000, 0.15);
    for (flow, position) in [(sender, Position::Sender), (receiver, Position::Receiver)] {
        if flow.capture_point.position != position {
            wrong.push(format!("{name}: {:?} instead of {position:?}", flow.capture_point));
        }
    }
    wrong
}

#[test]
fn losses_retransmissions_and_rtts_match_the_model() {
    // WIRESPEED_TRACE_CAPTURES: number of generated runs, two captures each.
    let most: usize = std::env::var("WIRESPEED_TRACE_CAPTURES").map_or(12, |text| text.parse().unwrap());
    let algorithms =
        ["reno", "cubic", "bbr", "bic", "htcp", "scalable", "vegas", "westwood", "illinois", "dctcp"];
    let (losses, ack_losses) = (["0.0", "1e-3", "1e-2"], ["0.0", "0.02"]);
    let mut wrong = Vec::new();
    for number in 0..most {
        let algorithm = algorithms[number % algorithms.len()];
        let loss = losses[number % losses.len()];
        let ack_loss = ack_losses[number / 2 % ack_losses.len()];
        let run = scenario(algorithm, loss, ack_loss, number as u64 + 1, 3);
        let name = format!("{number}: {algorithm}, loss {loss}, ACK loss {ack_loss}");
        wrong.extend(check(&name, &outcome(&run)));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// onl-wiki's single flow: 12 rounds, hardware duplicates from about packet 513 of rounds 10 to 12, one drop of the sender's own queue
/// that no capture sees, and CWR.
#[test]
fn slow_start_of_onl_wiki_ends_in_round_12_by_a_local_drop() {
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../studies/onl-wiki/seq.toml");
    let text = std::fs::read_to_string(study).unwrap().replace("5 s", "1.2 s");
    let run = runs(&text).remove(0);
    let outcome = outcome(&run);
    let trace = trace(&outcome, "sender");
    let flow = flow(&trace);
    let start = flow.slow_start;
    assert_eq!((start.end, start.round), (SlowStartEnd::LocalDrop, 12), "{start:?}");
    assert_eq!(start.duplicates_in_rounds, Some((10, 12)), "{start:?}");
    assert!(start.reduced_to.is_some_and(|factor| (0.45..0.6).contains(&factor)), "{start:?}");
    for (number, round) in (1..).zip(&flow.rounds[..11]) {
        assert_eq!(round.packets, 1 << number, "{round:?}");
    }
    for round in &flow.rounds[9..12] {
        assert!(round.first_duplicate.is_some_and(|packet| (500..=530).contains(&packet)), "{round:?}");
        let rate = round.rate_before_duplicates_bps.unwrap();
        assert!((1.8e9..2.1e9).contains(&rate), "{round:?}");
    }
    assert_eq!(flow.artefacts.duplicate_cause, DuplicateCause::HardwareDuplicates);
    assert_eq!(flow.retransmissions.packets, 0);
    assert_eq!(flow.losses.before_capture_point + flow.losses.after_capture_point, 0);
    assert_eq!(flow.losses.unseen_reductions, 1);
    assert_eq!(flow.artefacts.missed_packets, 0);
    let of_sender = outcome.queues.iter().filter(|row| row.queue == "sender/qdisc");
    assert_eq!(of_sender.map(|row| row.dropped_packets).max(), Some(1), "the model dropped one packet");
}

#[test]
fn reordered_packets_are_not_retransmissions() {
    let outcome = outcome(&scenario("cubic", "0.0", "0.0", 1, 1));
    let (_, file) = outcome.captures.iter().find(|(name, _)| name == "receiver").unwrap();
    let whole = support::analyze(file);
    let (file, swapped) = support::swap_packets(file, 50);
    let trace = support::analyze(&file);
    let (flow, whole) = (flow(&trace), flow(&whole));
    assert_eq!(whole.reordering.packets, 0);
    // A pair of which one is a retransmission shows its order by another rule.
    assert!(near(flow.reordering.packets, swapped, 2, 0.0), "{swapped}: {:?}", flow.reordering);
    assert_eq!(flow.reordering.max_extent_packets, 1);
    assert!(near(flow.retransmissions.packets, whole.retransmissions.packets, 2, 0.0));
    assert!(near(flow.losses.before_capture_point, whole.losses.before_capture_point, 2, 0.0));
}

#[test]
fn packets_that_the_capture_dropped_are_not_losses() {
    let outcome = outcome(&scenario("reno", "1e-3", "0.0", 3, 2));
    let (_, file) = outcome.captures.iter().find(|(name, _)| name == "sender").unwrap();
    let whole = support::analyze(file);
    let (file, dropped) = support::drop_data(file, 97);
    let trace = support::analyze(&file);
    let (flow, whole) = (flow(&trace), flow(&whole));
    assert!(near(flow.artefacts.missed_packets, dropped, 3, 0.05), "{dropped}: {:?}", flow.artefacts);
    assert!(near(flow.retransmissions.packets, whole.retransmissions.packets, 3, 0.1));
    assert_eq!(flow.reordering.packets, 0, "{:?}", flow.reordering);
}
