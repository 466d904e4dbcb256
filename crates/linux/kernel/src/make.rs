//! Running the programs of a build: output to a log, progress by line, an end on request.

use crate::builder::{Phase, Progress};
use crate::console::tail;
use crate::error::KernelError;
use crate::process::kill_group;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How soon a request to stop is seen.
const POLL: Duration = Duration::from_millis(100);
/// Lines of the log that an error shows.
const TAIL_LINES: usize = 25;

/// An error if a stop was requested.
pub fn cancelled(cancel: &AtomicBool) -> Result<(), KernelError> {
    if cancel.load(Ordering::Relaxed) { Err(KernelError::Cancelled) } else { Ok(()) }
}

/// What all steps of one build share.
pub struct Job<'a> {
    /// Everything the programs say.
    pub log: PathBuf,
    /// Set from outside to stop.
    pub cancel: &'a AtomicBool,
    /// The step.
    pub phase: Phase,
    /// Who is told.
    pub progress: &'a mut dyn FnMut(Progress),
}

/// A process group that dies with this value.
pub struct Running(Child);

impl Running {
    /// The program's standard input, which was asked to be piped.
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.0.stdin.take().expect("standard input was piped and is taken once")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        kill_group(self.0.id());
        // Reaps it; a failure means that it was reaped before.
        let _ = self.0.wait();
    }
}

impl Job<'_> {
    /// Tells how far the step is.
    pub fn report(&mut self, done: u64, total: u64, line: String) {
        (self.progress)(Progress { phase: self.phase, done, total, line });
    }

    /// Starts a program in its own process group and in a clean environment, so that neither a terminal's
    /// Ctrl-C nor the user's `KCFLAGS`, `CROSS_COMPILE` or an outer make's `MAKEFLAGS` reach it.
    pub fn spawn(&self, mut command: Command) -> Result<Running, KernelError> {
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.map_err(KernelError::io("open", &self.log))?;
        let program = PathBuf::from(command.get_program());
        command.env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"));
        command.envs(FIXED).stderr(log).process_group(0);
        // SAFETY: prctl is a system call without memory arguments, allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        command.spawn().map(Running).map_err(KernelError::io("start", &program))
    }

    /// Waits for the end of a program whose standard output is not piped.
    pub fn wait(&self, mut running: Running, what: &str) -> Result<(), KernelError> {
        loop {
            cancelled(self.cancel)?;
            match running.0.try_wait().map_err(KernelError::io("wait for", Path::new(what)))? {
                Some(status) if status.success() => return Ok(()),
                Some(_) => return Err(self.failed(what)),
                None => std::thread::sleep(POLL / 10),
            }
        }
    }

    /// Runs make with these arguments; `counts` says which lines of its output are progress, of `total`.
    pub fn make(
        &mut self,
        tree: &Path,
        arguments: &[String],
        what: &str,
        counts: fn(&str) -> bool,
        total: u64,
    ) -> Result<u64, KernelError> {
        let mut command = Command::new("make");
        command.args(arguments).current_dir(tree).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = self.spawn(command)?;
        let output = running.0.stdout.take().expect("standard output was piped");
        let (sender, lines) = channel();
        let reader = std::thread::spawn(move || {
            // An unreadable line ends the output as its end does; make's status decides.
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
        let log = File::options().create(true).append(true).open(&self.log);
        let mut log = log.map_err(KernelError::io("open", &self.log))?;
        let mut done = 0;
        loop {
            cancelled(self.cancel)?;
            match lines.recv_timeout(POLL) {
                Ok(line) => {
                    writeln!(log, "{line}").map_err(KernelError::io("write", &self.log))?;
                    done += u64::from(counts(&line));
                    self.report(done, total.max(done), line.trim().to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // It ended, since its output was closed.
        let _ = reader.join();
        self.wait(running, what)?;
        Ok(done)
    }

    fn failed(&self, what: &str) -> KernelError {
        KernelError::Failed {
            what: what.to_owned(),
            tail: tail(&self.log, TAIL_LINES),
            log: self.log.clone(),
        }
    }
}

/// Fixed so that one recipe gives one kernel: its version string is part of its entropy at boot.
pub const FIXED: [(&str, &str); 5] = [
    ("LC_ALL", "C"),
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
    ("KBUILD_BUILD_USER", "wirespeed"),
    ("KBUILD_BUILD_HOST", "wirespeed"),
    ("KBUILD_BUILD_VERSION", "1"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn with_job<T>(cancel: &AtomicBool, act: impl FnOnce(&mut Job<'_>) -> T) -> (T, Vec<Progress>) {
        let folder = tempfile::tempdir().unwrap();
        let mut seen = Vec::new();
        let mut progress = |p| seen.push(p);
        let log = folder.path().join("build.log");
        let mut job = Job { log, cancel, phase: Phase::Compile, progress: &mut progress };
        let result = act(&mut job);
        (result, seen)
    }

    fn makefile(text: &str) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("Makefile"), text).unwrap();
        tree
    }

    #[test]
    fn lines_are_counted_and_told() {
        let tree = makefile("all:\n\t@echo '  CC a.o'\n\t@echo other\n\t@echo '  CC b.o'\n");
        let (done, seen) = with_job(&AtomicBool::new(false), |job| {
            job.make(tree.path(), &[], "make", |line| line.starts_with("  CC "), 10)
        });
        assert_eq!(done.unwrap(), 2);
        assert_eq!(seen.last().map(|p| (p.done, p.total, p.line.as_str())), Some((2, 10, "CC b.o")));
    }

    #[test]
    fn a_failure_shows_the_end_of_the_log_and_where_it_is() {
        let tree = makefile("all:\n\t@echo a.c:1: error: missing semicolon >&2; false\n");
        let (result, _) = with_job(&AtomicBool::new(false), |job| {
            job.make(tree.path(), &[], "compiling the kernel", |_| false, 1)
        });
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with("compiling the kernel failed"), "{message}");
        assert!(message.contains("missing semicolon") && message.contains("build.log"), "{message}");
    }

    #[test]
    fn a_request_to_stop_ends_the_whole_group() {
        let tree = makefile("all:\n\t@echo $$PPID; sleep 600 & echo $$! > pid; wait\n");
        let cancel = AtomicBool::new(false);
        let pid = tree.path().join("pid");
        let start = Instant::now();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                while std::fs::read_to_string(&pid).map_or(true, |p| p.trim().is_empty()) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                cancel.store(true, Ordering::Relaxed);
            });
            with_job(&cancel, |job| job.make(tree.path(), &[], "make", |_| false, 1)).0
        });
        assert!(matches!(result, Err(KernelError::Cancelled)));
        assert!(start.elapsed() < Duration::from_secs(60));
        let sleeper = std::fs::read_to_string(&pid).unwrap();
        let stat = format!("/proc/{}/stat", sleeper.trim());
        // Killed with its group; whoever adopted it may not have reaped it yet.
        for _ in 0..200 {
            match std::fs::read_to_string(&stat) {
                Ok(text) if !text.contains(") Z ") => std::thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        panic!("the compiler's process outlived the build");
    }

    #[test]
    fn the_users_environment_does_not_reach_the_build() {
        let tree = makefile("all:\n\t@env\n");
        let (_, seen) = with_job(&AtomicBool::new(false), |job| {
            job.make(tree.path(), &[], "make", |_| false, 1).unwrap();
        });
        let names: Vec<_> = seen.iter().filter_map(|p| p.line.split('=').next()).collect();
        assert!(names.contains(&"KBUILD_BUILD_USER"), "{names:?}");
        assert!(!names.contains(&"HOME") && !names.iter().any(|n| n.starts_with("CARGO")), "{names:?}");
    }
}
