//! The table for a terminal, and what stands below it.

pub(crate) mod layout;

use crate::answer;
use crate::digest::{RunDigest, factor_head, factor_text, metric_words};
use crate::number::{Column, MISSING, with_unit};
use crate::report::Report;
use layout::{Cells, LEAST_WIDTH, clean, paragraph, write_tables};

/// Failed bounds that are told one by one; the page tells them all.
const MOST_FAILURES: usize = 10;

/// How the terminal marks text; nothing is said by colour alone.
pub(crate) mod style {
    pub const BOLD: &str = "\x1b[1m";
    pub const DIM: &str = "\x1b[2m";
    pub const RED: &str = "\x1b[31m";
    pub const YELLOW: &str = "\x1b[33m";
    pub const PLAIN: &str = "\x1b[0m";
}

/// Table, then failed bounds, runs that did not complete, and the answer.
pub(crate) fn table(report: &Report, total: usize, colour: bool) -> String {
    let total = total.max(LEAST_WIDTH);
    let mut out = String::new();
    if !report.runs.is_empty() {
        write_tables(&mut out, names(report), Some(run_column(report)), metrics(report), total, colour);
        out.push('\n');
    }
    failures(&mut out, report, total, colour);
    for (id, reason) in &report.incomplete {
        paragraph(&mut out, &format!("… {id}: incomplete, {reason}"), total, colour.then_some(style::YELLOW));
    }
    if !report.incomplete.is_empty() {
        out.push('\n');
    }
    paragraph(&mut out, &answer::sentences(report).join(" "), total, None);
    let regions = answer::validated_regions(report);
    if !regions.is_empty() {
        out.push('\n');
    }
    for region in regions {
        paragraph(&mut out, &region, total, None);
    }
    out
}

/// A mark for runs that miss a bound, then the factors, then the repetition.
fn names(report: &Report) -> Vec<Cells> {
    let keys = report.factor_keys();
    let mut columns = Vec::new();
    let failed: Vec<bool> = report.runs.iter().map(|run| run.failed() > 0).collect();
    if failed.contains(&true) {
        let cells = failed.iter().map(|f| if *f { "✗".into() } else { String::new() }).collect();
        columns.push(Cells::text(String::new(), cells).marked(failed));
    }
    for key in &keys {
        let value =
            |run: &RunDigest| run.info.factors.get(key).map_or(MISSING.into(), |v| clean(&factor_text(v)));
        columns.push(Cells::text(clean(&factor_head(key, &keys)), report.runs.iter().map(value).collect()));
    }
    if report.has_repeats() {
        let cells = report.runs.iter().map(|run| run.info.repeat.to_string()).collect();
        columns.push(Cells::number("repeat".into(), String::new(), cells));
    }
    columns
}

fn run_column(report: &Report) -> Cells {
    Cells::text("run".into(), report.runs.iter().map(|run| clean(&run.info.id)).collect())
}

fn metrics(report: &Report) -> Vec<Cells> {
    let all = report.metric_columns();
    let has_headline = all.iter().any(|c| c.headline);
    let mut columns = Vec::new();
    for metric in all.iter().filter(|c| c.headline || !has_headline) {
        let values: Vec<Option<f64>> = report.runs.iter().map(|run| run.metric(&metric.name)).collect();
        let form = Column::new(&metric.unit, values.iter().flatten().copied());
        let missed = |run: &RunDigest| run.expectations.iter().any(|e| e.metric == metric.name && !e.passed);
        let marked: Vec<bool> = report.runs.iter().map(missed).collect();
        let mark = |bad: bool| if bad { "✗" } else { "" };
        let cells =
            values.iter().zip(&marked).map(|(v, bad)| format!("{}{}", mark(*bad), form.cell(*v))).collect();
        let words = clean(&metric_words(&metric.name));
        columns.push(Cells::number(words, clean(&form.unit), cells).marked(marked));
    }
    columns
}

fn failures(out: &mut String, report: &Report, total: usize, colour: bool) {
    let all: Vec<_> = report
        .runs
        .iter()
        .flat_map(|run| run.expectations.iter().filter(|e| !e.passed).map(move |e| (run, e)))
        .collect();
    let style = colour.then_some(style::RED);
    for (run, outcome) in all.iter().take(MOST_FAILURES) {
        let unit = run.metrics.iter().find(|m| m.name == outcome.metric).map_or("", |m| m.unit.as_str());
        let value =
            outcome.value.filter(|v| v.is_finite()).map_or("not measured".into(), |v| with_unit(v, unit));
        let text = format!("✗ {}: {} is {value}, expected {}", run.info.id, outcome.metric, outcome.bound);
        paragraph(out, &text, total, style);
    }
    if all.len() > MOST_FAILURES {
        paragraph(out, &format!("✗ and {} more", all.len() - MOST_FAILURES), total, style);
    }
    if !all.is_empty() {
        out.push('\n');
    }
}
