//! Network namespaces of the calling thread.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// A handle to a network namespace; the namespace lives at least as long.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// The calling thread's own.
    ///
    /// # Errors
    /// If /proc is not mounted.
    pub fn current() -> io::Result<Self> {
        Ok(Namespace { file: File::open("/proc/thread-self/ns/net")? })
    }

    /// Makes a new one; the calling thread stays where it is.
    ///
    /// # Errors
    /// As `unshare(2)`: the caller must be root in its user namespace.
    pub fn create() -> io::Result<Self> {
        let here = Namespace::current()?;
        // SAFETY: unshare takes no pointers; only this thread's namespace changes.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let created = Namespace::current();
        here.enter()?;
        created
    }

    /// Moves the calling thread into this namespace.
    ///
    /// # Errors
    /// As `setns(2)`.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open for as long as `self` lives.
        if unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Runs `work` inside, then goes back.
    ///
    /// # Errors
    /// What `work` returned, or as `setns(2)`.
    pub fn within<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let here = Namespace::current()?;
        self.enter()?;
        let result = work();
        here.enter()?;
        result
    }

    /// What names it in the kernel.
    pub fn inode(&self) -> Option<u32> {
        self.file.metadata().ok().and_then(|file| u32::try_from(file.ino()).ok())
    }

    /// The descriptor, for netlink.
    pub fn raw(&self) -> i32 {
        self.file.as_raw_fd()
    }
}
