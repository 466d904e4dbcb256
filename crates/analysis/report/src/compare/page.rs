//! The comparison as a page, in the look and with the script of the report.

use super::cells::{Cell, Match};
use super::difference::{Difference, Spread, Test, Verdict, percent, unsigned};
use super::group::Group;
use super::ledger::{Line, Sheet};
use super::{Comparison, answer, figures, worth};
use crate::digest::metric_words;
use crate::figure::Figure;
use crate::html::data::PageData;
use crate::html::figures::{across, frame};
use crate::html::run::selector;
use crate::html::tables::all_metrics;
use crate::html::{answer_section, document, head};
use crate::number::{Column, MISSING, with_unit};
use crate::palette::Palette;
use maud::{Markup, html};

/// See [`Comparison::html`].
pub(super) fn page(comparison: &Comparison, above: &Markup) -> String {
    let names: Vec<&str> = comparison.sides.iter().map(|side| side.name.as_str()).collect();
    let title = format!("{} against {}", names[1..].join(", "), names[0]);
    let overlaid: Vec<Vec<Figure>> =
        comparison.matches.iter().map(|matched| figures::of_match(&comparison.sides, matched)).collect();
    let all: Vec<Figure> = figures::across(comparison).into_iter().collect();
    let palette = &comparison.palette;
    let body = html! {
        (head(&title, &about(comparison), &facts(comparison)))
        main {
            (answer_section(&answer::sentences(comparison)))
            @for warning in comparison.warnings() { p.warning { (warning) } }
            (table(comparison))
            (across(&all, palette))
            (runs(comparison, &overlaid, palette))
            (unmatched(comparison))
            (settings(comparison))
            (folders(comparison))
            @if !comparison.command.is_empty() {
                section #repeat {
                    h2 { "How to repeat it" }
                    pre.command { (comparison.command) }
                }
            }
        }
    };
    let data = PageData::new(&all, overlaid.iter().map(Vec::as_slice), palette);
    document(&title, above, &body, &comparison.generated_by, &data)
}

/// The question of the study, if all have the same.
fn about(comparison: &Comparison) -> String {
    let runs = comparison.sides.iter().flat_map(|side| &side.runs);
    let mut abouts: Vec<&str> = runs.map(|run| &*run.digest.info.about).collect();
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

fn table(comparison: &Comparison) -> Markup {
    if comparison.matches.is_empty() {
        return html! {};
    }
    let headlines = comparison.headlines().count();
    let short = headlines < comparison.columns.len();
    let has_headline = comparison.columns.iter().any(|column| column.headline);
    html! {
        section #summary {
            div.head {
                h2 { "Side by side" }
                @if short { (all_metrics(comparison.columns.len())) }
            }
            p.hint {
                "Differences are from the first folder. Means over repeats, with their least and largest below; \
                 differences with half of their 95 % confidence interval. ≠ marks what repeats do not explain: 0 lies outside the 95 % confidence interval of the difference (Welch). \
                 By chance alone one in twenty would. ≈ marks results that are equivalent within 5 %. Detectable is the smallest difference that so many repeats \
                 show in four comparisons of five; without a mark none is shown, and a smaller one is not excluded."
            }
            @for note in worth::identical(comparison) { p.hint { (note) } }
            div.scroll {
                table.compare.short[short] {
                    (column_heads(comparison, "", true))
                    @for metric in &comparison.columns {
                        (rows(comparison, &Group::of(comparison, metric), has_headline && !metric.headline))
                    }
                }
            }
        }
    }
}

fn column_heads(comparison: &Comparison, first: &str, shares: bool) -> Markup {
    html! {
        thead {
            tr {
                th { (first) }
                @for (index, side) in comparison.sides.iter().enumerate() {
                    th.number title=(side.path) { (side.name) small { (side.substrates()) } }
                    @if index > 0 {
                        th.number { "difference" }
                        @if shares {
                            th.number { "%" }
                            th.number { "detectable" }
                        }
                    }
                }
            }
        }
    }
}

/// The rows of one metric.
fn rows(comparison: &Comparison, group: &Group, extra: bool) -> Markup {
    let name = &group.metric.name;
    let width = comparison.sides.len() * 4 - 2;
    let title = html! {
        (metric_words(name))
        @if !group.form.unit.is_empty() { " " small { (group.form.unit) } }
    };
    html! {
        tbody class=[extra.then_some("extra")] {
            @if let [(_, only)] = group.rows.as_slice() {
                tr {
                    th scope="row" title=(name) { (title) }
                    (values(only, group))
                }
            } @else {
                tr.group { th scope="rowgroup" colspan=(width) title=(name) { (title) } }
                @for (cell, spreads) in &group.rows {
                    tr {
                        td.name title=(answer::factors_text(&cell.factors)) { (cell.name) }
                        (values(spreads, group))
                    }
                }
            }
        }
    }
}

fn values(spreads: &[Option<Spread>], group: &Group) -> Markup {
    let unit = &group.metric.unit;
    let differences = Cell::differences(spreads);
    let title = |spread: &Spread| {
        let n = spread.values.len();
        format!("{} {unit}, {n} run{}", spread.mean, if n == 1 { "" } else { "s" })
    };
    html! {
        @for (index, (spread, difference)) in spreads.iter().zip(differences).enumerate() {
            td.number title=(spread.as_ref().map_or("not measured".into(), title)) {
                (group.form.cell(spread.as_ref().map(|spread| spread.mean)))
                @if let Some([least, largest]) = spread.as_ref().and_then(|spread| group.range(spread)) {
                    small { (least) " – " (largest) }
                }
            }
            @if index > 0 { (difference_cells(difference, &group.difference, unit)) }
        }
    }
}

fn difference_cells(difference: Option<Difference>, form: &Column, unit: &str) -> Markup {
    let Some(difference) = difference else {
        return html! { @for _ in 0..3 { td.number { (MISSING) } } };
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
    let mark = match verdict {
        Verdict::Different => "≠ ",
        Verdict::Equivalent(_) => "≈ ",
        _ => "",
    };
    html! {
        td.number title=(title) {
            (difference.absolute_text(form))
            @if let Some(half) = difference.half_text(form) { small { "± " (half) } }
        }
        td.number.beyond[verdict == Verdict::Different] title=(title) {
            (mark) (difference.relative.map_or(MISSING.into(), percent))
        }
        td.number { (difference.detectable_text(form).unwrap_or(MISSING.into())) }
    }
}

fn runs(comparison: &Comparison, overlaid: &[Vec<Figure>], palette: &Palette) -> Markup {
    let repeats = comparison.matches.windows(2).any(|pair| pair[0].cell == pair[1].cell);
    let name = |matched: &Match| {
        let cell = &comparison.cells[matched.cell].name;
        if repeats { format!("{cell} · repeat {}", matched.repeat) } else { cell.clone() }
    };
    let names: Vec<String> = comparison.matches.iter().map(name).collect();
    html! {
        @if !comparison.matches.is_empty() {
            section #runs {
                h2 { "Run over run" }
                (selector(&names))
                @for (index, (matched, figures)) in comparison.matches.iter().zip(overlaid).enumerate() {
                    div.run data-panel=(index) hidden[index > 0] {
                        p.hint {
                            "One line for each folder. The figures share one time axis: drag over any of them to zoom all, double-click to return."
                        }
                        div.stack {
                            @for figure in figures { (frame(figure, palette, &index.to_string(), true)) }
                        }
                        (matched_runs(comparison, matched))
                    }
                }
            }
        }
    }
}

/// The ledgers of matched runs beside each other, and what the runs were.
fn matched_runs(comparison: &Comparison, matched: &Match) -> Markup {
    let run = |side: usize| matched.runs[side].map(|run| &comparison.sides[side].runs[run]);
    let sides = comparison.sides.iter().enumerate();
    html! {
        @for sheet in comparison.sheets(|side| run(side).into_iter().collect()) { (ledger(comparison, &sheet)) }
        @for (side, run) in sides.filter_map(|(index, side)| Some((side, run(index)?))) {
            p.cost {
                (side.name) ": " code { (run.directory) }
                ", seed " (run.digest.info.seed) ", " (with_unit(run.digest.info.cost.wall_s, "s")) " of wall time."
            }
        }
    }
}

fn ledger(comparison: &Comparison, sheet: &Sheet) -> Markup {
    html! {
        h3 { "Loss ledger of whole runs, " (sheet.packets) }
        div.scroll {
            table.compare {
                (column_heads(comparison, "Entry", false))
                tbody { @for line in &sheet.lines { (ledger_row(line)) } }
            }
        }
    }
}

fn ledger_row(line: &Line) -> Markup {
    let form = Column::new("packets", line.packets.iter().flatten().copied());
    let first = line.packets[0];
    let difference = |packets: Option<f64>| {
        let (first, packets) = first.zip(packets)?;
        let (a, b) = (Spread::of(vec![first])?, Spread::of(vec![packets])?);
        Some(Difference::between(&a, &b).absolute_text(&form))
    };
    html! {
        tr {
            td { (line.words()) }
            @for (index, packets) in line.packets.iter().enumerate() {
                td.number { (form.cell(*packets)) }
                @if index > 0 { td.number { (difference(*packets).unwrap_or(MISSING.into())) } }
            }
        }
    }
}

/// A table of text; no section if it has no rows.
fn plain_table(title: &str, hint: &str, heads: &[String], rows: &[Vec<String>]) -> Markup {
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (title) }
                @if !hint.is_empty() { p.hint { (hint) } }
                div.scroll {
                    table {
                        thead { tr { @for head in heads { th { (head) } } } }
                        tbody { @for row in rows { tr { @for cell in row { td.wrap { (cell) } } } } }
                    }
                }
            }
        }
    }
}

fn unmatched(comparison: &Comparison) -> Markup {
    let rows: Vec<Vec<String>> = answer::unmatched(comparison)
        .into_iter()
        .flat_map(|(place, names)| names.into_iter().map(move |name| vec![name.to_string(), place.clone()]))
        .collect();
    let heads = ["Setting", "Only in"].map(String::from);
    let not_compared = plain_table(
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
    let incomplete =
        plain_table("Incomplete runs", "Running the study again completes them.", &heads, &incomplete);
    html! { (not_compared) (incomplete) }
}

fn settings(comparison: &Comparison) -> Markup {
    let mut heads = vec!["Setting".to_string()];
    heads.extend(comparison.sides.iter().map(|side| side.name.clone()));
    let rows: Vec<Vec<String>> = comparison
        .settings
        .iter()
        .map(|setting| std::iter::once(setting.path.clone()).chain(setting.values.iter().cloned()).collect())
        .collect();
    plain_table(
        "Set differently",
        "Settings of the matched runs that differ, besides their factors.",
        &heads,
        &rows,
    )
}

fn folders(comparison: &Comparison) -> Markup {
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
    plain_table("Folders", "", &heads, &rows)
}
