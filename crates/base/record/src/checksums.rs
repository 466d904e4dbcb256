//! `SHA256SUMS` of a run: what its files were when it was complete, in the form of `sha256sum`, so that
//! `sha256sum --check SHA256SUMS` works as well.

use crate::foreign::open_file;
use crate::store::{ANALYSIS, INFO, StoreError, io_error, replace_file};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// Name of the file.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// Notes the checksums of `run.json`, the stored analysis and all tables in a directory.
///
/// # Errors
/// If a file cannot be read or the checksums cannot be written.
pub(crate) fn write(directory: &Path) -> Result<(), StoreError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(io_error("read", directory))? {
        let name = entry.map_err(io_error("read", directory))?.file_name().to_string_lossy().into_owned();
        if [INFO, ANALYSIS].contains(&name.as_str()) || name.ends_with(".parquet") {
            names.push(name);
        }
    }
    names.sort();
    let mut text = String::new();
    for name in names {
        let path = directory.join(&name);
        let sum = sum(&path).map_err(io_error("read", &path))?;
        let _ = writeln!(text, "{sum}  {name}");
    }
    let path = directory.join(SUMS);
    replace_file(&path, text.as_bytes()).map_err(io_error("write", &path))
}

/// Compares the files of a run directory with their checksums. A run of an earlier version has none.
///
/// # Errors
/// If a file differs or is missing.
pub fn check(directory: &Path) -> Result<(), StoreError> {
    let path = directory.join(SUMS);
    let text = match open_file(&path).and_then(io::read_to_string) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text.map_err(io_error("read", &path))?,
    };
    for line in text.lines() {
        let Some((expected, name)) = line.split_once("  ").filter(|(_, name)| !name.contains('/')) else {
            let reason = format!("\"{line}\" is not a line of sha256sum");
            return Err(StoreError::Damaged { path, reason });
        };
        let path = directory.join(name);
        if sum(&path).map_err(io_error("read", &path))? != expected {
            let reason = format!("its content is not what {SUMS} says; the file has changed since the run");
            return Err(StoreError::Damaged { path, reason });
        }
    }
    Ok(())
}

fn sum(path: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    io::copy(&mut open_file(path)?, &mut digest)?;
    Ok(digest.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
