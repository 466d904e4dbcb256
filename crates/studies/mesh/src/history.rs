//! What a mesh has measured so far: a file with a line of JSON per pair and sweep, which only grows.

use super::Measured;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use thiserror::Error;

/// The file.
pub struct History {
    path: PathBuf,
    file: Mutex<File>,
}

/// Why it cannot be used.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// It cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A line is none of ours.
    #[error("{}:{line}: {reason}; take the line out, or give another --out", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: serde_json::Error,
    },
}

impl History {
    /// Opens the file, or begins one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn open(path: &Path) -> Result<History, HistoryError> {
        let failed = |doing| move |source| HistoryError::Io { doing, path: path.into(), source };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed("open"))?;
        // Whoever was killed while writing has left half a line; what follows must not become part of it.
        let torn = fs::read(path).map_err(failed("read"))?.last().is_some_and(|last| *last != b'\n');
        if torn {
            file.write_all(b"\n").map_err(failed("write"))?;
        }
        Ok(History { path: path.into(), file: Mutex::new(file) })
    }

    /// Adds a measurement; it is there for good when this returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&self, measured: &Measured) -> Result<(), HistoryError> {
        let line = serde_json::to_string(measured).expect("it is plain data") + "\n";
        let mut file = self.file.lock().expect("nobody panics holding it");
        let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        written.map_err(|source| HistoryError::Io { doing: "write", path: self.path.clone(), source })
    }

    /// Everything so far. A line that was cut off is left out.
    ///
    /// # Errors
    /// If it cannot be read, or a line is none of ours.
    pub fn read(path: &Path) -> Result<Vec<Measured>, HistoryError> {
        let failed = |source| HistoryError::Io { doing: "read", path: path.into(), source };
        History::parse(&fs::read_to_string(path).map_err(failed)?, path)
    }

    /// The same of a history's text; `path` is what errors call it.
    ///
    /// # Errors
    /// If a line is none of ours.
    pub fn parse(text: &str, path: &Path) -> Result<Vec<Measured>, HistoryError> {
        let mut all = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str(line) {
                Ok(measured) => all.push(measured),
                // Cut off while it was written.
                Err(reason) if reason.is_eof() => {}
                Err(reason) => {
                    return Err(HistoryError::Line { path: path.into(), line: index + 1, reason });
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(sent: u64) -> Measured {
        Measured { at: 1, from: "a".into(), to: "b".into(), sent, ..Default::default() }
    }

    #[test]
    fn it_grows_over_sessions_and_survives_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mesh.jsonl");
        History::open(&path).unwrap().add(&measured(1)).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"at\":1,\"from\":\"a").unwrap();
        History::open(&path).unwrap().add(&measured(2)).unwrap();
        assert_eq!(History::read(&path).unwrap(), [measured(1), measured(2)]);
    }

    #[test]
    fn a_foreign_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mesh.jsonl");
        fs::write(&path, "{\"at\":1}\nhello\n").unwrap();
        let message = History::read(&path).unwrap_err().to_string();
        assert!(message.contains("mesh.jsonl:1: missing field"), "{message}");
    }
}
