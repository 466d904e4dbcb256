//! All folders that a server shows.

use crate::folder::{Folder, last_name};
use crate::http::encoded;
use crate::server::ServeError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use wirespeed_record::find_runs;

/// The folders of a server.
#[derive(Debug)]
pub(crate) enum Site {
    /// One folder of results.
    Single(Box<Folder>),
    /// A folder of several folders of results, in the order of their names.
    Several {
        /// Its last name.
        name: String,
        folders: Vec<Folder>,
    },
}

impl Site {
    /// Finds the results in `path`.
    ///
    /// # Errors
    /// If it cannot be listed, or has neither runs nor folders of results.
    pub fn open(path: &Path, generated_by: &str) -> Result<Site, ServeError> {
        let list = |source| ServeError::Folder { path: path.into(), source };
        let entries = fs::read_dir(path).map_err(list)?;
        if is_results(path) {
            return Ok(Site::Single(Box::new(Folder::new(path, String::new(), generated_by))));
        }
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in entries {
            let path = entry.map_err(list)?.path();
            if path.is_dir() && is_results(&path) {
                found.push(path);
            }
        }
        found.sort();
        if found.is_empty() {
            return Err(ServeError::NoRuns { path: path.into() });
        }
        let folders = found.iter().map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Folder::new(path, format!("/folder/{}", encoded(&name)), generated_by)
        });
        Ok(Site::Several { name: last_name(path), folders: folders.collect() })
    }

    /// All of them.
    pub fn folders(&self) -> &[Folder] {
        match self {
            Site::Single(folder) => std::slice::from_ref(folder),
            Site::Several { folders, .. } => folders,
        }
    }

    /// Keeps the folders current until `is_over`. A folder is read at the beginning, and again after a request about it. So a server
    /// without visitors does not disturb a measurement on this machine.
    pub fn keep_current(&self, is_over: &AtomicBool) {
        /// Time between two looks for requests.
        const PAUSE: Duration = Duration::from_millis(100);
        /// A pass over a large folder takes at most one of so many parts of the time.
        const SHARE: u32 = 10;
        /// Runs whose checksums are compared at once.
        const CHECKED: usize = 16;
        let is_over = || is_over.load(SeqCst);
        let mut next = vec![Instant::now(); self.folders().len()];
        while !is_over() {
            let mut is_idle = true;
            for (folder, next) in self.folders().iter().zip(&mut next) {
                if Instant::now() >= *next && folder.take_wanted() {
                    let began = Instant::now();
                    // A folder that is gone keeps its last state until it is back.
                    let _ = folder.index.refresh(&is_over);
                    *next = Instant::now()
                        + (began.elapsed() * SHARE).clamp(Duration::from_millis(500), MOST_PAUSE);
                }
                is_idle &= !folder.index.check_some(CHECKED);
                if is_over() {
                    return;
                }
            }
            if is_idle {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Even a large folder is read this often while requests arrive.
const MOST_PAUSE: Duration = Duration::from_secs(30);

/// Whether a folder has runs, or a campaign that will have some.
fn is_results(path: &Path) -> bool {
    let has_own = path.join("runs").is_dir() || path.join("campaign").is_dir();
    // Runs directly in the folder, and not in folders within it.
    let has_runs = || {
        find_runs(path).is_ok_and(|runs| {
            runs.iter().any(|run| run == path || run.parent().is_some_and(|parent| parent == path))
        })
    };
    has_own || has_runs()
}
