//! Running one guest, from start to a verdict on how it ended.

use crate::command_line;
use crate::confinement::{self, Confinement, Rules};
use crate::console::{self, Verdict, tail};
use crate::error::BootError;
use crate::folder::GuestFolder;
use crate::guest::DISK_FULL;
use crate::process::{Ended, free_space, group_exists, kill_group, peak_rss, reap};
use crate::processor::{self, Processor};
use crate::watchdog::Watchdog;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wirespeed_units::Bytes;

/// A guest to run.
#[derive(Debug, Clone)]
pub struct Boot {
    /// The kernel ([`crate::Kernel::image`]).
    pub image: PathBuf,
    /// The program that is PID 1 in the guest, an executable of this host.
    pub init: PathBuf,
    /// Its arguments. They go into the kernel's entropy: with other arguments one seed gives another run, so
    /// pass what does not decide the run (paths) in a file in `writable`.
    pub arguments: Vec<String>,
    /// The folder the guest can write to; everything else of the host is read-only to it.
    pub writable: PathBuf,
    /// Memory of the guest. It is taken from the host as the guest uses it.
    pub memory: Bytes,
    /// Parameters of built-in modules, `MODULE.NAME=VALUE`, e.g. `tcp_cubic.bic_scale=41`. They are part of the
    /// kernel's entropy as the arguments are.
    pub parameters: Vec<String>,
    /// All of the guest's randomness.
    pub seed: u64,
    /// Where the console log goes; replaced if there. Kept whatever happens.
    pub console: PathBuf,
    /// A guest that changes no file in `writable` and says nothing on its console for this wall time is
    /// killed.
    pub stall_limit: Duration,
}

/// What a guest that ended well cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// From start to end.
    pub wall: Duration,
    /// User and system time of the kernel's process and of the processes that stand for the guest's programs.
    pub cpu: Duration,
    /// Peak resident set (`VmHWM`) of the kernel's process: all guest memory that was touched, what guest
    /// programs used included, and the kernel itself. Sampled 10 times a second.
    pub peak_rss: Bytes,
    /// How far the host held the guest to its folders; anything but `Full` is worth a warning.
    pub confinement: Confinement,
}

/// How long the end of the guest's process is waited for before the caller is told that it still runs.
const TICK: Duration = Duration::from_millis(100);
/// Lines of the console log in an error.
const TAIL_LINES: usize = 15;
/// Stack limit of the process: it places the mappings below it, and so is fixed.
const STACK: u64 = 8 << 20;
/// Less than this free is a full disk: no file can grow by a block.
const FULL: Bytes = Bytes::new(4096);

/// Runs a guest until it powers off. `alive` is called about ten times a second meanwhile; `cancel` may be
/// set at any time. When this returns no process of the guest is left, nor is one when this process is
/// killed.
///
/// # Errors
/// See [`BootError`]. The console log is at `boot.console` in each case but a [`BootError::Request`].
pub fn boot(boot: &Boot, cancel: &AtomicBool, alive: &dyn Fn()) -> Result<Exit, BootError> {
    let image = resolve("kernel image", &boot.image, |m| m.is_file())?;
    let init = resolve("init", &boot.init, |m| m.is_file())?;
    let writable = resolve("writable folder", &boot.writable, |m| m.is_dir())?;
    let arguments = command_line::arguments(boot.memory, &boot.parameters, &boot.arguments)?;
    let folder = GuestFolder::new(boot.memory, &init, &writable)?;
    let console = File::create(&boot.console).map_err(BootError::io("create", &boot.console))?;
    drop(console);
    let rules = Rules::new(&[folder.path(), &writable]);

    let start = Instant::now();
    let processor = Processor::take();
    let cpu = processor.as_ref().map(Processor::number);
    let command = command(boot, &image, &arguments, folder.path(), &rules, cpu)?;
    let process = Process::start(command).map_err(BootError::io("start", &image))?;
    let mut watchdog = Watchdog::new(&[&writable, &boot.console], boot.stall_limit);
    let mut peak = Bytes::ZERO;
    let ended = loop {
        process.wait_a_tick();
        peak = peak.max(process.peak_rss());
        if let Some(ended) = process.reap(false).map_err(BootError::io("wait for", &image))? {
            break ended;
        }
        alive();
        if cancel.load(Ordering::Relaxed) {
            return Err(BootError::Cancelled);
        }
        if let Some(still) = watchdog.hung() {
            let tail = tail(&boot.console, TAIL_LINES);
            return Err(BootError::Hang {
                stalled_s: still.as_secs_f64(),
                console: boot.console.clone(),
                tail,
            });
        }
    };
    let wall = start.elapsed();
    drop(process);
    judge(boot, &writable, ended)?;
    // A guest that ended before the first sample leaves only the coarser figure.
    let peak_rss = if peak == Bytes::ZERO { ended.peak_rss } else { peak };
    Ok(Exit { wall, cpu: ended.cpu, peak_rss, confinement: rules.confinement().clone() })
}

/// The full path of something the guest needs.
fn resolve(what: &'static str, path: &Path, fits: fn(&fs::Metadata) -> bool) -> Result<PathBuf, BootError> {
    let refuse = |reason: String| BootError::Request { what, path: path.to_owned(), reason };
    let full = fs::canonicalize(path).map_err(|e| refuse(e.to_string()))?;
    let meta = full.metadata().map_err(|e| refuse(e.to_string()))?;
    if fits(&meta) { Ok(full) } else { Err(refuse("is not a file or folder of the right kind".to_owned())) }
}

fn command(
    boot: &Boot,
    image: &Path,
    arguments: &[String],
    folder: &Path,
    rules: &Rules,
    processor: Option<usize>,
) -> Result<Command, BootError> {
    let console = || File::options().append(true).open(&boot.console);
    let console = || console().map_err(BootError::io("open", &boot.console));
    let mut command = Command::new(image);
    // Where the kernel lies must not change what lies where in its process.
    command.arg0("linux").args(arguments).current_dir(folder);
    command.env_clear().env("TMPDIR", ".").env("HOME", ".").env("PATH", "/usr/bin:/bin");
    command.env("WIRESPEED_SEED", boot.seed.to_string());
    command.stdin(Stdio::null()).stdout(console()?).stderr(console()?);
    let descriptor = rules.descriptor();
    let parent = std::process::id();
    // SAFETY: the closure makes system calls only and touches no memory but its own; nothing in it allocates.
    unsafe { command.pre_exec(move || before_exec(parent, processor, descriptor)) };
    Ok(command)
}

/// In the child: its own session, dies with us, on one processor, no core file, no open files, fixed addresses,
/// confined.
fn before_exec(parent: u32, processor: Option<usize>, rules: Option<i32>) -> io::Result<()> {
    let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: system calls with plain numbers or pointers to live local variables.
    unsafe {
        check(libc::setsid())?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() as u32 != parent {
            // The parent died before the line above; nobody is left to be told.
            libc::_exit(1);
        }
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        check(libc::setrlimit(libc::RLIMIT_CORE, &none))?;
        let mut stack = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        check(libc::getrlimit(libc::RLIMIT_STACK, &mut stack))?;
        stack.rlim_cur = stack.rlim_max.min(STACK);
        check(libc::setrlimit(libc::RLIMIT_STACK, &stack))?;
        // What this process inherited itself is not for the guest. Kernels before 5.11 refuse: not fatal.
        libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        // Hash tables keyed by address give the same order in each run. Refused in some containers: not fatal.
        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
    }
    if let Some(number) = processor {
        processor::pin(number);
    }
    rules.map_or(Ok(()), confinement::put_on)
}

/// The kernel's process and its session. Dropping it kills and reaps what is left of them.
struct Process {
    pid: libc::pid_t,
    /// Readable when the process ended; absent where the host's kernel has no such descriptors.
    ended: Option<OwnedFd>,
    reaped: std::cell::Cell<bool>,
}

impl Process {
    fn start(mut command: Command) -> io::Result<Self> {
        // `reap` waits for it instead, since `Child` does not tell what it used.
        let pid = command.spawn()?.id() as libc::pid_t;
        // SAFETY: a system call without memory arguments; on success it gives a descriptor nobody else has.
        let ended = unsafe {
            match libc::syscall(libc::SYS_pidfd_open, pid, 0) {
                descriptor @ 0.. => Some(OwnedFd::from_raw_fd(descriptor as i32)),
                _ => None,
            }
        };
        Ok(Process { pid, ended, reaped: std::cell::Cell::new(false) })
    }

    /// Returns after [`TICK`], or when the process ends.
    fn wait_a_tick(&self) {
        let Some(ended) = &self.ended else {
            std::thread::sleep(TICK / 10);
            return;
        };
        let mut poll = libc::pollfd { fd: ended.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live structure, as the count says. An interruption only makes the tick shorter.
        unsafe { libc::poll(&mut poll, 1, TICK.as_millis() as libc::c_int) };
    }

    fn peak_rss(&self) -> Bytes {
        peak_rss(self.pid).unwrap_or_default()
    }

    fn reap(&self, block: bool) -> io::Result<Option<Ended>> {
        let ended = reap(self.pid, block)?;
        self.reaped.set(ended.is_some());
        Ok(ended)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        kill_group(self.pid as u32);
        if !self.reaped.get() {
            // An error means that there is nothing to reap.
            let _ = self.reap(true);
        }
        // The processes of guest programs die with the kernel's and are reaped by whoever adopts them.
        let patience = Instant::now() + Duration::from_millis(500);
        while group_exists(self.pid) && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Whether the guest ended well, from how its process ended, the console log and the disk.
fn judge(boot: &Boot, writable: &Path, ended: Ended) -> Result<(), BootError> {
    let console = boot.console.clone();
    let text = console::end(&console);
    let status = ExitStatus::from_raw(ended.status);
    let verdict = console::verdict(&text);
    if verdict == Verdict::PoweredOff && status.success() {
        return Ok(());
    }
    let free = free_space(writable).unwrap_or(FULL);
    if free < FULL || (verdict == Verdict::PoweredOff && status.code() == Some(DISK_FULL)) {
        return Err(BootError::DiskFull { writable: writable.to_owned(), free, console });
    }
    let tail = tail(&console, TAIL_LINES);
    Err(match (verdict, status.code(), status.signal()) {
        (Verdict::Panicked(message), ..) => BootError::Panic { message, console },
        (Verdict::OutOfMemory, ..) => BootError::GuestMemory { memory: boot.memory, console },
        (Verdict::PoweredOff, Some(code), _) => BootError::Init { code, console, tail },
        (_, _, Some(libc::SIGBUS)) => {
            let how = "was killed by SIGBUS: the host has no room left for the guest's memory".to_owned();
            BootError::Died { how, console, tail }
        }
        (_, _, Some(libc::SIGKILL)) => {
            let how = "was killed by SIGKILL: the host may have run out of memory".to_owned();
            BootError::Died { how, console, tail }
        }
        (..) => BootError::Died { how: format!("ended without powering off ({status})"), console, tail },
    })
}

#[cfg(test)]
mod tests;
