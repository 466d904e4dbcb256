//! UDP streams of the model, compared with what the model knows of every datagram, and those of other programs.

mod support;

use support::{outcome, runs, trace};
use wirespeed_sim::Outcome;
use wirespeed_trace::{Numbering, Trace, UdpStream};

fn scenario(path: &str, seed: u64) -> String {
    format!(
        r#"
schema = 1
name = "udp"

[path]
rate = "100 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
{path}

[[flow]]
kind = "udp"
rate = "20 Mbit/s"
datagram = "1000 B"

[[capture]]
at = "sender"

[[capture]]
at = "receiver"

[run]
duration = "3 s"
seed = {seed}
"#
    )
}

fn stream(trace: &Trace) -> &UdpStream {
    assert_eq!((trace.total_connections, trace.total_streams), (0, 1));
    &trace.streams[0]
}

/// Numbers that arrived, of the datagrams up to the last that did.
fn arrived(outcome: &Outcome) -> (u64, u64) {
    let arrived =
        || outcome.datagrams.iter().filter(|datagram| datagram.arrived_ns.is_some() && !datagram.duplicate);
    let highest = arrived().map(|datagram| datagram.sequence).max().expect("some arrived");
    (arrived().count() as u64, highest + 1)
}

#[test]
fn losses_are_those_of_the_model() {
    for (path, seed) in [("", 1), ("loss = 0.01", 2), ("loss = 0.2", 3)] {
        let run = runs(&scenario(path, seed)).remove(0);
        let outcome = outcome(&run);
        let sender = trace(&outcome, "sender");
        let receiver = trace(&outcome, "receiver");
        let [sent, received] = [&sender, &receiver].map(|trace| stream(trace).numbers.expect("numbered"));
        assert_eq!((sent.numbering, received.numbering), (Numbering::Model, Numbering::Model));
        assert_eq!((sent.lowest, sent.lost, sent.reordered, sent.duplicates), (0, 0, 0, 0), "{path}");
        assert_eq!(sent.expected, outcome.datagrams.len() as u64, "{path}");
        let (unique, expected) = arrived(&outcome);
        // The first can be lost: nothing shows it.
        assert_eq!(received.expected, expected - received.lowest, "{path}");
        assert_eq!(received.expected - received.lost, unique, "{path}");
        assert_eq!((received.reordered, received.duplicates, received.restarts), (0, 0, 0), "{path}");
        assert_eq!(received.lost > 0, !path.is_empty(), "{path}");
    }
}

/// The records of a pcap file with their heads.
fn records(file: &[u8]) -> Vec<&[u8]> {
    let (mut at, mut records) = (24, Vec::new());
    while at < file.len() {
        let kept = u32::from_le_bytes(file[at + 8..at + 12].try_into().expect("four bytes")) as usize;
        records.push(&file[at..at + 16 + kept]);
        at += 16 + kept;
    }
    records
}

#[test]
fn reordered_and_duplicate_datagrams_are_no_losses() {
    let run = runs(&scenario("", 1)).remove(0);
    let outcome = outcome(&run);
    let (_, file) = &outcome.captures[1];
    let records = records(file);
    let mut frames: Vec<&[u8]> = records.iter().map(|record| &record[8..]).collect();
    let (mut late, mut twice) = (0, 0);
    // Every 50th comes three places later, and every 350th a second time.
    for at in (50..frames.len() - 10).step_by(50) {
        frames[at..=at + 3].rotate_left(1);
        late += 1;
    }
    for at in (20..frames.len() - 10).step_by(350).rev() {
        frames.insert(at, frames[at - 1]);
        twice += 1;
    }
    let mut changed = file[..24].to_vec();
    for (at, frame) in frames.iter().enumerate() {
        // Times rise as they did.
        changed.extend_from_slice(&records[at.min(records.len() - 1)][..8]);
        changed.extend_from_slice(frame);
    }
    let trace = support::analyze(&changed);
    let numbers = stream(&trace).numbers.expect("numbered");
    assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (0, late, twice));
    assert_eq!(numbers.max_extent, 3);
    // Three gaps of 400 us.
    assert!((numbers.max_late_ns - 3 * 400_000).abs() <= 3, "{numbers:?}");
    assert!(late > 100 && twice > 10, "{late}, {twice}");
}

#[test]
fn gaps_are_those_of_the_rate() {
    let run = runs(&scenario("", 1)).remove(0);
    let outcome = outcome(&run);
    // 1000 bytes of payload at 20 Mbit/s.
    const GAP_NS: i64 = 400_000;
    for host in ["sender", "receiver"] {
        let trace = trace(&outcome, host);
        let stream = stream(&trace);
        let gaps = stream.gaps.as_ref().expect("many packets");
        assert_eq!(gaps.quantiles.count, stream.packets - 1);
        assert!((gaps.quantiles.min - GAP_NS).abs() <= 1, "{gaps:?}");
        assert!((gaps.quantiles.max - GAP_NS).abs() <= 1, "{gaps:?}");
        assert_eq!(gaps.histogram.iter().map(|bucket| bucket.count).sum::<u64>(), stream.packets - 1);
        assert!((gaps.quantiles.mean - GAP_NS as f64).abs() < 1.0, "{gaps:?}");
        let rate = stream.payload_rate_bps.expect("it lasts");
        assert!((rate - 20e6).abs() < 0.01 * 20e6, "{rate}");
    }
}

#[test]
fn summary_has_the_stream_and_its_finding() {
    let run = runs(&scenario("loss = 0.01", 2)).remove(0);
    let outcome = outcome(&run);
    let trace = trace(&outcome, "receiver");
    let finding = wirespeed_trace::text::finding(&trace);
    assert!(finding.starts_with("UDP stream 1, 10.0.0.1:32768 -> 10.0.0.5:5001: "), "{finding}");
    assert!(finding.contains(" lost before the capture point ("), "{finding}");
    let detail = wirespeed_trace::text::stream(stream(&trace));
    for line in ["losses", "reordering", "duplicates", "jitter", "gaps", "Time between packets"] {
        assert!(detail.contains(line), "{line}: {detail}");
    }
}
