//! Tables over all runs: factors and metrics, and the bounds that were expected.

use crate::digest::{RunDigest, factor_head, factor_number, factor_text, metric_words};
use crate::html::data::{SummaryCells, SummaryColumn};
use crate::input::ExpectOutcome;
use crate::number::{Column, MISSING, with_unit};
use crate::report::{MetricColumn, Report};
use crate::shorten::shorten;
use crate::steadiness::MARK;
use maud::{Markup, html};
use serde_json::Value;

/// From this many rows on, a table scrolls in itself, so that what follows is not out of reach.
const TALL: usize = 17;

/// From this many runs on, the cells of all but the headline metrics are made when they are asked for.
const MANY: usize = 100;

/// Every run with every factor and metric; sortable.
pub(super) fn summary(report: &Report) -> Markup {
    let columns = report.metric_columns();
    let all = columns.len();
    // Without a headline metric there is no short table.
    let short = columns.iter().any(|c| c.headline) && columns.iter().any(|c| !c.headline);
    let columns = static_columns(report);
    let keys = report.factor_keys();
    let forms: Vec<Column> = columns.iter().map(|c| form(report, &c.name, &c.unit)).collect();
    let has_titles = report.runs.len() < MANY;
    let mut detailed = 0;
    let rows = report.runs.iter().enumerate().map(|(index, run)| {
        let panel = run.is_detailed.then_some(detailed);
        detailed += usize::from(run.is_detailed);
        html! {
            tr data-row=[(!has_titles).then_some(index)] {
                @for key in &keys { (factor_cell(run.info.factors.get(key))) }
                @if report.has_repeats() { td.number data-sort=(run.info.repeat) { (run.info.repeat) } }
                @for (metric, form) in columns.iter().zip(&forms) {
                    (metric_cell(run, metric, form, has_titles))
                }
                (name_cell(run, panel))
            }
        }
    });
    html! {
        @if !report.runs.is_empty() {
            section #summary {
                div.head {
                    h2 { "Summary" }
                    @if short { (all_metrics(all)) }
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
                        tbody { @for row in rows { (row) } }
                    }
                }
            }
        }
    }
}

/// Whether a column is made when it is asked for. A page without headline metrics has all its columns at once.
fn is_on_demand(report: &Report, column: &MetricColumn, has_headlines: bool) -> bool {
    report.runs.len() >= MANY && has_headlines && !column.headline
}

fn static_columns(report: &Report) -> Vec<MetricColumn> {
    let mut columns = report.metric_columns();
    let has_headlines = columns.iter().any(|column| column.headline);
    columns.retain(|column| !is_on_demand(report, column, has_headlines));
    columns
}

/// The columns that the table of a large study gets when they are asked for.
pub(super) fn on_demand(report: &Report) -> Vec<SummaryColumn<'_>> {
    let columns = report.metric_columns();
    let has_headlines = columns.iter().any(|column| column.headline);
    let wanted = columns.into_iter().filter(|column| is_on_demand(report, column, has_headlines));
    let column = |MetricColumn { name, unit, .. }: MetricColumn| {
        let form = form(report, &name, &unit);
        SummaryColumn {
            name: metric_words(&name),
            unit: form.unit.clone(),
            title: name.clone(),
            cells: SummaryCells { runs: &report.runs, metric: name, form },
        }
    };
    wanted.map(column).collect()
}

/// The switch from the headline metrics to all of them.
pub(crate) fn all_metrics(count: usize) -> Markup {
    html! {
        label.switch { input #all-metrics type="checkbox"; " all " (count) " metrics" }
    }
}

/// The name of a run with a link to it, and the mark and reason if the run is not steady. `panel` is its place among the
/// runs whose details the page has.
fn name_cell(run: &RunDigest, panel: Option<usize>) -> Markup {
    let name = shorten(&run.info.id, 22);
    html! {
        td.name {
            @match panel {
                Some(panel) => a href="#runs" data-run=(panel) title=(run.info.id) { (name) },
                None => a.other href="#runs" data-other=(run.info.id) { (name) },
            }
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

fn metric_cell(run: &RunDigest, metric: &MetricColumn, form: &Column, has_title: bool) -> Markup {
    let MetricColumn { name, unit, headline } = metric;
    let failed = run.expectations.iter().find(|e| e.metric == *name && !e.passed);
    let value = run.metric(name);
    let full = value.map_or("not measured".into(), |v| format!("{v} {unit}"));
    let title = match failed {
        Some(bound) => Some(format!("{}; expected {}", full.trim(), bound.bound)),
        None => has_title.then(|| full.trim().to_string()),
    };
    html! {
        td.number.extra[!headline].failed[failed.is_some()] data-sort=[value] title=[title] {
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
    let unit = run.unit(&outcome.metric);
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
