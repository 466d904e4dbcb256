//! The table for a terminal.

use crate::answer;
use crate::digest::{factor_head, factor_text};
use crate::number::{Column, MISSING, with_unit};
use crate::report::Report;

/// Narrower than this no table is readable; terminals that claim less are given this.
const LEAST_WIDTH: usize = 40;
const GAP: usize = 2;
/// What columns of text may be shortened to.
const LEAST_TEXT: usize = 8;

struct TextColumn {
    /// Two lines: name and unit.
    head: [String; 2],
    cells: Vec<String>,
    is_number: bool,
    /// Whether a cell stands for something bad, by row.
    marked: Vec<bool>,
}

impl TextColumn {
    fn width(&self) -> usize {
        self.cells.iter().chain(&self.head).map(|text| width(text)).max().unwrap_or(0)
    }
}

/// Table, then failed expectations, runs that did not complete, and the answer.
pub(crate) fn table(report: &Report, total: usize, colour: bool) -> String {
    let total = total.max(LEAST_WIDTH);
    let mut out = String::new();
    if !report.runs.is_empty() {
        let mut texts = text_columns(report);
        let metrics = metric_columns(report);
        fit(&mut texts, &metrics, total);
        for (index, block) in blocks(&texts, metrics, total).into_iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            let columns: Vec<&TextColumn> = texts.iter().chain(&block).collect();
            write_block(&mut out, &columns, colour);
        }
    }
    for (run, outcome) in report.runs.iter().flat_map(|run| run.expectations.iter().map(move |e| (run, e))) {
        if !outcome.passed {
            let unit = run.metrics.iter().find(|m| m.name == outcome.metric).map_or("", |m| m.unit.as_str());
            let value = outcome.value.map_or("not measured".into(), |v| with_unit(v, unit));
            let text = format!("✗ {}: {} is {value}, expected {}", run.info.id, outcome.metric, outcome.bound);
            paragraph(&mut out, &text, total, colour.then_some(RED));
        }
    }
    for (id, reason) in &report.incomplete {
        paragraph(&mut out, &format!("… {id}: incomplete, {reason}"), total, colour.then_some(YELLOW));
    }
    paragraph(&mut out, &answer::sentences(report).join(" "), total, None);
    out
}

fn text_columns(report: &Report) -> Vec<TextColumn> {
    let keys = report.factor_keys();
    let mut columns = Vec::new();
    for key in &keys {
        let cells: Vec<String> = report
            .runs
            .iter()
            .map(|run| run.info.factors.get(key).map_or(MISSING.into(), |value| clean(&factor_text(value))))
            .collect();
        columns.push(text_column(clean(&factor_head(key, &keys)), cells));
    }
    if report.has_repeats() {
        let cells = report.runs.iter().map(|run| run.info.repeat.to_string()).collect();
        columns.push(text_column("repeat".into(), cells));
    }
    let ids = report.runs.iter().map(|run| {
        let mark = if run.failed() > 0 { "✗ " } else { "" };
        format!("{mark}{}", clean(&run.info.id))
    });
    let mut id = text_column("run".into(), ids.collect());
    id.marked = report.runs.iter().map(|run| run.failed() > 0).collect();
    columns.push(id);
    columns
}

fn text_column(head: String, cells: Vec<String>) -> TextColumn {
    let marked = vec![false; cells.len()];
    TextColumn { head: [head, String::new()], cells, is_number: false, marked }
}

fn metric_columns(report: &Report) -> Vec<TextColumn> {
    let all = report.metric_columns();
    let has_headline = all.iter().any(|c| c.headline);
    let mut columns = Vec::new();
    for metric in all.iter().filter(|c| c.headline || !has_headline) {
        let values: Vec<Option<f64>> = report.runs.iter().map(|run| run.metric(&metric.name)).collect();
        let form = Column::new(&metric.unit, values.iter().flatten().copied());
        let failed = |name: &str, run: &crate::digest::RunDigest| {
            run.expectations.iter().any(|e| e.metric == name && !e.passed)
        };
        let marked: Vec<bool> = report.runs.iter().map(|run| failed(&metric.name, run)).collect();
        let mark = |bad: bool| if bad { "✗" } else { "" };
        let cells =
            values.iter().zip(&marked).map(|(v, bad)| format!("{}{}", mark(*bad), form.cell(*v))).collect();
        let words = clean(&crate::digest::metric_words(&metric.name));
        columns.push(TextColumn { head: [words, form.unit.clone()], cells, is_number: true, marked });
    }
    columns
}

/// Shortens texts until they leave room for at least the widest metric; factors keep their width longest.
fn fit(texts: &mut [TextColumn], metrics: &[TextColumn], total: usize) {
    let numbers: usize = metrics.iter().map(|m| m.width() + GAP).sum();
    let widest = metrics.iter().map(|m| m.width() + GAP).max().unwrap_or(0);
    for reserve in [numbers, widest.min(total / 2)] {
        // The id comes last and gives way first: the factors say what it says.
        for index in (0..texts.len()).rev() {
            let used: usize = texts.iter().map(|t| t.width() + GAP).sum::<usize>().saturating_sub(GAP);
            let excess = (used + reserve).saturating_sub(total);
            let now = texts[index].width();
            let target = now.saturating_sub(excess).max(LEAST_TEXT);
            if target < now {
                shorten_column(&mut texts[index], target);
            }
        }
    }
    // Very many factors: even shortest they may be too wide.
    let mut least = LEAST_TEXT;
    while texts.iter().map(|t| t.width() + GAP).sum::<usize>() + widest.min(total / 2) > total && least > 1 {
        least -= 1;
        texts.iter_mut().for_each(|t| shorten_column(t, least));
    }
}

fn shorten_column(column: &mut TextColumn, to: usize) {
    column.head.iter_mut().chain(&mut column.cells).for_each(|text| *text = shorten(text, to));
}

/// Splits the metrics over several tables if one line cannot hold them.
fn blocks(texts: &[TextColumn], metrics: Vec<TextColumn>, total: usize) -> Vec<Vec<TextColumn>> {
    let left: usize = texts.iter().map(|t| t.width() + GAP).sum();
    let mut blocks: Vec<Vec<TextColumn>> = vec![Vec::new()];
    let mut used = left;
    for mut metric in metrics {
        let room = total.saturating_sub(left).max(1);
        if metric.width() > room {
            shorten_column(&mut metric, room);
        }
        let needed = metric.width() + GAP;
        if used + needed - GAP > total && blocks.last().is_some_and(|b| !b.is_empty()) {
            blocks.push(Vec::new());
            used = left;
        }
        used += needed;
        if let Some(block) = blocks.last_mut() {
            block.push(metric);
        }
    }
    blocks
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

fn write_block(out: &mut String, columns: &[&TextColumn], colour: bool) {
    let widths: Vec<usize> = columns.iter().map(|c| c.width()).collect();
    let mut line = |cells: Vec<(&str, Option<&str>)>| {
        let mut text = String::new();
        for (index, ((cell, style), column)) in cells.into_iter().zip(columns).enumerate() {
            let pad = " ".repeat(widths[index].saturating_sub(width(cell)));
            let styled = match style.filter(|_| colour && !cell.is_empty()) {
                Some(style) => format!("{style}{cell}{PLAIN}"),
                None => cell.to_string(),
            };
            if index > 0 {
                text.push_str(&" ".repeat(GAP));
            }
            text.push_str(&if column.is_number { format!("{pad}{styled}") } else { format!("{styled}{pad}") });
        }
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(columns.iter().map(|c| (c.head[0].as_str(), Some(BOLD))).collect());
    if columns.iter().any(|c| !c.head[1].is_empty()) {
        line(columns.iter().map(|c| (c.head[1].as_str(), Some(DIM))).collect());
    }
    let rules: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
    line(rules.iter().map(|r| (r.as_str(), Some(DIM))).collect());
    for row in 0..columns.first().map_or(0, |c| c.cells.len()) {
        line(columns.iter().map(|c| (c.cells[row].as_str(), c.marked[row].then_some(RED))).collect());
    }
}

/// A blank line and `text`, wrapped at spaces; words longer than a line are cut.
fn paragraph(out: &mut String, text: &str, total: usize, style: Option<&str>) {
    out.push('\n');
    let mut line = String::new();
    let mut flush = |line: &mut String| {
        match style {
            Some(style) => out.push_str(&format!("{style}{line}{PLAIN}\n")),
            None => out.push_str(&format!("{line}\n")),
        }
        line.clear();
    };
    for word in clean(text).split(' ').filter(|w| !w.is_empty()) {
        let mut rest: Vec<char> = word.chars().collect();
        if !line.is_empty() && line.chars().count() + 1 + rest.len() > total {
            flush(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        while rest.len() > total {
            let tail = rest.split_off(total);
            line.extend(rest);
            flush(&mut line);
            rest = tail;
        }
        line.extend(rest);
    }
    if !line.is_empty() {
        flush(&mut line);
    }
}

/// Without control characters, which could move the cursor or colour the screen.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// `text` in at most `to` columns; the end says more than the middle, so that is what goes.
fn shorten(text: &str, to: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= to {
        return text.into();
    }
    if to <= 1 {
        return "…".into();
    }
    let head = (to - 1) / 3;
    let tail = to - 1 - head;
    all[..head].iter().chain(&['…']).chain(&all[all.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_gives_way() {
        assert_eq!(shorten("abcdefghijkl", 7), "ab…ijkl");
        assert_eq!(shorten("abc", 7), "abc");
        assert_eq!(shorten("abc", 1), "…");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\nc"), "a [2Jb c");
    }

    #[test]
    fn paragraphs_wrap_and_cut_long_words() {
        let mut out = String::new();
        paragraph(&mut out, &format!("one {} two", "x".repeat(50)), 20, None);
        assert!(out.lines().all(|line| line.chars().count() <= 20), "{out}");
        assert_eq!(out.matches('x').count(), 50);
    }
}
