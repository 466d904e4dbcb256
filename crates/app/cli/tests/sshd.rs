//! Runs between machines as between real ones: a namespace each with a real SSH server, OpenSSH's client at a desk of
//! its own. Afterwards every machine is as it was: settings, interfaces, queueing disciplines, files, processes.

mod support;

use std::collections::BTreeSet;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use support::bed::Bed;
use support::ledger::{entry, lost, lost_anywhere, results};
use support::sshd::{ORDINARY, Servers};
use support::{errors, until};

/// How long something may take; the program is copied to machines first, through ciphers that an old processor is slow at.
const PATIENCE: Duration = Duration::from_secs(60);
const SHORT: &str = "[run]\nduration = \"1 s\"\n";
const LONG: &str = "[run]\nduration = \"30 s\"\n";

/// What a run could leave behind on a machine, line by line; the order of some differs from time to time.
fn state(bed: &Bed) -> BTreeSet<String> {
    // Values that change by themselves are not settings.
    const SETTINGS: &str = "grep -rs . /proc/sys/net /proc/sys/kernel /proc/sys/vm | \
        grep -vE '/(random/|ns_last_pid|.*-nr:|.*_count:|.*state:|nf_conntrack|pty/nr|seccomp|perf_event|stat)'";
    const LINKS: &str = "ip -d -o addr; tc qdisc show; ip route show table all; ip neigh show nud permanent";
    let printed = |name: &str| bed.read(name, SETTINGS) + &bed.read(name, LINKS);
    bed.names()
        .flat_map(|name| printed(name).lines().map(|line| format!("{name}: {line}")).collect::<Vec<_>>())
        .collect()
}

/// Asserts that machines are as they were, and that no agent is left on them.
fn assert_as_before(bed: &Bed, before: &BTreeSet<String>) {
    until(PATIENCE, "the agents end", || bed.agents().is_empty());
    let after = state(bed);
    assert!(after.len() > 100, "nothing is known of the machines: {after:?}");
    let changed: Vec<_> = before.symmetric_difference(&after).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

/// Runs what is given, and asserts that machines are as they were.
fn leaves_nothing(bed: &Bed, run: impl FnOnce() -> Output) -> Output {
    let before = state(bed);
    let output = run();
    assert_as_before(bed, &before);
    output
}

/// A run that cannot be: exit code 3, and words on what and where.
fn assert_refused(output: &Output, words: &[&str]) {
    let said = errors(output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(3), "{said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
}

/// A bed with servers, or the test is skipped.
macro_rules! machines {
    ($test:literal, $routers:literal, $bed:ident, $servers:ident) => {
        let Some($bed) = Bed::new($test, $routers) else { return };
        #[allow(unused_mut, reason = "only some tests start another server")]
        let Some(mut $servers) = Servers::on(&$bed, $test) else { return };
    };
}

#[test]
fn two_machines_by_ssh_as_root_and_as_an_ordinary_user() {
    machines!("two_machines_by_ssh_as_root_and_as_an_ordinary_user", 0, bed, servers);
    let allowed = bed.read(bed.name(0), "cat /proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let control = allowed.split_whitespace().next().expect("one is always allowed");
    let file = bed.scenario(&format!("[[flow]]\ncongestion = \"{control}\"\ncount = 2\n{SHORT}"));
    for user in ["", ORDINARY] {
        let as_user = |name: &str| if user.is_empty() { name.into() } else { format!("{user}@{name}") };
        let [from, to] = [bed.name(0), bed.name(-1)].map(as_user);
        let set = [format!("host.sender.ssh={from}"), format!("host.receiver.ssh={to}")];
        let run = ["run", &file, "--on", "hosts", "--fresh", "--json", "--set", &set[0], "--set", &set[1]];
        let run = results(&leaves_nothing(&bed, || servers.command(&run).output().unwrap()));
        for direction in ["data", "ack"] {
            assert_eq!(entry(&run, direction, "unexplained"), 0, "{direction}: {}", run["ledger"]);
            assert!(entry(&run, direction, "sent") > 1000);
        }
        // Both machines have two addresses, one of them for us: which one the test goes by has to be said.
        let [from, to] = [(from, 0), (to, -1)].map(|(name, place)| format!("{name}={}", bed.address(place)));
        let probe = servers.command(&["probe", &from, &to, "--time", "1 s"]).output().unwrap();
        let said = String::from_utf8_lossy(&probe.stdout).into_owned();
        assert!(probe.status.success(), "{}", errors(&probe));
        assert!(said.contains("Where the packets went"), "{said}");
        assert!(errors(&probe).contains("10.77.0.1 (right"), "{}", errors(&probe));
    }
}

#[test]
fn four_machines_by_ssh() {
    machines!("four_machines_by_ssh", 2, bed, servers);
    let flows = "[[flow]]\ncongestion = \"cubic\"\nfrom = \"sender1\"\nto = \"receiver2\"\n\
                 [[flow]]\ncongestion = \"cubic\"\nfrom = \"sender2\"\nto = \"receiver1\"\n";
    let file = bed.scenario_of_all(&format!("{flows}{SHORT}"));
    let run = ["run", &file, "--on", "hosts", "--json", "--out", "out"];
    let run = results(&leaves_nothing(&bed, || servers.command(&run).output().unwrap()));
    for direction in ["data", "ack"] {
        assert_eq!(entry(&run, direction, "unexplained"), 0, "{direction}: {}", run["ledger"]);
    }
    let refused = bed.refused_by_backlogs(-2) + bed.refused_by_backlogs(-1);
    assert_eq!(lost(&run, "tcp_backlog"), refused, "{}", run["ledger"]);
    assert_eq!(lost_anywhere(&run), refused, "{}", run["ledger"]);
}

#[test]
fn a_machine_behind_another_is_reached_by_the_users_own_jump() {
    machines!("a_machine_behind_another_is_reached_by_the_users_own_jump", 0, bed, servers);
    servers.serve_at(bed.name(1), "10.77.0.2:22");
    let (near, far) = (bed.name(0), bed.name(1));
    servers.configure(&format!("Host {far}\nHostName 10.77.0.2\nHostKeyAlias 10.78.1.2\nProxyJump {near}"));
    let ends = [format!("{near}=10.77.0.1"), format!("{far}=10.77.0.2")];
    let probe = servers.command(&["probe", &ends[0], &ends[1], "--time", "1 s"]).output().unwrap();
    assert!(probe.status.success(), "{}", errors(&probe));
}

#[test]
fn a_server_that_shows_another_key_gets_nothing() {
    machines!("a_server_that_shows_another_key_gets_nothing", 0, bed, servers);
    let known = std::fs::read_to_string(servers.known_hosts()).unwrap();
    // Each machine has the other's key.
    let swapped = known.replace("10.78.0.2", "x").replace("10.78.1.2", "10.78.0.2").replace('x', "10.78.1.2");
    std::fs::write(servers.known_hosts(), swapped).unwrap();
    let file = bed.scenario(&format!("[[flow]]\n{SHORT}"));
    let output = leaves_nothing(&bed, || servers.command(&["run", &file, "--on", "hosts"]).output().unwrap());
    assert_refused(&output, &["host sender", "Host key verification failed"]);
}

/// Does something in the middle of a run, and asserts that machines are as they were when it has ended.
fn in_mid_run(bed: &Bed, servers: &Servers, doing: impl FnOnce(&Child)) -> Output {
    let file = bed.scenario(&format!("[[flow]]\ncongestion = \"cubic\"\n{LONG}"));
    leaves_nothing(bed, || {
        let mut command = servers.command(&["run", &file, "--on", "hosts", "--out", "out"]);
        let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until(PATIENCE, "both agents run", || bed.agents().len() == 2);
        sleep(Duration::from_millis(2500));
        doing(&running);
        running.wait_with_output().unwrap()
    })
}

/// Asserts that what a run measured before it ended is there.
fn assert_kept(bed: &Bed) {
    let out = bed.folder().join("out");
    let kept = Command::new("find").arg(out).args(["-name", "*.stream", "-size", "+0"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&kept.stdout).lines().count(), 2, "what both measured is kept");
}

#[test]
fn a_server_that_is_killed_ends_the_run_and_keeps_what_was_measured() {
    machines!("a_server_that_is_killed_ends_the_run_and_keeps_what_was_measured", 0, bed, servers);
    let output = in_mid_run(&bed, &servers, |_| servers.kill(bed.name(-1)));
    assert_refused(&output, &["host receiver", "is gone", ".stream"]);
    assert_kept(&bed);
}

#[test]
fn ctrl_c_and_a_kill_of_the_program_leave_nothing_and_keep_what_was_measured() {
    machines!("ctrl_c_and_a_kill_of_the_program_leave_nothing_and_keep_what_was_measured", 0, bed, servers);
    for (signal, code) in [(libc::SIGINT, Some(130)), (libc::SIGKILL, None)] {
        // SAFETY: a process of this test's own.
        let output = in_mid_run(&bed, &servers, |running| unsafe {
            libc::kill(running.id() as i32, signal);
        });
        assert_eq!(output.status.code(), code, "{}", errors(&output));
        match code {
            // The recording has what the streams had.
            Some(_) => assert!(bed.folder().join("out/report.html").is_file()),
            None => assert_kept(&bed),
        }
        std::fs::remove_dir_all(bed.folder().join("out")).unwrap();
    }
}

#[test]
fn a_copy_that_is_cut_short_leaves_no_part_of_a_program() {
    machines!("a_copy_that_is_cut_short_leaves_no_part_of_a_program", 0, bed, servers);
    let script = "[[ $* == *'cat >'* ]] && exec \"${ssh[@]}\" \"$@\" < <(head --bytes 100000)\nexec \"${ssh[@]}\" \"$@\"";
    let own = servers.instead_of_ssh(script);
    let file = bed.scenario(&format!("[[flow]]\n{SHORT}"));
    let mut command = servers.command(&["run", &file, "--on", "hosts"]);
    let output = leaves_nothing(&bed, || command.env("WIRESPEED_SSH", own).output().unwrap());
    assert_refused(&output, &["cannot copy the agent", "the upload was truncated"]);
    let left =
        Command::new("find").arg(bed.folder().join("home")).args(["-name", "agent-*"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}

#[test]
fn a_full_disk_is_reported_and_nothing_is_left_on_it() {
    machines!("a_full_disk_is_reported_and_nothing_is_left_on_it", 0, bed, servers);
    let cache = bed.home(bed.name(0)).join("root/.cache");
    std::fs::create_dir_all(&cache).unwrap();
    let cache = cache.display().to_string();
    servers.inside_server(bed.name(0), &format!("mount -t tmpfs -o size=1m none '{cache}'"));
    let file = bed.scenario(&format!("[[flow]]\n{SHORT}"));
    let output = leaves_nothing(&bed, || servers.command(&["run", &file, "--on", "hosts"]).output().unwrap());
    assert_refused(&output, &["cannot copy the agent", "No space left on device"]);
    let left = servers.inside_server(bed.name(0), &format!("find '{cache}' -type f"));
    assert_eq!(left, "");
}
