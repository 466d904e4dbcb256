//! Verdicts on kernels that are shell scripts: what they print and how they end is what the real one does.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::thread;

struct Fake {
    folder: tempfile::TempDir,
    boot: Boot,
}

/// A kernel that runs this script; its folder, with the links, is `.`.
fn fake(script: &str) -> Fake {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("linux");
    fs::write(&image, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&image, fs::Permissions::from_mode(0o755)).unwrap();
    let writable = folder.path().join("out");
    fs::create_dir(&writable).unwrap();
    let boot = Boot {
        init: image.clone(),
        image,
        arguments: vec!["agent".into()],
        parameters: Vec::new(),
        writable,
        memory: Bytes::mib(16),
        seed: 42,
        console: folder.path().join("console.log"),
        stall_limit: Duration::from_secs(30),
    };
    Fake { folder, boot }
}

impl Fake {
    fn run(&self) -> Result<Exit, BootError> {
        // Another test's fork may hold the script open for writing for a moment (ETXTBSY).
        loop {
            match boot(&self.boot, &AtomicBool::new(false), &|| ()) {
                Err(BootError::Io { source, .. }) if source.kind() == io::ErrorKind::ExecutableFileBusy => {
                    thread::sleep(Duration::from_millis(5));
                }
                result => return result,
            }
        }
    }

    fn console(&self) -> String {
        fs::read_to_string(&self.boot.console).unwrap()
    }
}

const POWER_OFF: &str = "echo 'reboot: Power down'";

#[test]
fn powering_off_is_a_good_end() {
    let fake = fake(&format!("echo hello; echo oops >&2; {POWER_OFF}"));
    let exit = fake.run().unwrap();
    assert!(exit.wall < Duration::from_secs(30));
    assert_eq!(fake.console(), "hello\noops\nreboot: Power down\n");
}

#[test]
fn a_panic_is_named() {
    let fake = fake("echo 'Kernel panic - not syncing: no init found'; kill -ABRT $$");
    let error = fake.run().unwrap_err();
    assert!(matches!(&error, BootError::Panic { message, .. } if message == "no init found"), "{error}");
    assert!(error.to_string().contains("console.log"), "{error}");
}

#[test]
fn inits_code_and_a_full_disk_are_told_apart() {
    let error = fake(&format!("{POWER_OFF}; exit 9")).run().unwrap_err();
    assert!(matches!(error, BootError::Init { code: 9, .. }), "{error}");
    let error = fake(&format!("{POWER_OFF}; exit 28")).run().unwrap_err();
    assert!(matches!(error, BootError::DiskFull { .. }), "{error}");
}

#[test]
fn an_end_without_powering_off_shows_what_was_said_last() {
    let error = fake("echo ptrace: Operation not permitted >&2; exit 1").run().unwrap_err();
    assert!(matches!(error, BootError::Died { .. }), "{error}");
    assert!(error.to_string().contains("ptrace: Operation not permitted"), "{error}");
    // A clean exit of a kernel that never ran is no success either.
    assert!(matches!(fake("exit 0").run(), Err(BootError::Died { .. })));
    let error = fake("kill -BUS $$").run().unwrap_err();
    assert!(error.to_string().contains("no room left for the guest's memory"), "{error}");
}

#[test]
fn silence_is_a_hang_and_the_process_is_killed() {
    let mut fake = fake("echo booting; echo $$ > writable/pid; sleep 600 & wait");
    fake.boot.stall_limit = Duration::from_millis(300);
    let error = fake.run().unwrap_err();
    assert!(matches!(&error, BootError::Hang { tail, .. } if tail == "booting"), "{error}");
    let pid: libc::pid_t =
        fs::read_to_string(fake.boot.writable.join("pid")).unwrap().trim().parse().unwrap();
    assert!(!is_running(pid));
}

#[test]
fn signs_of_life_keep_it_running() {
    let script = "for i in 1 2 3 4 5 6; do sleep 0.1; echo $i >> writable/heartbeat; done";
    let mut fake = fake(&format!("{script}; {POWER_OFF}"));
    fake.boot.stall_limit = Duration::from_millis(400);
    fake.run().unwrap();
}

#[test]
fn a_request_to_stop_kills_the_whole_group() {
    let fake = fake("sleep 600 & echo $! > writable/pid; wait");
    let pid_file = fake.boot.writable.join("pid");
    let cancel = AtomicBool::new(false);
    let alive = || {
        if fs::read_to_string(&pid_file).is_ok_and(|p| !p.trim().is_empty()) {
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let result = boot(&fake.boot, &cancel, &alive);
    assert!(matches!(result, Err(BootError::Cancelled)));
    let pid = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    assert!(!is_running(pid));
}

#[test]
fn the_environment_is_cleared_but_for_what_the_guest_needs() {
    let fake = fake(&format!(
        "env | grep -o '^[A-Z_]*' | sort | tr '\\n' ' '; echo; echo seed $WIRESPEED_SEED; {POWER_OFF}"
    ));
    fake.run().unwrap();
    let console = fake.console();
    // PWD and _ are the shell's own.
    let names: Vec<_> = console
        .lines()
        .next()
        .unwrap()
        .split(' ')
        .filter(|n| !["PWD", "_", "OLDPWD", "SHLVL", ""].contains(n))
        .collect();
    assert_eq!(names, ["HOME", "PATH", "TMPDIR", "WIRESPEED_SEED"]);
    assert!(console.contains("seed 42"), "{console}");
}

#[test]
fn open_files_of_this_process_do_not_reach_the_guest() {
    let secret = tempfile::tempfile().unwrap();
    // SAFETY: a system call on a descriptor that is open; clears FD_CLOEXEC, as if it had been inherited.
    unsafe { libc::fcntl(secret.as_raw_fd(), libc::F_SETFD, 0) };
    let fake = fake(&format!("test -e /proc/self/fd/{} && echo leaked; {POWER_OFF}", secret.as_raw_fd()));
    fake.run().unwrap();
    assert!(!fake.console().contains("leaked"));
}

#[test]
fn a_request_that_cannot_be_met_names_the_path() {
    let good = fake("exit 0");
    let missing = good.folder.path().join("none");
    for (what, boot) in [
        ("kernel image", Boot { image: missing.clone(), ..good.boot.clone() }),
        ("init", Boot { init: missing.clone(), ..good.boot.clone() }),
        ("writable folder", Boot { writable: missing.clone(), ..good.boot.clone() }),
        ("writable folder", Boot { writable: good.boot.image.clone(), ..good.boot.clone() }),
    ] {
        let error = super::boot(&boot, &AtomicBool::new(false), &|| ()).unwrap_err();
        assert!(matches!(&error, BootError::Request { what: w, .. } if *w == what), "{error}");
    }
}

/// Whether a process runs; one that ended and was not yet reaped by whoever adopted it does not.
fn is_running(pid: libc::pid_t) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
