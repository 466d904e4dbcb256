//! Folders for results, with one writer in each.

use crate::failure::Failure;
use std::fs;
use std::path::Path;
use wirespeed_record::FolderLock;

/// Makes a folder for results.
pub fn create(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|source| cannot_write(folder, source))
}

/// Makes a folder for results, and keeps other processes of wirespeed from writing there.
pub fn create_locked(folder: &Path) -> Result<FolderLock, Failure> {
    create(folder)?;
    Ok(FolderLock::take(folder, &command_line())?)
}

/// Makes a folder for results, and keeps other processes of wirespeed from the part `part` of its runs, and from the whole.
pub fn create_part_locked(folder: &Path, part: &str) -> Result<FolderLock, Failure> {
    create(folder)?;
    Ok(FolderLock::take_part(folder, part, &command_line())?)
}

pub(super) fn cannot_write(path: &Path, source: std::io::Error) -> Failure {
    Failure::Output { what: path.display().to_string(), source }
}

/// The word that the user typed, cut to one line.
fn command_line() -> String {
    const MOST: usize = 200;
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let line = format!("wirespeed {}", words.join(" "));
    line.chars().take(MOST).collect()
}
