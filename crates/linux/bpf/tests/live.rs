//! The controls in this machine's kernel: loaded, used by flows over veth, and gone.

#[path = "support/bed.rs"]
mod bed;

use bed::{Bed, flow, skip};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wirespeed_bpf::{LoadError, Naming, Owner, Reason, UnloadError, control, controls, registered, unload};

/// What sockets can choose.
fn available() -> Vec<String> {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    list.split_whitespace().map(str::to_owned).collect()
}

/// Registrations are the whole kernel's: one test at a time. `None` where nothing can be loaded, and why is told.
fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Names that are taken are a matter of each test.
    let reason = controls().iter().find_map(|control| match control.can_load() {
        Err(Reason::NameTaken { .. }) | Ok(()) => None,
        Err(reason) => Some(reason),
    });
    match reason {
        None => Some(turn),
        Some(reason) => {
            skip(test, &reason.to_string());
            None
        }
    }
}

#[test]
fn every_control_carries_a_flow_and_leaves_nothing() {
    const TEST: &str = "every_control_carries_a_flow_and_leaves_nothing";
    const BYTES: usize = 12 << 20;
    let Some(_turn) = turn(TEST) else { return };
    let Some(bed) = Bed::new(TEST) else { return };
    // A short queue at 400 Mbit/s: every flow meets losses and comes out of them.
    bed.inside(&bed.router, "tc qdisc add dev right root tbf rate 400mbit burst 64kb limit 60kb").unwrap();
    let before = available();
    for control in controls() {
        let naming = if control.can_load().is_ok() { Naming::Plain } else { Naming::Beside };
        let loaded = control.load_as(naming).unwrap_or_else(|error| panic!("{error}"));
        assert!(available().contains(&loaded.name().to_owned()), "{} is not registered", control.name);
        // Those that go by delay need not meet a loss; the others do, some only later.
        let patience = if ["vegas", "lola", "fast"].contains(&control.name) { 1 } else { 8 };
        let met_a_loss = (0..patience).any(|_| {
            let sent = flow(&bed, 5_001, BYTES, Some(loaded.name())).unwrap();
            assert_eq!(sent.congestion, loaded.name(), "the socket says what it uses");
            assert_eq!(sent.received, BYTES, "{}", control.name);
            sent.retransmitted > 0
        });
        assert!(met_a_loss || patience == 1, "{} met no loss, so its reaction was not tried", control.name);
        loaded.remove().unwrap();
        assert_eq!(available(), before, "{} left something behind", control.name);
    }
    assert_eq!(registered().unwrap(), []);
}

#[test]
fn dropping_it_removes_it_and_a_second_one_is_told_who_has_the_name() {
    const TEST: &str = "dropping_it_removes_it_and_a_second_one_is_told_who_has_the_name";
    let Some(_turn) = turn(TEST) else { return };
    let before = available();
    let fast = control("fast").unwrap();
    let loaded = fast.load().unwrap();
    let owner = Owner::Process(std::process::id());
    assert_eq!(fast.can_load(), Err(Reason::NameTaken { name: "fast".into(), owner }));
    assert!(matches!(fast.load(), Err(LoadError::Cannot { .. })));
    let held = unload("fast").unwrap_err();
    assert!(matches!(held, UnloadError::Held { pid, .. } if pid == std::process::id()), "{held}");
    // The other name is another matter.
    let beside = fast.load_as(Naming::Beside).unwrap();
    assert_eq!(beside.name(), "ws_fast");
    let names: Vec<String> = registered().unwrap().into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["fast", "ws_fast"]);
    drop(loaded);
    drop(beside);
    assert_eq!(available(), before);
    assert!(matches!(unload("fast"), Err(UnloadError::None { .. })));
}

#[test]
fn a_control_of_the_kernel_is_left_alone() {
    const TEST: &str = "a_control_of_the_kernel_is_left_alone";
    let Some(_turn) = turn(TEST) else { return };
    let before = available();
    let Some(theirs) = controls().iter().find(|control| {
        matches!(control.can_load(), Err(Reason::NameTaken { owner: Owner::Kernel | Owner::Module(_), .. }))
    }) else {
        return skip(TEST, "this kernel has none of ours itself");
    };
    assert!(matches!(theirs.load(), Err(LoadError::Cannot { .. })));
    let beside = theirs.load_as(Naming::Beside).unwrap();
    assert_eq!(beside.name(), format!("ws_{}", theirs.name));
    beside.remove().unwrap();
    assert_eq!(available(), before);
}

#[test]
fn an_ordinary_user_gets_a_list_of_missing_rights() {
    const TEST: &str = "an_ordinary_user_gets_a_list_of_missing_rights";
    let Some(_turn) = turn(TEST) else { return };
    let thread = std::thread::spawn(|| {
        const NOBODY: libc::uid_t = 65_534;
        // SAFETY: a system call without pointers; called past the C library it concerns this thread only.
        let result = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        (control("lola").unwrap().can_load(), control("lola").unwrap().load().map(drop), registered())
    });
    let (can, loaded, registered) = thread.join().unwrap();
    assert!(matches!(can, Err(Reason::NotPermitted { .. })), "{can:?}");
    assert!(loaded.unwrap_err().to_string().contains("cap_bpf"));
    assert!(matches!(registered, Err(Reason::NotPermitted { .. })), "{registered:?}");
}

/// A process that holds a control and is killed: what it says, and what is left of it.
fn hold_and_kill(how: &str) {
    let mut holder = Holder::start(how);
    assert!(available().contains(&"lola".to_owned()), "the other process has loaded it");
    let found = registered().unwrap();
    assert_eq!(found.iter().map(|found| found.holder).collect::<Vec<_>>(), [Some(holder.child.id())]);
    holder.child.kill().unwrap(); // SIGKILL
    holder.child.wait().unwrap();
}

#[test]
fn killed_with_a_link_nothing_stays() {
    const TEST: &str = "killed_with_a_link_nothing_stays";
    let Some(_turn) = turn(TEST) else { return };
    if !control("lola").unwrap().load().unwrap().vanishes() {
        return skip(TEST, "this kernel has no links for congestion controls (6.4)");
    }
    let before = available();
    hold_and_kill("link");
    let deadline = Instant::now() + Duration::from_secs(2);
    while available() != before {
        assert!(Instant::now() < deadline, "still there: {:?}", registered());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(registered().unwrap(), []);
}

#[test]
fn killed_without_a_link_it_stays_until_it_is_unloaded() {
    const TEST: &str = "killed_without_a_link_it_stays_until_it_is_unloaded";
    let Some(_turn) = turn(TEST) else { return };
    let lola = control("lola").unwrap();
    if let Err(reason) = lola.can_load() {
        return skip(TEST, &reason.to_string());
    }
    let before = available();
    hold_and_kill("map");
    std::thread::sleep(Duration::from_millis(200));
    let owner = Owner::Leftover("lola".into());
    assert_eq!(lola.can_load(), Err(Reason::NameTaken { name: "lola".into(), owner }));
    let found = registered().unwrap();
    assert!(matches!(&found[..], [found] if found.holder.is_none() && !found.vanishes), "{found:?}");
    unload("lola").unwrap();
    assert_eq!(available(), before);
    assert_eq!(registered().unwrap(), []);
}

/// Another process, this program, that holds lola until it is killed.
struct Holder {
    child: Child,
}

impl Holder {
    fn start(how: &str) -> Holder {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "holds_lola_until_it_is_killed", "--ignored", "--nocapture"])
            .env(HOW, how)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = said.any(|line| line.unwrap().contains(READY));
        assert!(ready, "the other process did not load it");
        Holder { child }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const HOW: &str = "WIRESPEED_TEST_HELD_BY";
const READY: &str = "registered";

#[test]
#[ignore = "the other process of the tests above"]
#[expect(clippy::print_stdout, reason = "how it tells the process that started it")]
fn holds_lola_until_it_is_killed() {
    let lola = control("lola").unwrap();
    let _loaded = match std::env::var(HOW).as_deref() {
        Ok("link") => lola.load().unwrap(),
        Ok("map") => lola.load_without_link().unwrap(),
        other => panic!("{HOW} is {other:?}: this is no test by itself"),
    };
    println!("{READY}");
    std::thread::sleep(Duration::from_secs(60));
}
