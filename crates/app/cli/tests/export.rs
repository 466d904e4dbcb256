//! Runs become files of other programs, and none is overwritten.

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;
use support::{errors, wirespeed};

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../run");
    folder.join(name).canonicalize().unwrap().display().to_string()
}

fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", errors(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The message without the line breaks of a terminal.
fn message(output: &Output) -> String {
    errors(output).replace("\n  |", "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_imported_run_is_exported_in_every_format_and_imported_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| printed(&wirespeed(folder.path(), arguments));
    let client = fixture("iperf3/tests/fixtures/tcp-two-streams-client-3.12.json");
    let server = fixture("iperf3/tests/fixtures/tcp-two-streams-server-3.12.json");
    run(&["import", &client, &server, "--out", "in"]);
    assert!(
        run(&["export", "in", "--format", "csv", "--out", "csv"]).contains("1 run as csv to csv: 12 files")
    );
    let flows = fs::read_to_string(folder.path().join("csv/iperf3-byz2i6xs/flows.csv")).unwrap();
    assert!(flows.starts_with("t_ns,flow,delivered_bytes,"), "{flows}");
    run(&["export", "in", "--format", "iperf3", "--out", "json"]);
    let again = run(&["import", "json/iperf3-byz2i6xs.iperf3.json", "--out", "again"]);
    assert!(again.contains("284"), "goodput is the same: {again}");
    run(&["export", "in", "--format", "flent", "--out", "flent"]);
    let again = run(&["import", "flent/iperf3-byz2i6xs.flent.gz"]);
    assert!(
        again.contains("a goodput of 28") && again.contains("wirespeed-out/import-iperf3-byz2i6xs"),
        "{again}"
    );
    let stdout = run(&["export", "in", "--format", "iperf3", "--out", "-"]);
    let file = fs::read_to_string(folder.path().join("json/iperf3-byz2i6xs.iperf3.json")).unwrap();
    assert_eq!(stdout, file);
}

#[test]
fn logs_of_ss_and_results_of_pscheduler_are_imported_with_the_files_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| printed(&wirespeed(folder.path(), arguments));
    let log = fixture("exchange/tests/fixtures/ss-both-ends.log");
    assert!(run(&["import", &log, "--out", "ss"]).contains("bbr"));
    let kept = folder.path().join("ss/runs/ss/raw/ss-both-ends.log");
    assert_eq!(fs::read(kept).unwrap(), fs::read(&log).unwrap());
    let text = run(&["import", &fixture("exchange/tests/fixtures/pscheduler-run.json"), "--out", "ps"]);
    assert!(text.contains("bbr reaches a goodput of 1.5 Gbit/s"), "{text}");
    let data = fixture("exchange/tests/fixtures/two-uploads-2.3.0.flent.gz");
    run(&["import", &data, "--out", "flent"]);
    let page = fs::read_to_string(folder.path().join("flent/report.html")).unwrap();
    assert!(page.contains("Goodput") && page.contains("imported from"));
}

#[test]
fn files_that_exist_are_named_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| wirespeed(folder.path(), arguments);
    let client = fixture("iperf3/tests/fixtures/tcp-two-streams-client-3.12.json");
    printed(&run(&["import", &client, "--out", "in"]));
    fs::create_dir_all(folder.path().join("out/iperf3-byz2i6xs")).unwrap();
    let occupied = folder.path().join("out/iperf3-byz2i6xs/ledger.csv");
    fs::write(&occupied, "mine").unwrap();
    let output = run(&["export", "in", "--format", "csv", "--out", "out"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message(&output).contains("out/iperf3-byz2i6xs/ledger.csv exists already"),
        "{}",
        errors(&output)
    );
    assert_eq!(fs::read_to_string(occupied).unwrap(), "mine");
    assert_eq!(
        fs::read_dir(folder.path().join("out/iperf3-byz2i6xs")).unwrap().count(),
        1,
        "nothing else was written"
    );
}

#[test]
fn invalid_exports_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let client = fixture("iperf3/tests/fixtures/tcp-two-streams-client-3.12.json");
    printed(&wirespeed(folder.path(), &["import", &client, "--out", "in"]));
    for (arguments, words) in [
        (&["export", "nowhere", "--format", "csv", "--out", "out"][..], "nowhere is not a folder"),
        (&["export", "in", "--format", "csv", "--out", "-"], "12 files cannot be printed as one"),
        (&["export", "in", "--format", "xlsx", "--out", "out"], "iperf3, flent"),
        (&["export", "in", "--out", "out"], "--format"),
    ] {
        let output = wirespeed(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(message(&output).contains(words), "{words}: {}", errors(&output));
    }
    assert!(!folder.path().join("out").exists());
}
