//! Network namespaces of the calling thread.

use std::fs::{self, File};
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

/// Moves this process into namespaces of its own, of network and mounts; an ordinary user needs a user namespace for that, in
/// which it is root.
///
/// # Errors
/// As `unshare(2)`. A process with threads cannot change its user namespace.
pub fn enter_own() -> io::Result<()> {
    let unshare = |flags| {
        // SAFETY: takes no pointers.
        if unsafe { libc::unshare(flags) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    const OWN: i32 = libc::CLONE_NEWNET | libc::CLONE_NEWNS;
    match unshare(OWN) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
        result => return result.and_then(|()| keep_mounts()),
    }
    // SAFETY: takes no pointers and cannot fail.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    unshare(libc::CLONE_NEWUSER)?;
    // user_namespaces(7): groups can only be mapped by who can no more drop them.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    unshare(OWN)?;
    keep_mounts()
}

/// Hides later mounts from other processes.
fn keep_mounts() -> io::Result<()> {
    let (flags, none) = (libc::MS_REC | libc::MS_PRIVATE, std::ptr::null());
    // SAFETY: the target ends with a NUL; with these flags nothing else is read.
    match unsafe { libc::mount(none, c"/".as_ptr(), none, flags, none.cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
