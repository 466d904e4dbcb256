//! The recorded runs of result folders, for a plan.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use wirespeed_diagnosis::Analysis;
use wirespeed_plan::{Misfit, RecordedRun};
use wirespeed_record::{find_runs, read_lazily};

/// A run with its name for the reader, or the reason why a plan cannot have it.
pub(super) type Found = (String, Result<RecordedRun, Misfit>);

/// The runs in all of the folders.
///
/// # Errors
/// If a folder cannot be listed or has no runs. A run that cannot be read is among the runs, with that reason.
pub(super) fn runs(folders: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut all = Vec::new();
    for folder in folders {
        let unusable = |message: String| Failure::Usage {
            message,
            remedy: "give --measured the folder that `wirespeed run` or `wirespeed probe` wrote".into(),
        };
        let found = find_runs(folder).map_err(|error| unusable(error.to_string()))?;
        if found.is_empty() {
            return Err(unusable(format!("{} has no runs", folder.display())));
        }
        all.extend(found.iter().map(|directory| run(directory)));
    }
    Ok(all)
}

/// The run of a directory. Its name is the id, or that of the directory if it cannot be read.
fn run(directory: &Path) -> Found {
    let name = directory.file_name().unwrap_or(directory.as_os_str()).to_string_lossy().into_owned();
    let read = || {
        let recording = read_lazily(directory)?;
        let metrics = Analysis::of(&recording)?.metrics;
        Ok::<_, wirespeed_record::StoreError>((recording.info, metrics))
    };
    match read() {
        Ok((info, metrics)) => (info.id.clone(), RecordedRun::of(&info.id, &info, &metrics)),
        Err(_) => (name, Err(Misfit::Unreadable)),
    }
}
