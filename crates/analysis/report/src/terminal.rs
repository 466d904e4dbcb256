//! The table for a terminal, and what stands below it.

pub(crate) mod layout;
mod text_table;

use crate::answer;
use crate::digest::{Group, RunDigest, factor_head, factor_text, metric_words};
use crate::flow_groups;
use crate::number::{Column, MISSING, whole, with_unit};
use crate::report::Report;
use crate::steadiness;
use crate::sweep;
use layout::{Cells, LEAST_WIDTH, clean, paragraph, write_tables};
pub use text_table::text_table;
use wirespeed_statistics::{Level, mean, student_t};

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

/// Rows of the table; the page and the JSON have all.
const MOST_ROWS: usize = 100;

/// Rows of the table of groups.
const MOST_GROUP_ROWS: usize = 40;

/// Table, then failed bounds, runs that did not complete, and the answer.
pub(crate) fn table(report: &Report, total: usize, colour: bool) -> String {
    let total = total.max(LEAST_WIDTH);
    let mut out = String::new();
    let rows = rows(report);
    if !rows.is_empty() {
        let shown = &rows[..rows.len().min(MOST_ROWS)];
        let runs = (!report.has_repeats()).then(|| run_column(shown));
        write_tables(&mut out, names(report, shown), runs, metrics(report, shown), total, colour);
        if rows.len() > shown.len() {
            let more = rows.len() - shown.len();
            paragraph(
                &mut out,
                &format!("and {} more rows; the page and --json have all", whole(more as i64)),
                total,
                None,
            );
        }
        if shown.iter().any(|row| row.observations().len() > 1) {
            paragraph(&mut out, "Means over repeats, ± half of their 95 % confidence interval.", total, None);
        }
        out.push('\n');
        group_table(&mut out, report, total, colour);
        out += &sweep::text::text(report, total, colour);
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

/// A row for each setting if any ran more than once, else for each run.
fn rows(report: &Report) -> Vec<Group<'_>> {
    match report.has_repeats() {
        true => Group::all(&report.runs),
        false => report.runs.iter().map(|run| Group { runs: vec![run] }).collect(),
    }
}

/// Marks for runs that miss a bound or are not steady, then the factors, then the number of observations.
fn names(report: &Report, rows: &[Group]) -> Vec<Cells> {
    let keys = report.factor_keys();
    let mut columns = Vec::new();
    let has = |row: &Group, is: fn(&RunDigest) -> bool| row.runs.iter().any(|run| is(run));
    let failed: Vec<bool> = rows.iter().map(|row| has(row, |run| run.failed() > 0)).collect();
    let mark = |row: &Group| {
        let failed = if has(row, |run| run.failed() > 0) { "✗" } else { "" };
        let unsteady = if has(row, |run| run.unsteady.is_some()) { steadiness::MARK } else { "" };
        format!("{failed}{unsteady}")
    };
    let marks: Vec<String> = rows.iter().map(mark).collect();
    if marks.iter().any(|mark| !mark.is_empty()) {
        columns.push(Cells::text(String::new(), marks).marked(failed));
    }
    for key in &keys {
        let value = |row: &Group| {
            row.runs[0].info.factors.get(key).map_or(MISSING.into(), |v| clean(&factor_text(v)))
        };
        columns.push(Cells::text(clean(&factor_head(key, &keys)), rows.iter().map(value).collect()));
    }
    if report.has_repeats() {
        let cells = rows.iter().map(|row| row.observations().len().to_string()).collect();
        columns.push(Cells::number("n".into(), String::new(), cells));
    }
    columns
}

fn run_column(rows: &[Group]) -> Cells {
    Cells::text("run".into(), rows.iter().map(|row| clean(&row.runs[0].info.id)).collect())
}

fn metrics(report: &Report, rows: &[Group]) -> Vec<Cells> {
    let all = report.metric_columns();
    let has_headline = all.iter().any(|c| c.headline);
    let mut columns = Vec::new();
    for metric in all.iter().filter(|c| c.headline || !has_headline) {
        let values: Vec<Vec<f64>> = rows.iter().map(|row| row.values(&metric.name)).collect();
        let means: Vec<Option<f64>> = values.iter().map(|values| mean(values)).collect();
        let form = Column::new(&metric.unit, means.iter().flatten().copied());
        let missed = |run: &RunDigest| run.expectations.iter().any(|e| e.metric == metric.name && !e.passed);
        let marked: Vec<bool> = rows.iter().map(|row| row.runs.iter().any(|run| missed(run))).collect();
        let cell = |((mean, values), bad): ((&Option<f64>, &Vec<f64>), &bool)| {
            let half = student_t(values, Level::NINETY_FIVE).map(|interval| interval.half_width());
            let half = half.map_or(String::new(), |half| format!(" ±{}", form.cell(Some(half))));
            format!("{}{}{half}", if *bad { "✗" } else { "" }, form.cell(*mean))
        };
        let cells = means.iter().zip(&values).zip(&marked).map(cell).collect();
        let words = clean(&metric_words(&metric.name));
        columns.push(Cells::number(words, clean(&form.unit), cells).marked(marked));
    }
    columns
}

/// A row for each group of flows, where runs have several.
fn group_table(out: &mut String, report: &Report, total: usize, colour: bool) {
    let Some((columns, left_out)) = flow_groups::table(report, MOST_GROUP_ROWS) else { return };
    paragraph(out, "By group of flows; shares are of the goodput of all TCP flows:", total, None);
    let (numbers, names): (Vec<_>, Vec<_>) = columns.into_iter().partition(|column| column.is_number);
    let cleaned = |cells: Vec<String>| cells.iter().map(|cell| clean(cell)).collect();
    let names =
        names.into_iter().map(|column| Cells::text(clean(&column.head), cleaned(column.cells))).collect();
    let number =
        |column: flow_groups::GroupColumn| Cells::number(column.head, column.unit, cleaned(column.cells));
    write_tables(out, names, None, numbers.into_iter().map(number).collect(), total, colour);
    if left_out > 0 {
        paragraph(out, &format!("and {left_out} more rows; the page and --json have them"), total, None);
    }
    out.push('\n');
}

fn failures(out: &mut String, report: &Report, total: usize, colour: bool) {
    let all: Vec<_> = report
        .runs
        .iter()
        .flat_map(|run| run.expectations.iter().filter(|e| !e.passed).map(move |e| (run, e)))
        .collect();
    let style = colour.then_some(style::RED);
    for (run, outcome) in all.iter().take(MOST_FAILURES) {
        let unit = run.unit(&outcome.metric);
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
