//! What is exported is what was recorded, and is read back as such.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use support::{SECOND_NS, exported, run, text_source};
use wirespeed_exchange::{Content, ExportError, Source, recording};
use wirespeed_record::{FlowSample, Recording, tables};

/// Payload delivered between two instants at samples.
fn delivered(run: &Recording, flow: u32, from_ns: i64, to_ns: i64) -> u64 {
    let at = |t_ns| {
        let row = run
            .flows
            .iter()
            .rfind(|row| row.flow == flow && row.t_ns <= t_ns && row.delivered_bytes.is_some());
        row.and_then(|row| row.delivered_bytes).unwrap_or(0)
    };
    at(to_ns) - at(from_ns)
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn csv_has_a_file_for_each_table_with_its_columns_and_empty_fields_for_nulls() {
    let run = run();
    let files: BTreeMap<String, Vec<u8>> = exported(&run, "csv").into_iter().collect();
    for (table, _, columns) in tables() {
        let text = String::from_utf8(files[&format!("size=1,r0/{table}.csv")].clone()).unwrap();
        let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        assert_eq!(header, columns.iter().map(|column| column.name).collect::<Vec<_>>());
    }
    let mut reader = csv::Reader::from_reader(&files["size=1,r0/flows.csv"][..]);
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows.len(), run.flows.len());
    for (row, sample) in rows.iter().zip(&run.flows) {
        assert_eq!(row["t_ns"], sample.t_ns.to_string());
        assert_eq!(row["delivered_bytes"], sample.delivered_bytes.unwrap().to_string());
        assert_eq!(row["rtt_ns"], sample.rtt_ns.map_or(String::new(), |rtt| rtt.to_string()));
        assert_eq!(row["ssthresh_bytes"], "", "what was not measured is empty, not 0");
    }
    let list = String::from_utf8(files["size=1,r0/flow_list.csv"].clone()).unwrap();
    assert_eq!(list.lines().nth(1), Some("0,first,tcp,cubic,a,b,0,4000000000,0"));
}

#[test]
fn iperf3_json_is_read_back_to_the_same_bytes() {
    let run = run();
    let files = exported(&run, "iperf3");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["size=1,r0.1-a-b.iperf3.json", "size=1,r0.2-a-b.iperf3.json"],
        "TCP and UDP are two tests"
    );
    for ((name, bytes), flows) in files.iter().zip([&[0, 1][..], &[2]]) {
        let content = Content::new(bytes.clone()).unwrap();
        let back = recording(&[Source { name: name.clone(), content }]).unwrap();
        assert_eq!((back.info.duration_ns, back.info.omit_ns), (4 * SECOND_NS, SECOND_NS), "{name}");
        for (number, flow) in flows.iter().enumerate() {
            for (from_ns, to_ns) in [(SECOND_NS, 4 * SECOND_NS), (2 * SECOND_NS, 3 * SECOND_NS)] {
                let read = delivered(&back, number as u32, from_ns, to_ns);
                assert_eq!(read, delivered(&run, *flow, from_ns, to_ns), "{name}, flow {flow}");
            }
        }
    }
}

#[test]
fn iperf3_json_has_what_was_recorded_in_the_units_of_iperf3() {
    let files = exported(&run(), "iperf3");
    let tcp = json(&files[0].1);
    let start = &tcp["start"];
    assert_eq!(
        (&start["test_start"]["omit"], &start["test_start"]["duration"]),
        (&Value::from(1), &Value::from(3))
    );
    assert_eq!(start["timestamp"]["time"], "Tue, 24 Nov 2026 18:01:16 GMT");
    assert_eq!(
        (&start["tcp_mss_default"], &start["connected"][0]["local_port"]),
        (&Value::from(1000), &Value::Null)
    );
    let intervals = tcp["intervals"].as_array().unwrap();
    assert_eq!(intervals.len(), 40, "0.1 s is the shortest interval of iperf3");
    let omitted = intervals.iter().filter(|interval| interval["sum"]["omitted"] == true).count();
    assert_eq!(omitted, 10);
    let first = &intervals[10]["streams"][0];
    assert_eq!(
        (&first["start"], &first["end"], &first["bytes"]),
        (&0.0.into(), &0.1.into(), &1_250_000.into())
    );
    assert_eq!(
        (&first["retransmits"], &first["rtt"], &first["snd_cwnd"]),
        (&2.into(), &10_022.into(), &30_022.into())
    );
    let end = &tcp["end"];
    assert_eq!(end["sum_received"]["bytes"], 56_250_000);
    assert_eq!(end["sum_received"]["bits_per_second"], 150e6);
    assert_eq!(
        (&end["sum_sent"]["retransmits"], &end["sender_tcp_congestion"]),
        (&120.into(), &"cubic".into())
    );
    assert_eq!(end["cpu_utilization_percent"]["host_total"], 50.0);
    assert_eq!(end["cpu_utilization_percent"]["host_user"], Value::Null);

    let udp = json(&files[1].1);
    let sum = &udp["end"]["sum"];
    assert_eq!((&sum["packets"], &sum["lost_packets"]), (&6666.into(), &666.into()));
    assert!((sum["jitter_ms"].as_f64().unwrap() - 0.2).abs() < 0.1, "{sum}");
    assert_eq!(udp["end"]["cpu_utilization_percent"]["host_total"], Value::Null);
}

#[test]
fn what_was_not_recorded_is_absent_from_iperf3_json() {
    let mut run = run();
    run.info.started = None;
    run.info.flows.truncate(1);
    run.threads.clear();
    run.flows.retain(|row| row.flow == 0);
    for row in &mut run.flows {
        *row = FlowSample { delivered_bytes: row.delivered_bytes, ..FlowSample::empty(row.t_ns, 0) };
    }
    let (name, bytes) = exported(&run, "iperf3").pop().unwrap();
    assert_eq!(name, "size=1,r0.iperf3.json");
    let text = String::from_utf8(bytes).unwrap();
    for key in ["retransmits", "snd_cwnd", "rtt", "mean_rtt", "tcp_mss_default"] {
        assert!(!text.contains(&format!("\"{key}\"")), "{key}");
    }
    assert_eq!(json(text.as_bytes())["start"]["timestamp"]["timesecs"], Value::Null);
}

fn unpacked(bytes: &[u8]) -> Value {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    json(text.as_bytes())
}

#[test]
fn flent_file_has_rates_in_mbit_and_is_read_back_to_the_same_bytes() {
    let run = run();
    let (name, bytes) = exported(&run, "flent").pop().unwrap();
    assert_eq!(name, "size=1,r0.flent.gz");
    let file = unpacked(&bytes);
    assert_eq!((&file["version"], &file["metadata"]["NAME"]), (&4.into(), &"tcp_nup".into()));
    // flent's plots leave out 5 s at either end, so the measurement starts at 5 s.
    assert_eq!(file["metadata"]["TIME"], "2026-11-24T18:01:12.000000Z");
    assert_eq!((&file["metadata"]["TOTAL_LENGTH"], &file["x_values"][80]), (&13.0.into(), &4.0.into()));
    assert_eq!(file["metadata"]["SERIES_META"]["TCP upload::1"]["CONG_CONTROL"], "cubic");
    let results = &file["results"];
    assert_eq!((&results["TCP upload::1"][80], &results["TCP upload::1"][90]), (&Value::Null, &100.0.into()));
    assert_eq!(
        (&results["TCP upload sum"][90], &results["TCP upload avg"][90]),
        (&150.0.into(), &75.0.into())
    );
    assert!(results.get("Ping (ms) ICMP").is_none(), "no ping was measured");
    let raw = &file["raw_values"]["TCP upload::1"][0];
    assert_eq!((&raw["tcp_rtt"], &raw["tcp_cwnd"], &raw["dur"]), (&10.001.into(), &30.into(), &0.05.into()));

    let content = Content::new(bytes).unwrap();
    let back = recording(&[Source { name, content }]).unwrap();
    assert_eq!(back.info.started.as_deref(), Some("2026-11-24T18:01:12.000000Z"));
    assert_eq!((back.info.omit_ns, back.info.duration_ns), (4 * SECOND_NS, 8 * SECOND_NS));
    for flow in 0..3 {
        let read = delivered(&back, flow, 5 * SECOND_NS, 8 * SECOND_NS);
        assert!(read.abs_diff(delivered(&run, flow, SECOND_NS, 4 * SECOND_NS)) <= 1, "flow {flow}: {read}");
    }
    assert_eq!(back.flows.iter().find(|row| row.rtt_ns.is_some()).unwrap().rtt_ns, Some(10_001_000));
}

#[test]
fn flent_test_is_that_of_the_flows() {
    let mut run = run();
    run.info.flows[1].from = "b".into();
    run.info.flows[1].to = "a".into();
    let file = unpacked(&exported(&run, "flent")[0].1);
    assert_eq!(file["metadata"]["NAME"], "rrul_be_nflows");
    assert!(
        file["results"]["TCP download BE::1"].is_array() && file["results"]["TCP upload BE::1"].is_array()
    );
    assert_eq!(file["metadata"]["TEST_PARAMETERS"]["download_streams"], "1");
}

#[test]
fn a_run_without_flows_or_payload_is_refused_by_its_name() {
    let mut run = run();
    run.flows.clear();
    let refused = |run: &Recording, format: &str| support::format(format).plan(run).unwrap_err();
    assert!(
        matches!(refused(&run, "iperf3"), ExportError::NothingDelivered { run, .. } if run == "size=1,r0")
    );
    run.info.flows.clear();
    for format in ["iperf3", "flent"] {
        let error = refused(&run, format).to_string();
        assert!(error.contains("size=1,r0") && error.contains(format), "{error}");
    }
    assert!(support::format("csv").plan(&run).is_ok());
}

#[test]
fn exports_are_the_same_each_time() {
    let run = run();
    for format in ["csv", "iperf3", "flent"] {
        assert_eq!(exported(&run, format), exported(&run, format), "{format}");
    }
    // And the reader of a text takes them without knowing their names.
    let (_, bytes) = &exported(&run, "iperf3")[0];
    assert!(recording(&[text_source("x", std::str::from_utf8(bytes).unwrap())]).is_ok());
}
