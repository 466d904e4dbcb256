//! Folders for results: a new one for every measurement, and one writer in each.

use crate::failure::Failure;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wirespeed_record::{FolderLock, file_stamp};

/// The link to the last measurement.
pub const LATEST: &str = "latest";

/// Makes a folder for results.
pub fn create(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|source| cannot_write(folder, source))
}

/// Makes a folder for results, and keeps other processes of wirespeed from writing there.
pub fn create_locked(folder: &Path) -> Result<FolderLock, Failure> {
    create(folder)?;
    Ok(FolderLock::take(folder, &command_line())?)
}

/// A new folder in `parent`, named after the time.
pub fn create_stamped(parent: &Path) -> Result<PathBuf, Failure> {
    /// So many measurements of a pair do not begin in one second.
    const MOST: u32 = 1000;
    create(parent)?;
    let stamp = file_stamp(SystemTime::now());
    for number in 1..=MOST {
        let folder = match number {
            1 => parent.join(&stamp),
            _ => parent.join(format!("{stamp}-{number}")),
        };
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(cannot_write(&folder, source)),
        }
    }
    Err(cannot_write(&parent.join(stamp), ErrorKind::AlreadyExists.into()))
}

/// Lets `latest`, beside `folder`, lead to it. What stands there and is not a link stays.
pub fn point_latest(folder: &Path) -> Result<(), Failure> {
    let Some(name) = folder.file_name() else { return Ok(()) };
    let link = folder.with_file_name(LATEST);
    if link.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
        return Ok(());
    }
    // A link cannot be replaced in one step, a name can.
    let other = folder.with_file_name(format!("{LATEST}.{}.partial", std::process::id()));
    let _ = fs::remove_file(&other);
    let made = symlink(name, &other).and_then(|()| fs::rename(&other, &link));
    made.map_err(|source| cannot_write(&link, source))
}

fn cannot_write(path: &Path, source: std::io::Error) -> Failure {
    Failure::Output { what: path.display().to_string(), source }
}

/// The word that the user typed, cut to one line.
fn command_line() -> String {
    const MOST: usize = 200;
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let line = format!("wirespeed {}", words.join(" "));
    line.chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_folders_of_one_second_are_two_and_latest_is_the_last_named() {
        let parent = tempfile::tempdir().unwrap();
        let [first, second] = [(), ()].map(|()| create_stamped(parent.path()).ok().unwrap());
        assert_ne!(first, second);
        for folder in [&first, &second] {
            point_latest(folder).ok().unwrap();
            let led = parent.path().join(LATEST).canonicalize().unwrap();
            assert_eq!(led, folder.canonicalize().unwrap());
        }
    }

    #[test]
    fn folder_called_latest_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join(LATEST)).unwrap();
        let folder = create_stamped(parent.path()).ok().unwrap();
        point_latest(&folder).ok().unwrap();
        assert!(!parent.path().join(LATEST).symlink_metadata().unwrap().is_symlink());
    }
}
