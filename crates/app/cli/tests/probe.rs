//! `wirespeed probe` as an operator uses it: again and again, two at a time, interrupted, against closed ports. The machines are
//! namespaces of this one, each reached by what stands in for ssh.

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use support::bed::Bed;
use support::errors;
use support::ledger::{entry, lost_anywhere};

/// Standard output as text.
fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error in one line.
fn reported(output: &Output) -> String {
    errors(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `wirespeed probe` between the ends of a bed, not started yet.
fn probe(bed: &Bed, options: &[&str]) -> Command {
    let ends = [0, -1].map(|place| format!("{}={}", bed.name(place), bed.address(place)));
    let mut arguments = vec!["probe", &ends[0], &ends[1]];
    arguments.extend(options);
    let mut command = bed.command(&arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The same to its end, which has to be this exit code.
fn probed(bed: &Bed, options: &[&str], code: i32) -> Output {
    let output = probe(bed, options).output().expect("the program was built for this test");
    assert_eq!(output.status.code(), Some(code), "{options:?}: {}{}", errors(&output), printed(&output));
    output
}

/// The only run of a probe with `--json`.
fn run(output: &Output) -> Value {
    let all: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    all["runs"][0].clone()
}

/// The folder of the bed's pair.
fn pair(bed: &Bed) -> PathBuf {
    bed.folder().join(format!("wirespeed-out/probe-{}-{}", bed.name(0), bed.name(-1)))
}

/// Folders of measurements of the pair, oldest first.
fn measurements(bed: &Bed) -> Vec<PathBuf> {
    let entries = fs::read_dir(pair(bed)).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| !path.ends_with("latest")).collect();
    found.sort();
    found
}

/// `run.json` of the only run in a folder.
fn info(folder: &Path) -> Value {
    let mut runs = fs::read_dir(folder.join("runs")).expect("there are runs").flatten();
    let path = runs.next().expect("there is one").path().join("run.json");
    serde_json::from_str(&fs::read_to_string(path).expect("it is complete")).expect("it is JSON")
}

#[test]
fn each_probe_has_a_folder_of_its_own_with_time_and_settings() {
    let Some(bed) = Bed::new("each_probe_has_a_folder_of_its_own_with_time_and_settings", 0) else { return };
    let short = ["--time", "1 s", "--congestion", "cubic"];
    probed(&bed, &short, 0);
    let first = measurements(&bed);
    let rmem = "echo 4096 16384 65536 > /proc/sys/net/ipv4/tcp_rmem";
    bed.inside(bed.name(-1), rmem).unwrap();
    let options = [&short[..], &["--summary", "--baseline", "latest", "--max-drop", "1"]].concat();
    let output = printed(&probed(&bed, &options, 0));
    let both = measurements(&bed);
    assert_eq!((first.len(), both.len(), &both[0]), (1, 2, &first[0]));
    assert_eq!(pair(&bed).join("latest").canonicalize().unwrap(), both[1].canonicalize().unwrap());
    for words in
        ["Compared with ", "receiver: net.ipv4.tcp_rmem is 4096 16384 65536, was ", "wirespeed probe, 20"]
    {
        assert!(output.contains(words), "{words}: {output}");
    }
    let info = info(&both[1]);
    assert!(info["started"].as_str().is_some_and(|time| time.ends_with('Z')), "{}", info["started"]);
    let settings = &info["hosts"][1]["settings"];
    assert_eq!(settings["net.ipv4.tcp_rmem"], "4096 16384 65536");
    for name in
        ["host.name", "kernel.release", "interface.qdisc", "interface.mtu", "interface.driver", "offload.gso"]
    {
        assert!(settings[name].is_string(), "{name}: {settings}");
    }
    assert_eq!(info["scenario"]["hosts"][1]["tcp"], Value::Null, "the model's defaults are of no real host");
    // What differs is named from recordings as well.
    let folders = both.each_ref_text();
    let compared = bed.wirespeed(&["compare", &folders[0], &folders[1], "--out", "compared"]);
    assert!(printed(&compared).contains("net.ipv4.tcp_rmem"), "{}{}", printed(&compared), errors(&compared));
    // A regression is one: the window is 64 KiB now, as the exit code of a stricter comparison says.
    let strict = ["--baseline", &folders[0], "--max-drop", "0.001", "--max-rate", "10 Mbit/s"];
    let worse = probed(&bed, &[&short[..], &strict].concat(), 1);
    assert!(reported(&worse).contains("--max-drop"), "{}", reported(&worse));
}

trait Text {
    fn each_ref_text(&self) -> Vec<String>;
}

impl Text for Vec<PathBuf> {
    fn each_ref_text(&self) -> Vec<String> {
        self.iter().map(|path| path.display().to_string()).collect()
    }
}

#[test]
fn measurement_in_the_same_folder_is_set_aside() {
    let Some(bed) = Bed::new("measurement_in_the_same_folder_is_set_aside", 0) else { return };
    for _ in 0..2 {
        probed(&bed, &["--time", "1 s", "--out", "out"], 0);
    }
    let earlier: Vec<_> = fs::read_dir(bed.folder().join("out/earlier")).unwrap().flatten().collect();
    assert_eq!(earlier.len(), 1);
    assert!(earlier[0].path().join("run.json").is_file());
}

/// A probe that is left to itself, and another of the same pair so long after it.
fn two_probes(bed: &Bed, apart: Duration) -> [Output; 2] {
    let first: Child = probe(bed, &["--time", "2 s", "--json"]).spawn().unwrap();
    sleep(apart);
    let second = probe(bed, &["--time", "1 s", "--json"]).output().unwrap();
    [first.wait_with_output().unwrap(), second]
}

#[test]
fn overlapping_probes_are_each_right_or_refused_with_the_holder() {
    let Some(bed) = Bed::new("overlapping_probes_are_each_right_or_refused_with_the_holder", 0) else {
        return;
    };
    // The agent is there then.
    probed(&bed, &["--time", "1 s"], 0);
    for apart_ms in [0, 200, 400, 600, 800, 1000, 1300, 1700, 2200] {
        for output in two_probes(&bed, Duration::from_millis(apart_ms)) {
            if output.status.success() {
                let run = run(&output);
                let goodput = run["metrics"]["goodput_bps"].as_f64().unwrap_or(0.0);
                assert!(goodput > 1e7, "{apart_ms} ms: {goodput}");
                assert_eq!(entry(&run, "ack", "unexplained"), 0, "{apart_ms} ms: {}", run["ledger"]);
            } else {
                assert_eq!(output.status.code(), Some(3), "{apart_ms} ms: {}", reported(&output));
                let printed = reported(&output);
                assert!(
                    printed.contains("port 5001 is in use by another test of wirespeed"),
                    "{apart_ms} ms: {printed}"
                );
            }
        }
    }
    // A port that is not given back soon is not waited for.
    let first = probe(&bed, &["--time", "8 s", "--json"]).spawn().unwrap();
    sleep(Duration::from_millis(1500));
    let second = reported(&probed(&bed, &["--time", "1 s"], 3));
    assert!(second.contains("port 5001 is in use by another test of wirespeed (process "), "{second}");
    assert!(run(&first.wait_with_output().unwrap())["metrics"]["goodput_bps"].as_f64().is_some());
    // Another port is another test; both share the link.
    let first = probe(&bed, &["--time", "2 s", "--json"]).spawn().unwrap();
    sleep(Duration::from_millis(700));
    let second = run(&probed(&bed, &["--time", "1 s", "--json", "--port", "6001"], 0));
    let first = run(&first.wait_with_output().unwrap());
    for run in [first, second] {
        assert!(run["metrics"]["goodput_bps"].as_f64().is_some_and(|goodput| goodput > 1e7), "{run}");
    }
}

#[test]
fn folder_in_use_is_refused_with_the_holder() {
    let Some(bed) = Bed::new("folder_in_use_is_refused_with_the_holder", 0) else { return };
    let first = probe(&bed, &["--time", "3 s", "--out", "out"]).spawn().unwrap();
    support::until(Duration::from_secs(20), "the first has begun", || bed.folder().join("out/runs").exists());
    let second = probed(&bed, &["--time", "1 s", "--out", "out"], 3);
    assert!(reported(&second).contains("is in use by `wirespeed probe"), "{}", reported(&second));
    assert!(first.wait_with_output().unwrap().status.success());
}

/// Lets a machine drop what comes to a TCP port, as a firewall does; else the test is skipped.
fn close_port(bed: &Bed, test: &str, place: isize, device: &str) -> bool {
    // Rules that know ports come before the one that knows the machine's own addresses.
    let rules = format!(
        "ip rule add pref 10 lookup local && ip rule add pref 5 iif {device} ipproto tcp dport 5001 blackhole && \
         ip rule del pref 0"
    );
    match bed.inside(bed.name(place), &rules) {
        Ok(()) => true,
        Err(why) => {
            support::skip(test, &why.to_string());
            false
        }
    }
}

#[test]
fn closed_port_is_named_and_leaves_no_folder() {
    let test = "closed_port_is_named_and_leaves_no_folder";
    let Some(bed) = Bed::new(test, 0) else { return };
    if !close_port(&bed, test, 0, "right") {
        return;
    }
    // The sender's port is not needed, unless data goes that way as well.
    probed(&bed, &["--time", "1 s", "--out", "out"], 0);
    let output = probed(&bed, &["--time", "1 s", "--bidir"], 3);
    assert!(
        reported(&output).contains("10.77.0.1 does not answer 10.77.0.2 on TCP port 5001"),
        "{}",
        reported(&output)
    );
    assert!(close_port(&bed, test, -1, "left"));
    let output = probed(&bed, &["--time", "1 s", "--prometheus", "probe.prom"], 3);
    assert!(
        reported(&output).contains("10.77.0.2 does not answer 10.77.0.1 on TCP port 5001"),
        "{}",
        reported(&output)
    );
    assert!(!pair(&bed).exists());
    let text = fs::read_to_string(bed.folder().join("probe.prom")).unwrap();
    assert!(text.contains("wirespeed_probe_up") && text.contains("} 0\n"), "{text}");
    // Datagrams come through, and so does another port.
    probed(&bed, &["--time", "1 s", "--udp", "10 Mbit/s"], 0);
    probed(&bed, &["--time", "1 s", "--port", "6001"], 0);
}

#[test]
fn missed_threshold_is_exit_code_1_after_the_results() {
    let Some(bed) = Bed::new("missed_threshold_is_exit_code_1_after_the_results", 0) else { return };
    let output = probed(&bed, &["--time", "1 s", "--fail-below", "90 Tbit/s"], 1);
    assert!(printed(&output).contains("Where the packets went"), "{}", printed(&output));
    assert!(reported(&output).contains("below --fail-below"), "{}", reported(&output));
    let options =
        ["--time", "1 s", "--fail-below", "1 Mbit/s", "--fail-loss", "0.5", "--prometheus", "probe.prom"];
    probed(&bed, &options, 0);
    let text = fs::read_to_string(bed.folder().join("probe.prom")).unwrap();
    assert!(text.contains("wirespeed_probe_goodput_bits_per_second{"), "{text}");
}

#[test]
fn ctrl_c_prints_and_keeps_what_was_measured() {
    let Some(bed) = Bed::new("ctrl_c_prints_and_keeps_what_was_measured", 0) else { return };
    for kind in [&["--congestion", "cubic"][..], &["--udp", "50 Mbit/s"]] {
        let options = [&["--time", "60 s", "--json", "--interval", "1 s"][..], kind].concat();
        let running = probe(&bed, &options).spawn().unwrap();
        support::until(Duration::from_secs(20), "both agents run", || bed.agents().len() == 2);
        sleep(Duration::from_millis(4000));
        // SAFETY: a process of this test's own.
        unsafe { libc::kill(running.id() as i32, libc::SIGINT) };
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", reported(&output));
        let run = run(&output);
        assert_eq!(run["interrupted"], true);
        assert!(run["metrics"]["goodput_bps"].as_f64().is_some_and(|goodput| goodput > 1e7), "{run}");
        assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
        assert!(errors(&output).contains(" s  "), "the rate was printed: {}", errors(&output));
        let last = measurements(&bed).pop().unwrap();
        let duration = info(&last)["duration_ns"].as_i64().unwrap();
        assert!((1_000_000_000..20_000_000_000).contains(&duration), "{duration}");
        assert!(last.join("report.html").is_file());
        support::until(Duration::from_secs(10), "the agents end", || bed.agents().is_empty());
    }
}

#[test]
fn reverse_both_ways_omit_and_pacing_are_what_they_say() {
    let Some(bed) = Bed::new("reverse_both_ways_omit_and_pacing_are_what_they_say", 0) else { return };
    let reverse = run(&probed(&bed, &["--time", "1 s", "--json", "--reverse", "--omit", "1 s"], 0));
    assert!(reverse["metrics"]["goodput_bps"].as_f64().is_some_and(|goodput| goodput > 1e7), "{reverse}");
    let settings = |run: &Value, host: usize| run["hosts"][host]["settings"]["interface.address"].clone();
    assert_eq!((settings(&reverse, 0), settings(&reverse, 1)), ("10.77.0.2".into(), "10.77.0.1".into()));
    let both = run(&probed(&bed, &["--time", "1 s", "--json", "--bidir", "--max-rate", "100 Mbit/s"], 0));
    let goodput = both["metrics"]["goodput_bps"].as_f64().unwrap();
    assert!((1.2e8..2.1e8).contains(&goodput), "two flows of 100 Mbit/s: {goodput}");
    let sweep = ["--time", "1 s", "--json", "--flows", "1,2", "--max-rate", "20 Mbit/s,40 Mbit/s"];
    let sweep: Value = serde_json::from_slice(&probed(&bed, &sweep, 0).stdout).unwrap();
    let runs = sweep["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    let mut rates: Vec<f64> =
        runs.iter().map(|run| run["metrics"]["goodput_bps"].as_f64().unwrap() / 1e6).collect();
    rates.sort_by(f64::total_cmp);
    for (rate, asked) in rates.iter().zip([20.0, 40.0, 40.0, 80.0]) {
        assert!((0.6 * asked..1.1 * asked).contains(rate), "{rates:?}");
    }
}

#[test]
fn login_that_prints_is_named_with_its_words() {
    let Some(bed) = Bed::new("login_that_prints_is_named_with_its_words", 0) else { return };
    for (number, script) in [
        "echo 'Welcome to the machine'; exec \"$WS_SSH\" \"$@\"",
        "echo 'This account is currently not available.'; exit 1",
    ]
    .into_iter()
    .enumerate()
    {
        let path = bed.folder().join(format!("noisy-{number}"));
        fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
        Command::new("chmod").args(["755", &path.display().to_string()]).status().unwrap();
        let mut command = probe(&bed, &["--time", "1 s"]);
        command.env("WS_SSH", bed.folder().join("ssh")).env("WIRESPEED_SSH", &path);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let words =
            if number == 0 { "Welcome to the machine" } else { "This account is currently not available." };
        assert!(
            reported(&output).contains(words) && reported(&output).contains("login"),
            "{}",
            reported(&output)
        );
    }
}

#[test]
fn damaged_agent_is_copied_again() {
    let Some(bed) = Bed::new("damaged_agent_is_copied_again", 0) else { return };
    probed(&bed, &["--time", "1 s"], 0);
    let cache = bed.home(bed.name(-1)).join(".cache/wirespeed");
    let agent = fs::read_dir(&cache).unwrap().flatten().next().expect("it was copied").path();
    let whole = fs::read(&agent).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..1000], &flipped] {
        fs::write(&agent, damaged).unwrap();
        probed(&bed, &["--time", "1 s"], 0);
        assert_eq!(fs::read(&agent).unwrap().len(), whole.len());
    }
    assert_eq!(fs::read(&agent).unwrap(), whole);
}

#[test]
fn kernel_is_asked_for_a_congestion_control_of_an_unknown_name() {
    let Some(bed) = Bed::new("kernel_is_asked_for_a_congestion_control_of_an_unknown_name", 0) else {
        return;
    };
    let output = probed(&bed, &["--time", "1 s", "--congestion", "bbr2"], 3);
    assert!(
        reported(&output).contains("congestion control bbr2") && reported(&output).contains("cubic"),
        "{}",
        reported(&output)
    );
    assert_eq!(
        lost_anywhere(&run(&probed(&bed, &["--time", "1 s", "--json", "--max-rate", "10 Mbit/s"], 0))),
        0
    );
}

#[test]
fn report_that_cannot_be_written_does_not_hide_the_results() {
    let Some(bed) = Bed::new("report_that_cannot_be_written_does_not_hide_the_results", 0) else { return };
    // A folder in the place of the file cannot be replaced by one.
    fs::create_dir_all(bed.folder().join("out/report.html/in-the-way")).unwrap();
    let output = probed(&bed, &["--time", "1 s", "--out", "out"], 3);
    assert!(printed(&output).contains("Where the packets went"), "{}", printed(&output));
    assert!(reported(&output).contains("wirespeed report out"), "{}", reported(&output));
}

#[test]
fn mesh_beside_a_probe_is_measured_and_both_are_told() {
    let Some(bed) = Bed::new("mesh_beside_a_probe_is_measured_and_both_are_told", 0) else { return };
    probed(&bed, &["--time", "1 s"], 0);
    let running = probe(&bed, &["--time", "8 s", "--json", "--max-rate", "50 Mbit/s"]).spawn().unwrap();
    support::until(Duration::from_secs(20), "both agents run", || bed.agents().len() == 2);
    sleep(Duration::from_millis(2500));
    let hosts = [bed.name(0), bed.name(-1)];
    let mesh = ["mesh", hosts[0], hosts[1], "--time", "1 s", "--udp", "5 Mbit/s", "--json", "--out", "mesh"];
    let mesh = bed.wirespeed(&mesh);
    assert!(mesh.status.success(), "{}", errors(&mesh));
    let summary: Value = serde_json::from_slice(&mesh.stdout).expect("--json prints JSON");
    assert_eq!(summary["pairs"].as_array().map(Vec::len), Some(2), "{summary}");
    let run = run(&running.wait_with_output().unwrap());
    let goodput = run["metrics"]["goodput_bps"].as_f64().unwrap_or(0.0);
    assert!((3e7..5.5e7).contains(&goodput), "{goodput}");
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("another test of wirespeed ran at the same time"), "{warnings}");
}
