//! The tables of samples of a run that are left on disk.

use crate::store::StoreError;
use crate::table::Row;
use crate::table_file::TableFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A run directory whose tables of samples are read column by column. Each file is opened once; a small one is then in
/// memory. The directory is to be left as it is meanwhile.
#[derive(Debug, Clone)]
pub struct SampleFiles {
    directory: PathBuf,
    opened: Arc<Mutex<BTreeMap<&'static str, Arc<TableFile>>>>,
    /// The tables were not kept.
    are_dropped: bool,
}

impl SampleFiles {
    /// Those in a run directory; nothing is opened yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        SampleFiles { directory: directory.into(), opened: Arc::default(), are_dropped: false }
    }

    /// Those of a run directory in which they were not kept: all tables are empty.
    pub(crate) fn dropped(directory: &Path) -> Self {
        SampleFiles { are_dropped: true, ..SampleFiles::new(directory) }
    }

    /// Whether the directory has the files.
    pub(crate) fn are_there(&self) -> bool {
        !self.are_dropped
    }

    /// The run directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file of a table.
    pub(crate) fn open<R: Row>(&self) -> Result<Arc<TableFile>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = opened.get(R::TABLE) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(TableFile::open(&path_of::<R>(&self.directory))?);
        opened.insert(R::TABLE, Arc::clone(&file));
        Ok(file)
    }
}

/// The same directory has the same samples.
impl PartialEq for SampleFiles {
    fn eq(&self, other: &Self) -> bool {
        self.directory == other.directory
    }
}

/// The file of a table in a run directory.
pub(crate) fn path_of<R: Row>(directory: &Path) -> PathBuf {
    directory.join(format!("{}.parquet", R::TABLE))
}
