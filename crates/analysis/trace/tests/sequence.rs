//! The points of time-sequence figures, compared with the counts of the analysis and with the model.

mod support;

use std::io::Cursor;
use support::{flow, outcome, runs};
use wirespeed_capture::{Input, Settings};
use wirespeed_trace::{AckMarks, DataClass, DataMarks, FlowSequence, Options, Trace};

const SCENARIO: &str = r#"
schema = 1
name = "sequence"

[path]
rate = "100 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = 1e-3

[[flow]]
congestion = "cubic"

[[capture]]
at = "sender"

[[capture]]
at = "receiver"

[run]
duration = "2 s"
sample = "1 ms"
seed = 7
"#;

/// The analysis of a capture with the points of its only flow.
fn collect(file: &[u8], options: Options) -> (Trace, FlowSequence) {
    let input = Input::Reader(Box::new(Cursor::new(file.to_vec())));
    let (mut trace, _) = wirespeed_trace::read(input, &Settings::default(), options).unwrap();
    let sequence = trace.sequence.take().expect("points were asked for");
    assert_eq!(sequence.number, 1);
    assert!(sequence.from_server.is_none(), "the server sends no data");
    (trace, sequence.from_client.expect("the client sends"))
}

fn capture(host: &str) -> Vec<u8> {
    let outcome = outcome(&runs(SCENARIO).remove(0));
    let (_, file) = outcome.captures.into_iter().find(|(name, _)| name == host).unwrap();
    file
}

fn with_points() -> Options {
    Options { points: true, ..Options::default() }
}

fn packets(points: &FlowSequence, is_counted: impl Fn(DataClass) -> bool) -> u64 {
    let rows = points.data.class.iter().zip(points.data.packets.iter());
    let counted = rows.filter(|&(class, _)| is_counted(DataClass::of_number(class).unwrap()));
    counted.map(|(_, packets)| packets as u64).sum()
}

#[test]
fn every_packet_is_a_point_of_its_class() {
    let (trace, points) = collect(&capture("sender"), with_points());
    let flow = flow(&trace);
    let counts = flow.retransmissions;
    assert!(counts.fast > 0, "the run has losses: {counts:?}");
    for (class, count) in [
        (DataClass::Fast, counts.fast),
        (DataClass::Rack, counts.rack),
        (DataClass::Timeout, counts.timeout),
        (DataClass::AfterTimeout, counts.after_timeout),
        (DataClass::TailLossProbe, counts.tail_loss_probe),
        (DataClass::Unclear, counts.unclear),
        (DataClass::Duplicate, flow.artefacts.duplicates),
        (DataClass::Reordered, flow.reordering.packets),
    ] {
        assert_eq!(packets(&points, |other| other == class), count, "{class:?}");
    }
    // The SYN is a point, and no data packet.
    let all = packets(&points, |class| class != DataClass::Duplicate && class != DataClass::Probe);
    assert_eq!(all, flow.packets + 1);
    assert_eq!(points.acks.t_ns.len() as u64, flow.acks.packets + 1, "with the SYN-ACK");
    assert_eq!(points.omitted, 0);
    // New data covers the stream without a gap, from the SYN on.
    let rows = points.data.start.iter().zip(points.data.length.iter()).zip(points.data.class.iter());
    let mut next = 0;
    for ((start, length), _) in rows.filter(|&(_, class)| class == DataClass::First as i64) {
        assert_eq!(start, next);
        next = start + length;
    }
    let last_ack = points.acks.ack.iter().max().unwrap();
    assert!(last_ack <= next && last_ack > next - 1_000_000, "{last_ack} of {next}");
}

#[test]
fn points_have_the_numbers_and_times_of_the_capture() {
    let (trace, points) = collect(&capture("sender"), with_points());
    let flow = flow(&trace);
    let both = |points: &FlowSequence| -> Vec<i64> {
        let mut all: Vec<i64> = points.data.packet.iter().chain(points.acks.packet.iter()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    // The third packet ends the handshake: the client sends no data in it, and acknowledges none.
    let expected: Vec<i64> = (1..=trace.total_packets as i64).filter(|&number| number != 3).collect();
    assert!(both(&points) == expected, "each packet of the capture");
    assert!(points.data.t_ns.iter().is_sorted() && points.acks.t_ns.iter().is_sorted());
    let largest = points.data.in_flight.iter().max().unwrap() as u64;
    assert!(largest <= flow.max_in_flight_bytes && largest * 10 > flow.max_in_flight_bytes * 9);
    let least = points.rtt_to_receiver.rtt_ns.iter().min().unwrap();
    assert_eq!(least, flow.rtt_to_receiver_ns.unwrap().min);
    let listed: Vec<i64> = flow.each_retransmission.iter().map(|one| one.packet as i64).collect();
    let rows = points.data.packet.iter().zip(points.data.class.iter());
    let retransmitted = |class| DataClass::of_number(class).unwrap().is_retransmission();
    let drawn: Vec<i64> = rows.filter(|&(_, class)| retransmitted(class)).map(|(packet, _)| packet).collect();
    assert_eq!(drawn, listed);
    let first = points.data.marks.iter().next().unwrap();
    assert_eq!(first & i64::from(DataMarks::SYN), i64::from(DataMarks::SYN));
    let duplicates = points.acks.marks.iter().filter(|marks| marks & i64::from(AckMarks::DUPLICATE) != 0);
    assert_eq!(duplicates.count() as u64, flow.acks.duplicate);
    let sacks = points.sacks.t_ns.len() as u64;
    assert!(sacks >= flow.acks.with_sack / 2 && sacks > 0, "{sacks} blocks, {:?}", flow.acks);
    let bursts: i64 = points.bursts.packets.iter().sum();
    assert_eq!(
        bursts as u64,
        packets(&points, |class| class == DataClass::First) - 1,
        "each new packet, once"
    );
}

#[test]
fn losses_before_the_receiver_are_marked_as_first_seen() {
    let (trace, points) = collect(&capture("receiver"), with_points());
    let marks = points.data.marks.iter().filter(|marks| marks & i64::from(DataMarks::FIRST_SEEN) != 0);
    let lost = flow(&trace).losses.before_capture_point;
    assert!(lost > 0);
    assert_eq!(marks.count() as u64, lost);
    assert!(!points.rtt_to_sender.t_ns.is_empty(), "data echoes timestamps of acknowledgments");
}

#[test]
fn analysis_is_the_same_with_and_without_points() {
    let file = capture("sender");
    let (with, _) = collect(&file, with_points());
    assert_eq!(with, support::analyze(&file));
    let only = Options { only: Some(2), ..with_points() };
    let input = Input::Reader(Box::new(Cursor::new(file)));
    let (trace, _) = wirespeed_trace::read(input, &Settings::default(), only).unwrap();
    assert!(trace.sequence.is_none(), "there is no second connection");
}
