//! Numbers of the runs that claims and figures need.

use super::plan::{CellPlan, ClaimPlan};
use crate::claims::{Cell, Judgement, Verdict, judge};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wirespeed_campaign::{Outcome, in_order};
use wirespeed_diagnosis::Analysis;
use wirespeed_metrics::loss::by_stage;
use wirespeed_metrics::{View, evaluate, evaluate_view, find};
use wirespeed_record::{Cost, StoreError, SubstrateKind};

/// Metrics that give a number for each stage and not one.
const FAMILIES: &[&str] = &["loss_fraction_by_stage", "lost_packets_by_stage"];
/// Ends the window that a claim leaves out.
const FIRST_DROP: &str = "first_retransmission_ns";

/// The numbers of one run.
#[derive(Debug, Clone, Default)]
pub struct Numbers {
    metrics: BTreeMap<&'static str, f64>,
    after_first_drop: BTreeMap<&'static str, f64>,
    stages: BTreeMap<&'static str, BTreeMap<String, f64>>,
    /// Where its recording is.
    pub directory: PathBuf,
    /// What it cost.
    pub cost: Cost,
    /// It is a copy of another run, which gives the same.
    pub is_copy: bool,
}

/// A run's numbers, or why there are none.
pub type Found = Result<Numbers, NoNumbers>;

/// Why a run has no numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoNumbers {
    /// The substrate cannot run it.
    NotRunnable(String),
    /// It has not been run, or not to its end.
    NotRun(String),
}

impl Numbers {
    /// A metric of the run.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }

    /// Reads a run's directory.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(directory: &Path) -> Result<Self, StoreError> {
        let mut recording = wirespeed_record::read_lazily(directory)?;
        let stored = Analysis::stored(&recording)?.map(|stored| stored.metrics);
        let has_whole_series = stored.is_none();
        let view = View::new(&recording)?;
        let metrics = stored.map_or_else(|| evaluate_view(&view), Ok)?;
        let stages = FAMILIES.iter().filter_map(|family| Some((*family, by_stage(&view, family)?))).collect();
        let after_first_drop = match metrics.get(FIRST_DROP) {
            // Of fewer rows, a part of the run has no numbers.
            Some(first) if has_whole_series && (*first as i64) < recording.info.duration_ns => {
                recording.info.omit_ns = *first as i64;
                evaluate(&recording)?
            }
            _ => BTreeMap::new(),
        };
        let is_copy = recording.info.copy_of.is_some();
        let (directory, cost) = (directory.to_owned(), recording.info.cost);
        Ok(Numbers { metrics, after_first_drop, stages, directory, cost, is_copy })
    }
}

/// Reads the runs of a campaign, several at a time.
///
/// # Errors
/// If a directory cannot be read.
pub fn read_all(outcomes: &[Outcome], jobs: usize) -> Result<Vec<Found>, StoreError> {
    let read = |outcome: &Outcome| match outcome.directory() {
        Some(directory) => Numbers::read(directory).map(Ok),
        None => Ok(Err(NoNumbers::NotRun(outcome.reason().unwrap_or_default()))),
    };
    let mut found = Vec::with_capacity(outcomes.len());
    in_order(outcomes, jobs, read, |_, numbers| {
        found.push(numbers?);
        Ok(())
    })?;
    Ok(found)
}

/// The metric of each repetition that has it.
pub fn values(cell: &CellPlan, found: &[Found], metric: &str) -> Vec<f64> {
    cell.runs.iter().filter_map(|run| found[*run].as_ref().ok()?.metric(metric)).collect()
}

/// What a claim comes to on `substrate`, whose numbers these are, by run of the plan.
pub fn verdict(plan: &ClaimPlan, substrate: SubstrateKind, found: &[Found]) -> Judgement {
    let unit = find(&plan.metric).map_or("", |row| row.unit);
    match cells(plan, substrate, found) {
        Ok(cells) => match judge(&plan.claim.expect, plan.over.as_deref(), unit, &cells) {
            Judgement { measured, verdict: Verdict::Drawn } if plan.drawn_in.is_none() => {
                let why = "a shape in words, and no figure of the report shows it".into();
                Judgement { measured, verdict: Verdict::NotJudged { why } }
            }
            judgement => judgement,
        },
        Err(verdict) => Judgement { measured: String::new(), verdict },
    }
}

/// The numbers that decide a claim, or what there is to say without them.
pub(super) fn cells(
    plan: &ClaimPlan,
    substrate: SubstrateKind,
    found: &[Found],
) -> Result<Vec<Cell>, Verdict> {
    if let Some(why) = plan.lacks(substrate) {
        return Err(Verdict::NotRunnable { why });
    }
    let cells = plan.cells.as_ref().map_err(|why| Verdict::Missing { why: why.clone() })?;
    let family = FAMILIES.iter().find(|family| **family == plan.metric);
    if find(&plan.metric).is_none() && family.is_none() {
        return Err(Verdict::Missing { why: format!("metric {} is not there yet", plan.metric) });
    }
    for run in cells.iter().flat_map(|cell| &cell.runs) {
        match &found[*run] {
            Err(NoNumbers::NotRunnable(why)) => return Err(Verdict::NotRunnable { why: why.clone() }),
            Err(NoNumbers::NotRun(why)) => return Err(Verdict::Missing { why: format!("not run: {why}") }),
            Ok(_) => {}
        }
    }
    Ok(cells.iter().map(|cell| self::cell(plan, cell, found, family.copied())).collect())
}

fn cell(plan: &ClaimPlan, cell: &CellPlan, found: &[Found], family: Option<&str>) -> Cell {
    let numbers: Vec<&Numbers> = cell.runs.iter().filter_map(|run| found[*run].as_ref().ok()).collect();
    let of = |numbers: &Numbers| match plan.after_first_drop {
        true => numbers.after_first_drop.get(plan.metric.as_str()).copied(),
        false => numbers.metric(&plan.metric),
    };
    let values: Vec<f64> = numbers.iter().filter_map(|numbers| of(numbers)).collect();
    let mut stages: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for numbers in family.iter().flat_map(|family| numbers.iter().filter_map(|n| n.stages.get(family))) {
        for (stage, value) in numbers {
            stages.entry(stage.clone()).or_default().push(*value);
        }
    }
    let mean = wirespeed_statistics::mean;
    Cell {
        factors: cell.factors.clone(),
        value: mean(&values),
        stages: stages.into_iter().filter_map(|(stage, values)| Some((stage, mean(&values)?))).collect(),
    }
}
