//! Tables over all runs: factors and metrics, and the bounds that were expected.

use crate::digest::{RunDigest, factor_head, factor_number, factor_text, metric_words};
use crate::input::ExpectOutcome;
use crate::number::{Column, MISSING, with_unit};
use crate::report::Report;
use crate::shorten::shorten;
use crate::steadiness::MARK;
use maud::{Markup, html};
use serde_json::Value;

/// From this many rows on, a table scrolls in itself, so that what follows is not out of reach.
const TALL: usize = 17;

/// Every run with every factor and metric; sortable.
pub(super) fn summary(report: &Report) -> Markup {
    let columns = report.metric_columns();
    // Without a headline metric there is no short table.
    let short = columns.iter().any(|c| c.headline) && columns.iter().any(|c| !c.headline);
    let keys = report.factor_keys();
    let forms: Vec<Column> = columns.iter().map(|c| form(report, &c.name, &c.unit)).collect();
    html! {
        @if !report.runs.is_empty() {
            section #summary {
                div.head {
                    h2 { "Summary" }
                    @if short { (all_metrics(columns.len())) }
                }
                div.scroll.tall[report.runs.len() >= TALL] {
                    table.sortable.short[short] {
                        thead {
                            tr {
                                @for key in &keys { (head(&factor_head(key, &keys), "", key, "")) }
                                @if report.has_repeats() { (head("repeat", "", "Repetition, from 0", "number")) }
                                @for (metric, form) in columns.iter().zip(&forms) {
                                    @let class = if metric.headline { "number" } else { "number extra" };
                                    (head(&metric_words(&metric.name), &form.unit, &metric.name, class))
                                }
                                (head("run", "", "Name of the run, and of its folder", ""))
                            }
                        }
                        tbody {
                            @for (index, run) in report.runs.iter().enumerate() {
                                tr {
                                    @for key in &keys { (factor_cell(run.info.factors.get(key))) }
                                    @if report.has_repeats() {
                                        td.number data-sort=(run.info.repeat) { (run.info.repeat) }
                                    }
                                    @for (metric, form) in columns.iter().zip(&forms) {
                                        (metric_cell(run, &metric.name, &metric.unit, form, metric.headline))
                                    }
                                    (name_cell(run, index))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The switch from the headline metrics to all of them.
pub(crate) fn all_metrics(count: usize) -> Markup {
    html! {
        label.switch { input #all-metrics type="checkbox"; " all " (count) " metrics" }
    }
}

/// The name of a run with a link to it, and the mark and reason if the run is not steady.
fn name_cell(run: &RunDigest, index: usize) -> Markup {
    html! {
        td.name {
            a href="#runs" data-run=(index) title=(run.info.id) { (shorten(&run.info.id, 22)) }
            @if let Some(unsteady) = &run.unsteady {
                " " span title=(unsteady.words()) { (MARK) " not steady" }
            }
        }
    }
}

fn form(report: &Report, name: &str, unit: &str) -> Column {
    Column::new(unit, report.runs.iter().filter_map(|run| run.metric(name)))
}

fn head(name: &str, unit: &str, title: &str, class: &str) -> Markup {
    html! {
        th scope="col" class=(class) title=(title) {
            button type="button" { (name) @if !unit.is_empty() { small { (unit) } } }
        }
    }
}

fn factor_cell(value: Option<&Value>) -> Markup {
    let sort = value.and_then(factor_number).map(|(number, _)| number);
    html! {
        td data-sort=[sort] { @if let Some(value) = value { (factor_text(value)) } @else { (MISSING) } }
    }
}

fn metric_cell(run: &RunDigest, name: &str, unit: &str, form: &Column, headline: bool) -> Markup {
    let failed = run.expectations.iter().find(|e| e.metric == name && !e.passed);
    let value = run.metric(name);
    let full = value.map_or("not measured".into(), |v| format!("{v} {unit}"));
    let title = match failed {
        Some(bound) => format!("{}; expected {}", full.trim(), bound.bound),
        None => full.trim().to_string(),
    };
    html! {
        td.number.extra[!headline].failed[failed.is_some()] data-sort=[value] title=(title) {
            @if failed.is_some() { "✗ " }
            (form.cell(value))
        }
    }
}

/// Bounds that were set and whether they hold, failed ones first; none if none were set.
pub(super) fn expectations(report: &Report) -> Markup {
    let mut rows: Vec<_> =
        report.runs.iter().flat_map(|run| run.expectations.iter().map(move |e| (run, e))).collect();
    rows.sort_by_key(|(_, outcome)| outcome.passed);
    let failed = rows.iter().filter(|(_, outcome)| !outcome.passed).count();
    html! {
        @if !rows.is_empty() {
            section #expectations {
                div.head {
                    h2 { "Expectations" }
                    @if failed == 0 {
                        span.pass { "✓ " (rows.len()) " of " (rows.len()) " met" }
                    } @else {
                        span.fail { "✗ " (failed) " of " (rows.len()) " not met" }
                    }
                }
                div.scroll.tall[rows.len() >= TALL] {
                    table {
                        thead {
                            tr {
                                th { "Verdict" }
                                th { "Metric" }
                                th { "Expected" }
                                th.number { "Measured" }
                                th { "Run" }
                            }
                        }
                        tbody { @for (run, outcome) in rows { (expectation(run, outcome)) } }
                    }
                }
            }
        }
    }
}

fn expectation(run: &RunDigest, outcome: &ExpectOutcome) -> Markup {
    let unit = run.metrics.iter().find(|m| m.name == outcome.metric).map_or("", |m| m.unit.as_str());
    let value = outcome.value.filter(|v| v.is_finite()).map_or("not measured".into(), |v| with_unit(v, unit));
    html! {
        tr {
            td {
                @if outcome.passed { span.pass { "✓ holds" } } @else { span.fail { "✗ fails" } }
            }
            td { code { (outcome.metric) } }
            td { (outcome.bound) }
            td.number { (value) }
            td.name { (run.info.id) }
        }
    }
}
