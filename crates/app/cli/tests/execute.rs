//! `wirespeed execute`: single runs give what `wirespeed run` gives, and files that are not runs are rejected.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::{errors, wirespeed};

const SWEEP: &str = "schema = 1\nname = \"pair\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\nloss = 1e-3\n\
                     [[flow]]\n[run]\nduration = \"1 s\"\n[sweep]\n\"flow.congestion\" = [\"cubic\", \"reno\"]\n";

/// Runs the program, which has to succeed; what it printed.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = wirespeed(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn folder_with(scenario: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    folder
}

/// The files of a run directory but `run.json` and the checksums, in which its command is.
fn tables(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let tables = entries.filter(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    tables
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect()
}

/// `run.json` without the fields that describe the execution: cost and command.
fn info(directory: &Path) -> Value {
    let text = fs::read_to_string(directory.join("run.json")).unwrap();
    let mut info: Value = serde_json::from_str(&text).unwrap();
    for field in ["cost", "command"] {
        assert!(info.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    info
}

#[test]
fn executed_runs_equal_those_of_run() {
    let folder = folder_with(SWEEP);
    let folder = folder.path();
    done(folder, &["run", "s.toml", "--out", "whole"]);
    let printed = done(folder, &["run", "s.toml", "--write-runs", "files"]);
    assert!(printed.starts_with("2 runs are in files; `wirespeed execute"), "{printed}");
    for name in ["congestion=cubic,r0", "congestion=reno,r0"] {
        let printed = done(folder, &["execute", &format!("files/{name}.json"), "--out", "single"]);
        assert_eq!(printed, format!("single/runs/{name}\n"));
        let [whole, single] = ["whole", "single"].map(|out| folder.join(out).join("runs").join(name));
        assert_eq!(info(&single), info(&whole));
        assert!(tables(&whole).len() >= 5, "{:?}", tables(&whole).keys());
        assert!(tables(&single) == tables(&whole), "{name}: the tables differ");
    }
    let reports = ["whole", "single"].map(|out| done(folder, &["report", out, "--json"]).replace(out, "DIR"));
    let runs = reports.map(|text| {
        let mut runs = serde_json::from_str::<Value>(&text).unwrap()["runs"].take();
        for run in runs.as_array_mut().unwrap() {
            assert!(run.as_object_mut().unwrap().remove("cost").is_some(), "{run}");
        }
        runs
    });
    assert!(runs[0].as_array().is_some_and(|runs| runs.len() == 2), "{}", runs[0]);
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn complete_run_is_kept_and_run_json_of_a_recording_is_a_run() {
    let folder = folder_with(SWEEP);
    let folder = folder.path();
    done(folder, &["run", "s.toml", "--out", "whole", "--set", "flow.congestion=reno"]);
    let recorded = "whole/runs/congestion=reno,r0/run.json";
    let again = wirespeed(folder, &["execute", recorded, "--out", "whole"]);
    assert!(errors(&again).contains("kept from an earlier run"), "{}", errors(&again));
    let fresh = wirespeed(folder, &["execute", recorded, "--out", "whole", "--fresh"]);
    assert!(errors(&fresh).contains("done in"), "{}", errors(&fresh));
    let text = fs::read_to_string(folder.join(recorded)).unwrap();
    let command = serde_json::from_str::<Value>(&text).unwrap()["command"].clone();
    assert_eq!(command, format!("wirespeed execute '{recorded}' --on model --out whole"));
}

#[test]
fn files_that_are_not_runs_are_rejected_with_a_remedy() {
    let folder = folder_with(SWEEP);
    let folder = folder.path();
    done(folder, &["run", "s.toml", "--write-runs", "files"]);
    let text = fs::read_to_string(folder.join("files/congestion=reno,r0.json")).unwrap();
    let file = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    file("empty.json", "{}");
    file("outside.json", &text.replace("congestion=reno,r0", "../../x"));
    file("unknown.json", &text.replace("\"to\": \"receiver\"", "\"to\": \"unknown\""));
    for (name, reason) in [
        ("missing.json", "missing.json: No such file or directory"),
        ("s.toml", "s.toml: not JSON: "),
        ("empty.json", "empty.json: not a resolved run: missing field `study`"),
        ("outside.json", "outside.json: not a possible run: `id`: `../../x` cannot name a folder"),
        ("unknown.json", "unknown.json: not a possible run: flow `reno`: there is no host `unknown`"),
    ] {
        let output = wirespeed(folder, &["execute", name, "--out", "out"]);
        let printed = errors(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{name}: {printed}");
        assert!(printed.contains(reason) && printed.contains("--write-runs DIR"), "{name}: {printed}");
        assert!(!folder.join("out").exists(), "{name}");
    }
}

#[test]
fn writing_runs_executes_none() {
    let folder = folder_with(SWEEP);
    done(folder.path(), &["run", "s.toml", "--write-runs", "files", "--seed", "7"]);
    assert!(!folder.path().join("wirespeed-out").exists());
    let text = fs::read_to_string(folder.path().join("files/congestion=cubic,r0.json")).unwrap();
    let run: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&run["study"], &run["id"]), (&"pair".into(), &"congestion=cubic,r0".into()));
}
