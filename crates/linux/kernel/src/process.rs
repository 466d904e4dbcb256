//! Process groups, and what a process used.

use std::fs;
use std::time::Duration;
use wirespeed_units::Bytes;

/// Kills every process of the group at once. A group that is gone already is fine.
pub fn kill_group(leader: u32) {
    if let Ok(leader) = libc::pid_t::try_from(leader)
        && leader > 1
    {
        // SAFETY: a system call without memory arguments; a group id above 1 names no wider set of processes.
        unsafe { libc::kill(-leader, libc::SIGKILL) };
    }
}

/// Whether a process of that group exists, zombies included.
pub fn group_exists(leader: libc::pid_t) -> bool {
    // SAFETY: signal 0 is sent to nobody.
    unsafe { libc::kill(-leader, 0) == 0 }
}

/// How a process ended and what it and the children it waited for used.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Wait status.
    pub status: libc::c_int,
    /// User and system time.
    pub cpu: Duration,
    /// Largest resident set of any one of them.
    pub peak_rss: Bytes,
}

/// Reaps a child that ended; `None` while it runs (or, on a request to `block`, never).
pub fn reap(pid: libc::pid_t, block: bool) -> std::io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: rusage is a plain structure of integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live variables of the right type.
        let got = unsafe { libc::wait4(pid, &mut status, if block { 0 } else { libc::WNOHANG }, &mut usage) };
        match got {
            0 => return Ok(None),
            -1 => {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            _ => break,
        }
    }
    let time = |t: libc::timeval| Duration::new(t.tv_sec.max(0) as u64, t.tv_usec.max(0) as u32 * 1000);
    let peak_rss = Bytes::kib(usage.ru_maxrss.max(0) as u64);
    Ok(Some(Ended { status, cpu: time(usage.ru_utime) + time(usage.ru_stime), peak_rss }))
}

/// Peak resident set of a running process (`VmHWM`), of its current program only.
///
/// `ru_maxrss` is no substitute: it starts with the resident set of the process that forked.
pub fn peak_rss(pid: libc::pid_t) -> Option<Bytes> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok().map(Bytes::kib)
}

/// Bytes an unprivileged process may still write to the file system of `path`.
pub fn free_space(path: &std::path::Path) -> std::io::Result<Bytes> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: statvfs is a plain structure of integers, for which zero is a value.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a NUL-terminated path and a live structure of the right type.
    if unsafe { libc::statvfs(path.as_ptr(), &mut stat) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(Bytes::new(stat.f_bavail.saturating_mul(stat.f_frsize)))
}
