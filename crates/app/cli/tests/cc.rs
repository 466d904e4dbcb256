//! `wirespeed cc`: what is registered is there as long as the program is, and gone however it ends.

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use support::{command, errors, skip, wirespeed};
use wirespeed_bpf::{Reason, available, control, controls, registered};

/// Registrations are the whole kernel's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same for a test that loads something. `None`, and why is told, where LoLa, which no kernel has itself, cannot be loaded.
fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    let turn = alone();
    match control("lola").unwrap().can_load() {
        Ok(()) => Some(turn),
        Err(reason) => {
            skip(test, &reason.to_string());
            None
        }
    }
}

fn here() -> &'static Path {
    Path::new(".")
}

/// `wirespeed cc load` with these arguments, once it has said that it is ready.
struct Holder {
    child: Child,
    /// Kept so that it has somebody to talk to until its end.
    said: Option<BufReader<ChildStderr>>,
}

impl Holder {
    fn start(arguments: &[&str]) -> Holder {
        let mut child = command(here(), &[&["cc", "load"], arguments].concat())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program was built for this test");
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut holder = Holder { child, said: None };
        let mut line = String::new();
        while !line.starts_with("registered: ") {
            // Before 6.4 it notes first that a registration outlives a killed process.
            assert!(line.is_empty() || line.starts_with("note: "), "{line}");
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it was ready");
        }
        holder.said = Some(said);
        holder
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a call without pointers; the child was not waited for yet, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
    }

    /// How it ends, within a few seconds.
    fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_list_has_every_control_and_says_why_not() {
    let _turn = alone();
    let text = String::from_utf8(wirespeed(here(), &["cc", "list"]).stdout).unwrap();
    let json = wirespeed(here(), &["cc", "list", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let rows = json["controls"].as_array().unwrap();
    for control in controls() {
        let line = text.lines().find(|line| line.split(' ').next() == Some(control.name)).unwrap();
        let row = rows.iter().find(|row| row["name"] == control.name).unwrap();
        assert!(line.contains(row["state"].as_str().unwrap()) && line.contains(control.about), "{line}");
        match control.can_load() {
            Ok(()) => assert_eq!(row["state"], "can be loaded"),
            Err(Reason::NameTaken { .. }) => assert_ne!(row["state"], "can be loaded"),
            Err(reason) => {
                assert_eq!(row["more"], reason.to_string());
                assert!(text.contains(&format!("not here: {reason}")), "{text}");
            }
        }
    }
    for name in available() {
        assert!(text.lines().any(|line| line.split(' ').next() == Some(&name)), "{name} is not in:\n{text}");
    }
}

#[test]
fn a_name_that_is_not_there_is_a_mistake_of_usage() {
    let output = wirespeed(here(), &["cc", "load", "tahoe"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("no congestion control `tahoe`"), "{}", errors(&output));
    assert!(errors(&output).contains("it has bic, "), "{}", errors(&output));
    let output = wirespeed(here(), &["cc", "load", "reno"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("needs no loading"), "{}", errors(&output));
}

#[test]
fn a_command_has_them_and_its_exit_code_is_passed_on() {
    const TEST: &str = "a_command_has_them_and_its_exit_code_is_passed_on";
    let Some(_turn) = turn(TEST) else { return };
    let before = available();
    let script = "cat /proc/sys/net/ipv4/tcp_available_congestion_control; exit 7";
    let output = wirespeed(here(), &["cc", "load", "lola", "ws_fast", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(7), "{}", errors(&output));
    let seen = String::from_utf8(output.stdout).unwrap();
    assert!(seen.split_whitespace().any(|name| name == "lola"), "{seen}");
    assert!(seen.split_whitespace().any(|name| name == "ws_fast"), "{seen}");
    assert_eq!(available(), before);
    let output = wirespeed(here(), &["cc", "load", "lola", "--", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert_eq!(available(), before);
}

#[test]
fn time_and_ctrl_c_and_termination_end_it_well() {
    const TEST: &str = "time_and_ctrl_c_and_termination_end_it_well";
    let Some(_turn) = turn(TEST) else { return };
    let before = available();
    let start = Instant::now();
    let output = wirespeed(here(), &["cc", "load", "lola", "--time", "300 ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert_eq!(available(), before);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut holder = Holder::start(&["lola"]);
        assert!(available().contains(&"lola".to_owned()));
        holder.signal(signal);
        assert_eq!(holder.end().code(), Some(0), "signal {signal}");
        assert_eq!(available(), before, "signal {signal}");
    }
}

#[test]
fn a_command_is_ended_with_it() {
    const TEST: &str = "a_command_is_ended_with_it";
    let Some(_turn) = turn(TEST) else { return };
    let before = available();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 60", file.display());
    let child = command(here(), &["cc", "load", "lola", "--", "sh", "-c", &script]).spawn().unwrap();
    let mut holder = Holder { child, said: None };
    let deadline = Instant::now() + Duration::from_secs(10);
    let pid = loop {
        if let Ok(pid) = std::fs::read_to_string(&file) {
            break pid.trim().to_owned();
        }
        assert!(Instant::now() < deadline, "the command does not start");
        std::thread::sleep(Duration::from_millis(10));
    };
    // To the program alone, as a service manager would.
    holder.signal(libc::SIGTERM);
    assert_eq!(holder.end().code(), Some(128 + libc::SIGTERM));
    assert!(!Path::new("/proc").join(pid).exists(), "the command goes on");
    assert_eq!(available(), before);
}

#[test]
fn killed_it_leaves_nothing_that_cannot_be_removed() {
    const TEST: &str = "killed_it_leaves_nothing_that_cannot_be_removed";
    let Some(_turn) = turn(TEST) else { return };
    let before = available();
    let mut holder = Holder::start(&["lola", "fast"]);
    let found = registered().unwrap();
    assert!(found.iter().all(|found| found.holder == Some(holder.child.id())), "{found:?}");
    let vanishes = found.iter().all(|found| found.vanishes);
    // Another one is told who has it, and does not take it away.
    let output = wirespeed(here(), &["cc", "load", "lola"]);
    assert_eq!(output.status.code(), Some(2));
    let whose = format!("in process {}", holder.child.id());
    assert!(errors(&output).replace("\n  | ", " ").contains(&whose), "{}", errors(&output));
    let output = wirespeed(here(), &["cc", "unload", "lola"]);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    assert!(available().contains(&"lola".to_owned()));
    holder.signal(libc::SIGKILL);
    holder.end();
    let deadline = Instant::now() + Duration::from_secs(2);
    while vanishes && available() != before && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    if !vanishes {
        let output = wirespeed(here(), &["cc", "unload", "lola", "fast"]);
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    }
    assert_eq!(available(), before);
    let output = wirespeed(here(), &["cc", "unload", "lola"]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert!(errors(&output).contains("lola is not registered by wirespeed"), "{}", errors(&output));
}

#[test]
fn unload_removes_leftovers() {
    const TEST: &str = "unload_removes_leftovers";
    let Some(_turn) = turn(TEST) else { return };
    let before = available();
    // As a process on a kernel before 6.4 leaves it when it is killed.
    control("lola").unwrap().load_without_link().unwrap().abandon();
    let list = String::from_utf8(wirespeed(here(), &["cc", "list"]).stdout).unwrap();
    assert!(list.contains("left behind: wirespeed cc unload lola"), "{list}");
    let output = wirespeed(here(), &["cc", "load", "lola"]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert!(errors(&output).contains("help: wirespeed cc unload lola"), "{}", errors(&output));
    let output = wirespeed(here(), &["cc", "unload", "lola"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert_eq!(errors(&output), "removed: lola\n");
    assert_eq!(available(), before);
}

#[test]
fn the_program_brings_libbpf_and_what_it_needs_along() {
    const TEST: &str = "the_program_brings_libbpf_and_what_it_needs_along";
    let Ok(output) = Command::new("ldd").arg(env!("CARGO_BIN_EXE_wirespeed")).output() else {
        return skip(TEST, "there is no ldd here");
    };
    let needed = String::from_utf8(output.stdout).unwrap();
    assert!(needed.contains("libc.so"), "{needed}");
    for library in ["libbpf", "libelf", "libz"] {
        assert!(!needed.contains(library), "agents are copied to hosts that have no {library}:\n{needed}");
    }
}
