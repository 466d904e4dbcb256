//! Calls on files that differ between operating systems.

#[cfg(not(unix))]
pub(crate) use elsewhere::{read_exact_at, reject_links, write_all_at};
#[cfg(unix)]
pub(crate) use on_unix::{read_exact_at, reject_links, write_all_at};

use std::fs;
use std::io;
use std::path::Path;

/// Puts the folder `new` in the place of the folder `old`, and that one in the place of `new`. On Linux, in one step; where that is not
/// possible, `old` is missing for a moment.
pub(crate) fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if on_linux::exchange(new, old).is_ok() {
        return Ok(());
    }
    let mut name = new.as_os_str().to_owned();
    name.push(".old");
    fs::rename(old, &name)?;
    if let Err(error) = fs::rename(new, old) {
        // That the old folder cannot be moved back does not change the reason.
        let _ = fs::rename(&name, old);
        return Err(error);
    }
    fs::rename(&name, new)
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::ffi::CString;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    /// Exchanges two paths in one step (renameat2(2), `RENAME_EXCHANGE`). Some file systems do not have it.
    pub(crate) fn exchange(a: &Path, b: &Path) -> io::Result<()> {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from);
        let (a, b) = (text(a)?, text(b)?);
        // SAFETY: both are strings that end with a zero and outlive the call, which keeps neither.
        let result = unsafe {
            libc::renameat2(libc::AT_FDCWD, a.as_ptr(), libc::AT_FDCWD, b.as_ptr(), libc::RENAME_EXCHANGE)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(unix)]
mod on_unix {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::unix::fs::{FileExt, OpenOptionsExt};

    /// Writes all bytes from `offset` on.
    pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    /// Fills the buffer with the bytes from `offset` on.
    pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        file.read_exact_at(buffer, offset)
    }

    /// Makes opening a symbolic link an error.
    pub(crate) fn reject_links(options: &mut OpenOptions) {
        options.custom_flags(libc::O_NOFOLLOW);
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::fs::{File, OpenOptions};
    use std::io::{self, Read, Seek, SeekFrom, Write};

    /// Writes all bytes from `offset` on.
    pub(crate) fn write_all_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    /// Fills the buffer with the bytes from `offset` on.
    pub(crate) fn read_exact_at(mut file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }

    /// Folders that several users write to, and links in them, are a matter of Unix.
    pub(crate) fn reject_links(_: &mut OpenOptions) {}
}
