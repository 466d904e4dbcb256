//! `wirespeed trace` with files, as a user calls it. The captures are those of the model.

mod support;

use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use support::{command, errors, wirespeed};
use tempfile::TempDir;

/// A flow of TCP and one of UDP, captured at both ends.
const SCENARIO: &str = r#"
schema = 1
name = "traced"

[path]
rate = "100 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = 0.002

[[flow]]
congestion = "cubic"

[[flow]]
kind = "udp"
rate = "10 Mbit/s"

[[capture]]
at = "sender"

[[capture]]
at = "receiver"

[run]
duration = "1 s"
seed = 7
"#;

/// A folder with the capture of the sender as `sender.pcap`, and the results in `out`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    fs::write(folder.path().join("traced.toml"), SCENARIO).unwrap();
    let output = wirespeed(folder.path(), &["run", "traced.toml", "--on", "model", "--out", "out"]);
    assert!(output.status.success(), "{}", errors(&output));
    fs::copy(captured(folder.path(), "sender"), folder.path().join("sender.pcap")).unwrap();
    fs::copy(captured(folder.path(), "receiver"), folder.path().join("receiver.pcap")).unwrap();
    folder
}

fn captured(folder: &Path, host: &str) -> std::path::PathBuf {
    let run = fs::read_dir(folder.join("out/runs")).unwrap().next().unwrap().unwrap().path();
    run.join("raw").join(format!("{host}.pcap"))
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", errors(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = wirespeed(folder, &[&["trace"], arguments, &["--json"]].concat());
    serde_json::from_str(&text(&output)).expect("--json prints JSON")
}

/// A call that ends with exit code 2, and what it prints in one line.
fn mistake(folder: &Path, arguments: &[&str]) -> String {
    let output = wirespeed(folder, &[&["trace"], arguments].concat());
    let message = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn file_pipe_and_compressed_files_give_the_same_text() {
    let folder = folder();
    let plain = text(&wirespeed(folder.path(), &["trace", "sender.pcap"]));
    assert!(plain.starts_with("Connection 1, 10.0.0.1:32768 -> 10.0.0.5:5001: "), "{plain}");
    assert!(plain.contains("\nUDP stream  from"), "{plain}");
    let bytes = fs::read(folder.path().join("sender.pcap")).unwrap();
    let mut piped = command(folder.path(), &["trace", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(&bytes).unwrap();
    assert_eq!(text(&piped.wait_with_output().unwrap()), plain);
    for (name, compressed) in [("sender.pcap.gz", gzip(folder.path())), ("sender.pcap.zst", zstd(&bytes))] {
        fs::write(folder.path().join(name), compressed).unwrap();
        assert_eq!(text(&wirespeed(folder.path(), &["trace", name])), plain, "{name}");
        // The content decides, not the name.
        fs::rename(folder.path().join(name), folder.path().join("renamed")).unwrap();
        assert_eq!(text(&wirespeed(folder.path(), &["trace", "renamed"])), plain, "{name}");
    }
}

fn gzip(folder: &Path) -> Vec<u8> {
    let input = File::open(folder.join("sender.pcap")).unwrap();
    Command::new("gzip").arg("-c").stdin(input).output().expect("gzip is part of every system").stdout
}

/// A frame of Zstandard with blocks as they are (RFC 8878, 3.1.1).
fn zstd(bytes: &[u8]) -> Vec<u8> {
    const SINGLE_SEGMENT_AND_SIZE: u8 = 0xa0;
    const BLOCK: usize = 100_000;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, SINGLE_SEGMENT_AND_SIZE];
    frame.extend((bytes.len() as u32).to_le_bytes());
    let blocks = bytes.chunks(BLOCK);
    let last = blocks.len() - 1;
    for (number, block) in blocks.enumerate() {
        let head = (block.len() as u32) << 3 | u32::from(number == last);
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

#[test]
fn json_has_its_schema_and_agrees_with_the_model() {
    let folder = folder();
    let sender = json(folder.path(), &["sender.pcap"]);
    let receiver = json(folder.path(), &["receiver.pcap"]);
    for trace in [&sender, &receiver] {
        assert_eq!(trace["schema"], 1);
        assert_eq!(trace["total_connections"], 1);
        assert_eq!(trace["total_streams"], 1);
        assert_eq!(trace["capture"]["frames_skipped"], 0);
        assert_eq!(trace["live"], Value::Null);
        let packets = |name: &str| trace[name].as_u64().unwrap();
        let frames = |name: &str| trace["capture"][name].as_u64().unwrap();
        assert_eq!(packets("total_packets"), frames("tcp_frames"));
        assert_eq!(packets("total_udp_packets"), frames("udp_frames"));
        assert_eq!(trace["streams"][0]["numbers"]["numbering"], "model");
    }
    let [sent, arrived] =
        [&sender, &receiver].map(|trace| trace["streams"][0]["numbers"]["expected"].as_u64());
    assert_eq!(sender["streams"][0]["numbers"]["lost"], 0);
    let lost = receiver["streams"][0]["numbers"]["lost"].as_u64().unwrap();
    let at_the_ends = sent.unwrap() - arrived.unwrap();
    let packets = |trace: &Value| trace["streams"][0]["packets"].as_u64().unwrap();
    // Those in flight at the end of the run have not arrived: 10 ms of 10 Mbit/s, and the queue of 20 ms.
    assert_eq!(packets(&sender) - packets(&receiver), lost + at_the_ends);
    assert!(lost > 0 && at_the_ends < 40, "{lost} lost, {at_the_ends} beyond the last that arrived");
}

#[test]
fn folder_gets_text_and_json_as_a_whole() {
    let folder = folder();
    let shown = text(&wirespeed(folder.path(), &["trace", "sender.pcap", "--out", "traced"]));
    assert_eq!(fs::read_to_string(folder.path().join("traced/trace.txt")).unwrap(), shown);
    let written = fs::read_to_string(folder.path().join("traced/trace.json")).unwrap();
    let document: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(document, json(folder.path(), &["sender.pcap"]));
    let mut names: Vec<_> = fs::read_dir(folder.path().join("traced"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for expected in ["report.html", "runs", "time-sequence.html", "trace.json", "trace.txt"] {
        assert!(names.iter().any(|name| name == expected), "no {expected}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("partial") || name.starts_with('.')), "{names:?}");
}

#[test]
fn one_connection_or_stream_is_shown_by_its_number() {
    let folder = folder();
    let connection = text(&wirespeed(folder.path(), &["trace", "sender.pcap", "--connection", "1"]));
    assert!(connection.contains("\nConnection 1, 10.0.0.1:32768 to 10.0.0.5:5001: "), "{connection}");
    let stream = text(&wirespeed(folder.path(), &["trace", "sender.pcap", "--stream", "1"]));
    assert!(stream.contains("\nUDP stream 1, 10.0.0.1:32769 -> 10.0.0.5:5002\n"), "{stream}");
    assert!(stream.contains("\nTime between packets\n"), "{stream}");
    for (option, kind) in [("--connection", "TCP connection"), ("--stream", "UDP stream")] {
        let message = mistake(folder.path(), &["sender.pcap", option, "2"]);
        let expected = format!("sender.pcap has 1 {kind}, and no {kind} 2");
        assert!(message.contains(&expected), "{message}");
        assert!(message.contains("`wirespeed trace sender.pcap --all` lists them"), "{message}");
    }
    let zero = mistake(folder.path(), &["sender.pcap", "--connection", "0"]);
    assert!(zero.contains("--connection"), "{zero}");
}

#[test]
fn wrong_file_is_an_error_with_a_remedy() {
    let folder = folder();
    let wrong = mistake(folder.path(), &["traced.toml"]);
    assert!(wrong.contains("traced.toml: the file begins with bytes 0a 73 63 68"), "{wrong}");
    assert!(wrong.contains("tcpdump -i eth0 -s 128 -w FILE tcp"), "{wrong}");
    let missing = mistake(folder.path(), &["missing.pcap"]);
    assert!(missing.contains("cannot open missing.pcap: No such file"), "{missing}");
    fs::write(folder.path().join("empty.pcap"), []).unwrap();
    let empty = mistake(folder.path(), &["empty.pcap"]);
    assert!(empty.contains("empty.pcap: the capture has 0 bytes"), "{empty}");
    let none = mistake(folder.path(), &[]);
    assert!(none.contains("<FILE>"), "{none}");
}

#[test]
fn folder_of_results_is_an_error_that_names_its_captures() {
    let folder = folder();
    let message = mistake(folder.path(), &["out"]);
    assert!(message.contains("out is a folder, not a capture"), "{message}");
    // Long commands are broken into lines anywhere.
    let together: String = message.split_whitespace().collect();
    assert!(together.contains("/raw/receiver.pcap`"), "{message}");
    fs::create_dir(folder.path().join("nothing")).unwrap();
    let nothing = mistake(folder.path(), &["nothing"]);
    assert!(nothing.contains("it has no captures"), "{nothing}");
}

#[test]
fn truncated_file_is_read_up_to_the_damage() {
    let folder = folder();
    let bytes = fs::read(folder.path().join("sender.pcap")).unwrap();
    fs::write(folder.path().join("cut.pcap"), &bytes[..bytes.len() / 2 + 5]).unwrap();
    let shown = text(&wirespeed(folder.path(), &["trace", "cut.pcap"]));
    assert!(shown.contains("Capture: the file is damaged or truncated at byte"), "{shown}");
    assert!(shown.contains("everything before was read"), "{shown}");
}
