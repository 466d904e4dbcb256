//! Tests that need another kernel than this machine's, or a driver of a real interface: they run themselves in a guest
//! of QEMU (`tools/guest`), all in one, and tell what came of each. Without QEMU or a kernel for it they are skipped.

use super::bed::Bed;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Set where the guest has been reached.
const INSIDE: &str = "WIRESPEED_IN_QEMU";
/// The guest is ended after that, in seconds; all tests together take a third of it on two cores that do nothing else.
const LIMIT: &str = "1080";

/// Attempts to boot.
const BOOTS: usize = 3;

/// Runs a test in the guest; `name` is what cargo calls it.
///
/// # Panics
/// If it failed there, with what it printed.
pub fn in_guest(name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    match &*GUEST {
        Guest::Lacks(why) => super::skip(name, why),
        Guest::Said(log) => {
            // What a test of a minute and more is called slow with stands in the midst of the line that says how it ended.
            let ran = log.lines().any(|line| line.starts_with(&format!("test {name} ")));
            let ended = log.lines().any(|line| line.starts_with("test result: "));
            let failures = log.rsplit_once("\nfailures:\n").map_or("", |(_, names)| names);
            let ok = ran && ended && !failures.lines().any(|line| line.trim() == name);
            let printed = told_by(name, log);
            assert!(ok, "in the guest:\n{printed}");
            printed
                .lines()
                .filter_map(|line| line.strip_prefix(AGAIN))
                .for_each(|why| super::retried(name, why));
            match printed.lines().find_map(|line| line.strip_prefix(LACKS)) {
                Some(why) => super::skip(name, why),
                None => println!("{printed}"),
            }
        }
    }
}

/// What a test prints, before the reason, that finds the guest lacking.
pub const LACKS: &str = "the guest lacks ";

/// Text before the reason, when a test repeats its attempt in the guest.
pub const AGAIN: &str = "once more: ";

/// What came of the guest.
enum Guest {
    /// It cannot be, and why.
    Lacks(String),
    /// What the tests in it printed.
    Said(String),
}

/// One guest for all tests of this program: booting takes as long as three of them.
static GUEST: LazyLock<Guest> = LazyLock::new(|| {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/guest");
    let check = Command::new(tools.join("fetch")).arg("--check").stdin(Stdio::null()).output();
    let check = check.expect("tools/guest/fetch can be started");
    if !check.status.success() {
        let why = String::from_utf8_lossy(&check.stderr).replace("guest: ", "");
        return Guest::Lacks(why.lines().collect::<Vec<_>>().join("; "));
    }
    // The tests that were asked for; one after another, since they share the interfaces and the cores.
    let mut asked = std::env::args().skip(1);
    let mut arguments = Vec::new();
    while let Some(argument) = asked.next() {
        match argument.as_str() {
            "--test-threads" => drop(asked.next()),
            "--show-output" | "--nocapture" => {}
            other if other.starts_with("--test-threads=") => {}
            _ => arguments.push(argument),
        }
    }
    let boot = || {
        let output = Command::new(tools.join("run"))
            .args(["--time", LIMIT])
            .args(["--nic", "vmxnet3", "--nic", "virtio-net-pci", "--multiqueue", "--"])
            .arg(std::env::current_exe().expect("this program has a file"))
            .args(&arguments)
            .args(["--test-threads=1", "--show-output", "--color=never"])
            .env(INSIDE, "1")
            .env(super::PROGRAM, super::without_names())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .output()
            .expect("tools/guest/run can be started");
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat()
    };
    let mut log = boot();
    // QEMU 7.2 with a thread per emulated processor has crashed so, rarely, before any test began.
    for _ in 1..BOOTS {
        if !log.contains("Segmentation fault") || log.contains("\nrunning ") {
            break;
        }
        super::retried("the guest", "QEMU crashed while the kernel booted");
        log = boot();
    }
    Guest::Said(log)
});

/// What a test printed in the guest; all that is known if it is not among them.
fn told_by<'a>(name: &str, log: &'a str) -> &'a str {
    let begin = format!("---- {name} stdout ----\n");
    let Some((_, rest)) = log.split_once(&begin) else { return log };
    rest.split("\n---- ").next().unwrap_or(rest).split("\n\nfailures:").next().unwrap_or(rest).trim_end()
}

/// MAC addresses of the interfaces in the guest; see `tools/guest/run`. The first one's ring is that of vmxnet3: of
/// QEMU's models it is the one that drops what its ring has no room for. With the others packets wait outside of the
/// machine until there is room.
const RECEIVER: &str = "52:54:00:00:00:01";
const SENDER: &str = "52:54:00:00:00:02";
const MULTIQUEUE: [&str; 2] = ["52:54:00:00:01:01", "52:54:00:00:01:02"];

/// Two machines of the guest; the receiving one has a vmxnet3.
pub fn with_a_ring_that_drops() -> Bed {
    let ends = [SENDER, RECEIVER].map(|address| interface(address).expect("the guest has it"));
    Bed::between(ends).expect("the guest has namespaces")
}

/// Two machines of the guest whose interfaces have four queues each; `None`, and it is said, where it has none.
pub fn with_queues() -> Option<Bed> {
    let [Some(sender), Some(receiver)] = MULTIQUEUE.map(interface) else {
        println!("{LACKS}interfaces with several queues: this machine has no taps or no bridge for them");
        return None;
    };
    Some(Bed::between([sender, receiver]).expect("the guest has namespaces"))
}

/// The interface of an address. It comes back only some time after the namespace it was in is gone.
fn interface(address: &str) -> Option<String> {
    let has = |folder: &PathBuf| {
        std::fs::read_to_string(folder.join("address")).is_ok_and(|text| text.trim() == address)
    };
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        let folders = std::fs::read_dir("/sys/class/net").expect("/sys is there");
        if let Some(found) = folders.flatten().map(|entry| entry.path()).find(has) {
            return found.file_name().map(|name| name.to_string_lossy().into_owned());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}
