//! Guests of the real kernel. Without one each test says so and why, and checks nothing.
//!
//! `WIRESPEED_TEST_KERNEL` names an image to use instead of the cache's.
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wirespeed_kernel::{Boot, BootError, BuildOptions, Confinement, Exit, boot, find};
use wirespeed_units::Bytes;

/// The image, or `None` after saying why the test named does not run.
fn image(test: &str) -> Option<PathBuf> {
    if let Some(image) = std::env::var_os("WIRESPEED_TEST_KERNEL") {
        return Some(image.into());
    }
    match find(&BuildOptions::default()) {
        Ok(kernel) => Some(kernel.image),
        Err(error) => {
            say(&format!("{test} skipped: {error}"));
            None
        }
    }
}

/// Past libtest's capture, which hides what a passing test prints.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

struct Bench {
    _folder: TempDir,
    boot: Boot,
}

impl Bench {
    fn new(image: PathBuf, arguments: &[&str]) -> Self {
        Self::named(image, arguments, "out")
    }

    fn named(image: PathBuf, arguments: &[&str], writable: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writable = folder.path().join(writable);
        fs::create_dir(&writable).unwrap();
        let boot = Boot {
            image,
            init: env!("CARGO_BIN_EXE_guest_probe").into(),
            arguments: arguments.iter().map(|a| a.to_string()).collect(),
            parameters: Vec::new(),
            writable,
            memory: Bytes::mib(128),
            seed: 1,
            console: folder.path().join("console.log"),
            stall_limit: Duration::from_secs(60),
        };
        Bench { _folder: folder, boot }
    }

    fn run(&self) -> Result<Exit, BootError> {
        boot(&self.boot, &AtomicBool::new(false), &|| ())
    }

    /// What the probe found, and the console, for messages.
    fn found(&self) -> String {
        fs::read_to_string(self.boot.writable.join("probe")).unwrap()
    }

    fn console(&self) -> String {
        fs::read_to_string(&self.boot.console).unwrap()
    }
}

fn values<'a>(found: &'a str, name: &str) -> Vec<&'a str> {
    found.lines().filter_map(|l| l.split_once(' ')).filter(|(n, _)| *n == name).map(|(_, v)| v).collect()
}

/// Processes whose command line holds this text.
fn processes(text: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|e| {
        fs::read(e.path().join("cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(text))
    })
    .count()
}

#[test]
fn a_guest_runs_in_virtual_time_and_writes_to_its_folder_only() {
    let Some(image) = image("a_guest_runs_in_virtual_time_and_writes_to_its_folder_only") else { return };
    let bench = Bench::named(image, &["look", "--help", "two words", "mem=1"], "with space, comma");
    let exit = bench.run().unwrap_or_else(|e| panic!("{e}\n{}", bench.console()));
    let found = bench.found();
    assert_eq!(values(&found, "arguments"), [r#"["--help", "two words", "mem=1"]"#]);
    // An hour passed in there, and no more.
    let slept: u64 = values(&found, "slept_ns")[0].parse().unwrap();
    assert!((3_600_000_000_000..3_600_100_000_000).contains(&slept), "{slept}");
    assert!(exit.wall < Duration::from_secs(60), "{exit:?}");
    let writes = values(&found, "write");
    assert!(writes.len() >= 7);
    for write in writes {
        // The guest's own memory file system is the one place beside the writable folder.
        assert_eq!(write.ends_with("true"), write == "/dev/shm true", "{write}");
    }
    for place in ["/var/tmp/wirespeed-probe-remount", "/tmp/wirespeed-probe", "/dev/shm/x"] {
        assert!(!Path::new(place).exists(), "{place}");
    }
    assert_eq!(fs::metadata(bench.boot.writable.join("sub/renamed")).unwrap().len(), 100_000);
    assert!(exit.cpu > Duration::ZERO && exit.cpu < exit.wall * 4, "{exit:?}");
    assert!(exit.peak_rss > Bytes::mib(4) && exit.peak_rss < Bytes::mib(256), "{exit:?}");
    if !matches!(exit.confinement, Confinement::Full) {
        say(&exit.confinement.to_string());
    }
}

#[test]
fn one_seed_gives_one_run_and_another_seed_another() {
    let Some(image) = image("one_seed_gives_one_run_and_another_seed_another") else { return };
    let run = |seed, writable| {
        let mut bench = Bench::named(image.clone(), &["look"], writable);
        bench.boot.seed = seed;
        bench.run().unwrap_or_else(|e| panic!("{e}\n{}", bench.console()));
        (bench.found(), bench.console())
    };
    let (first, first_console) = run(7, "out");
    let (again, again_console) = run(7, "a folder of another name");
    assert_eq!(first, again);
    assert_eq!(first_console, again_console);
    let (other, _) = run(8, "out");
    assert_ne!(values(&first, "random"), values(&other, "random"));
}

#[test]
fn inits_code_is_told() {
    let Some(image) = image("inits_code_is_told") else { return };
    let error = Bench::new(image, &["code", "7"]).run().unwrap_err();
    assert!(matches!(error, BootError::Init { code: 7, .. }), "{error}");
}

#[test]
fn a_panic_is_told_with_the_kernels_message() {
    let Some(image) = image("a_panic_is_told_with_the_kernels_message") else { return };
    let bench = Bench::new(image, &["end"]);
    match bench.run().unwrap_err() {
        BootError::Panic { message, console } => {
            assert!(message.contains("Attempted to kill init"), "{message}");
            assert!(fs::read_to_string(console).unwrap().contains(&message));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_guest_without_memory_left_is_told() {
    let Some(image) = image("a_guest_without_memory_left_is_told") else { return };
    let error = Bench::new(image, &["eat"]).run().unwrap_err();
    assert!(matches!(error, BootError::GuestMemory { .. }), "{error}");
}

#[test]
fn a_guest_that_gets_nowhere_is_killed() {
    let Some(image) = image("a_guest_that_gets_nowhere_is_killed") else { return };
    let mut bench = Bench::new(image, &["spin"]);
    bench.boot.stall_limit = Duration::from_secs(2);
    let error = bench.run().unwrap_err();
    assert!(matches!(error, BootError::Hang { .. }), "{error}");
    assert_eq!(bench.found(), "about to spin");
    assert!(error.to_string().contains("Run /proc/self/cwd/init"), "{error}");
}

#[test]
fn a_request_to_stop_leaves_no_process_and_no_folder() {
    let Some(image) = image("a_request_to_stop_leaves_no_process_and_no_folder") else { return };
    let bench = Bench::new(image, &["spin", "7c2e5f0a-stop"]);
    let (cancel, ticks) = (AtomicBool::new(false), AtomicU32::new(0));
    let start = Instant::now();
    let alive = || {
        ticks.fetch_add(1, Ordering::Relaxed);
        if bench.boot.writable.join("probe").exists() {
            assert!(processes("7c2e5f0a-stop") > 0);
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let result = boot(&bench.boot, &cancel, &alive);
    assert!(matches!(result, Err(BootError::Cancelled)));
    assert!(ticks.into_inner() > 0 && start.elapsed() < Duration::from_secs(60));
    assert_eq!(processes("7c2e5f0a-stop"), 0);
}

#[test]
fn a_guest_dies_with_the_process_that_started_it() {
    let Some(image) = image("a_guest_dies_with_the_process_that_started_it") else { return };
    let mark = "7c2e5f0a-orphan";
    if std::env::var_os("WIRESPEED_TEST_PARENT").is_some() {
        let _ = Bench::new(image, &["spin", mark]).run();
        return;
    }
    let mut parent = Command::new(std::env::current_exe().unwrap());
    parent.args(["--exact", "a_guest_dies_with_the_process_that_started_it"]);
    let mut parent = parent.env("WIRESPEED_TEST_PARENT", "1").spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // The kernel's process and that of init, which is its copy.
    while processes(mark) < 2 {
        assert!(Instant::now() < deadline, "the guest did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    parent.kill().unwrap();
    parent.wait().unwrap();
    while processes(mark) > 0 {
        assert!(Instant::now() < deadline, "the guest outlived its parent");
        std::thread::sleep(Duration::from_millis(20));
    }
}
