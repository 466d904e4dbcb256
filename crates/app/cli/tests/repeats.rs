//! Repeats, with and without chance, as a user runs and compares them.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{errors, wirespeed};

/// Two algorithms that draw nothing on a path without random loss, three times each.
const CERTAIN: &str = "schema = 1\nname = \"det\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
                       [run]\nduration = \"4 s\"\nrepeat = 3\n[sweep]\n\"flow.congestion\" = [\"cubic\", \"reno\"]\n";

/// What the program prints, on one line.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = wirespeed(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = wirespeed(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

fn folder_with(scenario: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    folder
}

#[test]
fn repeats_without_chance_count_as_one_and_have_no_test() {
    let folder = folder_with(CERTAIN);
    let folder = folder.path();
    let text = printed(folder, &["run", "s.toml", "--on", "model", "--out", "a"]);
    assert!(text.contains("(the 3 repeats cannot differ: counted as one)"), "{text}");
    assert!(!text.contains("mean of 3 runs"), "{text}");
    let other = ["run", "s.toml", "--on", "model", "--out", "b", "--set", "path.buffer=1.02 bdp"];
    printed(folder, &other);
    let text = printed(folder, &["compare", "a", "b"]);
    assert!(
        text.contains("There is no test of the difference: the repeats of a setting cannot differ"),
        "{text}"
    );
    assert!(!text.contains('≠') && !text.contains('±'), "{text}");
    let data = json(folder, &["compare", "a", "b", "--json"]);
    assert_eq!(data["cells"][0]["observations"], serde_json::json!([1, 1]));
}

#[test]
fn recordings_say_whether_they_depend_on_their_seed() {
    let folder = folder_with(CERTAIN);
    let fact = |set: &str| {
        let arguments = [
            "run",
            "s.toml",
            "--on",
            "model",
            "--json",
            "--fresh",
            "--set",
            "run.duration=200 ms",
            "--set",
            set,
        ];
        let data = json(folder.path(), &arguments);
        data["runs"][0]["depends_on_seed"].clone()
    };
    assert_eq!(fact("path.loss=0"), false);
    assert_eq!(fact("path.loss=1e-3"), true);
}

#[test]
fn json_says_why_a_run_is_not_steady() {
    let folder = folder_with(CERTAIN);
    let run = |duration: &str| {
        let duration = format!("run.duration={duration}");
        let arguments =
            ["run", "s.toml", "--on", "model", "--json", "--set", "run.repeat=1", "--set", &duration];
        json(folder.path(), &arguments)["runs"][1]["not_steady"].clone()
    };
    let short = run("4 s");
    let cycles = short["window_cycles"].as_u64().unwrap();
    assert!((1..10).contains(&cycles), "{short}");
    assert_eq!(short["measured_ns"], 4_000_000_000_u64);
    // As long as it says it has to be.
    let needed = short["needed_ns"].as_u64().unwrap();
    assert_eq!(run(&format!("{} s", needed.div_ceil(1_000_000_000) + 2)), Value::Null, "{short}");
}

#[test]
fn many_runs_print_few_lines() {
    let losses: Vec<String> = (1..=100).map(|n| format!("{n}e-5")).collect();
    let folder = folder_with(&format!(
        "schema = 1\nname = \"many\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
         [run]\nduration = \"50 ms\"\n[sweep]\n\"path.loss\" = [{}]\n",
        losses.join(", ")
    ));
    let output = wirespeed(folder.path(), &["run", "s.toml", "--on", "model"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let progress = errors(&output);
    assert!(progress.contains("[100/100]"), "the last is told: {progress}");
    assert!((20..=40).contains(&progress.lines().count()), "{progress}");
}
