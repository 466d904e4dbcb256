//! Folders of measurements: a new one for each, and a link to the last.

use super::folder::{cannot_write, create};
use crate::failure::Failure;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wirespeed_record::file_stamp;

/// The link to the last measurement.
pub const LATEST: &str = "latest";

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

/// Points `latest`, beside `folder`, to it. A file or folder of that name stays.
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
