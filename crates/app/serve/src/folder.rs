//! One folder of results: its runs, its report and its campaign.

use crate::index::Index;
use crate::study::Study;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The page of a plan in its folder.
const PLAN_PAGE: &str = "plan.html";

/// The last name of a folder, also of `.` or a link.
pub(crate) fn last_name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
}

/// A folder of results.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Its last name.
    pub name: String,
    /// The begin of its addresses: empty, or `/folder/NAME`.
    pub base: String,
    pub path: PathBuf,
    pub index: Arc<Index>,
    pub study: Study,
    /// Whether a request has been about it since it was read.
    is_wanted: AtomicBool,
}

impl Folder {
    /// Of `path`, with addresses that begin with `base`.
    pub fn new(path: &Path, base: String, generated_by: &str) -> Folder {
        let index = Arc::new(Index::new(path));
        let study = Study::new(index.clone(), generated_by, path);
        Folder {
            name: last_name(path),
            base,
            path: path.into(),
            index,
            study,
            is_wanted: AtomicBool::new(true),
        }
    }

    /// The page that `wirespeed plan` wrote there, if it did.
    pub fn plan(&self) -> Option<PathBuf> {
        let page = self.path.join(PLAN_PAGE);
        page.is_file().then_some(page)
    }

    /// Notes a request about it, so that it is read again.
    pub fn want(&self) {
        self.is_wanted.store(true, SeqCst);
    }

    /// Whether a request has been about it since the last call.
    pub fn take_wanted(&self) -> bool {
        self.is_wanted.swap(false, SeqCst)
    }
}
