//! Finds the runs and files of a folder of results.

use crate::error::{BundleError, io_error};
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_record::{StoreError, find_runs};

/// Folders of runs within a folder of results; the second one is that of `wirespeed reproduce --quick`.
const RUN_FOLDERS: [&str; 2] = ["runs", "runs-shortened"];
/// Results over all runs, which lie beside the runs.
const SUMMARIES: [&str; 6] =
    ["report.html", "means.csv", "results.parquet", "flow_results.parquet", "claims.json", "compare.html"];

/// A run directory and its path below the folder of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub directory: PathBuf,
    pub below: String,
}

/// A folder of results, or one for each substrate below it, as `wirespeed reproduce` and `wirespeed probe` make them.
#[derive(Debug)]
pub(crate) struct Layout {
    /// All runs, by path.
    pub runs: Vec<Found>,
    /// Folders that have runs, with their paths below the folder of results, which end in `/`. The first is the folder itself.
    bases: Vec<(PathBuf, String)>,
}

impl Layout {
    pub fn of(folder: &Path) -> Result<Layout, BundleError> {
        if !folder.is_dir() {
            return Err(BundleError::NoRuns(folder.into()));
        }
        let mut layout = Layout { runs: Vec::new(), bases: vec![(folder.to_path_buf(), String::new())] };
        layout.add_runs(folder, "")?;
        if layout.runs.is_empty() {
            for name in names(folder)? {
                let inner = folder.join(&name);
                // A link leads to a folder that is counted already.
                let is_folder = inner.symlink_metadata().is_ok_and(|found| found.is_dir());
                if is_folder && RUN_FOLDERS.iter().any(|runs| inner.join(runs).is_dir()) {
                    let below = format!("{name}/");
                    layout.add_runs(&inner, &below)?;
                    layout.bases.push((inner, below));
                }
            }
        }
        if layout.runs.is_empty() {
            return Err(BundleError::NoRuns(folder.into()));
        }
        layout.runs.sort_by(|a, b| a.below.cmp(&b.below));
        Ok(layout)
    }

    fn add_runs(&mut self, base: &Path, below: &str) -> Result<(), BundleError> {
        for runs in RUN_FOLDERS {
            let folder = base.join(runs);
            if !folder.is_dir() {
                continue;
            }
            for directory in find_runs(&folder)? {
                let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.runs.push(Found { directory, below: format!("{below}{runs}/{name}") });
            }
        }
        // A folder that is a run, or in which runs lie directly.
        if self.runs.is_empty() && below.is_empty() {
            for directory in find_runs(base).unwrap_or_default() {
                if directory == base || directory.parent() == Some(base) {
                    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    self.runs.push(Found { directory, below: format!("runs/{name}") });
                }
            }
        }
        Ok(())
    }

    /// Reports, tables and figures over all runs, with their paths below the folder of results.
    pub fn summaries(&self) -> Result<Vec<(PathBuf, String)>, BundleError> {
        let mut found = Vec::new();
        for (base, below) in &self.bases {
            for name in SUMMARIES {
                let path = base.join(name);
                if path.symlink_metadata().is_ok() {
                    found.push((path, format!("{below}{name}")));
                }
            }
            let figures = base.join("figures");
            if figures.is_dir() {
                files(&figures, &format!("{below}figures"), &mut found)?;
            }
        }
        Ok(found)
    }

    /// The inputs of the campaigns, with their paths below the folder of scenarios.
    pub fn inputs(&self, inputs: &str) -> Result<Vec<(PathBuf, String)>, BundleError> {
        let mut found = Vec::new();
        for (base, below) in &self.bases {
            let folder = base.join(inputs);
            if folder.is_dir() {
                files(&folder, below.trim_end_matches('/'), &mut found)?;
            }
        }
        Ok(found)
    }

    /// Whether measurements that others have replaced are there.
    pub fn has_earlier(&self) -> bool {
        self.bases.iter().any(|(base, _)| base.join("earlier").is_dir())
    }
}

/// All files at and below a folder, with their paths after `below`.
///
/// # Errors
/// If the folder cannot be listed, or has a link, a device or a pipe: a copy of what it leads to is not the results.
pub(crate) fn files(
    folder: &Path,
    below: &str,
    into: &mut Vec<(PathBuf, String)>,
) -> Result<(), BundleError> {
    for name in names(folder)? {
        let path = folder.join(&name);
        let inner = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = path.symlink_metadata().map_err(io_error("read", &path))?;
        if kind.is_dir() {
            files(&path, &inner, into)?;
        } else if kind.is_file() {
            into.push((path, inner));
        } else {
            return Err(BundleError::NotRegular(path));
        }
    }
    Ok(())
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, BundleError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(io_error("list", folder))? {
        let entry = entry.map_err(io_error("list", folder))?;
        let name = entry.file_name().into_string();
        names.push(name.map_err(|_| StoreError::NotARun { path: entry.path() })?);
    }
    names.sort();
    Ok(names)
}
