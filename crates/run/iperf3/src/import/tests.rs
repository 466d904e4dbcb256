use super::*;
use std::fs;
use std::path::Path;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(name: &str) -> Report {
    parse(&fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_client_says_what_it_wrote_and_what_the_server_says_it_read() {
    let report = read("tcp-two-streams-client-3.12.json");
    assert_eq!(report.side, Side::Client { server: "10.78.0.2".into(), port: Some(5201) });
    assert_eq!((report.protocol, report.length), (Protocol::Tcp, Length::Time(4_000_000_000)));
    assert_eq!(report.congestion.sender.as_deref(), Some("cubic"));
    assert!(report.exchanged && report.error.is_none());
    let [first, second] = &report.streams[..] else { panic!("{} streams", report.streams.len()) };
    assert!(first.sends && second.sends);
    assert_eq!(first.total.own_bytes, Some(76_237_200));
    assert_eq!(first.total.received.as_ref().unwrap().bytes, Some(76_141_632));
    assert_eq!(first.total.retransmits, Some(9));
    assert_eq!(second.intervals[0].tcp.unwrap().retransmits, Some(44));
    assert!(first.intervals.iter().all(|i| i.tcp.is_some_and(|tcp| tcp.cwnd_bytes > Some(14_480))));
}

#[test]
fn time_goes_on_after_what_was_omitted() {
    let report = read("tcp-two-streams-client-3.12.json");
    assert_eq!(report.omit_ns, 1_000_000_000);
    let times: Vec<_> = report.streams[0].intervals.iter().map(|i| (i.from_ns, i.to_ns, i.omitted)).collect();
    assert_eq!(times[..2], [(0, 1_000_079_000, true), (1_000_101_000, 2_000_131_000, false)]);
    assert_eq!(times.len(), 5);
}

#[test]
fn a_server_does_not_know_what_the_client_sent() {
    let report = read("tcp-two-streams-server-3.12.json");
    assert_eq!(report.side, Side::Server { client: "10.78.0.1".into() });
    assert!(!report.exchanged);
    let stream = &report.streams[0];
    assert!(!stream.sends);
    assert_eq!(stream.total.own_bytes, Some(76_141_632));
    assert_eq!(stream.total.retransmits, None, "0 stands there, which nobody has counted");
    assert_eq!(report.peer_cpu, None);
    assert!(report.cpu.is_some());
    assert!(stream.intervals.iter().all(|interval| interval.tcp.is_none()));
}

#[test]
fn a_receiver_counts_what_of_the_datagrams_is_missing() {
    let server = read("udp-lossy-server-3.12.json");
    let intervals = &server.streams[0].intervals;
    assert_eq!(intervals.iter().filter_map(|i| i.lost).sum::<i64>(), 334);
    assert_eq!(intervals.iter().filter_map(|i| i.packets).sum::<u64>(), 74_679);
    assert!(intervals[0].jitter_ms.is_some());
    let client = read("udp-lossy-client-3.12.json");
    let total = &client.streams[0].total;
    let received = total.received.as_ref().unwrap();
    assert_eq!((received.lost, received.bytes), (Some(334), Some(107_651_560)));
    assert_eq!(received.out_of_order, None, "a sender prints 0 for what it does not know");
    assert_eq!(total.own_bytes, Some(108_135_192));
    assert!(client.streams[0].intervals.iter().all(|i| i.lost.is_none() && i.jitter_ms.is_none()));
}

#[test]
fn reverse_and_both_ways_tell_who_sends() {
    let reverse = read("tcp-reverse-client-3.12.json");
    assert!(!reverse.streams[0].sends);
    assert_eq!(reverse.streams[0].total.own_bytes, Some(50_069_504));
    let both = read("tcp-bidir-client-3.21.json");
    assert_eq!(both.streams.iter().map(|s| s.sends).collect::<Vec<_>>(), [true, false]);
    let server = read("udp-bidir-stream-server-3.21.jsonl");
    assert_eq!(server.streams.iter().map(|s| s.sends).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn the_servers_report_within_the_clients_is_read_too() {
    let client = read("tcp-reverse-with-server-output-3.21.json");
    let server = client.server.expect("it was asked for");
    assert_eq!(server.cookie, client.cookie);
    assert!(server.streams[0].sends && server.streams[0].intervals[0].tcp.is_some());
}

#[test]
fn a_stream_of_events_is_the_same_report() {
    let report = read("tcp-stream-client-3.21.jsonl");
    assert_eq!(report.version.as_deref(), Some("iperf 3.21+"));
    assert_eq!(report.streams[0].intervals.len(), 6);
    assert!(report.exchanged);
    // Killed in the middle: what had been written is used, and nothing of the server's.
    let text = fixture("tcp-stream-client-3.21.jsonl");
    let cut: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    let report = parse(&cut).unwrap();
    assert_eq!(report.streams[0].intervals.len(), 3);
    assert!(!report.exchanged);
    assert_eq!(report.streams[0].total, Total::default());
}

#[test]
fn an_interrupted_test_keeps_what_it_measured() {
    let report = read("interrupted-client-3.12.json");
    assert_eq!(report.error.as_deref(), Some("interrupt - the client has terminated"));
    assert_eq!(report.streams[0].intervals.len(), 3);
    assert_eq!(report.streams[0].total.received, None, "0 bytes stand there, which nobody has counted");
    assert_eq!(report.streams[0].total.own_bytes, Some(91_305_088));
}

#[test]
fn foreign_json_is_named_with_the_remedy() {
    let client = fixture("tcp-reverse-client-3.12.json");
    let edited = |from: &str, to: &str| {
        assert!(client.contains(from), "{from}");
        client.replacen(from, to, 1)
    };
    let half = &client[..client.len() / 2];
    let cases = [
        (String::new(), "empty"),
        ("[  5]   0.00-1.00   sec  ".into(), "line 1 is no JSON"),
        (half.into(), "ends in the middle"),
        (format!("{client}{client}"), "more than one test"),
        ("{}".into(), "start: it is missing"),
        (
            fixture("refused-client-3.12.json"),
            "iperf3 says \"unable to connect to server: Connection refused\"",
        ),
        (edited("\"protocol\":\t\"TCP\"", "\"protocol\":\t\"SCTP\""), "start.test_start.protocol: `SCTP`"),
        (edited("\"bytes\":\t25034752", "\"bytes\":\t-7"), "intervals[0].streams[0].bytes"),
        (edited("\"bytes\":\t25034752", "\"bytes\":\t\"many\""), "intervals[0].streams[0].bytes"),
        (edited("\"end\":\t1.000142", "\"end\":\t1e300"), "intervals[0].streams[0].end"),
        (edited("\"connecting_to\"", "\"connecting_from\""), "start.connecting_to"),
        ("{\"event\":\"start\",\"data\":{\"connected\":3}}".into(), "start.connected"),
    ];
    for (text, words) in cases {
        let message = parse(&text).unwrap_err().to_string();
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn large_counts_are_whole_though_written_as_floats_and_unknown_ones_are_none() {
    let client = fixture("tcp-reverse-client-3.12.json");
    let large = client.replace("\"bytes\":\t25034752", "\"bytes\":\t1.25e+16");
    assert_eq!(parse(&large).unwrap().streams[0].intervals[0].bytes, 12_500_000_000_000_000);
    let unknown =
        fixture("tcp-two-streams-client-3.12.json").replace("\"retransmits\":\t9", "\"retransmits\":\t-1");
    assert_eq!(parse(&unknown).unwrap().streams[0].total.retransmits, None);
}
