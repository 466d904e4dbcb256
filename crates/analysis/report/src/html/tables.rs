//! Tables over all runs: factors and metrics, and the bounds that were expected.

use super::escape;
use crate::digest::{RunDigest, factor_head, factor_number, factor_text, metric_words};
use crate::number::{Column, MISSING, with_unit};
use crate::report::Report;
use crate::shorten::shorten;
use crate::steadiness::MARK;
use serde_json::Value;
use std::fmt::Write;
use wirespeed_diagnosis::Unsteady;

/// Every run with every factor and metric; sortable.
pub(super) fn summary(out: &mut String, report: &Report) {
    if report.runs.is_empty() {
        return;
    }
    let columns = report.metric_columns();
    // If nothing is marked as headline there is no short table to begin with.
    let short = columns.iter().any(|c| c.headline) && columns.iter().any(|c| !c.headline);
    out.push_str("<section id=\"summary\"><div class=\"head\"><h2>Summary</h2>");
    if short {
        let _ = write!(
            out,
            "<label class=\"switch\"><input type=\"checkbox\" id=\"all-metrics\"> all {} metrics</label>",
            columns.len()
        );
    }
    let _ = write!(
        out,
        "</div><div class=\"scroll{}\"><table class=\"sortable{}\"><thead><tr>",
        tall(report.runs.len()),
        if short { " short" } else { "" }
    );
    let keys = report.factor_keys();
    for key in &keys {
        head(out, &factor_head(key, &keys), "", key, "");
    }
    if report.has_repeats() {
        head(out, "repeat", "", "Repetition, from 0", "number");
    }
    for metric in &columns {
        let form = form(report, &metric.name, &metric.unit);
        let class = if metric.headline { "number" } else { "number extra" };
        head(out, &metric_words(&metric.name), &form.unit, &metric.name, class);
    }
    head(out, "run", "", "Name of the run, and of its folder", "");
    out.push_str("</tr></thead><tbody>");
    let forms: Vec<Column> = columns.iter().map(|c| form(report, &c.name, &c.unit)).collect();
    for (index, run) in report.runs.iter().enumerate() {
        out.push_str("<tr>");
        for key in &keys {
            factor_cell(out, run.info.factors.get(key));
        }
        if report.has_repeats() {
            let _ = write!(out, "<td class=\"number\" data-sort=\"{0}\">{0}</td>", run.info.repeat);
        }
        for (metric, form) in columns.iter().zip(&forms) {
            metric_cell(out, run, &metric.name, &metric.unit, form, metric.headline);
        }
        let id = escape(&run.info.id);
        let _ = write!(
            out,
            "<td class=\"name\"><a href=\"#runs\" data-run=\"{index}\" title=\"{id}\">{}</a>{}</td></tr>",
            escape(&shorten(&run.info.id, 22)),
            unsteady(run)
        );
    }
    out.push_str("</tbody></table></div></section>\n");
}

/// The mark of a run that is not steady, with the reason.
fn unsteady(run: &RunDigest) -> String {
    let mark = |unsteady: &Unsteady| {
        format!(" <span title=\"{}\">{MARK} not steady</span>", escape(&unsteady.words()))
    };
    run.unsteady.as_ref().map_or(String::new(), mark)
}

/// A long table scrolls in itself, so that what follows is not out of reach.
fn tall(rows: usize) -> &'static str {
    if rows > 16 { " tall" } else { "" }
}

fn form(report: &Report, name: &str, unit: &str) -> Column {
    Column::new(unit, report.runs.iter().filter_map(|run| run.metric(name)))
}

fn head(out: &mut String, name: &str, unit: &str, title: &str, class: &str) {
    let unit = if unit.is_empty() { String::new() } else { format!("<small>{}</small>", escape(unit)) };
    let _ = write!(
        out,
        "<th scope=\"col\" class=\"{class}\" title=\"{}\"><button type=\"button\">{}{unit}</button></th>",
        escape(title),
        escape(name)
    );
}

fn factor_cell(out: &mut String, value: Option<&Value>) {
    let Some(value) = value else {
        let _ = write!(out, "<td>{MISSING}</td>");
        return;
    };
    match factor_number(value) {
        Some((number, _)) => {
            let _ = write!(out, "<td data-sort=\"{number}\">{}</td>", escape(&factor_text(value)));
        }
        None => {
            let _ = write!(out, "<td>{}</td>", escape(&factor_text(value)));
        }
    }
}

fn metric_cell(out: &mut String, run: &RunDigest, name: &str, unit: &str, form: &Column, headline: bool) {
    let failed = run.expectations.iter().find(|e| e.metric == name && !e.passed);
    let extra = if headline { "" } else { " extra" };
    let value = run.metric(name);
    let sort = value.map(|v| format!(" data-sort=\"{v}\"")).unwrap_or_default();
    let full = value.map_or("not measured".into(), |v| format!("{v} {unit}"));
    let (class, title, mark) = match failed {
        Some(bound) => (" failed", format!("{}; expected {}", full.trim(), bound.bound), "✗ "),
        None => ("", full.trim().to_string(), ""),
    };
    let _ = write!(
        out,
        "<td class=\"number{extra}{class}\"{sort} title=\"{}\">{mark}{}</td>",
        escape(&title),
        escape(&form.cell(value))
    );
}

/// Bounds of `[expect]`, failed ones first; none if none were set.
pub(super) fn expectations(out: &mut String, report: &Report) {
    let mut rows: Vec<_> =
        report.runs.iter().flat_map(|run| run.expectations.iter().map(move |e| (run, e))).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|(_, outcome)| outcome.passed);
    let failed = rows.iter().filter(|(_, outcome)| !outcome.passed).count();
    let verdict = match failed {
        0 => format!("<span class=\"pass\">✓ {n} of {n} met</span>", n = rows.len()),
        n => format!("<span class=\"fail\">✗ {n} of {} not met</span>", rows.len()),
    };
    let _ = write!(
        out,
        "<section id=\"expectations\"><div class=\"head\"><h2>Expectations</h2>{verdict}</div><div class=\"scroll{}\"><table><thead><tr><th>Verdict</th><th>Metric</th><th>Expected</th><th class=\"number\">Measured</th><th>Run</th></tr></thead><tbody>",
        tall(rows.len())
    );
    for (run, outcome) in rows {
        let unit = run.metrics.iter().find(|m| m.name == outcome.metric).map_or("", |m| m.unit.as_str());
        let value =
            outcome.value.filter(|v| v.is_finite()).map_or("not measured".into(), |v| with_unit(v, unit));
        let verdict = if outcome.passed {
            "<span class=\"pass\">✓ holds</span>"
        } else {
            "<span class=\"fail\">✗ fails</span>"
        };
        let _ = write!(
            out,
            "<tr><td>{verdict}</td><td><code>{}</code></td><td>{}</td><td class=\"number\">{}</td><td class=\"name\">{}</td></tr>",
            escape(&outcome.metric),
            escape(&outcome.bound),
            escape(&value),
            escape(&run.info.id)
        );
    }
    out.push_str("</tbody></table></div></section>\n");
}
