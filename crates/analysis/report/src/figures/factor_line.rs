//! Goodput against a numeric factor, one line per combination of the others.

use super::Draw;
use crate::digest::{RunDigest, factor_head, factor_number, leading_metric, metric_words};
use crate::figure::{Axis, AxisKind, Dash, Figure, From, Layer, Shape};
use crate::number::Quantity;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) struct FactorLine;

/// More lines than this are not told apart; then only congestion controls are, and the rest is averaged.
const MOST_LINES: usize = 14;
/// From this ratio of the largest to the least value on, the axis is logarithmic.
const LOG_FROM: f64 = 15.0;

impl Draw for FactorLine {
    fn of_study(&self, runs: &[RunDigest]) -> Option<Figure> {
        let metric = leading_metric(runs)?;
        let (factor, unit) = numeric_factor(runs)?;
        let keys: Vec<String> = runs[0].info.factors.keys().cloned().collect();
        let mut lines = lines(runs, metric, &factor, |run| run.factors_text(&[&factor]));
        let averaged = lines.len() > MOST_LINES;
        if averaged {
            lines = self::lines(runs, metric, &factor, |run| run.congestion().unwrap_or("all runs").into());
        }
        let all_x: Vec<f64> = lines.values().flat_map(|l| l.points.iter().map(|p| p.0)).collect();
        let (least, largest) =
            all_x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
        let log = least > 0.0 && largest / least >= LOG_FROM;
        let (quantity, to_base) = Quantity::of_unit(unit);
        let scale = quantity.scale(largest * to_base);
        let divisor = scale.divisor / to_base;

        let mut layers = Vec::new();
        let mut twins: BTreeMap<Option<String>, usize> = BTreeMap::new();
        for (name, line) in lines {
            let twin = twins.entry(line.run.congestion().map(String::from)).or_default();
            let ink = line.run.ink(*twin);
            *twin += 1;
            let mut single: Vec<(f64, f64)> = line.points.iter().map(|(x, y)| (x / divisor, *y)).collect();
            single.sort_by(|a, b| a.0.total_cmp(&b.0));
            let means = means(&single);
            let name = if name.is_empty() { metric_words(metric) } else { name };
            layers.push(Layer::line(name, ink.clone(), Dash::Solid, means));
            layers.push(Layer::shaped("single runs", ink, Shape::Dots, single).unnamed());
        }
        let head = factor_head(&factor, &keys);
        let (low, high) = (least / divisor, largest / divisor);
        let range = if log {
            let room = (high / low).powf(0.04);
            (low / room, high * room)
        } else {
            let room = (high - low) * 0.04;
            (low - room, high + room)
        };
        let what = metric_words(metric);
        let capital = format!("{}{}", what[..1].to_uppercase(), &what[1..]);
        let x = Axis {
            title: crate::figure::titled(&head, &scale),
            kind: if log { AxisKind::Log { zero: None } } else { AxisKind::Linear },
            range,
        };
        let title = format!("{capital} against {head}");
        let note = if averaged {
            "Lines: means over all other factors and repeats. Dots: single runs."
        } else {
            "Lines: means over repeats. Dots: single runs."
        };
        let figure = Figure::of_values(
            "goodput-by-factor",
            &title,
            x,
            &capital,
            &Quantity::Rate,
            From::Zero,
            layers,
            vec![],
        )?;
        Some(figure.with_note(note))
    }
}

struct Line<'a> {
    run: &'a RunDigest,
    points: Vec<(f64, f64)>,
}

fn lines<'a>(
    runs: &'a [RunDigest],
    metric: &str,
    factor: &str,
    name: impl Fn(&RunDigest) -> String,
) -> BTreeMap<String, Line<'a>> {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for run in runs {
        let x = run.info.factors.get(factor).and_then(factor_number);
        if let (Some((x, _)), Some(y)) = (x, run.metric(metric)) {
            lines.entry(name(run)).or_insert(Line { run, points: vec![] }).points.push((x, y));
        }
    }
    lines
}

/// The numeric factor with the most values, at least two, if it is numeric in every run; with its unit.
fn numeric_factor(runs: &[RunDigest]) -> Option<(String, &'static str)> {
    let first = runs.first()?;
    let mut best: Option<(usize, String, &'static str)> = None;
    for key in first.info.factors.keys() {
        let numbers: Option<Vec<_>> =
            runs.iter().map(|run| run.info.factors.get(key).and_then(factor_number)).collect();
        let Some(numbers) = numbers else { continue };
        // Zero is zero in every unit, so the unit is that of any other value.
        let unit = numbers.iter().find(|n| n.0 != 0.0).map_or("", |n| n.1);
        if numbers.iter().any(|n| n.0 != 0.0 && n.1 != unit) {
            continue;
        }
        let values = numbers.iter().map(|n| n.0.to_bits()).collect::<BTreeSet<_>>().len();
        if values > 1 && best.as_ref().is_none_or(|b| values > b.0) {
            best = Some((values, key.clone(), unit));
        }
    }
    best.map(|(_, key, unit)| (key, unit))
}

/// Mean y of each x; `points` are in order of x.
fn means(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| (same[0].0, same.iter().map(|p| p.1).sum::<f64>() / same.len() as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_taken_by_x() {
        assert_eq!(means(&[(1.0, 2.0), (1.0, 4.0), (2.0, 5.0)]), [(1.0, 3.0), (2.0, 5.0)]);
    }
}
