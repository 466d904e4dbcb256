//! The mean of every metric in every setting, with its interval, and the runs far from it.

use super::LEVEL;
use crate::diagnosis::LIMITING_FACTOR;
use crate::digest::{Group, RunDigest, factor_text, leading_metric, metric_words};
use crate::number::{significant, with_unit};
use crate::report::Report;
use std::fmt::Write;
use wirespeed_statistics::outliers::outliers;
use wirespeed_statistics::{Interval, mean, quantile, student, student_t};

/// A metric of a setting over its observations.
pub(crate) struct Mean<'a> {
    pub n: usize,
    pub mean: f64,
    pub interval: Option<Interval>,
    pub least: f64,
    pub largest: f64,
    /// Runs far from the others, with their values.
    pub outliers: Vec<(&'a RunDigest, f64)>,
}

impl<'a> Mean<'a> {
    /// Of the observations that have the metric; `None` if none has.
    pub fn of(observations: &[&'a RunDigest], metric: &str) -> Option<Mean<'a>> {
        let found: Vec<(&RunDigest, f64)> =
            observations.iter().filter_map(|run| Some((*run, run.metric(metric)?))).collect();
        let values: Vec<f64> = found.iter().map(|(_, value)| *value).collect();
        Some(Mean {
            n: values.len(),
            mean: mean(&values)?,
            interval: student_t(&values, LEVEL),
            least: quantile(&values, 0.0)?,
            largest: quantile(&values, 1.0)?,
            outliers: outliers(&values).iter().map(|outlier| found[outlier.index]).collect(),
        })
    }
}

/// The table as CSV, a row for each setting and metric that has a value. Columns: the factors, then metric, unit, n, mean, low,
/// high, method, least, largest, outliers (run names, separated by `;`).
pub(crate) fn csv(report: &Report) -> String {
    let keys = report.factor_keys();
    let columns = [report.metric_columns(), report.group_metric_columns()].concat();
    let fixed = ["metric", "unit", "n", "mean", "low", "high", "method", "least", "largest", "outliers"];
    let mut out = line(keys.iter().map(String::as_str).chain(fixed));
    for group in Group::all(&report.runs) {
        let observations = group.observations();
        let factors = &group.runs[0].info.factors;
        let levels: Vec<String> =
            keys.iter().map(|key| factors.get(key).map_or(String::new(), factor_text)).collect();
        for column in &columns {
            let Some(found) = Mean::of(&observations, &column.name) else { continue };
            let end = |end: fn(&Interval) -> f64| {
                found.interval.as_ref().map_or(String::new(), |i| end(i).to_string())
            };
            let ids: Vec<&str> = found.outliers.iter().map(|(run, _)| &*run.info.id).collect();
            let numbers = [
                found.n.to_string(),
                found.mean.to_string(),
                end(|interval| interval.low),
                end(|interval| interval.high),
                found.interval.map_or("", |interval| interval.method.name()).to_owned(),
                found.least.to_string(),
                found.largest.to_string(),
                ids.join(";"),
            ];
            let named = [column.name.as_str(), column.unit.as_str()];
            let cells = levels.iter().map(String::as_str).chain(named);
            out += &line(cells.chain(numbers.iter().map(String::as_str)));
        }
    }
    out
}

/// A line of CSV (RFC 4180, with line feeds).
fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// Runs far from the other repeats of their setting by the leading metric, a sentence each with the limiting factor.
pub(crate) fn outlier_lines(report: &Report) -> Vec<String> {
    let Some(metric) = leading_metric(&report.runs) else { return Vec::new() };
    let unit =
        report.metric_columns().into_iter().find(|c| c.name == metric).map_or(String::new(), |c| c.unit);
    let of_group = |group: &Group| -> Vec<String> {
        let Some(found) = Mean::of(&group.observations(), metric) else { return Vec::new() };
        let middle = quantile(&group.values(metric), 0.5).unwrap_or(found.mean);
        let sentence = |(run, value): &(&RunDigest, f64)| {
            let mut text = format!(
                "{} is an outlier: its {} is {}, the median of its setting {}.",
                run.info.id,
                metric_words(metric),
                with_unit(*value, &unit),
                with_unit(middle, &unit)
            );
            if let Some(limit) = limiting_factor(run) {
                let _ = write!(text, " Limiting factor: {}", limit.trim_end_matches('.'));
                text.push('.');
            }
            text
        };
        found.outliers.iter().map(sentence).collect()
    };
    Group::all(&report.runs).iter().flat_map(of_group).collect()
}

fn limiting_factor(run: &RunDigest) -> Option<&str> {
    let section = run.diagnosis.iter().find(|section| section.title == LIMITING_FACTOR)?;
    section.lines.first().map(String::as_str)
}

/// A warning if settings have two or three repeats: how wide their intervals are.
pub(crate) fn too_few(report: &Report) -> Option<String> {
    let metric = leading_metric(&report.runs)?;
    let groups = Group::all(&report.runs);
    let counted: Vec<(usize, f64)> = groups
        .iter()
        .filter_map(|group| Mean::of(&group.observations(), metric))
        .filter(|found| (2..=3).contains(&found.n))
        .map(|found| (found.n, found.interval.map_or(0.0, |i| i.half_width() / found.mean.abs())))
        .collect();
    let fewest = counted.iter().map(|(n, _)| *n).min()?;
    let widest = counted.iter().map(|(_, share)| *share).filter(|s| s.is_finite()).fold(0.0, f64::max);
    let wide = |n: usize| {
        let t = student(0.975, n as f64 - 1.0).unwrap_or(f64::NAN);
        significant(t / (n as f64).sqrt(), 2)
    };
    let width = if widest > 0.0 {
        format!("; here up to {} % of the mean", significant(widest * 100.0, 2))
    } else {
        String::new()
    };
    Some(format!(
        "Too few repeats: with {fewest}, the 95 % interval of a mean reaches {} standard deviations to each side{width}. With 5 it reaches {}, with 10 {}.",
        wide(fewest),
        wide(5),
        wide(10)
    ))
}
