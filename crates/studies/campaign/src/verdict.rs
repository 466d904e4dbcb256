//! Numbers and verdicts of recorded runs, and the report over them.

use crate::result_tables::ResultTables;
use std::collections::BTreeMap;
use std::path::Path;
use wirespeed_diagnosis::Analysis;
use wirespeed_metrics::find;
use wirespeed_metrics::per_group::GroupValues;
use wirespeed_record::{Recording, StoreError, read_lazily};
use wirespeed_report::{
    Builder, Comparer, ExpectOutcome, GroupResult, MetricValue, Report, RunResult, StudyInfo,
};
use wirespeed_scenario::{Expectation, Run, Subject, metric_of};
use wirespeed_units::{Bytes, Rate, Span};

/// A recording with its numbers and verdicts.
pub struct Judged {
    /// What was recorded.
    pub recording: Recording,
    /// All that follows from its series.
    pub analysis: Analysis,
    /// Its metrics.
    pub metrics: Vec<MetricValue>,
    /// Its flows' metrics.
    pub per_flow: Vec<Vec<MetricValue>>,
    /// The metrics of its groups of flows.
    pub per_group: Vec<GroupResult>,
    /// Whether it met what was expected of it.
    pub expectations: Vec<ExpectOutcome>,
}

/// Computes the metrics of a recording, and compares them with the bounds that apply to `run`. If the series were not kept as a
/// whole, metrics come from the stored analysis. Without a run (a recording from elsewhere) no bound applies.
///
/// # Errors
/// If its samples are on disk and cannot be read.
pub fn judge(
    recording: Recording,
    run: Option<&Run>,
    expectations: &[Expectation],
) -> Result<Judged, StoreError> {
    let analysis = Analysis::of(&recording)?;
    let metrics = values(&analysis.metrics);
    let per_flow: Vec<Vec<MetricValue>> = analysis.per_flow.iter().map(values).collect();
    let group =
        |found: &GroupValues| GroupResult { group: found.group.clone(), metrics: values(&found.values) };
    let per_group: Vec<GroupResult> = analysis.per_group.iter().map(group).collect();
    let applying = expectations.iter().filter(|e| run.is_some_and(|run| e.applies(run)));
    let metrics_of = |subject: Subject| -> &[MetricValue] {
        let found = match subject {
            Subject::Run => Some(&metrics),
            Subject::Flow(label) => {
                let flow = recording.info.flows.iter().position(|flow| flow.label == label);
                flow.and_then(|flow| per_flow.get(flow))
            }
            Subject::Group(label) => {
                per_group.iter().find(|found| found.group.label == label).map(|found| &found.metrics)
            }
        };
        found.map_or(&[], Vec::as_slice)
    };
    let expectations = applying.map(|expectation| outcome(expectation, metrics_of)).collect();
    Ok(Judged { recording, analysis, metrics, per_flow, per_group, expectations })
}

/// The run in a directory with its numbers. It is not compared with expectations.
///
/// # Errors
/// If the run is incomplete or cannot be read.
pub fn judge_run(directory: &Path) -> Result<Judged, StoreError> {
    judge(read_lazily(directory)?, None, &[])
}

impl Judged {
    /// Adds the run to a comparison. `directory` is shown there as the place of the run.
    ///
    /// # Errors
    /// If its samples are on disk and cannot be read.
    pub fn add_to(self, comparer: &mut Comparer, directory: String) -> Result<(), StoreError> {
        self.with_result(|result| comparer.add(result, directory))
    }

    /// Calls `take` with the run as reports take it.
    fn with_result<T>(self, take: impl FnOnce(RunResult) -> T) -> T {
        take(RunResult {
            recording: &self.recording,
            analysis: Some(&self.analysis),
            metrics: self.metrics,
            per_flow: self.per_flow,
            per_group: self.per_group,
            expectations: self.expectations,
        })
    }
}

fn values(evaluated: &BTreeMap<&'static str, f64>) -> Vec<MetricValue> {
    let value = |(name, value): (&&str, &f64)| {
        let metric = find(name)?;
        Some(MetricValue {
            name: (*name).into(),
            unit: metric.unit.into(),
            value: *value,
            headline: metric.headline,
        })
    };
    let mut values: Vec<MetricValue> = evaluated.iter().filter_map(value).collect();
    // In the registry's order, which puts what matters first.
    let order = |name: &str| wirespeed_metrics::all().iter().position(|metric| metric.name == name);
    values.sort_by_key(|value| order(&value.name));
    values
}

fn outcome<'m>(
    expectation: &Expectation,
    metrics_of: impl Fn(Subject) -> &'m [MetricValue],
) -> ExpectOutcome {
    let (subject, name) = metric_of(&expectation.metric);
    let values = metrics_of(subject);
    let unit = find(name).map_or("", |metric| metric.unit);
    let bound = match (expectation.min, expectation.max) {
        (Some(min), Some(max)) => format!("{} to {}", quantity(unit, min), quantity(unit, max)),
        (Some(min), None) => format!("at least {}", quantity(unit, min)),
        (None, Some(max)) => format!("at most {}", quantity(unit, max)),
        (None, None) => unreachable!("the scenario refuses a bound without limits"),
    };
    let value = values.iter().find(|m| m.name == name).map(|m| m.value);
    let passed = value.is_some_and(|value| expectation.holds(value));
    ExpectOutcome { metric: expectation.metric.clone(), bound, value, passed }
}

/// A value as a person writes it, by the unit of its metric.
fn quantity(unit: &str, value: f64) -> String {
    // Beyond these a float is no exact count any more, and no unit would make it readable.
    let whole = (0.0..9e15).contains(&value).then_some(value.round() as u64);
    match (whole, unit) {
        (Some(count), "bit/s") => Rate::bps(count).to_string(),
        (Some(count), "ns") => Span::ns(count as i64).to_string(),
        (Some(count), "bytes") => Bytes::new(count).to_string(),
        _ => value.to_string(),
    }
}

/// Takes the judged runs of a study in their order, and keeps little of each.
#[derive(Debug)]
pub struct StudyReport {
    builder: Builder,
    tables: ResultTables,
}

impl StudyReport {
    /// Of the study `study`.
    pub fn new(study: StudyInfo) -> StudyReport {
        StudyReport { builder: Builder::new(study), tables: ResultTables::default() }
    }

    /// Adds a complete run.
    ///
    /// # Errors
    /// If the samples of the run are on disk and cannot be read.
    pub fn add(&mut self, judged: Judged) -> Result<(), StoreError> {
        self.tables.add(&judged);
        judged.with_result(|result| self.builder.add(result))
    }

    /// The same runs as of the study `study`, if it is known only from them.
    #[must_use]
    pub fn about(mut self, study: StudyInfo) -> StudyReport {
        self.builder.about(study);
        self
    }

    /// Adds the name of a run that is not complete, with the reason.
    pub fn add_incomplete(&mut self, id: impl Into<String>, reason: impl Into<String>) {
        self.builder.add_incomplete(id, reason);
    }

    /// The report and the tables over all runs, in the order in which they were added.
    pub fn finish(self) -> (Report, ResultTables) {
        (self.builder.finish(), self.tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_as_a_person_would() {
        let bound = |metric: &str, value: f64| quantity(find(metric).expect("it is registered").unit, value);
        assert_eq!(bound("goodput_bps", 5e9), "5 Gbit/s");
        assert_eq!(bound("rtt_max_ns", 1e8), "100 ms");
        assert_eq!(bound("cwnd_mean_bytes", 8388608.0), "8 MiB");
        assert_eq!(bound("link_utilisation", 0.95), "0.95");
    }
}
