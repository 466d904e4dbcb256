//! Files that make changes persistent: written with the content's hash in the journal, removed only if unchanged.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersistentFile {
    /// Its path on the host, such as `/etc/sysctl.d/90-wirespeed.conf`.
    pub path: PathBuf,
    /// Its content. A comment at its begin names the writer.
    pub content: String,
}

/// A file in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRecord {
    /// Its path on the host.
    pub path: PathBuf,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// Its content.
    pub content: String,
}

/// A file that cannot be written or removed.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// The path is outside of the folders of configuration.
    #[error("{}: not below one of {}; persistent settings belong there", path.display(), FOLDERS.join(", "))]
    Place {
        /// The path.
        path: PathBuf,
    },
    /// The content does not name its writer.
    #[error("{}: its first line does not name wirespeed as its writer; add a comment `# Written by wirespeed`", path.display())]
    Header {
        /// The path.
        path: PathBuf,
    },
    /// Another file is there.
    #[error("{}: exists already; revert the transaction that wrote it, or move it away", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The file was changed after it was written.
    #[error("{}: was changed after wirespeed wrote it, and was left; remove it by hand, or use `--force`", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// Another error of the operating system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
}

/// Folders in which files may be written.
const FOLDERS: [&str; 5] =
    ["/etc/sysctl.d", "/etc/systemd/system", "/etc/udev/rules.d", "/etc/tuned", "/etc/modules-load.d"];

fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The path of a file below another root folder.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Checks files before anything is changed, and gives the records for the journal.
pub(crate) fn check(root: &Path, files: &[PersistentFile]) -> Result<Vec<FileRecord>, PersistError> {
    files
        .iter()
        .map(|file| {
            let path = file.path.clone();
            let plain =
                path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
            if !plain || !FOLDERS.iter().any(|folder| path.starts_with(folder) && path != Path::new(folder)) {
                return Err(PersistError::Place { path });
            }
            if !file.content.lines().next().is_some_and(|line| line.contains("wirespeed")) {
                return Err(PersistError::Header { path });
            }
            if below(root, &path).symlink_metadata().is_ok() {
                return Err(PersistError::Exists { path });
            }
            Ok(FileRecord { path, sha256: hash(file.content.as_bytes()), content: file.content.clone() })
        })
        .collect()
}

/// Writes a file to the disk, whole or not at all. A file that came meanwhile is left.
pub(crate) fn write(root: &Path, record: &FileRecord) -> Result<(), PersistError> {
    let path = below(root, &record.path);
    let failed = |source| PersistError::Io { path: path.clone(), source };
    if path.symlink_metadata().is_ok() {
        // A transaction that is resumed may have written it already.
        return match fs::read(&path) {
            Ok(found) if hash(&found) == record.sha256 => Ok(()),
            _ => Err(PersistError::Exists { path }),
        };
    }
    let folder = path.parent().unwrap_or(root);
    let temporary = temporary(&path);
    let write = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
        file.write_all(record.content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(failed)
}

/// No program reads a file of this name in the folders of configuration.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.wirespeed-new"))
}

/// Removes a file if it has the recorded content, or all the same if `force` is set.
pub(crate) fn remove(root: &Path, record: &FileRecord, force: bool) -> Result<(), PersistError> {
    let path = below(root, &record.path);
    let _ = fs::remove_file(temporary(&path));
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(found) if force || hash(&found) == record.sha256 => {}
        Ok(_) => return Err(PersistError::Changed { path }),
        Err(source) => return Err(PersistError::Io { path, source }),
    }
    fs::remove_file(&path).map_err(|source| PersistError::Io { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> PersistentFile {
        PersistentFile { path: path.into(), content: content.into() }
    }

    const OURS: &str = "# Written by wirespeed.\nnet.core.rmem_max = 1\n";

    #[test]
    fn only_unchanged_files_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let wanted = file("/etc/sysctl.d/90-w.conf", OURS);
        let record = check(root, std::slice::from_ref(&wanted)).unwrap().remove(0);
        write(root, &record).unwrap();
        write(root, &record).unwrap();
        let path = root.join("etc/sysctl.d/90-w.conf");
        assert_eq!(fs::read_to_string(&path).unwrap(), OURS);
        assert!(matches!(check(root, &[wanted]), Err(PersistError::Exists { .. })));
        fs::write(&path, "mine").unwrap();
        assert!(matches!(remove(root, &record, false), Err(PersistError::Changed { .. })));
        assert!(path.exists());
        fs::write(&path, OURS).unwrap();
        remove(root, &record, false).unwrap();
        remove(root, &record, false).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn other_places_and_contents_without_a_writer_are_rejected() {
        let root = tempfile::tempdir().unwrap();
        for path in ["/etc/passwd", "/etc/sysctl.d/../passwd", "etc/sysctl.d/a", "/etc/sysctl.d"] {
            let error = check(root.path(), &[file(path, OURS)]).unwrap_err();
            assert!(matches!(error, PersistError::Place { .. }), "{path}: {error}");
        }
        let error = check(root.path(), &[file("/etc/sysctl.d/a.conf", "a = 1\n")]).unwrap_err();
        assert!(matches!(error, PersistError::Header { .. }));
    }
}
