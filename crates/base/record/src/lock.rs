//! One writer at a time in a folder of results.

use crate::foreign::read_text;
use crate::plain::plain_line;
use crate::platform::reject_links;
use crate::store::{StoreError, io_error};
use crate::wall_clock::rfc3339;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

/// The file in a folder that its writer has locked.
const LOCK: &str = ".wirespeed.lock";

/// A folder that no other process of wirespeed writes to, or a part of it. The system unlocks it when this process ends, however
/// it ends.
#[derive(Debug)]
pub struct FolderLock {
    files: Vec<File>,
}

impl FolderLock {
    /// Locks `folder`, which must exist, for `command`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process has locked it; otherwise what the operating system says.
    pub fn take(folder: &Path, command: &str) -> Result<FolderLock, StoreError> {
        Ok(FolderLock { files: vec![lock(folder, LOCK, Mode::Exclusive, command)?] })
    }

    /// Locks the part `part` of `folder` for `command`. Several processes can have a part each, and none the whole folder
    /// meanwhile. On a shared file system the lock holds between hosts if the file system supports flock(2).
    ///
    /// # Errors
    /// As [`FolderLock::take`].
    pub fn take_part(folder: &Path, part: &str, command: &str) -> Result<FolderLock, StoreError> {
        let whole = lock(folder, LOCK, Mode::Shared, command)?;
        let part = lock(folder, &format!(".wirespeed.{part}.lock"), Mode::Exclusive, command)?;
        Ok(FolderLock { files: vec![whole, part] })
    }
}

impl Drop for FolderLock {
    /// A child process that has been forked and not executed yet has the descriptors as well, and would keep the locks.
    fn drop(&mut self) {
        for file in &self.files {
            // An error leaves the lock to the closing of the file.
            let _ = file.unlock();
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Exclusive,
    Shared,
}

fn lock(folder: &Path, name: &str, mode: Mode, command: &str) -> Result<File, StoreError> {
    let path = folder.join(name);
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    // A link in a folder that others can write to would be followed to a file of theirs.
    reject_links(&mut options);
    let mut file = options.open(&path).map_err(io_error("lock", &path))?;
    let locked = match mode {
        Mode::Exclusive => file.try_lock(),
        Mode::Shared => file.try_lock_shared(),
    };
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = read_text(&path, 1 << 12).unwrap_or_default();
            let holder = plain_line(holder.trim()).into_owned();
            return Err(StoreError::Locked { path: folder.into(), holder });
        }
        Err(TryLockError::Error(source)) => return Err(io_error("lock", &path)(source)),
    }
    let written = file.set_len(0).and_then(|()| file.write_all(holder(command).as_bytes()));
    written.map_err(io_error("write", &path))?;
    Ok(file)
}

/// Describes this process for an error message.
fn holder(command: &str) -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let (pid, since) = (std::process::id(), rfc3339(SystemTime::now()));
    format!("`{command}`, process {pid} on {}, since {since}\n", name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_writer_is_refused_with_the_first_ones_name() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path(), "wirespeed probe a b").unwrap();
        let refused = FolderLock::take(folder.path(), "wirespeed run x").unwrap_err().to_string();
        for words in ["`wirespeed probe a b`", &format!("process {}", std::process::id())] {
            assert!(refused.contains(words), "{refused}");
        }
        drop(first);
        FolderLock::take(folder.path(), "wirespeed run x").unwrap();
    }

    #[test]
    fn parts_exclude_the_whole_folder_and_the_same_part() {
        let folder = tempfile::tempdir().unwrap();
        let take = |part| FolderLock::take_part(folder.path(), part, "wirespeed campaign worker");
        let (first, second) = (take("shard-1-2").unwrap(), take("shard-2-2").unwrap());
        assert!(take("shard-1-2").unwrap_err().to_string().contains("campaign worker"));
        assert!(FolderLock::take(folder.path(), "wirespeed run").is_err());
        drop((first, second));
        let whole = FolderLock::take(folder.path(), "wirespeed run").unwrap();
        assert!(take("shard-1-2").is_err());
        drop(whole);
        take("shard-1-2").unwrap();
    }

    #[test]
    fn lock_that_is_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, folder.path().join(LOCK)).unwrap();
        assert!(FolderLock::take(folder.path(), "wirespeed").is_err());
        assert!(!target.exists());
    }
}
