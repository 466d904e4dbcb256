//! A run as the list shows it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use wirespeed_campaign::judge_run;
use wirespeed_record::{RunInfo, RunState, StoreError, open};

use crate::summary::SummaryRow;

/// The state of a run directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunStatus {
    /// A whole run.
    Complete,
    /// Its directory has the file `INCOMPLETE`.
    Incomplete,
    /// A file is there and cannot be understood, or differs from its checksum.
    Damaged,
    /// A newer wirespeed wrote it.
    Newer,
    /// The directory is not one of a run.
    Foreign,
}

impl RunStatus {
    /// All of them, in the order of the list's filter.
    pub const ALL: [RunStatus; 5] = [
        RunStatus::Complete,
        RunStatus::Incomplete,
        RunStatus::Damaged,
        RunStatus::Newer,
        RunStatus::Foreign,
    ];

    /// Its name in the list and its JSON.
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Complete => "complete",
            RunStatus::Incomplete => "incomplete",
            RunStatus::Damaged => "damaged",
            RunStatus::Newer => "newer",
            RunStatus::Foreign => "foreign",
        }
    }
}

/// A run of the list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunRow {
    pub status: RunStatus,
    /// Why it is not complete.
    pub reason: Option<String>,
    pub study: String,
    pub factors: BTreeMap<String, Value>,
    pub repeat: u32,
    /// Name of its substrate.
    pub substrate: String,
    /// Its limiting factor, as a sentence.
    pub limit: Option<String>,
    /// Place in the registry of metrics, and value.
    pub metrics: Vec<(usize, f64)>,
    /// Whether its tables have been compared with their checksums.
    pub is_checked: bool,
}

impl RunRow {
    /// The run in `directory`. `known` has its row in `results.parquet`, so that its tables need not be read.
    pub fn read(directory: &Path, known: Option<&SummaryRow>) -> RunRow {
        let info = match open(directory) {
            Ok(RunState::Complete(info)) => info,
            Ok(RunState::Incomplete(reason)) => return RunRow::without(RunStatus::Incomplete, reason),
            Err(error) => return RunRow::unreadable(&error),
        };
        if let Some(known) = known.filter(|known| known.is_of(&info)) {
            let (limit, metrics) = (known.limit.clone(), known.metrics.clone());
            return RunRow { limit, metrics, is_checked: false, ..RunRow::of(&info) };
        }
        match judge_run(directory) {
            Err(error) => RunRow::unreadable(&error),
            Ok(judged) => {
                let place =
                    |name: &str| wirespeed_metrics::all().iter().position(|metric| metric.name == name);
                let metrics = judged.metrics.iter().filter_map(|m| Some((place(&m.name)?, m.value)));
                let (limit, metrics) = (judged.analysis.diagnosis.sentence(), metrics.collect());
                RunRow { limit, metrics, ..RunRow::of(&judged.recording.info) }
            }
        }
    }

    fn of(info: &RunInfo) -> RunRow {
        RunRow {
            study: info.study.clone(),
            factors: info.factors.clone(),
            repeat: info.repeat,
            substrate: info.substrate.word().into(),
            reason: info.interrupted.then(|| "it was ended before its time".into()),
            ..RunRow::without(RunStatus::Complete, "")
        }
    }

    /// A run that cannot be read.
    pub fn unreadable(error: &StoreError) -> RunRow {
        let status = match error {
            StoreError::Newer { .. } => RunStatus::Newer,
            StoreError::NotARun { .. } => RunStatus::Foreign,
            StoreError::Incomplete { .. } => RunStatus::Incomplete,
            StoreError::Io { .. } | StoreError::Damaged { .. } | StoreError::Locked { .. } => {
                RunStatus::Damaged
            }
        };
        RunRow::without(status, reason(error))
    }

    fn without(status: RunStatus, reason: impl Into<String>) -> RunRow {
        RunRow {
            status,
            reason: Some(reason.into()).filter(|reason| !reason.is_empty()),
            study: String::new(),
            factors: BTreeMap::new(),
            repeat: 0,
            substrate: String::new(),
            limit: None,
            metrics: Vec::new(),
            is_checked: true,
        }
    }

    /// The value of a metric, by its place in the registry.
    pub fn metric(&self, place: usize) -> Option<f64> {
        self.metrics.iter().find(|(of, _)| *of == place).map(|(_, value)| *value)
    }
}

/// The reason alone: the list has the name of the run already.
fn reason(error: &StoreError) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match error {
        StoreError::Io { doing, path, source } => format!("cannot {doing} {}: {source}", name(path)),
        StoreError::Incomplete { reason, .. } => reason.clone(),
        StoreError::NotARun { .. } => "the directory has no run.json".into(),
        StoreError::Damaged { path, reason } => format!("{}: {reason}", name(path)),
        StoreError::Locked { holder, .. } => format!("it is in use by {holder}"),
        StoreError::Newer { found, .. } => {
            format!("run.json has format version {found}; this program is older: use a newer wirespeed")
        }
    }
}

/// The setting of a run: its name without the repetition. `congestion=bic` of `congestion=bic,r0`; a study of one setting has
/// the name `r`.
pub(crate) fn setting(id: &str) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match id.rsplit_once(",r") {
        Some((setting, repeat)) if digits(repeat) => setting,
        _ if id.strip_prefix('r').is_some_and(digits) => "r",
        _ => id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_is_the_name_without_the_repetition() {
        assert_eq!(setting("congestion=bic,r12"), "congestion=bic");
        assert_eq!(setting("r3"), "r");
        assert_eq!(setting("congestion=reno"), "congestion=reno");
        assert_eq!(setting("a,rx"), "a,rx");
    }

    #[test]
    fn directory_without_run_json_is_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let row = RunRow::read(folder.path(), None);
        assert_eq!(
            (row.status, row.reason.as_deref()),
            (RunStatus::Foreign, Some("the directory has no run.json"))
        );
    }

    #[test]
    fn newer_format_has_a_status_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("run.json"), "{\"format_version\": 99}").unwrap();
        let row = RunRow::read(folder.path(), None);
        assert_eq!(row.status, RunStatus::Newer);
        assert!(row.reason.unwrap().contains("format version 99"));
    }
}
