//! The comparison as text: the answer first, then a table, then what one has to know.

use super::cells::Cell;
use super::difference::{Spread, Verdict, percent};
use super::group::Group;
use super::{Comparison, answer, worth};
use crate::digest::metric_words;
use crate::number::{Column, MISSING};
use crate::terminal::layout::{Cells, LEAST_WIDTH, clean, fits, paragraph, write_tables};
use crate::terminal::style;

/// Settings, cells or runs that are listed; the page has all.
const MOST_LISTED: usize = 8;
/// Stands at differences that are more than repeats explain.
const DIFFERENT: &str = "≠";
/// Stands at results that are shown to be nearly the same.
const EQUIVALENT: &str = "≈";
/// Packet counts up to this are means that may have a fraction worth showing.
const SMALL_COUNT: f64 = 10.0;

/// See [`Comparison::terminal`].
pub(super) fn text(comparison: &Comparison, total: usize, colour: bool) -> String {
    let total = total.max(LEAST_WIDTH);
    let mut out = String::new();
    let sentences = answer::sentences(comparison);
    for sentence in &sentences {
        paragraph(&mut out, sentence, total, None);
    }
    if comparison.mismatch().is_none() {
        out.push('\n');
        table(&mut out, comparison, total, colour);
        ledger(&mut out, comparison, total, colour);
    }
    notes(&mut out, comparison, total, colour);
    out
}

/// Rows of a table, some of them heads of those below.
struct Rows {
    labels: Vec<String>,
    sides: Vec<SideColumns>,
}

/// What a table shows of a folder, by row.
#[derive(Default)]
struct SideColumns {
    value: Vec<String>,
    absolute: Vec<String>,
    relative: Vec<String>,
    /// Whether the difference is more than repeats explain.
    beyond: Vec<bool>,
    /// The smallest difference that the repeats could have shown.
    detectable: Vec<String>,
    range: Vec<String>,
}

impl Rows {
    fn new(sides: usize) -> Self {
        Rows { labels: Vec::new(), sides: (0..sides).map(|_| SideColumns::default()).collect() }
    }

    /// A row without values.
    fn head(&mut self, label: String) {
        self.labels.push(label);
        for side in &mut self.sides {
            let SideColumns { value, absolute, relative, detectable, range, .. } = side;
            for column in [value, absolute, relative, detectable, range] {
                column.push(String::new());
            }
            side.beyond.push(false);
        }
    }

    /// A row of values with their differences from the first, each in its form; `range`: from where to where repeats lie.
    fn row(
        &mut self,
        label: String,
        [form, of_difference]: [&Column; 2],
        spreads: &[Option<Spread>],
        range: impl Fn(&Spread) -> Option<[String; 2]>,
    ) {
        self.labels.push(label);
        let differences = Cell::differences(spreads);
        for ((side, spread), difference) in self.sides.iter_mut().zip(spreads).zip(differences) {
            side.value.push(form.cell(spread.as_ref().map(|spread| spread.mean)));
            side.absolute.push(difference.map_or(MISSING.into(), |d| d.interval_text(of_difference)));
            let share = difference.and_then(|d| d.relative).map_or(MISSING.into(), percent);
            let verdict = difference.map(|d| d.verdict());
            side.relative.push(match verdict {
                Some(Verdict::Different) => format!("{DIFFERENT} {share}"),
                Some(Verdict::Equivalent(_)) => format!("{EQUIVALENT} {share}"),
                _ => share,
            });
            side.beyond.push(verdict == Some(Verdict::Different));
            side.detectable
                .push(difference.and_then(|d| d.detectable_text(of_difference)).unwrap_or_default());
            let range = spread.as_ref().and_then(&range);
            side.range.push(range.map_or(String::new(), |[least, largest]| format!("{least}..{largest}")));
        }
    }

    fn write(self, out: &mut String, comparison: &Comparison, total: usize, colour: bool) {
        let mut columns = Vec::new();
        let mut ranges = Vec::new();
        for (index, (columns_of, side)) in self.sides.into_iter().zip(&comparison.sides).enumerate() {
            let name = clean(&side.name);
            columns.push(Cells::number(name.clone(), clean(&side.substrates()), columns_of.value));
            if index > 0 {
                columns.push(Cells::number("difference".into(), String::new(), columns_of.absolute));
                let relative = Cells::number(String::new(), "%".into(), columns_of.relative);
                columns.push(relative.marked(columns_of.beyond));
                if columns_of.detectable.iter().any(|text| !text.is_empty()) {
                    columns.push(Cells::number("detectable".into(), String::new(), columns_of.detectable));
                }
            }
            if columns_of.range.iter().any(|text| !text.is_empty()) {
                ranges.push(Cells::number(name, "repeats".into(), columns_of.range));
            }
        }
        let labels = Cells::text(String::new(), self.labels);
        // Where they do not fit, the page has them; the interval of the difference says what they are needed for.
        if fits([&labels].into_iter().chain(&columns).chain(&ranges), total) {
            columns.extend(ranges);
        }
        write_tables(out, vec![labels], None, columns, total, colour);
        out.push('\n');
    }
}

fn table(out: &mut String, comparison: &Comparison, total: usize, colour: bool) {
    let mut rows = Rows::new(comparison.sides.len());
    for metric in comparison.headlines() {
        let group = Group::of(comparison, metric);
        let words = clean(&metric_words(&metric.name));
        let unit = clean(&group.form.unit);
        let label = if unit.is_empty() { words } else { format!("{words}, {unit}") };
        match group.rows.as_slice() {
            [(_, only)] => rows.row(label, group.forms(), only, |spread| group.range(spread)),
            several => {
                rows.head(label);
                for (cell, spreads) in several {
                    let name = format!("  {}", clean(&cell.name));
                    rows.row(name, group.forms(), spreads, |spread| group.range(spread));
                }
            }
        }
    }
    rows.write(out, comparison, total, colour);
}

fn ledger(out: &mut String, comparison: &Comparison, total: usize, colour: bool) {
    let sheets = comparison
        .sheets(|side| comparison.matched().flat_map(|cell| cell.of(&comparison.sides, side)).collect());
    if sheets.is_empty() {
        return;
    }
    let mut rows = Rows::new(comparison.sides.len());
    for sheet in &sheets {
        rows.head(sheet.packets.into());
        for line in &sheet.lines {
            let values: Vec<f64> = line.packets.iter().flatten().copied().collect();
            // Counts of many packets are whole, however many runs they are the mean of.
            let whole = values.iter().all(|v| v.abs() >= SMALL_COUNT || *v == 0.0);
            let value = |v: f64| if whole { v.round() } else { v };
            let form = Column::new("packets", values.iter().map(|v| value(*v)));
            let spreads: Vec<Option<Spread>> =
                line.packets.iter().map(|v| Spread::of(vec![value((*v)?)])).collect();
            rows.row(format!("  {}", line.words()), [&form, &form], &spreads, |_| None);
        }
    }
    let cells = comparison.matched().count();
    let over = if cells > 1 { format!(", mean of the {cells} settings") } else { String::new() };
    paragraph(
        out,
        &format!("Loss ledger of whole runs, packets a run{over}"),
        total,
        colour.then_some(style::BOLD),
    );
    rows.write(out, comparison, total, colour);
}

/// What the marks and the column of detectable differences mean, of those that are there.
fn explanations(out: &mut String, comparison: &Comparison, total: usize) {
    let of_cell = |cell: &Cell, metric: &str| Cell::differences(&cell.spreads(&comparison.sides, metric));
    let verdicts: Vec<Verdict> = comparison
        .headlines()
        .flat_map(|metric| comparison.matched().flat_map(|cell| of_cell(cell, &metric.name)))
        .filter_map(|difference| Some(difference?.verdict()))
        .collect();
    let has = |wanted: &str| verdicts.iter().any(|verdict| verdict.word() == wanted);
    if has(Verdict::Different.word()) {
        let note = "more than the repeats explain: 0 lies outside the 95 % confidence interval of the difference (±, \
                    Welch); by chance alone one in twenty would be marked.";
        paragraph(out, &format!("{DIFFERENT} {note}"), total, None);
    }
    if has(Verdict::Equivalent(0.0).word()) {
        let note =
            "equivalent: the repeats exclude a difference of more than 5 % (two one-sided tests of 5 %).";
        paragraph(out, &format!("{EQUIVALENT} {note}"), total, None);
    }
    if verdicts.iter().any(|verdict| *verdict != Verdict::Untested) {
        let note = "Detectable: the smallest difference that so many repeats show in four comparisons of five. Where no \
                    mark stands, none is shown, and a smaller one is not excluded.";
        paragraph(out, note, total, None);
    }
    for note in worth::identical(comparison) {
        paragraph(out, &note, total, None);
    }
}

fn notes(out: &mut String, comparison: &Comparison, total: usize, colour: bool) {
    let yellow = colour.then_some(style::YELLOW);
    explanations(out, comparison, total);
    let settings = &comparison.settings;
    for setting in settings.iter().take(MOST_LISTED) {
        let text = format!("Set differently: {}: {}", setting.path, setting.words(comparison));
        paragraph(out, &text, total, None);
    }
    if settings.len() > MOST_LISTED {
        let more = format!("and {} more settings, see the page", settings.len() - MOST_LISTED);
        paragraph(out, &more, total, None);
    }
    for (place, names) in answer::unmatched(comparison) {
        let more = if names.len() > MOST_LISTED {
            format!(" and {} more", names.len() - MOST_LISTED)
        } else {
            String::new()
        };
        let listed = names.iter().take(MOST_LISTED).copied().collect::<Vec<_>>().join("; ");
        paragraph(out, &format!("Only in {place}: {listed}{more}"), total, yellow);
    }
    for side in &comparison.sides {
        for (id, reason) in side.incomplete.iter().take(MOST_LISTED) {
            let text = format!(
                "… {}: {id}: incomplete, {reason}; run the same command again to complete it",
                side.path
            );
            paragraph(out, &text, total, yellow);
        }
        if side.incomplete.len() > MOST_LISTED {
            let more = side.incomplete.len() - MOST_LISTED;
            paragraph(out, &format!("… {}: and {more} more incomplete runs", side.path), total, yellow);
        }
    }
}
