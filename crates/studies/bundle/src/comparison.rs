//! Compares a repeated run with the packed one: tables by checksum, then metrics bit by bit.

use crate::digest;
use crate::manifest::PackedRun;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use wirespeed_diagnosis::Analysis;
use wirespeed_record::{RunInfo, StoreError, read_lazily};

/// The facts of a run that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// `run.json`.
    pub info: RunInfo,
    /// SHA-256 of each table, by file name.
    pub tables: BTreeMap<String, String>,
    /// Metrics by name, in the units of the registry.
    pub metrics: BTreeMap<String, f64>,
}

impl RunFacts {
    /// Those of a complete run, whose files are as they were recorded.
    ///
    /// # Errors
    /// If the run is incomplete, damaged or changed.
    pub fn read(directory: &Path) -> Result<RunFacts, StoreError> {
        let recording = read_lazily(directory)?;
        let metrics = Analysis::of(&recording)?
            .metrics
            .into_iter()
            .map(|(name, value)| (name.to_owned(), as_stored(value)))
            .collect();
        let io = |source| StoreError::Io { doing: "read", path: directory.into(), source };
        let mut tables = BTreeMap::new();
        for entry in fs::read_dir(directory).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if path.extension().is_some_and(|extension| extension == "parquet") {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                tables.insert(name, digest::of_file(&path).map_err(io)?.1);
            }
        }
        Ok(RunFacts { info: recording.info, tables, metrics })
    }
}

/// The number that `bundle.json` gives back for this one: reading JSON may round the last bit.
fn as_stored(value: f64) -> f64 {
    serde_json::to_string(&value).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(value)
}

/// A metric whose value differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricDifference {
    /// Name of the metric.
    pub metric: String,
    /// The packed value; null if only the repetition has the metric.
    pub packed: Option<f64>,
    /// The value of the repetition; null if it does not have the metric.
    pub repeated: Option<f64>,
    /// The difference as a share of the packed value; null if there is none.
    pub relative: Option<f64>,
}

/// The result of the comparison of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum RunVerdict {
    /// All tables are equal to the last bit.
    Identical,
    /// All metrics are equal to the last bit, and files of tables differ.
    EqualMetrics {
        /// The tables that differ.
        tables: Vec<String>,
    },
    /// Metrics differ.
    Differs {
        /// The tables that differ.
        tables: Vec<String>,
        /// The metrics that differ, in the order of the registry.
        metrics: Vec<MetricDifference>,
    },
    /// There is no repetition to compare with.
    NotRepeated {
        /// The reason.
        reason: String,
    },
}

impl RunVerdict {
    /// Whether the run has the same results.
    pub fn is_same(&self) -> bool {
        matches!(self, RunVerdict::Identical | RunVerdict::EqualMetrics { .. })
    }
}

/// A run and the result of its comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// The directory of the packed run, by path in the bundle.
    pub folder: String,
    /// Name of the run.
    pub id: String,
    /// The result.
    #[serde(flatten)]
    pub verdict: RunVerdict,
}

/// Compares a repetition with the packed run; `Err` is the reason why there is none.
pub fn compare(packed: &PackedRun, repeated: Result<&RunFacts, String>) -> RunComparison {
    let verdict = match repeated {
        Err(reason) => RunVerdict::NotRepeated { reason },
        Ok(repeated) => verdict(packed, repeated),
    };
    RunComparison { folder: packed.folder.clone(), id: packed.id.clone(), verdict }
}

fn verdict(packed: &PackedRun, repeated: &RunFacts) -> RunVerdict {
    let names: BTreeSet<&String> = packed.tables.keys().chain(repeated.tables.keys()).collect();
    let differing = names.into_iter().filter(|name| packed.tables.get(*name) != repeated.tables.get(*name));
    let tables: Vec<String> = differing.cloned().collect();
    if tables.is_empty() {
        return RunVerdict::Identical;
    }
    let known = wirespeed_metrics::all().iter().map(|metric| metric.name);
    let metrics: Vec<MetricDifference> = known
        .filter_map(|name| {
            let values = (packed.metrics.get(name).copied(), repeated.metrics.get(name).copied());
            difference(name, values)
        })
        .collect();
    match metrics.is_empty() {
        true => RunVerdict::EqualMetrics { tables },
        false => RunVerdict::Differs { tables, metrics },
    }
}

fn difference(name: &str, (packed, repeated): (Option<f64>, Option<f64>)) -> Option<MetricDifference> {
    if packed.map(f64::to_bits) == repeated.map(f64::to_bits) {
        return None;
    }
    let relative = match (packed, repeated) {
        (Some(packed), Some(repeated)) if packed != 0.0 => Some((repeated - packed) / packed.abs()),
        _ => None,
    };
    Some(MetricDifference { metric: name.into(), packed, repeated, relative })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::SubstrateKind;

    fn packed() -> PackedRun {
        PackedRun {
            folder: "results/runs/r0".into(),
            id: "r0".into(),
            study: "t".into(),
            substrate: SubstrateKind::Model,
            repeat: 0,
            seed: 1,
            git: String::new(),
            kernel_build: None,
            tables: [("flows.parquet".into(), "aa".into())].into(),
            metrics: [("goodput_bps".into(), 100.0)].into(),
        }
    }

    fn repeated(sum: &str, goodput: Option<f64>) -> RunFacts {
        RunFacts {
            info: RunInfo::default(),
            tables: [("flows.parquet".into(), sum.into())].into(),
            metrics: goodput.into_iter().map(|value| ("goodput_bps".into(), value)).collect(),
        }
    }

    #[test]
    fn equal_tables_are_identical_whatever_else_is_known() {
        assert_eq!(compare(&packed(), Ok(&repeated("aa", None))).verdict, RunVerdict::Identical);
    }

    #[test]
    fn metric_that_differs_is_named_with_its_share() {
        let RunVerdict::Differs { tables, metrics } =
            compare(&packed(), Ok(&repeated("bb", Some(90.0)))).verdict
        else {
            panic!("it differs")
        };
        assert_eq!(tables, ["flows.parquet"]);
        assert_eq!(metrics.len(), 1);
        assert_eq!((metrics[0].metric.as_str(), metrics[0].relative), ("goodput_bps", Some(-0.1)));
    }

    #[test]
    fn equal_metrics_of_other_files_are_the_same_and_missing_ones_are_not() {
        assert!(compare(&packed(), Ok(&repeated("bb", Some(100.0)))).verdict.is_same());
        assert!(!compare(&packed(), Ok(&repeated("bb", None))).verdict.is_same());
        assert!(!compare(&packed(), Err("interrupted".into())).verdict.is_same());
    }
}
