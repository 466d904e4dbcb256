//! Files of other programs become recordings with the numbers that the programs print.

mod support;

use support::{SECOND_NS, bytes, source, text_source};
use wirespeed_exchange::{Content, ImportError, MOST_BYTES, recording};
use wirespeed_record::{FlowSample, Recording, SubstrateKind, Transport};

fn of_flow(run: &Recording, flow: u32) -> Vec<&FlowSample> {
    run.flows.iter().filter(|row| row.flow == flow).collect()
}

fn last(run: &Recording, flow: u32, of: fn(&FlowSample) -> Option<u64>) -> u64 {
    of_flow(run, flow).iter().rev().find_map(|row| of(row)).unwrap()
}

/// Mbit/s over the measured time.
fn goodput(run: &Recording) -> f64 {
    let flows = 0..run.info.flows.len() as u32;
    let bytes: u64 = flows
        .map(|flow| {
            let rows = of_flow(run, flow);
            let start =
                rows.iter().rfind(|row| row.t_ns <= run.info.omit_ns).and_then(|row| row.delivered_bytes);
            last(run, flow, |row| row.delivered_bytes) - start.unwrap_or(0)
        })
        .sum();
    bytes as f64 * 8e3 / (run.info.duration_ns - run.info.omit_ns) as f64
}

#[test]
fn a_run_of_flent_has_the_rates_that_flent_prints() {
    let run = recording(&[source("two-uploads-2.3.0.flent.gz")]).unwrap();
    assert_eq!(run.info.substrate, SubstrateKind::Flent);
    assert_eq!(run.info.flows.len(), 2);
    assert_eq!((run.info.flows[0].from.as_str(), run.info.flows[0].to.as_str()), ("vm", "127.0.0.1"));
    // flent prints an average of 16,351.65 Mbit/s for both, iperf's; the readings are rounded to a quarter of a second.
    let rate = goodput(&run);
    assert!((rate / 16_351.65 - 1.0).abs() < 0.03, "{rate} Mbit/s");
    assert_eq!(run.info.sample_ns, SECOND_NS / 4);
    assert!(
        run.info.warnings.iter().any(|words| words.contains("Ping (ms) ICMP")),
        "{:?}",
        run.info.warnings
    );
    assert_eq!(run.info.started.as_deref(), Some("2026-11-27T00:58:27.973240Z"));
}

#[test]
fn a_file_of_flent_is_the_same_without_compression_and_without_raw_values() {
    let compressed = source("two-uploads-2.3.0.flent.gz");
    let text = compressed.content.text().to_owned();
    let plain = recording(&[text_source("two-uploads-2.3.0.flent.gz", &text)]).unwrap();
    assert_eq!(plain, recording(&[compressed]).unwrap());
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value.as_object_mut().unwrap().remove("raw_values");
    value["version"] = 1.into();
    let old = recording(&[text_source("old.flent", &value.to_string())]).unwrap();
    let (new, old) = (goodput(&plain), goodput(&old));
    assert!((old / new - 1.0).abs() < 0.1, "{old} and {new} Mbit/s");
}

#[test]
fn a_log_of_both_ends_has_what_the_receiver_received() {
    let run = recording(&[source("ss-both-ends.log")]).unwrap();
    assert_eq!(run.info.substrate, SubstrateKind::Ss);
    assert_eq!(run.info.flows.len(), 2, "the control connection is not a flow");
    assert!(run.info.flows.iter().all(|flow| flow.congestion.as_deref() == Some("bbr")));
    let labels: Vec<&str> = run.info.flows.iter().map(|flow| flow.label.as_str()).collect();
    assert!(labels.contains(&"127.0.0.1:40800 to 127.0.0.1:5277"), "{labels:?}");
    let first = of_flow(&run, 0)[0];
    assert_eq!((first.t_ns, first.delivered_bytes), (0, Some(7_995_429)));
    assert_eq!(
        (first.sent_bytes, first.acked_bytes, first.retrans_packets),
        (Some(7_995_429), Some(7_995_430), Some(0))
    );
    assert_eq!(first.cwnd_bytes, Some(18 * 65_483));
    assert_eq!(of_flow(&run, 0).len(), 8);
    // iperf3 was asked for 200 Mbit/s each.
    let rate = goodput(&run);
    assert!((390.0..410.0).contains(&rate), "{rate} Mbit/s");
    assert!(run.info.warnings.iter().any(|words| words.contains("one connection of the log is not a flow")));
}

#[test]
fn a_log_of_the_sender_has_what_was_acknowledged() {
    let run = recording(&[source("ss-sender.log")]).unwrap();
    assert_eq!(run.info.flows.len(), 2);
    for row in &run.flows {
        assert_eq!(
            row.delivered_bytes.unwrap() + 1,
            row.acked_bytes.unwrap(),
            "the SYN is counted as a byte"
        );
        assert_eq!(row.data_packets_in, None);
    }
    assert!(run.info.warnings.iter().any(|words| words.contains("acknowledged")));
}

#[test]
fn a_connection_that_appears_later_starts_with_nothing() {
    let line = |port: u32, bytes: u64| {
        format!(
            "ESTAB 0 0 10.0.0.1:{port} 10.0.0.2:5201\n\t cubic mss:1000 cwnd:10 bytes_sent:{bytes} bytes_acked:{bytes}\n"
        )
    };
    let log = format!(
        "1795739820.0\n{}1795739821.0\n{}{}1795739822.0\n{}{}",
        line(1, 1001),
        line(1, 2001),
        line(2, 501),
        line(1, 3001),
        line(2, 1501)
    );
    let run = recording(&[text_source("ss.log", &log)]).unwrap();
    let rows: Vec<(i64, Option<u64>)> =
        of_flow(&run, 1).iter().map(|row| (row.t_ns, row.delivered_bytes)).collect();
    assert_eq!(rows, [(0, Some(0)), (SECOND_NS, Some(500)), (2 * SECOND_NS, Some(1500))]);
}

#[test]
fn a_run_of_pscheduler_has_its_hosts_window_and_rates() {
    let run = recording(&[source("pscheduler-run.json")]).unwrap();
    assert_eq!(run.info.substrate, SubstrateKind::Pscheduler);
    let flow = &run.info.flows[0];
    assert_eq!((flow.from.as_str(), flow.to.as_str()), ("dtn1.example.org", "dtn2.example.org"));
    assert_eq!((flow.congestion.as_deref(), flow.kind), (Some("bbr"), Transport::Tcp));
    assert_eq!(run.info.omit_ns, 1_000_100_000);
    assert!((goodput(&run) - 1500.0).abs() < 1e-6, "{}", goodput(&run));
    assert_eq!(
        last(&run, 0, |row| row.retrans_packets),
        10,
        "those of the omitted second count, as everywhere before the window"
    );
    assert_eq!((last(&run, 1, |row| row.cwnd_bytes), run.flows[3].mss_bytes), (1_252_720, Some(8948)));
    assert_eq!(of_flow(&run, 0)[1].rtt_ns, Some(10_250_000), "microseconds");
    assert_eq!(run.info.started.as_deref(), Some("2026-11-27T00:40:05Z"));
    let bare = recording(&[source("pscheduler-result.json")]).unwrap();
    assert_eq!((bare.flows, &bare.info.hosts[0].name[..]), (run.flows, "source"));
}

#[test]
fn json_of_iperf3_goes_to_its_importer() {
    let fixture = "../iperf3/tests/fixtures/tcp-two-streams-client-3.12.json";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture);
    let run = recording(&[text_source("client.json", &std::fs::read_to_string(path).unwrap())]).unwrap();
    assert_eq!((run.info.substrate, run.info.flows.len()), (SubstrateKind::Iperf3, 2));
}

fn refused(name: &str, text: &str) -> String {
    recording(&[text_source(name, text)]).unwrap_err().to_string()
}

#[test]
fn foreign_files_are_refused_with_a_list_of_what_can_be_imported() {
    for text in [
        "",
        "Connecting to host 10.0.0.1, port 5201\n",
        "[  5] 0.00-1.00 sec 1 MBytes\n",
        "{\"a\": 1}",
        "<html>",
    ] {
        let words = refused("x", text);
        for format in ["iperf3", "flent", "ss", "pScheduler"] {
            assert!(words.contains(format), "{text}: {words}");
        }
    }
    let binary = Content::new(vec![0x7f, b'E', b'L', b'F', 0xff]).unwrap_err();
    assert!(matches!(binary, ImportError::NotText { at: 4 }), "{binary}");
}

#[test]
fn damaged_files_are_refused_by_the_place() {
    let flent = source("two-uploads-2.3.0.flent.gz").content.text().to_owned();
    let cut = refused("x.flent", &flent[..flent.len() / 2]);
    assert!(cut.contains("line") && cut.contains("complete"), "{cut}");
    let gz = bytes("two-uploads-2.3.0.flent.gz");
    let damaged = Content::new(gz[..gz.len() / 2].to_vec()).unwrap_err();
    assert!(matches!(damaged, ImportError::Gzip { .. }), "{damaged}");
    let word = refused("x.flent", &flent.replacen("6975.129472", "\"fast\"", 1));
    assert!(word.contains("raw_values.TCP upload::1[0]"), "{word}");
    let short = refused(
        "x.flent",
        r#"{"metadata":{"NAME":"x"},"version":4,"x_values":[0,1],"results":{"TCP upload":[1]},"raw_values":{}}"#,
    );
    assert!(short.contains("1 values for 2 x_values"), "{short}");
    let result = source("pscheduler-run.json").content.text().to_owned();
    let negative =
        refused("x.json", &result.replacen("\"throughput-bytes\": 125000000", "\"throughput-bytes\": -1", 1));
    assert!(negative.contains("intervals[1].streams[0].throughput-bytes"), "{negative}");
    let backwards =
        refused("x.json", &result.replacen("\"start\": 1, \"end\": 2", "\"start\": 1, \"end\": 0.5", 1));
    assert!(backwards.contains("intervals[2].streams[0].end"), "{backwards}");
    let log = source("ss-both-ends.log").content.text().replacen("rtt:0.15/0.022", "rtt:0.15", 1);
    let words = refused("ss.log", &log);
    assert!(words.contains("line 6") && words.contains("rtt:0.15"), "{words}");
}

#[test]
fn newer_versions_are_refused_by_their_number() {
    let flent =
        refused("x.flent", r#"{"metadata":{"NAME":"x"},"version":5,"x_values":"compressed","results":1}"#);
    assert!(flent.contains("version 5") && flent.contains("up to 4"), "{flent}");
    let result =
        source("pscheduler-result.json").content.text().replacen("\"schema\": 1", "\"schema\": 2", 1);
    assert!(refused("x.json", &result).contains("version 2"));
}

#[test]
fn files_without_a_measurement_are_refused_with_the_reason() {
    for (text, words) in [
        (
            r#"{"metadata":{"NAME":"ping"},"version":4,"x_values":[0],"results":{"Ping (ms) ICMP":[1.0]},"raw_values":{}}"#,
            "Ping (ms) ICMP",
        ),
        (r#"{"succeeded":false,"error":"no route","diags":"","intervals":[],"summary":{}}"#, "no route"),
        (r#"{"test":{"type":"latency","spec":{}},"result":{"succeeded":true}}"#, "`latency`"),
        (r#"[{"result-merged":null},{"result-merged":null}]"#, "2 results"),
        (r#"{"result-merged":null,"state-display":"Running"}"#, "finished"),
        (
            "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t cubic bytes_acked:5\n",
            "no time before it",
        ),
        ("1795739820\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t cubic bytes_acked:5\n", "one output"),
        (
            "1795739820\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n1795739821\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n",
            "without -i",
        ),
        ("1795739820\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n1795739819\n", "line 3"),
    ] {
        let said = refused("x", text);
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn files_of_several_programs_and_too_large_ones_are_refused() {
    let two = recording(&[source("ss-sender.log"), source("pscheduler-run.json")]).unwrap_err();
    assert!(matches!(two, ImportError::SeveralFormats { formats: ["ss", "pScheduler"], .. }), "{two}");
    let same = recording(&[source("ss-sender.log"), source("ss-both-ends.log")]).unwrap_err();
    assert!(matches!(same, ImportError::OneFile { format: "ss", files: 2 }), "{same}");
    // A gzip file of 64 KiB that becomes more than may be imported.
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..=(MOST_BYTES >> 20) {
        std::io::Write::write_all(&mut bomb, &zeros).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1 << 20);
    assert!(matches!(Content::new(bomb), Err(ImportError::TooLarge { is_unpacked: true })));
    let deep = format!("{{\"x_values\": {}", "[".repeat(100_000));
    assert!(refused("x", &deep).contains("line 1"));
}
