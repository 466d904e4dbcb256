//! The agent's side: a process that makes the namespaces it works in.

use super::features;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::thread;
use wirespeed_agent::Abandon;
use wirespeed_agent::one_kernel::run_planned;
use wirespeed_topology::world::Ground;

/// What an agent is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Try what the kernel has; the answer goes to standard output.
    Survey,
    /// Carry out the run planned in a folder.
    Run(PathBuf),
}

/// Does it, in namespaces that only this process has. A run ends by `abandon` when standard input ends.
///
/// # Errors
/// The failure, which is in the stream as well, if it could be written.
pub fn serve(task: &Task, abandon: Abandon) -> io::Result<()> {
    // A process with threads cannot change its user namespace.
    enter()?;
    match task {
        Task::Survey => features::answer(),
        Task::Run(folder) => {
            end_with_input(abandon);
            run_planned(folder, Ground::Machine)
        }
    }
}

/// The controller holds the other end of standard input.
fn end_with_input(abandon: Abandon) {
    thread::spawn(move || {
        let mut nothing = [0; 64];
        while let Ok(1..) = io::stdin().read(&mut nothing) {}
        abandon();
    });
}

/// Moves this process into namespaces of its own, of network and mounts; an ordinary user needs a user namespace for that, in
/// which it is root.
fn enter() -> io::Result<()> {
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

/// What is mounted from now on nobody else sees.
fn keep_mounts() -> io::Result<()> {
    let (flags, none) = (libc::MS_REC | libc::MS_PRIVATE, std::ptr::null());
    // SAFETY: the target ends with a NUL; with these flags nothing else is read.
    match unsafe { libc::mount(none, c"/".as_ptr(), none, flags, none.cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
