//! Columns of text that fit a width.

use crate::shorten::shorten;
use crate::terminal::style::{BOLD, DIM, PLAIN, RED};
use wirespeed_record::plain_line;

/// Narrower than this no table is readable; terminals that claim less are given this.
pub(crate) const LEAST_WIDTH: usize = 40;
pub(super) const GAP: usize = 2;
/// What a run's name may be shortened to before it is left out, where other columns tell the runs apart.
const LEAST_NAME: usize = 12;
/// Heads of more than this many characters break at a space.
const LONGEST_HEAD: usize = 12;

/// A column.
pub(crate) struct Cells {
    /// One line or two, then the unit.
    head: Vec<String>,
    unit: String,
    cells: Vec<String>,
    is_number: bool,
    marked: Vec<bool>,
    /// Smallest width of the column.
    least: usize,
}

impl Cells {
    pub fn text(head: String, cells: Vec<String>) -> Self {
        let marked = vec![false; cells.len()];
        Cells { head: vec![head], unit: String::new(), cells, is_number: false, marked, least: 0 }
    }

    /// Stands to the right.
    pub fn number(head: String, unit: String, cells: Vec<String>) -> Self {
        Cells { head: broken(&head), unit, is_number: true, ..Cells::text(String::new(), cells) }
    }

    /// A column of text that is wrapped to `width`: first its head, then cells by [`Cells::extend`].
    pub fn wrapped(head: Vec<String>, width: usize) -> Self {
        Cells { head, least: width, ..Cells::text(String::new(), Vec::new()) }
    }

    /// Adds the lines of a wrapped cell.
    pub fn extend(&mut self, lines: Vec<String>) {
        self.cells.extend(lines);
        self.marked.resize(self.cells.len(), false);
    }

    /// With what stands for something bad, by row.
    pub fn marked(self, marked: Vec<bool>) -> Self {
        Cells { marked, ..self }
    }

    fn width(&self) -> usize {
        self.cells
            .iter()
            .chain(&self.head)
            .chain([&self.unit])
            .map(|text| width(text))
            .fold(self.least, usize::max)
    }

    fn shortened(&mut self, to: usize) {
        let texts = self.head.iter_mut().chain(&mut self.cells).chain([&mut self.unit]);
        texts.for_each(|text| *text = shorten(text, to));
    }
}

/// A head in one line or two of about equal length.
fn broken(head: &str) -> Vec<String> {
    let spaces = head.char_indices().filter(|(_, c)| *c == ' ').map(|(i, _)| i);
    match spaces.min_by_key(|i| i.abs_diff(head.len() / 2)) {
        Some(i) if width(head) > LONGEST_HEAD => vec![head[..i].into(), head[i + 1..].into()],
        _ => vec![head.into()],
    }
}

fn total_width<'a>(columns: impl Iterator<Item = &'a Cells>) -> usize {
    columns.map(|c| c.width() + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Writes the columns in one table if they can be made to fit, otherwise in several that all begin with `names`. `run` gives
/// way first: it is shortened, and left out if `names` say the same.
pub(crate) fn write_tables(
    out: &mut String,
    mut names: Vec<Cells>,
    run: Option<Cells>,
    metrics: Vec<Cells>,
    total: usize,
    colour: bool,
) {
    if let Some(mut run) = run {
        let room = total.saturating_sub(total_width(names.iter().chain(&metrics)) + GAP);
        if room >= LEAST_NAME.min(run.width()) {
            run.shortened(room);
            names.push(run);
        } else if !are_distinct(&names) {
            run.shortened(LEAST_NAME.max(total / 3));
            names.push(run);
        }
    }
    // Half of the width stays for numbers, however many factors there are.
    let mut most = names.iter().map(Cells::width).max().unwrap_or(0);
    while total_width(names.iter()) > total / 2
        && total_width(names.iter().chain(&metrics)) > total
        && most > 1
    {
        most -= 1;
        names.iter_mut().for_each(|column| column.shortened(most));
    }
    for (index, block) in blocks(&names, metrics, total).into_iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        write_block(out, &names.iter().chain(&block).collect::<Vec<_>>(), total, colour);
    }
}

/// Whether all columns fit beside each other.
pub(crate) fn fits<'a>(columns: impl Iterator<Item = &'a Cells>, total: usize) -> bool {
    total_width(columns) <= total
}

fn are_distinct(columns: &[Cells]) -> bool {
    let rows = columns.first().map_or(0, |c| c.cells.len());
    let mut keys: Vec<Vec<&str>> =
        (0..rows).map(|r| columns.iter().map(|c| c.cells[r].as_str()).collect()).collect();
    keys.sort();
    rows > 0 && keys.windows(2).all(|pair| pair[0] != pair[1])
}

fn blocks(names: &[Cells], metrics: Vec<Cells>, total: usize) -> Vec<Vec<Cells>> {
    let left = total_width(names.iter());
    let mut blocks: Vec<Vec<Cells>> = vec![Vec::new()];
    let mut used = left;
    for mut metric in metrics {
        metric.shortened(total.saturating_sub(left + GAP).max(1));
        let needed = metric.width() + GAP;
        if used + needed > total && blocks.last().is_some_and(|block| !block.is_empty()) {
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

/// Writes columns beside each other: heads, units, a rule, then the rows.
pub(super) fn write_block(out: &mut String, columns: &[&Cells], total: usize, colour: bool) {
    let widths: Vec<usize> = columns.iter().map(|c| c.width()).collect();
    let mut line = |cells: &[(&str, Option<&str>)]| {
        let (mut text, mut used) = (String::new(), 0);
        for (index, (&(cell, style), column)) in cells.iter().zip(columns).enumerate() {
            let gap = if index > 0 { GAP } else { 0 };
            // Only with more factors than the width has columns: what is left goes to the page.
            if used + gap + widths[index] > total {
                break;
            }
            used += gap + widths[index];
            let pad = " ".repeat(widths[index].saturating_sub(width(cell)));
            let styled = match style.filter(|_| colour && !cell.is_empty()) {
                Some(style) => format!("{style}{cell}{PLAIN}"),
                None => cell.to_string(),
            };
            text.push_str(&" ".repeat(gap));
            text.push_str(&if column.is_number {
                format!("{pad}{styled}")
            } else {
                format!("{styled}{pad}")
            });
        }
        out.push_str(text.trim_end());
        out.push('\n');
    };
    let lines = columns.iter().map(|c| c.head.len()).max().unwrap_or(0);
    for row in 0..lines {
        // Heads of one line stand in the last of the lines, next to their unit.
        let part = |c: &&&Cells| (row + c.head.len()).checked_sub(lines);
        let text = |c| part(&c).and_then(|i| c.head.get(i)).map_or("", String::as_str);
        line(&columns.iter().map(|c| (text(c), Some(BOLD))).collect::<Vec<_>>());
    }
    if columns.iter().any(|c| !c.unit.is_empty()) {
        line(&columns.iter().map(|c| (c.unit.as_str(), Some(DIM))).collect::<Vec<_>>());
    }
    let rules: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
    line(&rules.iter().map(|r| (r.as_str(), Some(DIM))).collect::<Vec<_>>());
    for row in 0..columns.first().map_or(0, |c| c.cells.len()) {
        let style = |c: &Cells| c.marked[row].then_some(RED);
        line(&columns.iter().map(|c| (c.cells[row].as_str(), style(c))).collect::<Vec<_>>());
    }
}

/// `text`, wrapped at spaces; words longer than a line are cut.
pub(crate) fn paragraph(out: &mut String, text: &str, total: usize, style: Option<&str>) {
    for line in wrapped(text, total) {
        match style {
            Some(style) => out.push_str(&format!("{style}{line}{PLAIN}\n")),
            None => out.push_str(&format!("{line}\n")),
        }
    }
}

/// The lines of a paragraph; none if the text is blank.
pub(super) fn wrapped(text: &str, total: usize) -> Vec<String> {
    let total = total.max(1);
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in clean(text).split(' ').filter(|w| !w.is_empty()) {
        let mut rest: Vec<char> = word.chars().collect();
        if !line.is_empty() && width(&line) + 1 + rest.len() > total {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        while rest.len() > total {
            let tail = rest.split_off(total);
            line.extend(rest);
            lines.push(std::mem::take(&mut line));
            rest = tail;
        }
        line.extend(rest);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Without control characters, which could move the cursor or colour the screen.
pub(crate) fn clean(text: &str) -> String {
    plain_line(text).into_owned()
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\nc"), "a [2Jb c");
    }

    #[test]
    fn paragraphs_wrap_and_cut_long_words() {
        let mut out = String::new();
        paragraph(&mut out, &format!("one {} two", "x".repeat(50)), 20, None);
        assert!(out.lines().all(|line| width(line) <= 20), "{out}");
        assert_eq!(out.matches('x').count(), 50);
    }

    #[test]
    fn long_heads_take_two_lines() {
        assert_eq!(broken("link utilisation"), ["link", "utilisation"]);
        assert_eq!(broken("rtt median"), ["rtt median"]);
        assert_eq!(broken("retransmissions"), ["retransmissions"]);
    }

    #[test]
    fn columns_that_do_not_fit_go_into_a_further_table() {
        let names = || vec![Cells::text("control".into(), vec!["reno".into(), "bic".into()])];
        let run = || Cells::text("run".into(), vec!["r".repeat(40), "s".repeat(40)]);
        let metrics = (0..6).map(|i| Cells::number(format!("metric{i}"), "ms".into(), vec!["1.0".into(); 2]));
        let mut out = String::new();
        write_tables(&mut out, names(), Some(run()), metrics.collect(), 40, false);
        assert!(out.lines().all(|line| width(line) <= 40), "{out}");
        assert!((0..6).all(|i| out.contains(&format!("metric{i}"))), "{out}");
        assert_eq!(out.matches("reno").count(), 2, "each table names its rows:\n{out}");
    }
}
