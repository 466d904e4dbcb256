//! The runs of a folder, kept current: only run directories that have changed are read again.

use crate::row::{RunRow, RunStatus};
use crate::summary::Summary;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;
use wirespeed_record::{StoreError, check_sums, find_runs};

/// The files from which it follows whether a run directory has changed: all others are written before them.
const MARKS: [&str; 3] = ["run.json", "SHA256SUMS", "INCOMPLETE"];

/// Length and time of each of [`MARKS`] that is there.
type Stamp = [Option<(u64, Option<SystemTime>)>; 3];

/// A run directory and its row.
#[derive(Debug, Clone)]
struct Entry {
    path: PathBuf,
    stamp: Stamp,
    row: Arc<RunRow>,
}

/// The runs of a folder.
#[derive(Debug)]
pub(crate) struct Index {
    folder: PathBuf,
    runs: RwLock<BTreeMap<String, Entry>>,
    /// Grows with every change.
    generation: AtomicU64,
    /// Run directories that have been read and that are to be read, of the present pass.
    read: AtomicUsize,
    found: AtomicUsize,
    /// Passes that are over.
    passes: AtomicU64,
}

/// How far the present pass is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Reading {
    pub done: usize,
    pub of: usize,
}

impl Index {
    /// Of the results in `folder`; nothing has been read yet.
    pub fn new(folder: &Path) -> Index {
        Index {
            folder: folder.into(),
            runs: RwLock::default(),
            generation: AtomicU64::new(0),
            read: AtomicUsize::new(0),
            found: AtomicUsize::new(0),
            passes: AtomicU64::new(0),
        }
    }

    /// Number of the present state: another number means other runs.
    pub fn generation(&self) -> u64 {
        self.generation.load(SeqCst)
    }

    /// How far the present pass is; `None` between passes.
    pub fn reading(&self) -> Option<Reading> {
        let (done, of) = (self.read.load(SeqCst), self.found.load(SeqCst));
        (self.passes.load(SeqCst) == 0 || done < of).then_some(Reading { done, of })
    }

    /// Names and rows, in the order of the names.
    pub fn rows(&self) -> Vec<(String, Arc<RunRow>)> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        runs.iter().map(|(id, entry)| (id.clone(), entry.row.clone())).collect()
    }

    /// The directory and the row of the run with this name. A name is looked up, and is never made a part of a path.
    pub fn run(&self, id: &str) -> Option<(PathBuf, Arc<RunRow>)> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        runs.get(id).map(|entry| (entry.path.clone(), entry.row.clone()))
    }

    /// The directories of all complete runs, in the order of their names.
    pub fn complete(&self) -> Vec<(String, PathBuf)> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        let complete = runs.iter().filter(|(_, entry)| entry.row.status == RunStatus::Complete);
        complete.map(|(id, entry)| (id.clone(), entry.path.clone())).collect()
    }

    /// Reads changed run directories, and removes the rows of deleted ones. `is_over` ends it early.
    ///
    /// # Errors
    /// If the folder cannot be listed; then the runs stay as they were.
    pub fn refresh(&self, is_over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        let present = directories(&self.folder)?;
        let changed: Vec<(String, PathBuf, Stamp)> = {
            let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
            let before = runs.len();
            runs.retain(|id, entry| present.get(id) == Some(&entry.path));
            if runs.len() < before {
                self.generation.fetch_add(1, SeqCst);
            }
            let stamped = present.into_iter().map(|(id, path)| {
                let stamp = stamp(&path);
                (id, path, stamp)
            });
            stamped.filter(|(id, _, stamp)| runs.get(id).is_none_or(|entry| entry.stamp != *stamp)).collect()
        };
        self.read.store(0, SeqCst);
        self.found.store(changed.len(), SeqCst);
        let summary = if changed.is_empty() { Summary::default() } else { Summary::read(&self.folder) };
        for (id, path, stamp) in changed {
            if is_over() {
                return Ok(());
            }
            let known = summary.of(&id, stamp[0].and_then(|(_, written)| written));
            let row = Arc::new(RunRow::read(&path, known));
            self.put(id, Entry { path, stamp, row });
            self.read.fetch_add(1, SeqCst);
        }
        self.passes.fetch_add(1, SeqCst);
        Ok(())
    }

    /// Compares the tables of some runs with their checksums, if their numbers came from `results.parquet`. Returns whether such
    /// runs are left.
    pub fn check_some(&self, most: usize) -> bool {
        let unchecked: Vec<(String, Entry)> = {
            let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
            let unchecked = runs.iter().filter(|(_, entry)| !entry.row.is_checked);
            unchecked.take(most).map(|(id, entry)| (id.clone(), entry.clone())).collect()
        };
        let is_rest = unchecked.len() == most;
        for (id, entry) in unchecked {
            match check_sums(&entry.path) {
                // Nothing that is shown has changed.
                Ok(()) => self.mark_checked(&id, &entry),
                Err(error) => self.put(id, Entry { row: Arc::new(RunRow::unreadable(&error)), ..entry }),
            }
        }
        is_rest
    }

    /// Notes that a run could not be read when its page was made.
    pub fn note(&self, id: &str, error: &StoreError) {
        let entry = {
            let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
            runs.get(id).cloned()
        };
        if let Some(entry) = entry.filter(|entry| entry.row.status == RunStatus::Complete) {
            self.put(id.into(), Entry { row: Arc::new(RunRow::unreadable(error)), ..entry });
        }
    }

    fn put(&self, id: String, entry: Entry) {
        self.runs.write().unwrap_or_else(PoisonError::into_inner).insert(id, entry);
        self.generation.fetch_add(1, SeqCst);
    }

    fn mark_checked(&self, id: &str, of: &Entry) {
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = runs.get_mut(id).filter(|entry| entry.stamp == of.stamp) {
            entry.row = Arc::new(RunRow { is_checked: true, ..(*entry.row).clone() });
        }
    }
}

/// The run directories of `folder` by their names. In `runs/`, directories of something else are among them.
fn directories(folder: &Path) -> Result<BTreeMap<String, PathBuf>, StoreError> {
    let nested = folder.join("runs");
    let io = |source| StoreError::Io { doing: "list", path: nested.clone(), source };
    let paths = if nested.is_dir() && !folder.join(MARKS[0]).exists() {
        let entries = fs::read_dir(&nested).map_err(io)?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
        paths.map_err(io)?.into_iter().filter(|path| path.is_dir()).collect()
    } else {
        find_runs(folder)?
    };
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(paths.into_iter().map(|path| (name(&path), path)).collect())
}

fn stamp(run: &Path) -> Stamp {
    MARKS.map(|name| {
        let metadata = run.join(name).metadata().ok()?;
        Some((metadata.len(), metadata.modified().ok()))
    })
}
