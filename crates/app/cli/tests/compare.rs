//! `wirespeed compare` as a user calls it.

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use support::recordings::{write_incomplete, write_run};
use support::{errors, wirespeed};

/// Folders `a` (kernel: reno, bic) and `b` (model: the same, 10 % slower).
fn two_folders() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, substrate, rate) in [("a", "kernel", 800_000_000), ("b", "model", 720_000_000)] {
        for control in ["reno", "bic"] {
            write_run(&folder.path().join(name), control, substrate, rate);
        }
    }
    folder
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a comparison that cannot succeed; its error on one line.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = wirespeed(folder, &[&["compare"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert!(text(&output).is_empty(), "an error is no result");
    // Without the bars that the frame draws before wrapped lines.
    errors(&output).split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ")
}

fn expect(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in:\n{text}");
    }
}

#[test]
fn the_first_line_is_the_answer_and_the_page_is_beside_the_first_folder() {
    let folder = two_folders();
    let output = wirespeed(folder.path(), &["compare", "a", "b"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(errors(&output).is_empty(), "{}", errors(&output));
    let text = text(&output);
    let answer = "Goodput of model against kernel: bic -10 % (720 Mbit/s against 800 Mbit/s), reno -10 %";
    expect(text.lines().next().unwrap(), &[answer]);
    expect(&text, &["cwnd mean", "rtt mean", "Page: a/compare.html"]);
    let page = fs::read_to_string(folder.path().join("a/compare.html")).unwrap();
    expect(&page, &["<h1>b against a</h1>", "wirespeed compare a b"]);
}

#[test]
fn the_page_goes_where_it_is_asked_for() {
    let folder = two_folders();
    for (out, page) in [("pages/x.html", "pages/x.html"), ("pages", "pages/compare.html")] {
        let output = wirespeed(folder.path(), &["compare", "a", "b", "--out", out]);
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        assert!(folder.path().join(page).is_file(), "{page}");
    }
    assert!(!folder.path().join("a/compare.html").exists());
}

#[test]
fn json_is_all_there_is_on_standard_output() {
    let folder = two_folders();
    let output = wirespeed(folder.path(), &["compare", "a", "b", "--json", "--metric", "goodput_bps"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let data: Value = serde_json::from_str(&text(&output)).unwrap();
    let relative = data["cells"][1]["metrics"]["goodput_bps"]["differences"][1]["relative"].as_f64().unwrap();
    assert!((relative + 0.1).abs() < 1e-6, "{relative}");
    let run: PathBuf = data["cells"][1]["matches"][0]["folders"][1]["directory"].as_str().unwrap().into();
    assert!(folder.path().join(run).join("run.json").is_file(), "a reader finds the run itself");
}

#[test]
fn incomplete_runs_and_settings_of_one_folder_are_told() {
    let folder = two_folders();
    write_incomplete(&folder.path().join("b"), "cubic");
    write_run(&folder.path().join("b"), "vegas", "model", 1_000_000);
    let output = wirespeed(folder.path(), &["compare", "a", "b"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let text = text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    expect(
        &text,
        &[
            "Only in b: vegas",
            "b: congestion=cubic,r0: incomplete, the guest's kernel panicked",
            "run the same command again",
        ],
    );
}

#[test]
fn one_folder_is_nothing_to_compare() {
    let folder = two_folders();
    expect(&refused(folder.path(), &["a"]), &["DIR", "2"]);
    expect(&refused(folder.path(), &["a", "b/../a"]), &["b/../a is given twice", "different runs"]);
}

#[test]
fn a_folder_without_runs_is_named_with_the_remedy() {
    let folder = two_folders();
    fs::create_dir(folder.path().join("empty")).unwrap();
    expect(&refused(folder.path(), &["a", "empty"]), &["empty holds no runs", "wirespeed run"]);
    expect(
        &refused(folder.path(), &["a", "nowhere"]),
        &["nowhere is not a folder that is there", "wirespeed run"],
    );
}

#[test]
fn a_folder_of_incomplete_runs_is_named_with_the_reason() {
    let folder = two_folders();
    write_incomplete(&folder.path().join("broken"), "reno");
    let error = refused(folder.path(), &["a", "broken"]);
    expect(&error, &["broken: none of its runs is complete", "kernel panicked", "again"]);
}

#[test]
fn folders_of_other_factors_say_what_they_have() {
    let folder = two_folders();
    write_run(&folder.path().join("other"), "vegas", "kernel", 1_000_000);
    let error = refused(folder.path(), &["a", "other"]);
    expect(
        &error,
        &[
            "a has flow.congestion = bic, reno",
            "other has flow.congestion = vegas",
            "wirespeed run FILE --out a",
        ],
    );
    assert!(!folder.path().join("a/compare.html").exists());
}

#[test]
fn an_unknown_metric_names_the_nearest() {
    let folder = two_folders();
    expect(
        &refused(folder.path(), &["a", "b", "--metric", "godput_bps"]),
        &["godput_bps", "goodput_bps", "list metrics"],
    );
}

#[test]
fn a_damaged_run_is_named_with_its_file() {
    let folder = two_folders();
    fs::write(folder.path().join("b/runs/congestion=bic,r0/flows.parquet"), "x").unwrap();
    expect(&refused(folder.path(), &["a", "b"]), &["flows.parquet", "damaged", "again"]);
}

#[test]
fn results_of_run_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/first-look.toml");
    for (out, loss) in [("a", "path.loss=0"), ("b", "path.loss=1e-3")] {
        let file = scenario.display().to_string();
        let set = ["--set", "run.duration=\"500 ms\"", "--set", "path.rate=\"1 Gbit/s\"", "--set", loss];
        let arguments = [&["run", &file, "--on", "model", "--out", out], &set[..]].concat();
        let output = wirespeed(folder.path(), &arguments);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", errors(&output));
    }
    let output = wirespeed(folder.path(), &["compare", "a", "b"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let text = text(&output);
    expect(
        &text,
        &[
            "Goodput of b against a",
            "lost: network",
            "Set differently: links.bottleneck.forward.loss: 0.0 in a, 0.001 in b",
        ],
    );
}
