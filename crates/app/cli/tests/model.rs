//! Whole runs on the model: what the kernel gives, in seconds and without one.

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use support::ledger::assert_intervals_add_up;
use support::{command, errors, tables, wirespeed};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios")
}

fn start(folder: &Path, file: &str, set: &[&str]) -> Output {
    let mut arguments = vec!["run", file, "--on", "model", "--json", "--out", "out"];
    set.iter().for_each(|pair| arguments.extend(["--set", pair]));
    wirespeed(folder, &arguments)
}

fn run(folder: &Path, file: &str, set: &[&str]) -> Value {
    let output = start(folder, file, set);
    // 1: a bound was missed, as may be in runs cut short.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{file}: {}", errors(&output));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// Dotted names of everything in a JSON value; `[]` for what is in a list.
fn fields(value: &Value, path: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| fields(value, &format!("{path}.{key}"), into))
        }
        Value::Array(list) => list.iter().take(1).for_each(|value| fields(value, &format!("{path}[]"), into)),
        _ => into.push(path.trim_start_matches('.').to_owned()),
    }
}

#[test]
fn model_is_the_default_substrate_and_contacts_no_machine() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().join("first-look.toml").display().to_string();
    let set = ["run.duration=100 ms", "host.sender.ssh=a.invalid", "host.receiver.ssh=b.invalid"];
    let mut arguments = vec!["run", &file, "--json"];
    set.iter().for_each(|pair| arguments.extend(["--set", pair]));
    let output = wirespeed(folder.path(), &arguments);
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    assert_eq!(results["runs"][0]["substrate"], "model", "{}", errors(&output));
    assert!(errors(&output).contains("add --on hosts"), "{}", errors(&output));
}

#[test]
fn first_look_has_every_field_and_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().join("first-look.toml").display().to_string();
    let results = run(folder.path(), &file, &["run.duration=3 s"]);
    assert_eq!(results["runs"].as_array().unwrap().len(), 3);
    for run in results["runs"].as_array().unwrap() {
        let mut found = Vec::new();
        fields(run, "", &mut found);
        for field in [
            "id",
            "seed",
            "substrate",
            "factors.flow.congestion",
            "cost.wall_s",
            "cost.cpu_s",
            "cost.peak_rss_bytes",
            "cost.packets",
            "metrics.goodput_bps",
            "metrics.link_utilisation",
            "metrics.retransmissions_packets",
            "metrics.rtt_mean_ns",
            "metrics.cwnd_mean_bytes",
            "ledger.data.sent",
            "ledger.data.delivered",
            "ledger.data.unexplained",
            "ledger.ack.unexplained",
        ] {
            assert!(found.iter().any(|f| f == field), "{field} is not among {found:#?}");
        }
        assert_eq!(run["substrate"], "model");
        // 9.5 Gbit/s, 12 ms, one flow of an algorithm of the grid.
        assert_eq!(run["validated_region"]["is_inside"], true, "{}", run["validated_region"]);
        assert!(
            run["cost"]["packets"].as_u64().unwrap() > 1000 && run["cost"]["wall_s"].as_f64().unwrap() > 0.0
        );
    }
    let report = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(report.contains("first-look") && report.contains("<svg"), "the report shows figures");
    assert!(report.contains("Validated region: inside (section paths)."), "the report shows the stamp");
}

#[test]
fn a_run_outside_the_validated_region_names_the_factor() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().join("first-look.toml").display().to_string();
    let set = ["run.duration=200 ms", "flow.congestion=cubic", "path.rtt=300 ms"];
    let mut arguments = vec!["run", &file, "--on", "model", "--out", "out"];
    set.iter().for_each(|pair| arguments.extend(["--set", pair]));
    let output = wirespeed(folder.path(), &arguments);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let stamp = "Validated region: outside (round-trip time 300 ms is above 100 ms)";
    assert!(shown.contains(stamp), "{shown}");
    let output = wirespeed(folder.path(), &["report", "out", "--json"]);
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let recorded = &results["runs"][0]["validated_region"];
    assert_eq!(recorded["outside"][0], "round-trip time 300 ms is above 100 ms", "{recorded}");
}

#[test]
fn a_report_says_of_recorded_runs_what_was_said_when_they_ran() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().join("first-look.toml").display().to_string();
    let mut then = run(folder.path(), &file, &["run.duration=1 s"]);
    let output = wirespeed(folder.path(), &["report", "out", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let mut now: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    assert_eq!(now["study"], then["study"]);
    // The scenario's bounds are no part of a recording.
    let [then, now] = [&mut then, &mut now].map(|results| {
        let runs = results["runs"].as_array_mut().expect("there are runs");
        runs.iter_mut().for_each(|run| run["expectations"] = Value::Null);
        runs.sort_by_key(|run| run["id"].to_string());
        runs.clone()
    });
    assert_eq!(then.len(), 3);
    assert_eq!(then, now);

    let words = wirespeed(folder.path(), &["report", "out/runs/congestion=bic,r0"]);
    let words = String::from_utf8(words.stdout).unwrap();
    assert!(words.contains("What limited:") && words.contains("report.html"), "{words}");
    fs::write(folder.path().join("out/runs/congestion=bic,r0/INCOMPLETE"), "killed").unwrap();
    let output = wirespeed(folder.path(), &["report", "out", "--json"]);
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let incomplete = |run: &&Value| run["complete"] == false && run["reason"].is_string();
    assert_eq!(results["runs"].as_array().unwrap().iter().filter(incomplete).count(), 1);
}

/// The same names come from both substrates, where there is a kernel to ask.
#[test]
fn a_run_has_the_fields_it_has_on_the_kernel() {
    if !support::has_kernel("a_run_has_the_fields_it_has_on_the_kernel") {
        return;
    }
    let file = scenarios().join("first-look.toml").display().to_string();
    let [model, kernel] = ["model", "kernel"].map(|substrate| {
        let folder = tempfile::tempdir().unwrap();
        let set = ["--set", "run.duration=300 ms", "--set", "flow.congestion=bic"];
        let output = command(folder.path(), &["run", &file, "--on", substrate, "--json", "--out", "out"])
            .args(set)
            .output()
            .unwrap();
        let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
        let mut found = Vec::new();
        fields(&results, "", &mut found);
        // What is lost where is named by place; a place that has no counterpart is no field.
        found.retain(|field| !field.contains("warnings"));
        // Only runs on the model have a validated region.
        found.retain(|field| !field.contains("validated_region"));
        // Only a kernel has settings that can be read back.
        found.retain(|field| !field.contains(".settings."));
        found.sort();
        found
    });
    assert_eq!(model, kernel);
}

#[test]
fn every_scenario_runs_and_every_ledger_balances() {
    let mut files: Vec<_> = fs::read_dir(scenarios()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "toml"));
    files.sort();
    assert!(files.len() >= 14);
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let folder = tempfile::tempdir().unwrap();
        let duration = if name == "staggered-dumbbell.toml" { "6 s" } else { "2 s" };
        let set = [format!("run.duration={duration}"), "run.omit=1 s".into(), "run.repeat=1".into()];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        if name == "kernels-compared.toml" {
            let output = start(folder.path(), &file.display().to_string(), &set);
            assert_eq!(
                output.status.code(),
                Some(2),
                "{name} compares kernels that the model does not follow"
            );
            assert!(errors(&output).contains("the model"), "{}", errors(&output));
            continue;
        }
        let results = run(folder.path(), &file.display().to_string(), &set);
        let runs = results["runs"].as_array().unwrap();
        assert!(!runs.is_empty(), "{name}");
        for run in runs {
            for direction in ["data", "ack"] {
                let account = &run["ledger"][direction];
                assert_eq!(account["unexplained"], 0, "{name}, {}, {direction}: {account}", run["id"]);
            }
            assert!(run["ledger"]["data"]["delivered"].as_i64().unwrap() > 100, "{name}: {}", run["id"]);
            // Nothing passes while the model is looked at: every second is known as well as the whole.
            assert_intervals_add_up(run);
            for moment in run["ledger_intervals"].as_array().unwrap() {
                assert_eq!(moment["unexplained"], 0, "{name}, {}: {moment}", run["id"]);
                assert_eq!(moment["uncertain"], 0, "{name}, {}: {moment}", run["id"]);
            }
        }
        assert!(folder.path().join("out/report.html").is_file(), "{name} has a report");
    }
}

const GOOD: &str = r#"schema = 1
name = "mistaken"

[path]
rate = "100 Mbit/s"
rtt = "10 ms"

[[flow]]
congestion = "cubic"

[run]
duration = "1 s"
"#;

/// Runs `GOOD` with `from` replaced by `to` and more at its end; returns exit code and standard error.
fn mistake(from: &str, to: &str, more: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    assert!(GOOD.contains(from), "the test replaces something that is there");
    fs::write(folder.path().join("own.c"), "/* a congestion control */\n").unwrap();
    fs::write(folder.path().join("bad.toml"), GOOD.replacen(from, to, 1) + more).unwrap();
    let output = start(folder.path(), "bad.toml", &[]);
    (output.status.code(), errors(&output))
}

#[test]
fn an_unknown_control_lists_those_that_exist() {
    let (code, text) = mistake("cubic", "cubik", "");
    assert_eq!(code, Some(2), "{text}");
    for control in wirespeed_scenario::congestion_controls() {
        assert!(text.contains(control.name), "{} is missing in:\n{text}", control.name);
    }
}

#[test]
fn a_control_in_c_is_refused_with_the_remedy() {
    let (code, text) = mistake("cubic", "own", "\n[congestion.own]\nsource = \"own.c\"\n");
    assert!(code.is_some_and(|code| code != 0 && code != 1), "{text}");
    for words in ["own is a C source", "run it on the kernel"] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
}

#[test]
fn a_parameter_the_control_lacks_is_refused() {
    let (code, text) = mistake("\"cubic\"", "{ name = \"cubic\", alpha = 2 }", "");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("alpha") && text.contains("beta"), "{text}");
}

#[test]
fn features_of_the_model_alone_run_on_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.toml"), GOOD.replace("\"cubic\"", "\"compound\"")).unwrap();
    let results = run(folder.path(), "good.toml", &["path.queue=codel"]);
    let queues = results["runs"][0]["metrics"]["link_utilisation"].as_f64().unwrap();
    assert!(queues > 0.3, "{queues}");
}

/// Twice, and with another number of runs at a time.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    let record = |jobs: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = scenarios().join("first-look.toml").display().to_string();
        let set = ["--set", "run.duration=1 s", "--set", "path.loss=1e-4"];
        let arguments = [&["run", &file, "--on", "model", "--out", "out", "--jobs", jobs][..], &set].concat();
        let output = wirespeed(folder.path(), &arguments);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", errors(&output));
        let mut runs: Vec<_> =
            fs::read_dir(folder.path().join("out/runs")).unwrap().map(|run| run.unwrap().path()).collect();
        runs.sort();
        runs.iter().flat_map(|run| tables(run)).collect::<Vec<_>>()
    };
    let (first, again, together) = (record("1"), record("1"), record("2"));
    assert!(first.len() >= 21, "three runs of seven tables");
    for other in [again, together] {
        assert_eq!(first.len(), other.len());
        for ((name, bytes), (_, others)) in first.iter().zip(&other) {
            assert!(bytes == others, "{} differs", name.display());
        }
    }
}
