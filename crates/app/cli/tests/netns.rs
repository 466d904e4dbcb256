//! Runs in namespaces of this machine's kernel, in real time. They need the right to make namespaces, as root or as a user;
//! without it each is skipped by name, with the reason.

mod support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use support::ledger::{
    LostIn, assert_intervals_add_up, entry, lost, lost_anywhere, lost_by_interval, results,
};
use support::{command, errors, retried, skip, until};
use tempfile::TempDir;

/// How long something may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder with a scenario whose path has no delay, so that it needs no netem; `None`, and the test is told to be skipped,
/// where no namespaces can be made.
fn folder(test: &str, rest: &str) -> Option<TempDir> {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let survey = command(folder.path(), &["agent", "--netns-survey"]).output();
    let survey = survey.expect("the program was built for this test");
    if !survey.status.success() {
        skip(test, &format!("no network namespaces here: {}", errors(&survey).trim()));
        return None;
    }
    let text = format!(
        "schema = 1\nname = \"test\"\n[path]\nrate = \"200 Mbit/s\"\nrtt = \"0 ms\"\nbuffer = \"100 kB\"\n\
         [run]\nduration = \"1 s\"\n{rest}"
    );
    fs::write(folder.path().join("scenario.toml"), text).expect("the folder can be written");
    Some(folder)
}

fn start(folder: &Path, more: &[&str]) -> Command {
    // What the path is worth is not asked on a machine that runs other tests.
    let arguments =
        ["run", "scenario.toml", "--on", "netns", "--self-check", "off", "--json", "--out", "out"];
    command(folder, &[&arguments, more].concat())
}

fn run(folder: &Path, more: &[&str]) -> Value {
    results(&start(folder, more).output().expect("the program was built for this test"))
}

/// Nothing is left over, in either direction.
fn balances(run: &Value) {
    for direction in ["data", "ack"] {
        assert_eq!(entry(run, direction, "unexplained"), 0, "{direction}: {}", run["ledger"]);
    }
}

/// The goodput of the only flow is payload, less than the path carries, and it is the payload of the packets that arrived.
fn is_carried_by_the_path(run: &Value, least: f64) {
    /// Payload of a packet of 1514 bytes with timestamps.
    const PAYLOAD: f64 = 1448.0;
    let goodput = run["metrics"]["goodput_bps"].as_f64().expect("a goodput");
    // In the second of the run. More packets arrive than are counted in order by its end: those of a full queue (66) and of
    // the sender's buffer, which arrive later, and copies.
    let (bytes, arrived) = (goodput / 8.0, entry(run, "data", "delivered") as f64);
    assert!(bytes <= arrived * PAYLOAD, "{bytes} bytes of payload in {arrived} packets");
    assert!(bytes >= (arrived * 0.95 - 600.0) * PAYLOAD, "{bytes} bytes of payload in {arrived} packets");
    // The path carries 191.3 Mbit/s of payload. A rate of 200 would count headers, too; 2 % are for samples that come late. How
    // much less it is depends on what else this machine does.
    assert!((least..=1.95e8).contains(&goodput), "{goodput}");
}

/// Processes that carry out a run planned in `folder`.
fn agents(folder: &Path) -> Vec<u32> {
    let ours = folder.display().to_string();
    let numbered = |entry: fs::DirEntry| -> Option<u32> {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let printed = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let here = fs::read_link(entry.path().join("cwd")).ok()?;
        (printed.contains("\0agent\0") && here.display().to_string().starts_with(&ours)).then_some(pid)
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(numbered).collect()
}

#[test]
fn a_tcp_flow_has_the_path_and_the_ledger_balances() {
    let test = "a_tcp_flow_has_the_path_and_the_ledger_balances";
    let Some(folder) = folder(test, "[[flow]]\ncongestion = \"cubic\"\n") else { return };
    for zero_copy in ["false", "true"] {
        let zero_copy = format!("flow.zero_copy={zero_copy}");
        let run = run(folder.path(), &["--fresh", "--set", &zero_copy]);
        assert_eq!(run["substrate"], "netns");
        balances(&run);
        is_carried_by_the_path(&run, 2e7);
        assert!(run["cost"]["cpu_s"].as_f64().unwrap() > 0.0);
        assert!(!run["warnings"].to_string().contains("zero_copy"), "{}", run["warnings"]);
    }
}

#[test]
fn a_queue_that_is_too_slow_drops_what_the_ledger_says() {
    let test = "a_queue_that_is_too_slow_drops_what_the_ledger_says";
    let Some(folder) = folder(test, "[[flow]]\nkind = \"udp\"\nrate = \"400 Mbit/s\"\nrcvbuf = \"8 MB\"\n")
    else {
        return;
    };
    for offload in ["false", "true"] {
        let gso = format!("host.sender.gso={offload}");
        let run = run(folder.path(), &["--fresh", "--set", &gso]);
        assert!(lost(&run, "network") > 1000, "{}", run["ledger"]);
        balances(&run);
    }
}

#[test]
fn a_link_gets_another_rate_when_it_is_time() {
    let test = "a_link_gets_another_rate_when_it_is_time";
    let flow = "[[path.change]]\nat = \"500 ms\"\nrate = \"20 Mbit/s\"\n\
                [[flow]]\nkind = \"udp\"\nrate = \"400 Mbit/s\"\nrcvbuf = \"8 MB\"\n";
    let Some(folder) = folder(test, flow) else { return };
    let run = run(folder.path(), &[]);
    balances(&run);
    let id = run["id"].as_str().expect("a run has a name");
    let recording = wirespeed_record::read(&folder.path().join("out/runs").join(id)).expect("a recording");
    // Frames of 1514 bytes; the queue of 100 kB takes 40 ms to empty at the new rate.
    let rate = |from_ms: i64, to_ms: i64| {
        let times = recording.datagrams.iter().filter_map(|row| row.arrived_ns);
        let arrived = times.filter(|time| (from_ms * 1_000_000..to_ms * 1_000_000).contains(time)).count();
        arrived as f64 * 1514.0 * 8.0 / ((to_ms - from_ms) as f64 / 1e3)
    };
    assert!((5e7..=2.1e8).contains(&rate(100, 500)), "{}", rate(100, 500));
    // A change that comes late, and a bucket that was full.
    assert!((1e7..=2.6e7).contains(&rate(600, 1000)), "{}", rate(600, 1000));
}

#[test]
fn drops_of_a_moment_are_in_the_interval_of_that_moment() {
    let test = "drops_of_a_moment_are_in_the_interval_of_that_moment";
    let flows = "[[flow]]\ncongestion = \"reno\"\nmax_rate = \"20 Mbit/s\"\n\
                 [[flow]]\nkind = \"udp\"\nrate = \"400 Mbit/s\"\nrcvbuf = \"8 MB\"\nstart = \"2.3 s\"\nduration = \"400 ms\"\n";
    let Some(folder) = folder(test, flows) else { return };
    // Some kernels run no programs on top of a process they protect: too little is told then, and another run is made.
    let attempt = |_| run(folder.path(), &["--set", "run.duration=\"4 s\"", "--fresh"]);
    let is_whole = |run: &Value| {
        let is_whole = everything_sent_again_is_told(run);
        if !is_whole {
            retried(test, &format!("too few retransmissions were seen: {}", run["sent_again"]));
        }
        is_whole
    };
    let run = (0..5).map(attempt).find(is_whole).expect("one of five runs tells everything");
    assert_intervals_add_up(&run);
    sent_again_is_matched(&run);
    let network = lost_by_interval(&run, "network");
    assert_eq!(network.len(), 4, "{network:?}");
    for LostIn { time: [from, to], lost, uncertain } in &network {
        let in_it = *from < 2.5 && 2.5 < *to;
        assert!(if in_it { *lost > 0 } else { lost <= uncertain }, "{network:?}");
    }
}

/// Packets of some of the rows of what was sent again.
fn packets(run: &Value, of: impl Fn(&Value) -> bool) -> i64 {
    let rows = run["sent_again"].as_array().expect("what was sent again");
    rows.iter().filter(|row| of(row)).map(|row| row["packets"].as_i64().unwrap()).sum()
}

/// Whether each packet that TCP says it sent again is matched with a drop or not, or drops are not watched here. Never are
/// more.
fn everything_sent_again_is_told(run: &Value) -> bool {
    let moments = run["ledger_intervals"].as_array().expect("the ledger by interval");
    let counted: i64 = moments.iter().filter_map(|moment| moment["sent_again"].as_i64()).sum();
    let printed = packets(run, |_| true);
    assert!(printed <= counted, "{counted} sent again: {}", run["sent_again"]);
    printed == 0 || printed == counted
}

/// What TCP sent again was dropped by a queue before, packet by packet, where this user may watch what the kernel drops.
fn sent_again_is_matched(run: &Value) {
    let all = packets(run, |_| true);
    if all == 0 {
        return skip("a part of what_a_queue_drops_for_a_moment", "drops are not watched here");
    }
    // Where the cores are busy, a router's backlog drops some as well.
    let (of_queue, of_any) =
        (packets(run, |row| row["for"] == "QDISC_DROP"), packets(run, |row| row["for"].is_string()));
    assert!(of_queue > 0 && of_any * 10 >= all * 9, "{}", run["sent_again"]);
}

#[test]
fn a_path_is_measured_before_it_is_used() {
    let test = "a_path_is_measured_before_it_is_used";
    let Some(folder) = folder(test, "[[flow]]\ncongestion = \"cubic\"\n") else { return };
    // No machine of ours makes 1 Tbit/s.
    let run = |rate: &str| {
        let rate = format!("path.rate=\"{rate}\"");
        let arguments =
            ["run", "scenario.toml", "--on", "netns", "--json", "--out", "out", "--fresh", "--set", &rate];
        command(folder.path(), &arguments).output().expect("the program was built for this test")
    };
    let refused = run("1 Tbit/s");
    let printed = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{printed}{}", errors(&refused));
    assert!(printed.contains("rate asked 1000000.000 Mbit/s"), "{printed}");
    let measured = results(&run("20 Mbit/s"));
    let checks = measured["path_checks"].clone();
    let quantities: Vec<&str> =
        checks.as_array().expect("checks").iter().filter_map(|check| check["quantity"].as_str()).collect();
    assert_eq!(quantities, ["rtt", "rate", "queue"]);
    // A busy machine makes a path slower, but a token bucket passes no more than its rate; a tenth is for packets whose
    // arrival was seen late. What is off by more than the tolerance is in the warnings, and nothing else is.
    let [rate, tolerance] = ["measured", "tolerance"].map(|word| checks[1][word].as_f64().expect("a number"));
    assert!((1e7..2.2e7).contains(&rate), "{checks}");
    let warnings = measured["warnings"].as_array().expect("a run has warnings, if none");
    let warned = warnings
        .iter()
        .filter_map(Value::as_str)
        .any(|warning| warning.starts_with("the path is not quite") && warning.contains(": rate asked"));
    assert_eq!(warned, (rate - 2e7).abs() > tolerance, "{checks}: {warnings:?}");
}

#[test]
fn a_short_queue_of_the_sender_is_found_there() {
    let test = "a_short_queue_of_the_sender_is_found_there";
    let host = "[host.sender]\nnic_rate = \"50 Mbit/s\"\ntxqueuelen = 20\n";
    let flow = "[[flow]]\nkind = \"udp\"\nrate = \"100 Mbit/s\"\nrcvbuf = \"8 MB\"\n";
    let Some(folder) = folder(test, &format!("{host}{flow}")) else { return };
    let run = run(folder.path(), &[]);
    assert!(lost(&run, "qdisc") > 1000, "{}", run["ledger"]);
    assert_eq!(lost(&run, "qdisc"), lost_anywhere(&run));
    balances(&run);
}

#[test]
fn missing_kernel_features_are_named_before_anything_starts() {
    let test = "missing_kernel_features_are_named_before_anything_starts";
    let Some(folder) = folder(test, "[[flow]]\ncongestion = \"cubic\"\n") else { return };
    let survey = command(folder.path(), &["agent", "--netns-survey"]).output().unwrap();
    let has_netem = String::from_utf8_lossy(&survey.stdout).contains("\"netem\"");
    let output = start(folder.path(), &["--set", "path.rtt=\"20 ms\""]).output().unwrap();
    if has_netem {
        let run = results(&output);
        let least = run["metrics"]["rtt_min_ns"].as_f64().expect("a round-trip time");
        assert!((2e7..4e7).contains(&least), "{least}");
        balances(&run);
    } else {
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        assert!(errors(&output).contains("sch_netem"), "{}", errors(&output));
        assert!(!folder.path().join("out").exists());
    }
    let unknown = start(folder.path(), &["--set", "flow.0.congestion=\"scalable\""]).output().unwrap();
    let has_scalable = String::from_utf8_lossy(&survey.stdout).contains("tcp_scalable");
    assert!(has_scalable || errors(&unknown).contains("tcp_scalable"), "{}", errors(&unknown));
}

#[test]
fn an_ordinary_user_can_do_it_too() {
    let test = "an_ordinary_user_can_do_it_too";
    let Some(folder) = folder(test, "[[flow]]\ncongestion = \"cubic\"\n") else { return };
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    const NOBODY: &str = "65534";
    let program = env!("CARGO_BIN_EXE_wirespeed");
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", program])
        .args(["run", "scenario.toml", "--on", "netns", "--self-check", "off", "--json", "--out", "out"])
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .output();
    let Ok(output) = output else { return skip(test, "no setpriv here") };
    let refused = errors(&output);
    if refused.contains("no network namespaces can be made here") || refused.contains("setpriv:") {
        return skip(test, refused.trim());
    }
    let run = results(&output);
    // What was put out and what arrived is exact for everybody.
    balances(&run);
    is_carried_by_the_path(&run, 1e7);
}

/// Starts a long run and waits until its agent is at work.
fn long_run(folder: &Path) -> Child {
    let mut command = start(folder, &["--set", "run.duration=\"60 s\""]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it was built");
    until(PATIENCE, "the agent starts", || !agents(folder).is_empty());
    sleep(Duration::from_millis(500));
    child
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: the child is ours and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("it can be waited for")
}

#[test]
fn interrupted_or_killed_run_leaves_nothing() {
    let test = "interrupted_or_killed_run_leaves_nothing";
    let Some(folder) = folder(test, "[[flow]]\ncongestion = \"cubic\"\n") else { return };
    let interrupted = long_run(folder.path());
    signal(&interrupted, libc::SIGINT);
    assert_eq!(ended(interrupted).status.code(), Some(130));
    assert!(agents(folder.path()).is_empty(), "an agent outlived Ctrl-C");
    let killed = long_run(folder.path());
    signal(&killed, libc::SIGKILL);
    ended(killed);
    until(PATIENCE, "the agent ends with its controller", || agents(folder.path()).is_empty());
}

#[test]
fn an_agent_that_is_killed_is_reported() {
    let test = "an_agent_that_is_killed_is_reported";
    let Some(folder) = folder(test, "[[flow]]\ncongestion = \"cubic\"\n") else { return };
    let controller = long_run(folder.path());
    for agent in agents(folder.path()) {
        // SAFETY: it is the agent that the controller above has started.
        unsafe { libc::kill(agent as i32, libc::SIGKILL) };
    }
    let output = ended(controller);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("signal: 9"), "{printed}");
}
