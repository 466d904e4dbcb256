//! The comparison as a page, in the look and with the script of the report.

use super::difference::{Difference, Spread, Test, Verdict, percent, unsigned};
use super::group::Group;
use super::ledger::Sheet;
use super::{Comparison, answer, cells::Cell, figures, worth};
use crate::digest::metric_words;
use crate::figure::Figure;
use crate::html::figures::{across, data, frame};
use crate::html::run::selector;
use crate::html::{answer_section, document, escape, head};
use crate::number::{Column, MISSING, with_unit};
use crate::palette::Palette;
use std::fmt::Write;

/// See [`Comparison::html`].
pub(super) fn page(comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison.sides.iter().map(|side| side.name.as_str()).collect();
    let title = format!("{} against {}", names[1..].join(", "), names[0]);
    let overlaid: Vec<Vec<Figure>> =
        comparison.matches.iter().map(|matched| figures::of_match(&comparison.sides, matched)).collect();
    let all: Vec<Figure> = figures::across(comparison).into_iter().collect();
    let palette = figures::palette(&comparison.sides);
    let mut out = String::with_capacity(1 << 18);
    head(&mut out, &title, &about(comparison), &facts(comparison));
    out.push_str("<main>\n");
    answer_section(&mut out, &answer::sentences(comparison));
    for warning in comparison.warnings() {
        let _ = write!(out, "<p class=\"warning\">{}</p>", escape(&warning));
    }
    table(&mut out, comparison);
    across(&mut out, &all, &palette);
    runs(&mut out, comparison, &overlaid, &palette);
    unmatched(&mut out, comparison);
    settings(&mut out, comparison);
    folders(&mut out, comparison);
    if !comparison.command.is_empty() {
        let command = escape(&comparison.command);
        let _ = write!(
            out,
            "<section id=\"repeat\"><h2>How to repeat it</h2><pre class=\"command\">{command}</pre></section>"
        );
    }
    out.push_str("</main>\n");
    let data = data(&all, overlaid.iter().map(Vec::as_slice), &palette);
    document(&title, &out, &comparison.generated_by, &data)
}

/// The question of the study, if all have the same.
fn about(comparison: &Comparison) -> String {
    let runs = comparison.sides.iter().flat_map(|side| &side.runs);
    let mut abouts: Vec<&str> = runs.map(|run| run.digest.info.about.as_str()).collect();
    abouts.dedup();
    if let [only] = abouts[..] { only.into() } else { String::new() }
}

fn facts(comparison: &Comparison) -> Vec<String> {
    let matched = comparison.matched().count();
    let mut facts = vec![format!("{matched} setting{} in common", if matched == 1 { "" } else { "s" })];
    facts.extend(comparison.sides.iter().map(|side| {
        let substrates = side.substrates();
        let on = if substrates.is_empty() { String::new() } else { format!(" on {substrates}") };
        format!("{}: {} run{}{on}", side.name, side.runs.len(), if side.runs.len() == 1 { "" } else { "s" })
    }));
    facts
}

fn table(out: &mut String, comparison: &Comparison) {
    if comparison.matches.is_empty() {
        return;
    }
    let short = comparison.headlines().count() < comparison.columns.len();
    out.push_str("<section id=\"summary\"><div class=\"head\"><h2>Side by side</h2>");
    if short {
        let _ = write!(
            out,
            "<label class=\"switch\"><input type=\"checkbox\" id=\"all-metrics\"> all {} metrics</label>",
            comparison.columns.len()
        );
    }
    out.push_str(
        "</div><p class=\"hint\">Differences are from the first folder. Means over repeats, with their least and largest below; \
         differences with half of their 95 % confidence interval. ≠ marks what repeats do not explain: 0 lies outside the 95 % confidence interval of the difference (Welch). \
         By chance alone one in twenty would. ≈ marks results that are equivalent within 5 %. Detectable is the smallest difference that so many repeats \
         show in four comparisons of five; without a mark none is shown, and a smaller one is not excluded.</p>",
    );
    for note in worth::identical(comparison) {
        let _ = write!(out, "<p class=\"hint\">{}</p>", escape(&note));
    }
    let _ =
        write!(out, "<div class=\"scroll\"><table class=\"compare{}\">", if short { " short" } else { "" });
    column_heads(out, comparison, "", true);
    let has_headline = comparison.columns.iter().any(|column| column.headline);
    for metric in &comparison.columns {
        let extra = has_headline && !metric.headline;
        rows(out, comparison, &Group::of(comparison, metric), extra);
    }
    out.push_str("</table></div></section>\n");
}

fn column_heads(out: &mut String, comparison: &Comparison, first: &str, shares: bool) {
    let _ = write!(out, "<thead><tr><th>{}</th>", escape(first));
    for (index, side) in comparison.sides.iter().enumerate() {
        let _ = write!(
            out,
            "<th class=\"number\" title=\"{}\">{}<small>{}</small></th>",
            escape(&side.path),
            escape(&side.name),
            escape(&side.substrates())
        );
        if index > 0 {
            out.push_str("<th class=\"number\">difference</th>");
            if shares {
                out.push_str("<th class=\"number\">%</th><th class=\"number\">detectable</th>");
            }
        }
    }
    out.push_str("</tr></thead>");
}

/// The rows of one metric.
fn rows(out: &mut String, comparison: &Comparison, group: &Group, extra: bool) {
    let unit = match group.form.unit.as_str() {
        "" => String::new(),
        unit => format!(" <small>{}</small>", escape(unit)),
    };
    let words = escape(&metric_words(&group.metric.name));
    let name = escape(&group.metric.name);
    let class = if extra { " class=\"extra\"" } else { "" };
    let _ = write!(out, "<tbody{class}>");
    if let [(_, only)] = group.rows.as_slice() {
        let _ = write!(out, "<tr><th scope=\"row\" title=\"{name}\">{words}{unit}</th>");
        values(out, only, group);
    } else {
        let width = comparison.sides.len() * 4 - 2;
        let _ = write!(
            out,
            "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{width}\" title=\"{name}\">{words}{unit}</th></tr>"
        );
        for (cell, spreads) in &group.rows {
            let factors = escape(&answer::factors_text(&cell.factors));
            let _ = write!(out, "<tr><td class=\"name\" title=\"{factors}\">{}</td>", escape(&cell.name));
            values(out, spreads, group);
        }
    }
    out.push_str("</tbody>");
}

fn values(out: &mut String, spreads: &[Option<Spread>], group: &Group) {
    let unit = &group.metric.unit;
    let differences = Cell::differences(spreads);
    for (index, (spread, difference)) in spreads.iter().zip(differences).enumerate() {
        let mean = escape(&group.form.cell(spread.as_ref().map(|spread| spread.mean)));
        let range = spread.as_ref().and_then(|spread| group.range(spread));
        let range = range.map_or(String::new(), |[least, largest]| {
            format!("<small>{} – {}</small>", escape(&least), escape(&largest))
        });
        let title = spread.as_ref().map_or("not measured".into(), |spread| {
            let n = spread.values.len();
            format!("{} {unit}, {n} run{}", spread.mean, if n == 1 { "" } else { "s" })
        });
        let _ = write!(out, "<td class=\"number\" title=\"{}\">{mean}{range}</td>", escape(&title));
        if index > 0 {
            difference_cells(out, difference, &group.difference, unit);
        }
    }
    out.push_str("</tr>");
}

fn difference_cells(out: &mut String, difference: Option<Difference>, form: &Column, unit: &str) {
    let Some(difference) = difference else {
        let missing = format!("<td class=\"number\">{MISSING}</td>");
        out.push_str(&missing.repeat(3));
        return;
    };
    let verdict = difference.verdict();
    let interval = difference.test.map(|Test { interval: (low, high), .. }| {
        format!("95 % confidence: {} to {}", with_unit(low, unit), with_unit(high, unit))
    });
    let title = match (interval, verdict) {
        (Some(interval), Verdict::Equivalent(within)) => {
            format!("{interval}; equivalent within {}", unsigned(within))
        }
        (Some(interval), Verdict::NotShown) => format!("{interval}; no difference is shown"),
        (Some(interval), _) => interval,
        (None, _) => "no test: there are not two repeats on each side that could differ, or none did".into(),
    };
    let half = difference
        .half_text(form)
        .map_or(String::new(), |half| format!("<small>± {}</small>", escape(&half)));
    let share = difference.relative.map_or(MISSING.into(), percent);
    let (class, mark) = match verdict {
        Verdict::Different => (" beyond", "≠ "),
        Verdict::Equivalent(_) => ("", "≈ "),
        _ => ("", ""),
    };
    let detectable = difference.detectable_text(form).unwrap_or(MISSING.into());
    let _ = write!(
        out,
        "<td class=\"number\" title=\"{title}\">{}{half}</td><td class=\"number{class}\" title=\"{title}\">{mark}{}</td>\
         <td class=\"number\">{}</td>",
        escape(&difference.absolute_text(form)),
        escape(&share),
        escape(&detectable),
        title = escape(&title)
    );
}

fn runs(out: &mut String, comparison: &Comparison, overlaid: &[Vec<Figure>], palette: &Palette) {
    if comparison.matches.is_empty() {
        return;
    }
    out.push_str("<section id=\"runs\"><h2>Run over run</h2>");
    let repeats = comparison.matches.windows(2).any(|pair| pair[0].cell == pair[1].cell);
    let name = |matched: &super::cells::Match| {
        let cell = &comparison.cells[matched.cell].name;
        if repeats { format!("{cell} · repeat {}", matched.repeat) } else { cell.clone() }
    };
    selector(out, &comparison.matches.iter().map(name).collect::<Vec<_>>());
    for (index, (matched, figures)) in comparison.matches.iter().zip(overlaid).enumerate() {
        let hidden = if index == 0 { "" } else { " hidden" };
        let _ = write!(out, "<div class=\"run\" data-panel=\"{index}\"{hidden}>");
        out.push_str("<p class=\"hint\">One line for each folder. The figures share one time axis: drag over any of them to zoom all, double-click to return.</p><div class=\"stack\">");
        figures.iter().for_each(|figure| frame(out, figure, palette, &index.to_string(), true));
        out.push_str("</div>");
        let run = |side: usize| matched.runs[side].map(|run| &comparison.sides[side].runs[run]);
        for sheet in comparison.sheets(|side| run(side).into_iter().collect()) {
            ledger(out, comparison, &sheet);
        }
        for (side, run) in
            comparison.sides.iter().zip(0..).filter_map(|(side, index)| Some((side, run(index)?)))
        {
            let info = &run.digest.info;
            let _ = write!(
                out,
                "<p class=\"cost\">{}: <code>{}</code>, seed {}, {} of wall time.</p>",
                escape(&side.name),
                escape(&run.directory),
                info.seed,
                escape(&with_unit(info.cost.wall_s, "s"))
            );
        }
        out.push_str("</div>\n");
    }
    out.push_str("</section>\n");
}

fn ledger(out: &mut String, comparison: &Comparison, sheet: &Sheet) {
    let _ = write!(
        out,
        "<h3>Loss ledger of whole runs, {}</h3><div class=\"scroll\"><table class=\"compare\">",
        sheet.packets
    );
    column_heads(out, comparison, "Entry", false);
    out.push_str("<tbody>");
    for line in &sheet.lines {
        let form = Column::new("packets", line.packets.iter().flatten().copied());
        let _ = write!(out, "<tr><td>{}</td>", escape(&line.words()));
        let first = line.packets[0];
        for (index, packets) in line.packets.iter().enumerate() {
            let _ = write!(out, "<td class=\"number\">{}</td>", form.cell(*packets));
            if index > 0 {
                let pair =
                    first.zip(*packets).and_then(|(a, b)| Some((Spread::of(vec![a])?, Spread::of(vec![b])?)));
                let text =
                    pair.map_or(MISSING.into(), |(a, b)| Difference::between(&a, &b).absolute_text(&form));
                let _ = write!(out, "<td class=\"number\">{text}</td>");
            }
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// A table of text; no section if it has no rows.
fn plain_table(out: &mut String, title: &str, hint: &str, heads: &[String], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let heads: String = heads.iter().map(|head| format!("<th>{}</th>", escape(head))).collect();
    let _ = write!(out, "<section><h2>{title}</h2>");
    if !hint.is_empty() {
        let _ = write!(out, "<p class=\"hint\">{hint}</p>");
    }
    let _ = write!(out, "<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>");
    for row in rows {
        let cells: String =
            row.iter().map(|cell| format!("<td class=\"wrap\">{}</td>", escape(cell))).collect();
        let _ = write!(out, "<tr>{cells}</tr>");
    }
    out.push_str("</tbody></table></div></section>\n");
}

fn unmatched(out: &mut String, comparison: &Comparison) {
    let rows: Vec<Vec<String>> = answer::unmatched(comparison)
        .into_iter()
        .flat_map(|(place, names)| names.into_iter().map(move |name| vec![name.to_string(), place.clone()]))
        .collect();
    let heads = ["Setting", "Only in"].map(String::from);
    plain_table(
        out,
        "Not compared",
        "They are in no table above: the first folder, or all others, do not have them.",
        &heads,
        &rows,
    );
    let incomplete: Vec<Vec<String>> = comparison
        .sides
        .iter()
        .flat_map(|side| {
            side.incomplete.iter().map(|(id, why)| vec![side.path.clone(), id.clone(), why.clone()])
        })
        .collect();
    let heads = ["Folder", "Run", "Why"].map(String::from);
    plain_table(out, "Incomplete runs", "Running the study again completes them.", &heads, &incomplete);
}

fn settings(out: &mut String, comparison: &Comparison) {
    let mut heads = vec!["Setting".to_string()];
    heads.extend(comparison.sides.iter().map(|side| side.name.clone()));
    let rows: Vec<Vec<String>> = comparison
        .settings
        .iter()
        .map(|setting| std::iter::once(setting.path.clone()).chain(setting.values.iter().cloned()).collect())
        .collect();
    plain_table(
        out,
        "Set differently",
        "What the matched runs were told besides their factors, where it is not the same.",
        &heads,
        &rows,
    );
}

fn folders(out: &mut String, comparison: &Comparison) {
    let heads = ["Folder", "Study", "Ran on", "Kernel", "Runs", "Made by"].map(String::from);
    let rows: Vec<Vec<String>> = comparison
        .sides
        .iter()
        .map(|side| {
            let kernels = if side.kernels().is_empty() { MISSING.to_string() } else { side.kernels() };
            let runs = side.runs.len().to_string();
            vec![side.path.clone(), side.studies(), side.substrates(), kernels, runs, side.tools()]
        })
        .collect();
    plain_table(out, "Folders", "", &heads, &rows);
}
