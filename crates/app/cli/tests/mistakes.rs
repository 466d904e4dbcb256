//! Every mistake a user can make gets its place, its remedy and its exit code.

mod support;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::{command, errors, wirespeed};

const GOOD: &str = r#"schema = 1
name = "mistaken"

[path]
rate = "1 Gbit/s"
rtt = "10 ms"
buffer = "1 bdp"

[[flow]]
congestion = "cubic"

[run]
duration = "1 s"
"#;

/// Runs `GOOD` with `from` replaced by `to`; returns exit code and standard error.
fn mistake(from: &str, to: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    assert!(GOOD.contains(from), "the test replaces something that is there");
    fs::write(folder.path().join("bad.toml"), GOOD.replacen(from, to, 1)).unwrap();
    let output = wirespeed(folder.path(), &["run", "bad.toml"]);
    assert!(!folder.path().join("wirespeed-out").exists(), "nothing is left behind");
    (output.status.code().unwrap(), errors(&output))
}

fn expect(from: &str, to: &str, words: &[&str]) {
    let (code, text) = mistake(from, to);
    assert_eq!(code, 2, "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in:\n{text}");
    }
}

#[test]
fn a_wrong_unit_names_the_right_ones() {
    expect("1 Gbit/s", "1 GB/s", &["bad.toml:5:", "GB/s", "Gbit/s"]);
}

#[test]
fn an_unknown_key_names_the_nearest() {
    expect("rtt =", "rrt =", &["bad.toml:6:", "rrt", "rtt"]);
}

#[test]
fn a_negative_rate_is_refused() {
    expect("1 Gbit/s", "-1 Gbit/s", &["bad.toml:5:", "negative"]);
}

#[test]
fn a_buffer_must_hold_a_packet() {
    expect("1 bdp", "100 B", &["bad.toml:7:", "1.514 kB"]);
}

#[test]
fn a_flow_must_name_a_host() {
    expect("congestion = \"cubic\"", "from = \"nobody\"", &["bad.toml:10:", "nobody", "sender", "receiver"]);
}

#[test]
fn two_hosts_cannot_have_one_name() {
    expect(
        "[run]",
        "[host.sender]\nmtu = \"1500 B\"\n[host.sender]\nmtu = \"9000 B\"\n[run]",
        &["bad.toml:14:", "sender"],
    );
}

#[test]
fn invalid_toml_is_shown_at_its_end() {
    expect("[path]", "[path", &["bad.toml:4:"]);
}

#[test]
fn an_unknown_congestion_control_lists_those_that_exist() {
    let all: Vec<&str> =
        wirespeed_scenario::congestion_controls().iter().map(|control| control.name).collect();
    assert_eq!(all.len(), 24);
    expect("cubic", "cubik", &all);
}

#[test]
fn an_unknown_metric_in_expect_names_the_nearest() {
    expect("[run]", "[expect]\nlink_utilization = { min = 0.5 }\n[run]", &["link_utilisation"]);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = wirespeed(folder.path(), &["run", "missing.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("missing.toml"), "{}", errors(&output));
}

#[test]
fn a_missing_kernel_names_the_command_that_builds_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.toml"), GOOD).unwrap();
    let cache = folder.path().join("empty-cache");
    let arguments = ["run", "good.toml", "--on", "kernel"];
    let output = command(folder.path(), &arguments).env("XDG_CACHE_HOME", cache).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(errors(&output).contains("wirespeed kernel build"), "{}", errors(&output));
}

#[test]
fn a_missing_version_names_the_command_that_builds_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.toml"), GOOD).unwrap();
    let with = |set: &str| {
        let arguments = ["run", "good.toml", "--on", "kernel", "--set", set];
        let cache = folder.path().join("empty-cache");
        let output = command(folder.path(), &arguments).env("XDG_CACHE_HOME", cache).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
        errors(&output)
    };
    for set in ["run.kernel=6.1", "sweep.\"run.kernel\"=[\"6.1\", \"6.12\"]"] {
        let text = with(set);
        assert!(text.contains("no virtual-time kernel of Linux 6.1 built"), "{text}");
        assert!(text.contains("wirespeed kernel build --version 6.1"), "{text}");
    }
}

#[test]
fn a_kernel_is_refused_where_it_cannot_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.toml"), GOOD).unwrap();
    let refused = |on: &str, kernel: &str| {
        let set = format!("run.kernel={kernel}");
        let output = wirespeed(folder.path(), &["run", "good.toml", "--on", on, "--set", &set]);
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        errors(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for kernel in ["6.1", "6.1.192", "./linux"] {
        let text = refused("model", kernel);
        assert!(text.contains("is not available on the model, which follows Linux 6.12"), "{text}");
    }
    let text = refused("netns", "6.12");
    assert!(text.contains("run.kernel = \"6.12\" is not available on substrate netns"), "{text}");
    let text = refused("model", "newest");
    assert!(text.contains("write a version of Linux"), "{text}");
}

#[test]
fn a_truncated_run_directory_is_named_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("runs/r0");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("run.json"), "{ \"format_version\": 1, \"id\":").unwrap();
    let output = wirespeed(folder.path(), &["report", "."]);
    assert_eq!(output.status.code(), Some(2));
    let text = errors(&output);
    assert!(text.contains("run.json") && text.contains("again"), "{text}");
    let listed = wirespeed(folder.path(), &["list", "runs", "."]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("damaged"));
}

#[test]
fn an_unknown_name_is_not_explained_but_the_nearest_are_named() {
    let output = wirespeed(Path::new("."), &["explain", "jain_indx"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("jain_index"), "{}", errors(&output));
}

#[test]
fn an_unknown_substrate_lists_those_that_exist() {
    let output = wirespeed(Path::new("."), &["run", "x.toml", "--on", "moon"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("kernel"), "{}", errors(&output));
}

#[test]
fn scenario_without_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = wirespeed(folder.path(), &["run", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("more than 16 MiB"), "{}", errors(&output));
}

/// A study on the model of so many runs, each of so long.
fn study(folder: &Path, repeat: u32, duration: &str) -> Vec<String> {
    let text = GOOD.replace("1 bdp\"", "1 bdp\"\nloss = 1e-4").replace("1 s", duration);
    fs::write(folder.join("good.toml"), format!("{text}repeat = {repeat}\n")).unwrap();
    ["run", "good.toml", "--on", "model", "--out", "out", "--jobs", "1"].map(str::to_owned).into()
}

#[test]
fn damaged_run_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = study(folder.path(), 3, "1 s");
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert!(wirespeed(folder.path(), &words).status.success());
    let mut runs: Vec<_> = fs::read_dir(folder.path().join("out/runs")).unwrap().flatten().collect();
    runs.sort_by_key(fs::DirEntry::path);
    fs::write(runs[1].path().join("run.json"), "{").unwrap();
    let output = wirespeed(folder.path(), &["report", "out", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    assert!(errors(&output).contains("1 of 3 runs cannot be read"), "{}", errors(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed.matches("\"complete\": true").count(), 2, "{printed}");
    assert!(printed.contains("is damaged"), "{printed}");
}

#[test]
fn interrupted_study_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = study(folder.path(), 1000, "1 s");
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut running = command(folder.path(), &words);
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = folder.path().join("out/runs");
    let count = || fs::read_dir(&runs).map_or(0, Iterator::count);
    support::until(Duration::from_secs(60), "some runs are done", || count() > 40);
    let began = Instant::now();
    // SAFETY: a process of this test's own.
    unsafe { libc::kill(running.id() as i32, libc::SIGINT) };
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert!(errors(&output).contains("of 1000 runs are complete"), "{}", errors(&output));
}
