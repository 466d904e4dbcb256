//! The folder of the journals, and its lock.

use crate::journal::Journal;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder of the journals of a host.
pub const DEFAULT_FOLDER: &str = "/var/lib/wirespeed/tuning";

/// End of the name of a journal; a number precedes it.
const SUFFIX: &str = ".journal";

/// A folder with journals.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// The right to change the host by this folder. It ends with the value, and with the process.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// A folder or journal that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process changes the host.
    #[error("another wirespeed process{} changes this host; wait until it has ended", .pid.map(|pid| format!(" ({pid})")).unwrap_or_default())]
    Locked {
        /// Its number, if it could be read.
        pid: Option<u32>,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}; the folder of the journals must be readable and writable (root)", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A journal is damaged.
    #[error("{}: line {line} is damaged: {reason}; the settings of its transaction are unknown", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

impl FolderError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
        let path = path.to_owned();
        move |source| FolderError::Io { path, source }
    }
}

impl Folder {
    /// The folder of a path; nothing is made yet.
    pub fn new(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the lock, and makes the folder if it does not exist.
    ///
    /// # Errors
    /// If another process has the lock, or the folder cannot be written.
    pub fn lock(&self) -> Result<Lock, FolderError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)
            .map_err(FolderError::io(&self.path))?;
        let path = self.path.join("lock");
        let failed = FolderError::io(&path);
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) => return Err(failed(error)),
        };
        // SAFETY: the descriptor is open; the call takes no pointers.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
                return Err(failed(error));
            }
            let mut text = String::new();
            let read = file.read_to_string(&mut text);
            return Err(FolderError::Locked { pid: read.ok().and_then(|_| text.trim().parse().ok()) });
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(failed)?;
        Ok(Lock { file })
    }

    /// The journals, oldest first. None if the folder does not exist.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn journals(&self) -> Result<Vec<Journal>, FolderError> {
        self.numbers()?.into_iter().map(|number| Journal::read(&self.file(number))).collect()
    }

    /// The newest journal whose changes are in effect, complete or not.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn newest_open(&self) -> Result<Option<Journal>, FolderError> {
        let mut journals = self.journals()?;
        journals.retain(Journal::is_open);
        Ok(journals.pop())
    }

    /// The file of the next journal.
    pub(crate) fn next_file(&self) -> Result<PathBuf, FolderError> {
        Ok(self.file(self.numbers()?.last().map_or(1, |last| last + 1)))
    }

    fn file(&self, number: u32) -> PathBuf {
        self.path.join(format!("{number:04}{SUFFIX}"))
    }

    fn numbers(&self) -> Result<Vec<u32>, FolderError> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(FolderError::io(&self.path)(error)),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.map_err(FolderError::io(&self.path))?.file_name();
            let number: Option<u32> = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)?.parse().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

impl Drop for Lock {
    /// A child process that has been forked and not executed yet has the descriptor as well, and would keep the lock.
    fn drop(&mut self) {
        // SAFETY: the descriptor is open; the call takes no pointers. An error leaves the lock to the closing of the file.
        let _ = unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_rejected_until_the_first_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::new(folder.path().join("a/b"));
        let first = folder.lock().unwrap();
        let pid = std::process::id();
        assert!(matches!(folder.lock(), Err(FolderError::Locked { pid: Some(found) }) if found == pid));
        drop(first);
        folder.lock().unwrap();
    }
}
