//! Recordings of captures of runs of the model, compared with what the model recorded itself.

use std::io::Cursor;
use wirespeed_capture::{Input, Settings};
use wirespeed_pair::{Options, Side, read_with};
use wirespeed_reconstruction::{Sampler, of_one, of_pair};
use wirespeed_record::{Direction, Entry, EventKind, FlowSample, Recording, Stage};
use wirespeed_sim::{Outcome, simulate};

const SCENARIO: &str = r#"
schema = 1
name = "captured"

[path]
rate = "50 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = 2e-3
[path.reverse]
loss = 0.01

[[flow]]
congestion = "cubic"
count = 2

[[capture]]
at = "sender"

[[capture]]
at = "receiver"

[run]
duration = "3 s"
sample = "10 ms"
"#;

fn outcome() -> Outcome {
    let study =
        wirespeed_scenario::parse(SCENARIO, "test", &[], None).unwrap_or_else(|error| panic!("{error}"));
    simulate(&study.runs[0], &mut |_| true).unwrap_or_else(|ended| panic!("{ended:?}"))
}

fn capture<'a>(outcome: &'a Outcome, host: &str) -> &'a [u8] {
    &outcome.captures.iter().find(|(name, _)| name == host).expect("the host has a capture").1
}

fn side(bytes: &[u8], name: &str) -> Side<'static> {
    let bytes = bytes.to_vec();
    let open = move || Input::Reader(Box::new(Cursor::new(bytes.clone())));
    Side { name: name.into(), open: Box::new(open) }
}

fn recording_of_pair(outcome: &Outcome) -> Recording {
    let sides = [side(capture(outcome, "sender"), "a.pcap"), side(capture(outcome, "receiver"), "b.pcap")];
    let [mut one, mut other] = [Sampler::default(), Sampler::default()];
    let read = read_with(&sides, &Settings::default(), Options::default(), [&mut one, &mut other]);
    let (pair, _) = read.unwrap_or_else(|error| panic!("{error}"));
    of_pair(["a.pcap", "b.pcap"], &pair, [&one, &other])
}

fn recording_of_one(outcome: &Outcome, host: &str) -> Recording {
    let bytes = capture(outcome, host).to_vec();
    let mut sampler = Sampler::default();
    let open = || Input::Reader(Box::new(Cursor::new(bytes.clone())));
    wirespeed_capture::read(open(), &Settings::default(), &mut sampler).unwrap();
    let (trace, _) =
        wirespeed_trace::read(open(), &Settings::default(), wirespeed_trace::Options::default()).unwrap();
    of_one("a.pcap", &trace, &sampler)
}

/// The newest sample of each flow, sorted by payload sent.
fn last(rows: &[FlowSample]) -> Vec<FlowSample> {
    let mut last: Vec<FlowSample> = (0..2)
        .map(|flow| rows.iter().rfind(|row| row.flow == flow).expect("both flows have samples").clone())
        .collect();
    last.sort_by_key(|row| row.sent_bytes);
    last
}

fn sum(recording: &Recording, direction: Direction, entry: Entry) -> i64 {
    let rows = recording.ledger.iter().filter(|row| row.direction == direction && row.entry == entry);
    rows.map(|row| row.packets).sum()
}

fn near(found: Option<u64>, expected: Option<u64>, by: u64) -> bool {
    found.zip(expected).is_some_and(|(found, expected)| found.abs_diff(expected) <= by)
}

#[test]
fn samples_of_two_captures_are_those_of_the_model() {
    let outcome = outcome();
    let recording = recording_of_pair(&outcome);
    for (found, model) in last(&recording.flows).iter().zip(last(&outcome.flows)) {
        // The queue of the sender may hold packets that no capture has yet.
        assert!(near(found.data_packets_out, model.data_packets_out, 3), "{found:?} {model:?}");
        assert!(near(found.data_packets_in, model.data_packets_in, 0), "{found:?} {model:?}");
        assert!(near(found.retrans_packets, model.retrans_packets, 2), "{found:?} {model:?}");
        assert!(near(found.delivered_bytes, model.delivered_bytes, 3 * 1448), "{found:?} {model:?}");
        assert!(near(found.acked_bytes, model.acked_bytes, 3 * 1448), "{found:?} {model:?}");
        let rtt = |row: &FlowSample| row.rtt_ns.unwrap() as u64;
        assert!(rtt(found).abs_diff(rtt(&model)) < 1_000_000, "{found:?} {model:?}");
        assert_eq!((found.ssthresh_bytes, found.rto_ns, found.pacing_rate_bps), (None, None, None));
    }
    let starts = recording.events.iter().filter(|event| event.kind == EventKind::FlowStart).count();
    assert_eq!((recording.info.flows.len(), starts), (2, 2));
}

#[test]
fn ledger_of_two_captures_closes_with_the_losses_of_the_model() {
    let outcome = outcome();
    let recording = recording_of_pair(&outcome);
    for (direction, place) in [(Direction::Data, "/forward"), (Direction::Ack, "/reverse")] {
        let dropped = outcome.drops.iter().filter(|(name, _)| name.ends_with(place));
        let dropped: u64 = dropped.flat_map(|(_, causes)| causes).map(|&(_, packets)| packets).sum();
        let lost = sum(&recording, direction, Entry::Lost);
        let in_flight = sum(&recording, direction, Entry::InFlight);
        assert!((lost..=lost + in_flight).contains(&(dropped as i64)), "{dropped}: {:?}", recording.ledger);
        assert_eq!(sum(&recording, direction, Entry::Unexplained), 0, "{:?}", recording.ledger);
        let rest = sum(&recording, direction, Entry::Sent) - lost - in_flight;
        assert_eq!(rest, sum(&recording, direction, Entry::Delivered), "{:?}", recording.ledger);
    }
}

#[test]
fn one_capture_does_not_claim_what_only_two_can_show() {
    let outcome = outcome();
    let sender = recording_of_one(&outcome, "sender");
    assert!(sum(&sender, Direction::Data, Entry::Unseen) > 0, "{:?}", sender.ledger);
    assert!(sender.ledger.iter().all(|row| row.stage != Some(Stage::Network)), "{:?}", sender.ledger);
    assert!(last(&sender.flows).iter().all(|row| row.data_packets_in.is_none() && row.rtt_ns.is_some()));
    let receiver = recording_of_one(&outcome, "receiver");
    assert!(sum(&receiver, Direction::Data, Entry::Delivered) > 0, "{:?}", receiver.ledger);
    // Windows and RTTs are the sender's.
    assert!(last(&receiver.flows).iter().all(|row| row.cwnd_bytes.is_none() && row.rtt_ns.is_none()));
}
