//! What the repeats say of the differences, in sentences.

use super::Comparison;
use super::cells::Cell;
use super::difference::{Difference, Verdict, unsigned};
use crate::number::Column;
use crate::observations::note;
use crate::report::MetricColumn;
use std::collections::BTreeSet;

/// Different, equivalent, not shown, not tested: how many settings are, and what the repeats could have shown.
pub(super) fn sentences(
    comparison: &Comparison,
    side: usize,
    metric: &MetricColumn,
    found: &[(&Cell, Difference)],
) -> Vec<String> {
    let whose = match comparison.sides.len() {
        ..=2 => String::new(),
        _ => format!(" of {}", comparison.sides[side].word),
    };
    let verdicts: Vec<Verdict> = found.iter().map(|(_, difference)| difference.verdict()).collect();
    let of = |wanted: Verdict| verdicts.iter().filter(|verdict| verdict.word() == wanted.word()).count();
    let untested = of(Verdict::Untested);
    let tested = found.len() - untested;
    if tested == 0 {
        return found.first().map(|_| without_test(comparison, side, found, &whose)).into_iter().collect();
    }
    let mut out = vec![match (tested, of(Verdict::Different)) {
        (1, 1) if found.len() == 1 => format!("The difference{whose} is more than the repeats explain."),
        (1, 0) if found.len() == 1 => format!("The repeats explain the difference{whose}."),
        (n, 0) => format!("In none of {n} settings is the difference{whose} more than the repeats explain."),
        (n, beyond) => {
            format!("In {beyond} of {n} settings the difference{whose} is more than the repeats explain.")
        }
    }];
    let closest = verdicts.iter().filter_map(|verdict| match verdict {
        Verdict::Equivalent(open) => Some(*open),
        _ => None,
    });
    if let Some(within) = closest.reduce(f64::max) {
        let where_ = place(of(Verdict::Equivalent(0.0)), found.len());
        out.push(format!("{where_} results are equivalent within {}.", unsigned(within)));
    }
    let not_shown = of(Verdict::NotShown);
    if let Some(sizes) = detectable(metric, found) {
        let where_ = place(not_shown, found.len());
        out.push(format!("{where_} no difference is shown; the repeats could have shown {sizes}."));
    }
    if untested > 0 {
        out.push(format!("{} there is no test.", place(untested, found.len())));
    }
    out
}

/// `Here`, or `In 2 settings`.
fn place(count: usize, of: usize) -> String {
    match (count, of) {
        (_, 1) => "Here".into(),
        (1, _) => "In 1 setting".into(),
        (n, _) => format!("In {n} settings"),
    }
}

/// The differences that settings without a shown one could have shown: `one above 30 %`.
fn detectable(metric: &MetricColumn, found: &[(&Cell, Difference)]) -> Option<String> {
    let hidden = || found.iter().map(|(_, d)| d).filter(|d| d.verdict() == Verdict::NotShown);
    let sizes: Vec<(f64, &Difference)> = hidden().filter_map(|d| Some((d.test?.detectable, d))).collect();
    let form = Column::new(&metric.unit, sizes.iter().map(|(size, _)| *size));
    let share = |(size, d): &(f64, &Difference)| d.share(*size).unwrap_or(f64::INFINITY);
    let by_share = |a: &&(f64, &Difference), b: &&(f64, &Difference)| share(a).total_cmp(&share(b));
    let (least, most) = (sizes.iter().min_by(by_share)?, sizes.iter().max_by(by_share)?);
    let text = |(_, d): &(f64, &Difference)| d.detectable_text(&form).unwrap_or_default();
    Some(match (text(least), text(most)) {
        (least, most) if least == most => format!("one above {least}"),
        (least, most) => format!("one above {most} ({least} at best)"),
    })
}

/// Why no setting has a test.
fn without_test(comparison: &Comparison, side: usize, found: &[(&Cell, Difference)], whose: &str) -> String {
    let sides = || found.iter().flat_map(|(cell, _)| [(cell, 0), (cell, side)]);
    let runs = |(cell, side): (&&Cell, usize)| {
        (cell.runs[side].len(), cell.observations(&comparison.sides, side).len())
    };
    if sides().map(runs).any(|(runs, counted)| counted == 1 && runs > 1) {
        return format!(
            "There is no test of the difference{whose}: the repeats of a setting cannot differ and count as one, since nothing \
             in these runs is drawn at random."
        );
    }
    if sides().map(runs).all(|(_, counted)| counted > 1) {
        return format!(
            "There is no test of the difference{whose}: all repeats of a setting came out the same, so they do not show what \
             chance does."
        );
    }
    format!(
        "Without repeats in both folders it cannot be told how much of the difference{whose} is chance \
         (`--set run.repeat=5` makes five)."
    )
}

/// Folders in which repeats cannot all differ, in a sentence for each number of them.
pub(super) fn identical(comparison: &Comparison) -> Vec<String> {
    let mut found: Vec<(String, BTreeSet<&str>)> = Vec::new();
    for cell in comparison.matched() {
        for (index, side) in comparison.sides.iter().enumerate() {
            let counted = cell.observations(&comparison.sides, index).len();
            let Some(note) = note(cell.runs[index].len(), counted) else { continue };
            match found.iter_mut().find(|(known, _)| *known == note) {
                Some((_, places)) => {
                    places.insert(&side.name);
                }
                None => found.push((note, [side.name.as_str()].into())),
            }
        }
    }
    let sentence = |(note, places): (String, BTreeSet<&str>)| {
        let places: Vec<&str> = places.into_iter().collect();
        format!("{}: {note}.", places.join(", "))
    };
    found.into_iter().map(sentence).collect()
}
