//! What a recording of iperf3's JSON has, and what it has not.

use std::fs;
use std::path::Path;
use wirespeed_iperf3::{MergeError, Source, parse, recording};
use wirespeed_record::{Entry, EventKind, FlowSample, Recording, SubstrateKind};

fn source(name: &str) -> Source {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    Source { name: name.into(), report: parse(&fs::read_to_string(path).unwrap()).unwrap() }
}

fn import(names: &[&str]) -> Recording {
    recording(names.iter().map(|name| source(name)).collect()).unwrap()
}

fn rows(recording: &Recording, flow: u32) -> Vec<&FlowSample> {
    recording.flows.iter().filter(|row| row.flow == flow).collect()
}

const CLIENT: &str = "tcp-two-streams-client-3.12.json";
const SERVER: &str = "tcp-two-streams-server-3.12.json";

#[test]
fn a_client_alone_has_what_it_wrote_and_in_the_end_what_arrived() {
    let recording = import(&[CLIENT]);
    let info = &recording.info;
    assert_eq!((info.flows.len(), info.substrate), (2, SubstrateKind::Iperf3));
    assert_eq!(info.flows[0].congestion.as_deref(), Some("cubic"));
    assert_eq!((info.omit_ns, info.sample_ns), (1_000_082_000, 1_000_000_000));
    let rows = rows(&recording, 0);
    // One at the start and one an interval.
    assert_eq!(rows.len(), 6);
    assert_eq!((rows[0].t_ns, rows[0].delivered_bytes, rows[0].cwnd_bytes), (0, Some(0), None));
    assert_eq!(rows[1].delivered_bytes, Some(18_522_816));
    // What was written in the second that was omitted, and what the server says it read from then on.
    assert_eq!(rows[5].delivered_bytes, Some(18_522_816 + 76_141_632));
    assert_eq!(rows[5].retrans_packets, Some(9));
    assert!(rows[5].cwnd_bytes.is_some() && rows[5].rtt_ns > Some(1_000_000));
    assert!(
        info.warnings.iter().any(|w| w.contains("goodput over time is what the sender wrote")),
        "{:?}",
        info.warnings
    );
    let [client, server] = &info.hosts[..] else { panic!("{:?}", info.hosts) };
    assert_eq!(client.settings["address"], "10.78.0.1");
    assert!(server.settings["received.stream 1"].contains("76141632 bytes in 4.009862 s, its word"));
}

#[test]
fn values_that_iperf3_does_not_report_are_null() {
    let recording = import(&[CLIENT, SERVER]);
    for row in &recording.flows {
        assert_eq!((row.sent_bytes, row.data_packets_out, row.data_packets_in), (None, None, None));
        assert_eq!((row.min_rtt_ns, row.mss_bytes, row.acked_bytes), (None, None, None));
    }
    assert!(recording.ledger.is_empty() && recording.queues.is_empty() && recording.counters.is_empty());
    assert!(recording.info.links.is_empty() && recording.info.kernel.is_none());
}

#[test]
fn both_sides_share_the_rows_of_their_intervals() {
    let recording = import(&[SERVER, CLIENT]);
    let rows = rows(&recording, 1);
    // The server has one more, of what came after the client's last.
    assert_eq!(rows.len(), 7);
    assert!(rows[1..6].iter().all(|row| row.cwnd_bytes.is_some() && row.read_bytes.is_some()));
    assert_eq!(rows[1].read_bytes, Some(17_467_224), "the server's, not the client's");
    assert_eq!((rows[6].cwnd_bytes, rows[6].delivered_bytes), (None, Some(17_467_224 + 66_400_936)));
    assert!(!recording.info.warnings.iter().any(|w| w.contains("goodput over time")));
}

#[test]
fn a_server_alone_knows_nothing_of_the_sender() {
    let recording = import(&[SERVER]);
    assert!(recording.flows.iter().all(|row| row.cwnd_bytes.is_none() && row.retrans_packets.is_none()));
    assert!(recording.info.flows.iter().all(|flow| flow.from == "client" && flow.congestion.is_none()));
    assert_eq!(rows(&recording, 0)[0].read_bytes, Some(0));
}

#[test]
fn datagrams_balance() {
    let account = |names: &[&str]| -> Vec<(Entry, i64)> {
        import(names).ledger.into_iter().map(|row| (row.entry, row.packets)).collect()
    };
    let client = "udp-lossy-client-3.12.json";
    let server = "udp-lossy-server-3.12.json";
    let expected =
        [(Entry::Sent, 74_679), (Entry::Lost, 334), (Entry::Delivered, 74_345), (Entry::Unexplained, 0)];
    for names in [&[client][..], &[server], &[client, server]] {
        assert_eq!(account(names), expected, "{names:?}");
    }
    let both = import(&[client, server]);
    let last = both.flows.last().unwrap();
    assert_eq!((last.data_packets_in, last.delivered_bytes), (Some(74_345), Some(107_651_560)));
    assert_eq!(both.flows.iter().filter_map(|row| row.data_packets_out).max(), Some(74_679));
}

#[test]
fn the_servers_report_within_the_clients_is_the_other_side() {
    let recording = import(&["tcp-reverse-with-server-output-3.21.json"]);
    assert_eq!(recording.info.flows[0].from, "server");
    assert!(recording.flows.iter().any(|row| row.cwnd_bytes.is_some() && row.read_bytes.is_some()));
}

#[test]
fn both_ways_are_flows_of_their_own() {
    let recording = import(&["tcp-bidir-client-3.21.json"]);
    // Its intervals are of 1.0006 s: with bins of that length the second would be no whole one.
    assert_eq!(recording.info.sample_ns, 1_000_000_000);
    let labels: Vec<&str> = recording.info.flows.iter().map(|flow| flow.label.as_str()).collect();
    assert_eq!(labels, ["client to server 1", "server to client 1"]);
    // What comes back is read here; what goes out is written here.
    assert!(rows(&recording, 0).iter().any(|row| row.cwnd_bytes.is_some()));
    assert!(
        rows(&recording, 1).iter().skip(1).all(|row| row.read_bytes.is_some() && row.cwnd_bytes.is_none())
    );
}

#[test]
fn an_interrupted_test_says_so() {
    let recording = import(&["interrupted-client-3.12.json"]);
    assert!(recording.info.warnings.iter().any(|w| w.contains("the client has terminated")));
    assert_eq!(recording.events[0].kind, EventKind::Iperf3Error);
    assert!(recording.info.warnings.iter().any(|w| w.contains("what arrived is not known at all")));
    assert_eq!(recording.flows.last().unwrap().delivered_bytes, Some(91_305_088));
}

#[test]
fn reports_of_different_tests_are_refused() {
    let refused = |names: &[&str]| recording(names.iter().map(|name| source(name)).collect()).unwrap_err();
    assert!(matches!(refused(&[CLIENT, CLIENT]), MergeError::SameSide { side: "client", .. }));
    assert!(matches!(refused(&[CLIENT, "udp-lossy-server-3.12.json"]), MergeError::DifferentTests { .. }));
    assert!(matches!(refused(&[CLIENT, SERVER, SERVER]), MergeError::Number(3)));
    let mut server = source(SERVER);
    server.report.streams.pop();
    let error = recording(vec![source(CLIENT), server]).unwrap_err();
    assert!(error.to_string().contains("2 and 1 of them"), "{error}");
}
