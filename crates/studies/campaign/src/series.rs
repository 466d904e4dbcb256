//! Fewer rows of the series of a run, once its numbers are known.

use std::fs;
use std::path::Path;
use wirespeed_diagnosis::Analysis;
use wirespeed_record::{KeptSeries, Recording, RunDirectory, RunInfo, StoreError, read_lazily, reduce_run};
use wirespeed_scenario::run::{Run, Series};

/// The folder beside that of the runs in which directories with fewer rows are made.
const REDUCING: &str = "reducing";

/// The rows of a run that are to be kept.
pub(crate) fn wanted(run: &Run) -> KeptSeries {
    match run.series {
        Series::All => KeptSeries::All,
        Series::Thin { every } => KeptSeries::Thin { every_ns: every.nanoseconds() },
        Series::None => KeptSeries::None,
    }
}

/// Completes the directory of a run that was executed, with the rows that are to be kept.
pub(crate) fn finish(
    directory: RunDirectory,
    recording: Recording,
    run: &Run,
) -> Result<RunInfo, StoreError> {
    match wanted(run) {
        KeptSeries::All => directory.finish(&recording).map(|()| recording.info),
        kept => directory.finish_reduced(recording, kept, |whole| Ok(Analysis::of(whole)?.to_json())),
    }
}

/// Leaves the rows that are to be kept of a complete run at `path`, if it has more.
pub(crate) fn reduce(path: &Path, info: &RunInfo, run: &Run) -> Result<(), StoreError> {
    let wanted = wanted(run);
    let runs = path.parent().unwrap_or(Path::new(""));
    let folder = runs.with_file_name(REDUCING);
    let scratch = folder.join(path.file_name().unwrap_or_default());
    if !wanted.suffices_for(info.series) {
        let analysis = match info.series.is_all() {
            true => Some(Analysis::of(&read_lazily(path)?)?.to_json()),
            // It was stored when rows were left out for the first time.
            false => None,
        };
        reduce_run(path, &scratch, wanted, analysis.as_deref())?;
    } else if scratch.exists() {
        // A process was killed after the new directory had taken its place. What cannot be removed changes no result.
        let _ = fs::remove_dir_all(&scratch);
    } else {
        return Ok(());
    }
    // Another worker may be using it.
    let _ = fs::remove_dir(folder);
    Ok(())
}
