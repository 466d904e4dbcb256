//! Runs the program as a user would.

#[allow(dead_code, reason = "only tests between hosts have a bed")]
pub mod bed;
#[allow(dead_code, reason = "only tests of pages open them")]
pub mod browser;
#[allow(dead_code, reason = "only tests with a guest need one")]
pub mod guest;
#[allow(dead_code, reason = "only tests between hosts look into their ledger")]
pub mod ledger;
#[allow(dead_code, reason = "only tests of faults reach into an agent")]
pub mod receiver;
#[allow(dead_code, reason = "not every test needs folders of results")]
pub mod recordings;
#[allow(dead_code, reason = "only guests have the modules that are to be held against")]
pub mod rivals;
#[allow(dead_code, reason = "only tests of changes compare settings")]
pub mod settings;
#[allow(dead_code, reason = "most tests between hosts do with what stands in for ssh")]
pub mod sshd;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The program, in an empty folder of its own.
#[allow(dead_code, reason = "tests between hosts run it in their bed")]
pub fn wirespeed(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the program was built for this test")
}

/// Names another file of the program, which is the same but smaller.
pub const PROGRAM: &str = "WIRESPEED_TEST_PROGRAM";

/// The same, not started yet.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os(PROGRAM).unwrap_or_else(|| env!("CARGO_BIN_EXE_wirespeed").into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1").env_remove("COLUMNS");
    command
}

/// The program without its names for debuggers, a part of its size, for tests that copy it to machines: an emulated processor
/// needs a quarter of a minute to compress all of it. The whole where there is no `strip`.
#[allow(dead_code, reason = "not every test copies it")]
pub fn without_names() -> &'static Path {
    static SMALL: LazyLock<PathBuf> = LazyLock::new(|| {
        let whole = Path::new(env!("CARGO_BIN_EXE_wirespeed"));
        let small = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{}-without-names", env!("CARGO_CRATE_NAME")));
        let done = Command::new("strip").arg("-o").arg(&small).arg(whole).status();
        if done.is_ok_and(|status| status.success()) { small } else { whole.to_owned() }
    });
    &SMALL
}

/// Waits until something is so, which may take so long.
#[allow(dead_code, reason = "not every test waits")]
pub fn until(patience: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every table of a run, as bytes.
#[allow(dead_code, reason = "only tests of whole runs look at their bytes")]
pub fn tables(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "parquet"))
        .map(|path| (path.file_name().unwrap().into(), fs::read(&path).unwrap()))
        .collect();
    found.sort();
    assert!(found.len() >= 7);
    found
}

/// Standard error as text.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether there is a virtual-time kernel. If not, reports that the test is skipped, and why.
#[allow(dead_code, reason = "most tests need no kernel")]
pub fn has_kernel(test: &str) -> bool {
    let output = wirespeed(Path::new("."), &["kernel", "info"]);
    if !output.status.success() {
        skip(test, errors(&output).trim());
    }
    output.status.success()
}

/// Whether there is a virtual-time kernel of this version. If not, reports that the test is skipped, and why.
#[allow(dead_code, reason = "most tests take the default kernel")]
pub fn has_kernel_of(test: &str, version: &str) -> bool {
    let output = wirespeed(Path::new("."), &["kernel", "info", "--version", version]);
    if !output.status.success() {
        skip(test, errors(&output).trim());
    }
    output.status.success()
}

/// Reports that a test tries once more, and why: `tools/test-summary` counts these lines.
#[allow(dead_code, reason = "most tests have one attempt")]
pub fn retried(test: &str, why: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("{test} retried: {why}\n").as_bytes());
}

#[allow(unused_imports, reason = "not every test needs more than the program")]
pub use wirespeed_testbed::skip;
