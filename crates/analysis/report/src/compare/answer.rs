//! The comparison in a few sentences, from the data alone.

use super::difference::Difference;
use super::ledger::is_odd;
use super::side::SideRun;
use super::{Comparison, cells::Cell, worth};
use crate::digest::{factor_text, metric_words};
use crate::kept;
use crate::number::{Column, significant, with_unit};
use crate::report::MetricColumn;
use crate::steadiness;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Up to this many settings the first sentence names each.
const MOST_NAMED: usize = 4;

/// A setting's difference of the leading metric.
struct Found<'a> {
    cell: &'a Cell,
    first: f64,
    other: f64,
    difference: Difference,
}

/// First the difference in the leading metric, then what it is worth.
pub(super) fn sentences(comparison: &Comparison) -> Vec<String> {
    if let Some(reason) = mismatch(comparison) {
        return vec![format!("There is nothing to compare: {reason}.")];
    }
    let Some(metric) = comparison.leading() else {
        return vec!["The matched runs have no metric in common.".into()];
    };
    let mut out = Vec::new();
    for side in 1..comparison.sides.len() {
        out.push(against_first(comparison, side, metric));
    }
    for side in 1..comparison.sides.len() {
        let found = found(comparison, side, metric);
        let differences: Vec<_> = found.iter().map(|found| (found.cell, found.difference)).collect();
        out.extend(worth::sentences(comparison, side, metric, &differences));
    }
    let matched = matched_runs(comparison);
    out.extend(kept::sentence(matched.iter().map(|run| &run.digest)));
    let odd = matched.iter().filter(|run| is_odd(&run.digest.accounts)).count();
    if odd > 0 {
        out.push(format!(
            "The loss ledger of {odd} run{} does not balance.",
            if odd == 1 { "" } else { "s" }
        ));
    }
    out
}

/// The runs of the settings that all folders have.
fn matched_runs(comparison: &Comparison) -> Vec<&SideRun> {
    let sides = &comparison.sides;
    comparison.matched().flat_map(|cell| (0..sides.len()).flat_map(|side| cell.of(sides, side))).collect()
}

fn found<'a>(comparison: &'a Comparison, side: usize, metric: &MetricColumn) -> Vec<Found<'a>> {
    let of = |cell: &'a Cell| {
        let spreads = cell.spreads(&comparison.sides, &metric.name);
        let difference = Cell::differences(&spreads)[side]?;
        let (first, other) = (spreads[0].as_ref()?.mean, spreads[side].as_ref()?.mean);
        Some(Found { cell, first, other, difference })
    };
    comparison.matched().filter_map(of).collect()
}

fn against_first(comparison: &Comparison, side: usize, metric: &MetricColumn) -> String {
    let (first, other) = (&comparison.sides[0].word, &comparison.sides[side].word);
    let mut found = found(comparison, side, metric);
    let words = metric_words(&metric.name);
    let form = Column::new(&metric.unit, found.iter().flat_map(|f| [f.first, f.other]));
    let value = |value: f64| with_unit(value, &metric.unit);
    if found.is_empty() {
        return format!("No setting has a {words} in both {first} and {other}.");
    }
    if found.iter().all(|f| f.difference.absolute == 0.0) && found.len() > 1 {
        return format!("The {words} of {other} is that of {first} in all {} settings.", found.len());
    }
    // The largest difference is what one looks for.
    found.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let head = format!("{} of {other} against {first}", capital(&words));
    match found.as_slice() {
        [only] => {
            let (other, first) =
                (format!("{other} {}", value(only.other)), format!("{first} {}", value(only.first)));
            let text = only.difference.text(&form);
            format!("{}: {words} of {other} against {first}, {text}.", only.cell.name)
        }
        few if few.len() <= MOST_NAMED => {
            let part = |f: &Found| {
                let text = f.difference.text(&form);
                format!("{} {text} ({} against {})", f.cell.name, value(f.other), value(f.first))
            };
            format!("{head}: {}.", few.iter().map(part).collect::<Vec<_>>().join(", "))
        }
        many => {
            let place = |f: &Found| format!("{} ({})", f.difference.text(&form), f.cell.name);
            let (least, most) = many.iter().fold((&many[0], &many[0]), |(least, most), f| {
                (
                    if share(f) < share(least) { f } else { least },
                    if share(f) > share(most) { f } else { most },
                )
            });
            let median = (size(&many[(many.len() - 1) / 2]) + size(&many[many.len() / 2])) / 2.0;
            let half = if median.is_finite() {
                format!(", half of them within {} %", significant(median * 100.0, 2))
            } else {
                String::new()
            };
            let n = many.len();
            format!("{head} over {n} settings: from {} to {}{half}.", place(least), place(most))
        }
    }
}

/// The relative difference; where there is none, the larger is larger than any share.
fn share(found: &Found) -> f64 {
    found.difference.relative.unwrap_or(f64::INFINITY)
}

/// How far apart, as a share; infinite where there is no share.
fn size(found: &Found) -> f64 {
    share(found).abs()
}

/// See [`Comparison::mismatch`].
pub(super) fn mismatch(comparison: &Comparison) -> Option<String> {
    if comparison.matched().next().is_some() {
        return None;
    }
    let side = |index: usize| {
        let side = &comparison.sides[index];
        let mut varied: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (key, value) in side.runs.iter().flat_map(|run| run.digest.info.factors.iter()) {
            varied.entry(key).or_default().insert(factor_text(value));
        }
        let few = |values: BTreeSet<String>| match values.len() {
            0..=4 => values.into_iter().collect::<Vec<_>>().join(", "),
            n => format!("{n} values"),
        };
        let varied: Vec<String> =
            varied.into_iter().map(|(key, values)| format!("{key} = {}", few(values))).collect();
        match (side.runs.is_empty(), varied.is_empty()) {
            (true, _) => format!("{} has no complete run", side.path),
            (_, true) => format!("{} varies nothing", side.path),
            _ => format!("{} has {}", side.path, varied.join(" and ")),
        }
    };
    let sides: Vec<String> = (0..comparison.sides.len()).map(side).collect();
    Some(format!(
        "no combination of factors is both in the first folder and in another one ({})",
        sides.join("; ")
    ))
}

/// See [`Comparison::warnings`].
pub(super) fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut out = Vec::new();
    let studies: BTreeSet<String> = comparison.sides.iter().map(super::side::Side::studies).collect();
    if studies.len() > 1 {
        let of = |side: &super::side::Side| format!("{} of {}", side.name, side.studies());
        let sides: Vec<String> = comparison.sides.iter().map(of).collect();
        out.push(format!(
            "these are results of different studies: {}; runs of equal factors are compared",
            sides.join(", ")
        ));
    }
    let matched = comparison.matched().flat_map(|cell| {
        (0..comparison.sides.len()).flat_map(|side| cell.of(&comparison.sides, side).map(|run| &run.digest))
    });
    out.extend(steadiness::sentence(matched));
    for setting in &comparison.settings {
        if ["duration", "omit", "sample"].contains(&setting.path.as_str()) {
            out.push(format!("the runs differ in {}: {}", setting.path, setting.words(comparison)));
        }
    }
    out
}

impl super::settings::Setting {
    /// `3 s in a, 60 s in b`.
    pub fn words(&self, comparison: &Comparison) -> String {
        let pairs = self.values.iter().zip(&comparison.sides);
        pairs.map(|(value, side)| format!("{value} in {}", side.name)).collect::<Vec<_>>().join(", ")
    }
}

/// Cells that the first folder lacks, or that only it has: where they are, and their names.
pub(super) fn unmatched(comparison: &Comparison) -> Vec<(String, Vec<&str>)> {
    let mut out: Vec<(String, Vec<&str>)> = Vec::new();
    let here = |cell: &Cell| {
        let there = comparison.sides.iter().zip(&cell.runs).filter(|(_, runs)| !runs.is_empty());
        there.map(|(side, _)| side.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    for cell in comparison.cells.iter().filter(|cell| !cell.is_matched()) {
        let place = here(cell);
        match out.iter_mut().find(|(known, _)| *known == place) {
            Some((_, names)) => names.push(&cell.name),
            None => out.push((place, vec![&cell.name])),
        }
    }
    out
}

/// With a capital letter at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A factor's value in JSON as it stands in a sentence.
pub(super) fn factors_text(factors: &BTreeMap<String, Value>) -> String {
    factors
        .iter()
        .map(|(key, value)| format!("{key} = {}", factor_text(value)))
        .collect::<Vec<_>>()
        .join(", ")
}
