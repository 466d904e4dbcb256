//! For the program that runs as PID 1 in the guest.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! if wirespeed_kernel::guest::is_guest() {
//!     let folder = wirespeed_kernel::guest::enter()?;
//!     std::fs::write(folder.join("result"), "all that leaves the guest")?;
//!     wirespeed_kernel::guest::power_off(0);
//! }
//! # Ok(())
//! # }
//! ```

use crate::command_line::GUEST_MARK;
use crate::folder::WRITABLE;
use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Code for [`power_off`] when writing a result failed for want of room (ENOSPC); the host then reports
/// [`crate::BootError::DiskFull`].
pub const DISK_FULL: i32 = 28;

/// Where the guest sees the writable folder. Below `/dev`, which the guest's own kernel provides: no folder of
/// the host is needed for it, and none is hidden by it.
const MOUNT: &str = "/dev/wirespeed";
/// User-mode Linux takes its process's exit code from this file.
const EXIT_CODE: &str = "/proc/exitcode";

/// Whether this process runs in a guest that [`crate::boot`] started.
pub fn is_guest() -> bool {
    std::env::var_os(GUEST_MARK).is_some_and(|mark| mark == "1")
}

/// Makes the guest usable: mounts `/proc`, `/sys`, `/dev`, `/dev/shm` and the writable folder, and connects
/// the standard streams to the console. Returns where the writable folder is seen. To be called once, by
/// PID 1, before anything else. All else stays as on the host and read-only, `/tmp` and `/run` included.
///
/// # Errors
/// `Unsupported` outside a guest; otherwise what the kernel refused, named.
pub fn enter() -> io::Result<PathBuf> {
    if !is_guest() || std::process::id() != 1 {
        let message = "guest::enter is for PID 1 of a guest that wirespeed booted";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    mount("proc", "/proc", "proc", "")?;
    mount("sysfs", "/sys", "sysfs", "")?;
    mount("devtmpfs", "/dev", "devtmpfs", "")?;
    open_console()?;
    fs::create_dir_all("/dev/shm")?;
    mount("tmpfs", "/dev/shm", "tmpfs", "")?;
    fs::create_dir_all(MOUNT)?;
    // The path is looked up by the kernel's process on the host, whose folder holds the link. The dot follows
    // it there, so that the folder's real path stays out of the guest.
    mount("host", MOUNT, "hostfs", &format!("/proc/self/cwd/{WRITABLE}/."))?;
    Ok(PathBuf::from(MOUNT))
}

/// Ends the guest; `exit_code` (0 to 255) becomes the verdict of [`crate::boot`]: 0 is good, [`DISK_FULL`] a
/// full disk, everything else a failure of init. Nothing is written after this call.
///
/// Outside a guest it only ends the calling process.
pub fn power_off(exit_code: i32) -> ! {
    // The file is there in user-mode Linux only: nothing else is ever powered off.
    if is_guest() && fs::write(EXIT_CODE, format!("{exit_code}\n")).is_ok() {
        // SAFETY: two system calls without memory arguments.
        unsafe {
            libc::sync();
            libc::reboot(libc::RB_POWER_OFF);
        }
    }
    std::process::exit(exit_code);
}

fn mount(source: &str, target: &str, kind: &str, data: &str) -> io::Result<()> {
    let text = |s: &str| CString::new(s).expect("our own words hold no zero byte");
    let (c_source, c_target, c_kind, c_data) = (text(source), text(target), text(kind), text(data));
    // SAFETY: four NUL-terminated strings that live to the end of this function.
    let result = unsafe {
        libc::mount(c_source.as_ptr(), c_target.as_ptr(), c_kind.as_ptr(), 0, c_data.as_ptr().cast())
    };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(io::Error::new(error.kind(), format!("mounting {kind} at {target}: {error}")))
}

/// The kernel gives PID 1 the console only if the host's `/dev/console` can be opened by the user.
fn open_console() -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let console = fs::File::options().read(true).write(true).open(Path::new("/dev/console"))?;
    for stream in 0..=2 {
        // SAFETY: a system call on descriptors; the standard streams are owned by nobody.
        if unsafe { libc::dup2(console.as_raw_fd(), stream) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    if console.as_raw_fd() <= 2 {
        // It became a standard stream itself and must stay open.
        std::mem::forget(console);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_a_guest_nothing_is_mounted() {
        assert!(!is_guest());
        assert_eq!(enter().unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
