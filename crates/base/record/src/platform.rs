//! Calls on files that differ between operating systems.

#[cfg(not(unix))]
pub(crate) use elsewhere::{read_exact_at, reject_links, write_all_at};
#[cfg(unix)]
pub(crate) use on_unix::{read_exact_at, reject_links, write_all_at};

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
