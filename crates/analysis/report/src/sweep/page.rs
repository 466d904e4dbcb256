//! The sections of the page on a sweep: means with intervals by setting, comparisons with all else equal, outliers.

use super::answer::setting_text;
use super::comparison::{LevelComparison, comparisons};
use super::factors::Factor;
use super::means::{Mean, outlier_lines, too_few};
use super::text::{adjusted, interval, levels, value};
use crate::digest::{Group, factor_head, factor_text, metric_words};
use crate::number::{Column, MISSING, whole};
use crate::report::{MetricColumn, Report};
use maud::{Markup, html};

/// Rows of a table; more are not read, and `means.csv` and the JSON have all.
const MOST_ROWS: usize = 500;
/// From this many rows on, a table scrolls in itself.
const TALL: usize = 17;

/// Both sections, each only if there is something in it.
pub(crate) fn sections(report: &Report) -> Markup {
    html! {
        (means(report))
        (compared(report))
    }
}

/// The headline metrics of each setting, if a setting was repeated.
fn means(report: &Report) -> Markup {
    let groups = if report.has_repeats() { Group::all(&report.runs) } else { Vec::new() };
    let columns = report.metric_columns();
    let has_headline = columns.iter().any(|column| column.headline);
    let columns: Vec<&MetricColumn> =
        columns.iter().filter(|column| column.headline || !has_headline).collect();
    let rows: Vec<(&Group, Vec<Option<Mean>>)> = groups
        .iter()
        .take(MOST_ROWS)
        .map(|group| {
            let observations = group.observations();
            (group, columns.iter().map(|column| Mean::of(&observations, &column.name)).collect())
        })
        .collect();
    let forms: Vec<Column> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            let means = rows.iter().filter_map(|(_, found)| found[place].as_ref());
            Column::new(&column.unit, means.map(|found| found.mean))
        })
        .collect();
    let keys = report.factor_keys();
    let notes: Vec<String> = outlier_lines(report).into_iter().chain(too_few(report)).collect();
    html! {
        @if !rows.is_empty() {
            section #means {
                h2 { "Means by setting" }
                p.hint {
                    "Mean and 95 % confidence interval over repeats (Student's t). "
                    "An outlier (!) counts like every other run."
                }
                @for note in &notes { p.warning { (note) } }
                div.scroll.tall[rows.len() >= TALL] {
                    table {
                        thead {
                            tr {
                                @for key in &keys { th title=(key) { (factor_head(key, &keys)) } }
                                th.number { "n" }
                                @for (column, form) in columns.iter().zip(&forms) {
                                    th.number title=(column.name) {
                                        (metric_words(&column.name))
                                        @if !form.unit.is_empty() { " " small { (form.unit) } }
                                    }
                                }
                            }
                        }
                        tbody {
                            @for (group, found) in &rows {
                                tr {
                                    @for key in &keys {
                                        td { (group.runs[0].info.factors.get(key).map_or(MISSING.into(), factor_text)) }
                                    }
                                    td.number { (group.observations().len()) }
                                    @for (mean, form) in found.iter().zip(&forms) { (cell(mean.as_ref(), form)) }
                                }
                            }
                        }
                    }
                }
                (more(groups.len().saturating_sub(rows.len()), "settings, which means.csv has"))
            }
        }
    }
}

fn cell(mean: Option<&Mean>, form: &Column) -> Markup {
    let Some(found) = mean else { return html! { td.number { (MISSING) } } };
    let text = |value| form.cell(Some(value));
    let title = format!("{} to {}, {} observations", text(found.least), text(found.largest), found.n);
    html! {
        td.number title=(title) {
            @if !found.outliers.is_empty() { "! " }
            (text(found.mean))
            @if let Some(interval) = found.interval {
                " " small { "[" (text(interval.low)) ", " (text(interval.high)) "]" }
            }
        }
    }
}

/// Every comparison of a sweep of several factors.
fn compared(report: &Report) -> Markup {
    let all = comparisons(report);
    let is_crossed = Factor::are_crossed(&report.runs);
    let shown = &all[..all.len().min(MOST_ROWS)];
    html! {
        @if let (true, Some(first)) = (is_crossed, all.first()) {
            section #comparisons {
                h2 { "Comparisons with all else equal" }
                p.hint {
                    "Ratios of " (metric_words(&first.metric)) " with 95 % confidence intervals. "
                    "p is adjusted for all comparisons of a factor (Holm); ≠ marks p below 0.05."
                }
                div.scroll.tall[shown.len() >= TALL] {
                    table {
                        thead {
                            tr {
                                th { "Compared" }
                                th { "Setting" }
                                th.number { "Ratio" }
                                th.number { "95 % interval" }
                                th.number { "p (Holm)" }
                                th { "Method" }
                            }
                        }
                        tbody { @for comparison in shown { (row(comparison)) } }
                    }
                }
                (more(all.len() - shown.len(), "comparisons, which the JSON has"))
            }
        }
    }
}

fn row(comparison: &LevelComparison) -> Markup {
    let setting = match comparison.setting {
        Some(_) => setting_text(comparison),
        None => format!("over {} settings (geometric mean)", comparison.settings),
    };
    let [first, other] = comparison.repeats;
    html! {
        tr {
            td { (levels(comparison)) }
            td { (setting) }
            td.number { @if comparison.is_shown() { "≠ " } (value(comparison)) }
            td.number { (interval(comparison)) }
            td.number { (adjusted(comparison)) }
            td title=(format!("{other} and {first} observations")) {
                (comparison.interval.map_or(MISSING, |interval| interval.method.name()))
            }
        }
    }
}

fn more(count: usize, of: &str) -> Markup {
    html! { @if count > 0 { p.hint { "And " (whole(count as i64)) " more " (of) "." } } }
}
