//! The comparisons and outliers of a sweep for a terminal.

use super::answer::setting_text;
use super::comparison::{LevelComparison, Scale, comparisons};
use super::factors::Factor;
use super::means::{outlier_lines, too_few};
use crate::digest::{factor_phrase, metric_words};
use crate::number::significant;
use crate::report::Report;
use crate::terminal::layout::{Cells, clean, paragraph, write_tables};
use crate::terminal::style;

/// Rows of the table of comparisons; the page and the JSON have all.
const MOST_ROWS: usize = 15;
/// Outliers with a line of their own.
const MOST_OUTLIERS: usize = 5;

/// The table of comparisons, if several factors vary and repeats show what chance does. Then outliers and the warning about few
/// repeats. An empty line ends each part.
pub(crate) fn text(report: &Report, total: usize, colour: bool) -> String {
    let (mut table, mut notes) = (String::new(), String::new());
    comparison_table(&mut table, report, total, colour);
    let outliers = outlier_lines(report);
    let warning = colour.then_some(style::YELLOW);
    for line in outliers.iter().take(MOST_OUTLIERS) {
        paragraph(&mut notes, &format!("! {line}"), total, warning);
    }
    if outliers.len() > MOST_OUTLIERS {
        let more = outliers.len() - MOST_OUTLIERS;
        paragraph(&mut notes, &format!("! and {more} more outliers; the page has all"), total, warning);
    }
    if let Some(few) = too_few(report) {
        paragraph(&mut notes, &format!("! {few}"), total, warning);
    }
    [table, notes].into_iter().filter(|part| !part.is_empty()).map(|part| part + "\n").collect()
}

fn comparison_table(out: &mut String, report: &Report, total: usize, colour: bool) {
    let all = comparisons(report);
    let Some(leading) = all.first().map(|comparison| comparison.factor.clone()) else { return };
    let by_setting = |c: &&LevelComparison| c.factor == leading && c.setting.is_some();
    let rows: Vec<&LevelComparison> = all.iter().filter(by_setting).collect();
    if !Factor::are_crossed(&report.runs) || !rows.iter().any(|row| row.interval.is_some()) {
        return;
    }
    let shown = &rows[..rows.len().min(MOST_ROWS)];
    let column = |cell: fn(&LevelComparison) -> String| -> Vec<String> {
        shown.iter().map(|row| clean(&cell(row))).collect()
    };
    let metric = metric_words(&rows[0].metric);
    paragraph(out, &format!("Comparisons of {metric} with all else equal:"), total, None);
    let names = vec![
        Cells::text("compared".into(), column(levels)),
        Cells::text("setting".into(), column(setting_text)),
    ];
    let numbers = vec![
        Cells::number("ratio".into(), String::new(), column(value)),
        Cells::number("95 % interval".into(), String::new(), column(interval)),
        Cells::number("p (Holm)".into(), String::new(), column(adjusted)),
    ];
    write_tables(out, names, None, numbers, total, colour);
    if rows.len() > shown.len() {
        let more = rows.len() - shown.len();
        paragraph(out, &format!("and {more} more comparisons; the page and --json have them"), total, None);
    }
}

/// `bic / cubic`, or with a minus sign for a difference.
pub(super) fn levels(comparison: &LevelComparison) -> String {
    let [first, other] =
        [&comparison.first, &comparison.other].map(|level| factor_phrase(&comparison.factor, level));
    let sign = if comparison.scale == Scale::Ratio { "/" } else { "-" };
    format!("{other} {sign} {first}")
}

/// The ratio, or the difference with its unit.
pub(super) fn value(comparison: &LevelComparison) -> String {
    number(comparison, comparison.value)
}

pub(super) fn interval(comparison: &LevelComparison) -> String {
    comparison.interval.map_or(crate::number::MISSING.into(), |interval| {
        format!("{}..{}", number(comparison, interval.low), number(comparison, interval.high))
    })
}

pub(super) fn adjusted(comparison: &LevelComparison) -> String {
    match comparison.adjusted_p {
        None => crate::number::MISSING.into(),
        Some(p) if p < 1e-3 => "< 0.001".into(),
        Some(p) => format!("{p:.3}"),
    }
}

fn number(comparison: &LevelComparison, value: f64) -> String {
    match comparison.scale {
        Scale::Ratio => significant(value, 3),
        Scale::Difference => crate::number::with_unit(value, &comparison.unit),
    }
}
