//! The JSON of iperf3 becomes a folder of results like any other.

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;
use support::{errors, wirespeed};

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../run/iperf3/tests/fixtures");
    folder.join(name).canonicalize().unwrap().display().to_string()
}

fn said(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", errors(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn both_sides_of_a_test_make_a_report_that_can_be_made_again_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| said(&wirespeed(folder.path(), arguments));
    let (client, server) =
        (fixture("tcp-two-streams-client-3.12.json"), fixture("tcp-two-streams-server-3.12.json"));
    let text = run(&["import", &client, &server, "--out", "both"]);
    for words in ["goodput", "284", "stream 1 152 Mbit/s", "note: imported from tcp-two-streams-client"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = fs::read_to_string(folder.path().join("both/report.html")).unwrap();
    for words in ["Goodput", "Congestion window", "Round-trip time", "10.78.0.2", "imported from"] {
        assert!(page.contains(words), "{words} is not in the report");
    }
    assert!(!page.contains("Loss ledger"), "iperf3 counts no packets of TCP");
    let kept = folder.path().join("both/runs/iperf3-byz2i6xs/raw/tcp-two-streams-client-3.12.json");
    assert_eq!(fs::read(kept).unwrap(), fs::read(&client).unwrap());
    assert!(run(&["report", "both"]).contains("284"));
    run(&["import", &fixture("tcp-stream-client-3.21.jsonl")]);
    let compared = run(&["compare", "both", "wirespeed-out/import-tcp-stream-client-3.21"]);
    assert!(compared.contains("goodput, Mbit/s") && compared.contains("284"), "{compared}");
    assert!(!compared.contains("local_port"), "ports are no settings: {compared}");
}

#[test]
fn lost_datagrams_are_in_a_ledger_without_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        wirespeed(folder.path(), &["import", &fixture("udp-lossy-server-3.12.json"), "--out", "udp"]);
    let text = said(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Of 74,679 data packets 334 were lost, all of them in a place that is not recorded"),
        "{text}"
    );
    let page = fs::read_to_string(folder.path().join("udp/report.html")).unwrap();
    assert!(page.contains("Loss ledger") && !page.contains("Way of the packets"));
}

#[test]
fn invalid_import_is_refused_with_the_file_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.json"), "Connecting to host 10.0.0.1, port 5201\n").unwrap();
    let (client, other) =
        (fixture("tcp-two-streams-client-3.12.json"), fixture("udp-lossy-server-3.12.json"));
    let refused = fixture("refused-client-3.12.json");
    let cases: [(&[&str], &str); 4] = [
        (&["import", "text.json"], "text.json: it is not in a format that can be imported; these are:"),
        (&["import", "nowhere.json"], "cannot read nowhere.json"),
        (&["import", &refused], "unable to connect to server: Connection refused"),
        (&["import", &client, &other], "are of different tests"),
    ];
    for (arguments, words) in cases {
        let output = wirespeed(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = errors(&output).replace("\n  |", "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words) && said.contains("help:"), "{words}: {said}");
    }
    assert!(!folder.path().join("wirespeed-out").exists(), "nothing is left of what was refused");
}
