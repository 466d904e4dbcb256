//! Two captures of a run of the model: the finding, the folder of results, and reports of it.
#![cfg(feature = "model")]

mod support;

use std::fs;
use std::path::Path;
use support::{errors, wirespeed};

const SCENARIO: &str = r#"
schema = 1
name = "captured"

[path]
rate = "50 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = 1e-3

[[flow]]
congestion = "cubic"
bytes = "4 MB"

[[capture]]
at = "sender"

[[capture]]
at = "receiver"

[run]
duration = "10 s"
"#;

fn ok(folder: &Path, arguments: &[&str]) -> String {
    let output = wirespeed(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", errors(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the scenario, and copies both captures to the folder.
fn captures(folder: &Path) {
    fs::write(folder.join("captured.toml"), SCENARIO).unwrap();
    ok(folder, &["run", "captured.toml", "--out", "ran"]);
    let runs = fs::read_dir(folder.join("ran/runs")).unwrap();
    let run = runs.map(|run| run.unwrap().path()).find(|run| run.is_dir()).unwrap();
    for host in ["sender", "receiver"] {
        fs::copy(run.join(format!("raw/{host}.pcap")), folder.join(format!("{host}.pcap"))).unwrap();
    }
}

fn number(document: &serde_json::Value, path: &[&str]) -> u64 {
    let value = path.iter().fold(document, |value, name| &value[*name]);
    value.as_u64().unwrap_or_else(|| panic!("{path:?}: {value}"))
}

#[test]
fn two_captures_make_a_finding_and_a_folder_that_report_and_compare_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    captures(folder);
    let text = ok(folder, &["trace", "sender.pcap", "receiver.pcap", "--out", "pair"]);
    let json = fs::read_to_string(folder.join("pair/trace.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let lost = number(&document, &["from_first", "counts", "lost"]);
    let sent = number(&document, &["from_first", "counts", "sent"]);
    assert!(lost > 0, "{text}");
    let first = text.lines().next().unwrap();
    assert_eq!(document["finding"].as_str(), Some(first));
    assert!(first.starts_with(&format!("{lost} of ")), "{first}");
    assert_eq!(fs::read_to_string(folder.join("pair/trace.txt")).unwrap(), text);

    let report = ok(folder, &["report", "pair"]);
    assert!(report.contains("goodput"), "{report}");
    let page = fs::read_to_string(folder.join("pair/report.html")).unwrap();
    for words in ["Loss ledger", "path from sender.pcap to receiver.pcap", "10.0.0.1", "Congestion window"] {
        assert!(page.contains(words), "{words} is not in the report");
    }
    let printed = ok(folder, &["report", "pair", "--json"]);
    assert!(printed.contains(&format!("{sent}")), "{printed}");

    ok(folder, &["trace", "sender.pcap", "--out", "one"]);
    let compared = ok(folder, &["compare", "one", "pair"]);
    assert!(compared.contains("goodput"), "{compared}");
    let compared = ok(folder, &["compare", "ran", "pair"]);
    assert!(compared.contains("goodput"), "{compared}");
}

#[test]
fn captures_that_do_not_belong_together_are_rejected_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    captures(folder);
    fs::write(folder.join("empty.pcap"), &fs::read(folder.join("sender.pcap")).unwrap()[..24]).unwrap();
    fs::write(folder.join("text.pcap"), "nothing of that kind").unwrap();
    fs::create_dir_all(folder.join("ran/runs")).unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["sender.pcap", "empty.pcap"], "empty.pcap has no TCP packets"),
        (&["sender.pcap", "-"], "standard input cannot be one of two captures"),
        (&["sender.pcap", "text.pcap"], "text.pcap: the file begins with bytes"),
        (
            &["sender.pcap", "receiver.pcap", "--connection", "7"],
            "connection 7 of sender.pcap is not in both",
        ),
        (&["sender.pcap", "receiver.pcap", "--out", "ran"], "ran has results of other runs"),
    ];
    for (arguments, words) in cases {
        let output = wirespeed(folder, &[&["trace"], arguments].concat());
        let said = errors(&output).replace("\n  |", "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words) && said.contains("help:"), "{words}: {said}");
    }
}
