use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use wirespeed_scenario::run::KernelVersion;
use wirespeed_units::Bytes;

/// Why there is no kernel.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// No build of this recipe is in the cache.
    #[error("no virtual-time kernel{wanted} built: run `{command}` (looked in {})", cache.display())]
    NotBuilt {
        /// The kernel that was wanted, after a blank; empty for the default.
        wanted: String,
        /// The command that builds it.
        command: String,
        /// The cache that was searched.
        cache: PathBuf,
    },
    /// Programs the build needs are not installed.
    #[error("building the kernel needs {}, not found here: apt-get install {}", tools.join(", "), packages.join(" "))]
    MissingTools {
        /// The programs (or headers) that are missing.
        tools: Vec<String>,
        /// The Debian packages that provide them.
        packages: Vec<String>,
    },
    /// No source of this line of versions where the distribution puts it.
    #[error("no kernel source {}/linux-source-{line}*.tar.xz: apt-get install linux-source-{line}, or name a tarball or tree with --source", folder.display())]
    MissingSource {
        /// The folder that was searched.
        folder: PathBuf,
        /// The line of versions, such as 6.12.
        line: KernelVersion,
    },
    /// The source given cannot be used.
    #[error("kernel source {}: {reason}", path.display())]
    Source {
        /// The tarball or tree.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A C file to be added cannot be used.
    #[error("added source {}: {reason}", path.display())]
    AddedSource {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// `edits.toml` is not what it should be.
    #[error("kernel/edits.toml: {0}")]
    EditsFile(#[from] toml::de::Error),
    /// `parts.toml` is not what it should be.
    #[error("kernel/parts.toml: {0}")]
    PartsFile(toml::de::Error),
    /// The text an edit replaces is not there exactly once.
    #[error(
        "edit of {file}: {find:?} occurs {count} times, must occur once; the edits in kernel/edits.toml were not made for this \
         source of Linux {version}"
    )]
    Edit {
        /// The file, relative to the source.
        file: String,
        /// First line of what was searched.
        find: String,
        /// How often it was found.
        count: usize,
        /// The version of the source.
        version: String,
    },
    /// The cache's file system is too full for a build.
    #[error("building the kernel needs {needed} in {}, which has {free} free: free some, or set XDG_CACHE_HOME to another disk", folder.display())]
    NoSpace {
        /// The folder of the build.
        folder: PathBuf,
        /// What a build needs.
        needed: Bytes,
        /// What is free.
        free: Bytes,
    },
    /// The kernel's configuration dropped options of the fragment.
    #[error("the kernel's configuration dropped {}: their dependencies are not met in this source", .0.join(", "))]
    OptionsDropped(Vec<String>),
    /// A program of the build failed.
    #[error("{what} failed; its last lines:\n{tail}\nthe whole log is {}", log.display())]
    Failed {
        /// What was being done.
        what: String,
        /// The last lines of its log.
        tail: String,
        /// The whole log.
        log: PathBuf,
    },
    /// Stopped on request; nothing half-done is left.
    #[error("kernel build cancelled")]
    Cancelled,
    /// The operating system refused something.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl KernelError {
    /// For `map_err`: `doing` what with which path.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

/// Why a guest did not end well. The console log is kept in each case.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BootError {
    /// The request cannot be carried out as it is.
    #[error("guest: {what} {}: {reason}", path.display())]
    Request {
        /// Which part of the request.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Arguments that the guest kernel's command line cannot carry.
    #[error("guest argument {argument:?}: {reason}")]
    Argument {
        /// The argument.
        argument: String,
        /// Why it cannot be passed.
        reason: &'static str,
    },
    /// No folder can hold the guest's memory.
    #[error("no folder can hold the guest's memory of {memory}: {}; make path.buffer or path.rtt smaller, limit flow.window, free some memory, set TMPDIR to a folder with room, or run fewer at once (--jobs)", tried.join("; "))]
    NoMemory {
        /// The guest's memory.
        memory: Bytes,
        /// Each folder tried, with the reason.
        tried: Vec<String>,
    },
    /// The kernel gave up.
    #[error("the guest's kernel panicked: {message} (console log: {})", console.display())]
    Panic {
        /// The kernel's message.
        message: String,
        /// Its console log.
        console: PathBuf,
    },
    /// The guest used all its memory.
    #[error("the guest ran out of its memory of {memory}, which should have been enough: make path.buffer smaller or limit flow.window, and report it (console log: {})", console.display())]
    GuestMemory {
        /// Its memory.
        memory: Bytes,
        /// Its console log.
        console: PathBuf,
    },
    /// Nothing happened for too long.
    #[error("the guest hung: no sign of life for {stalled_s:.0} s of wall time; last lines of the console log {}:\n{tail}", console.display())]
    Hang {
        /// Wall time without a sign of life.
        stalled_s: f64,
        /// Its console log.
        console: PathBuf,
        /// The log's last lines.
        tail: String,
    },
    /// The folder for results is full.
    #[error("disk full: {} has {free} free; the run's results are incomplete (console log: {})", writable.display(), console.display())]
    DiskFull {
        /// The folder.
        writable: PathBuf,
        /// What is free there.
        free: Bytes,
        /// Console log.
        console: PathBuf,
    },
    /// Init ended the guest in good order, with a code that is not 0.
    #[error("the guest's init failed with code {code}; last lines of the console log {}:\n{tail}", console.display())]
    Init {
        /// Init's code.
        code: i32,
        /// Console log.
        console: PathBuf,
        /// The log's last lines.
        tail: String,
    },
    /// The guest's process ended without powering off.
    #[error("the guest's process {how}; last lines of the console log {}:\n{tail}", console.display())]
    Died {
        /// How it ended.
        how: String,
        /// Console log.
        console: PathBuf,
        /// The log's last lines.
        tail: String,
    },
    /// Stopped on request.
    #[error("guest stopped on request")]
    Cancelled,
    /// The operating system refused something.
    #[error("guest: cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl BootError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
