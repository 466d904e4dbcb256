//! Files that a scenario names: they are found from its folder.

use crate::error::Complaint;
use crate::tree::{Place, Source};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file, and the key that names it.
pub(super) struct NamedFile<'a> {
    /// The place of the name.
    at: &'a Place,
    /// The key, for messages.
    key: &'a str,
    path: PathBuf,
    /// The remedy, after the sentence about the folder.
    help: &'a str,
}

impl<'a> NamedFile<'a> {
    /// The file `name` from the folder of the text that has it at `at`.
    pub fn new(at: &'a Place, key: &'a str, name: &Path, help: &'a str) -> NamedFile<'a> {
        let folder = Path::new(&at.source.name).parent().unwrap_or(Path::new(""));
        NamedFile { at, key, path: folder.join(name), help }
    }

    /// A complaint about the file.
    pub fn complaint(&self, why: &str) -> Complaint {
        Complaint::at(self.at, format!("{}: {}: {why}", self.key, self.path.display()))
            .label("this file")
            .help(format!("the path counts from the scenario's folder{}", self.help))
    }

    /// Its text, of at most so many MiB.
    pub fn read(&self, most_mib: u64) -> Result<Arc<Source>, Complaint> {
        let failed = |error: std::io::Error| self.complaint(&error.to_string());
        if fs::metadata(&self.path).map_err(failed)?.len() > most_mib << 20 {
            return Err(self.complaint(&format!("more than {most_mib} MiB")));
        }
        Ok(Source::new(self.path.display().to_string(), fs::read_to_string(&self.path).map_err(failed)?))
    }
}
