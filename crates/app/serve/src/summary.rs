//! `results.parquet` of a folder: metrics of complete runs without opening their tables.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;
use wirespeed_record::{RunInfo, SheetValues, read_sheet};

/// The file, as `wirespeed run` and `wirespeed report` write it.
const FILE: &str = "results.parquet";

/// The row of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SummaryRow {
    seed: u64,
    substrate: String,
    /// The limiting factor, as a sentence.
    pub limit: Option<String>,
    /// Place in the registry of metrics, and value.
    pub metrics: Vec<(usize, f64)>,
}

impl SummaryRow {
    /// Whether it is about this run, and not about an earlier one of the same name.
    pub fn is_of(&self, info: &RunInfo) -> bool {
        self.seed == info.seed && self.substrate == info.substrate.word()
    }
}

/// The rows of the file by the names of their runs.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    rows: HashMap<String, SummaryRow>,
    written: Option<SystemTime>,
}

impl Summary {
    /// Of the results in `folder`. Without the file, or if it is damaged, runs are read themselves.
    pub fn read(folder: &Path) -> Summary {
        let path = folder.join(FILE);
        let written = path.metadata().and_then(|metadata| metadata.modified()).ok();
        match written.and_then(|_| read_sheet(&path).ok()) {
            Some(columns) => Summary { rows: rows(columns), written },
            None => Summary::default(),
        }
    }

    /// The row of the run `id`, unless the run was written after the file.
    pub fn of(&self, id: &str, run_written: Option<SystemTime>) -> Option<&SummaryRow> {
        let is_current = run_written.zip(self.written).is_some_and(|(run, file)| run <= file);
        self.rows.get(id).filter(|_| is_current)
    }
}

fn rows(mut columns: std::collections::BTreeMap<String, SheetValues>) -> HashMap<String, SummaryRow> {
    let mut text = |name: &str| match columns.remove(name) {
        Some(SheetValues::Text(values)) => values,
        _ => Vec::new(),
    };
    let (ids, substrates, limits) = (text("id"), text("substrate"), text("limit"));
    let seeds = match columns.remove("seed") {
        Some(SheetValues::Whole(values)) => values,
        _ => Vec::new(),
    };
    let metrics: Vec<(usize, &Vec<Option<f64>>)> = wirespeed_metrics::all()
        .iter()
        .enumerate()
        .filter_map(|(place, metric)| match columns.get(metric.name) {
            Some(SheetValues::Real(values)) => Some((place, values)),
            _ => None,
        })
        .collect();
    let row = |(at, id): (usize, Option<String>)| {
        let metrics = metrics.iter().filter_map(|(place, values)| Some((*place, (*values.get(at)?)?)));
        let row = SummaryRow {
            seed: *seeds.get(at)?,
            substrate: substrates.get(at).cloned()??,
            limit: limits.get(at).cloned()?,
            metrics: metrics.collect(),
        };
        Some((id?, row))
    };
    ids.into_iter().enumerate().filter_map(row).collect()
}
