//! Figures of a comparison: matched runs over each other, and all settings in one picture.

use super::Comparison;
use super::answer::capital;
use super::cells::Match;
use super::difference::Spread;
use super::side::{Lines, Side};
use crate::digest::metric_words;
use crate::facts::RunFacts;
use crate::figure::{Axis, AxisKind, Dash, Figure, From, Ink, Layer, Level, Shape, TimeAxis, titled};
use crate::number::Quantity;
use crate::palette::Palette;
use crate::thin::Point;

/// More settings than this are not read in one picture; the table has them.
const MOST_SETTINGS: usize = 60;

/// A colour for each folder.
pub(super) fn palette(sides: &[Side]) -> Palette {
    Palette::new(sides.iter().map(|side| (None, side.name.as_str())))
}

fn ink(side: &Side) -> Ink {
    Ink::Flow { congestion: None, label: side.name.clone(), twin: 0 }
}

/// As in legends: name and substrate.
fn legend(side: &Side) -> String {
    let substrates = side.substrates();
    if substrates.is_empty() || side.name == substrates {
        side.name.clone()
    } else {
        format!("{} ({substrates})", side.name)
    }
}

/// Goodput, window and round-trip time of a matched run, one line for each folder.
pub(super) fn of_match(sides: &[Side], matched: &Match) -> Vec<Figure> {
    let runs: Vec<_> =
        sides.iter().zip(&matched.runs).filter_map(|(side, run)| Some((side, &side.runs[(*run)?]))).collect();
    let infos: Vec<&RunFacts> = runs.iter().map(|(_, run)| &run.digest.info).collect();
    let time = TimeAxis::new(infos.iter().map(|info| info.duration_ns).max().unwrap_or(1));
    let layers = |points: fn(&Lines) -> &[Point]| -> Vec<Layer> {
        let line = |(side, run): &(&Side, &super::side::SideRun)| {
            let points = points(&run.lines).iter().map(|(t, y)| (t / time.ns, *y)).collect();
            Layer::line(legend(side), ink(side), Dash::Solid, points)
        };
        runs.iter().map(line).collect()
    };
    let several = infos.iter().any(|info| info.flows.len() > 1);
    let goodput = Figure::over_time(
        "goodput",
        "Goodput",
        "Goodput",
        &Quantity::Rate,
        From::Zero,
        &time,
        layers(|lines| &lines.goodput),
        capacity(&infos),
    )
    .map(|figure| {
        figure.with_note(if several {
            "Payload in order at the receivers, all flows together."
        } else {
            "Payload in order at the receiver."
        })
    });
    let cwnd = Figure::over_time(
        "cwnd",
        "Congestion window",
        "Window",
        &Quantity::Bytes,
        From::Zero,
        &time,
        layers(|lines| &lines.cwnd),
        vec![],
    )
    .map(|figure| {
        figure.with_note(if several {
            "Sum over the flows."
        } else {
            "Extremes are kept when points are merged."
        })
    });
    let rtt = Figure::over_time(
        "rtt",
        "Round-trip time",
        "RTT",
        &Quantity::Seconds,
        From::Least,
        &time,
        layers(|lines| &lines.rtt),
        propagation(&infos),
    )
    .map(|figure| {
        figure.with_note(if several {
            "Smoothed, mean over the flows. The axis does not start at 0."
        } else {
            "Smoothed, as the sender has it. The axis does not start at 0."
        })
    });
    [goodput, cwnd, rtt].into_iter().flatten().collect()
}

/// The narrowest link, if it is the same in all.
fn capacity(infos: &[&RunFacts]) -> Vec<Level> {
    let rate = |info: &&RunFacts| info.links.iter().map(|l| l.rate_bps).filter(|rate| *rate > 0).min();
    let at = same(infos.iter().map(rate)).map(|rate| rate as f64);
    at.map(|at| Level { at, label: format!("link {}", Quantity::Rate.text(at)) }).into_iter().collect()
}

/// The propagation of a single flow, if it is the same in all.
fn propagation(infos: &[&RunFacts]) -> Vec<Level> {
    let base = |info: &&RunFacts| match info.flows.as_slice() {
        [flow] if flow.base_rtt_ns > 0 => Some(flow.base_rtt_ns),
        _ => None,
    };
    let at = same(infos.iter().map(base)).map(|ns| ns as f64 / 1e9);
    at.map(|at| Level { at, label: format!("propagation {}", Quantity::Seconds.text(at)) })
        .into_iter()
        .collect()
}

fn same<T: PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values.all(|value| value.as_ref() == Some(&first)).then_some(first)
}

/// The leading metric of every setting, a dot for each folder and a thin line from least to largest of its repeats.
pub(super) fn across(comparison: &Comparison) -> Option<Figure> {
    let metric = comparison.leading()?;
    let cells: Vec<_> = comparison.matched().collect();
    if !(2..=MOST_SETTINGS).contains(&cells.len()) {
        return None;
    }
    let spreads: Vec<Vec<Option<Spread>>> =
        cells.iter().map(|cell| cell.spreads(&comparison.sides, &metric.name)).collect();
    let all = || spreads.iter().flatten().flatten();
    let (quantity, to_base) = Quantity::of_unit(&metric.unit);
    let largest = all().map(|s| s.largest * to_base).fold(0.0, f64::max);
    let least = all().map(|s| s.least * to_base).fold(0.0, f64::min);
    let scale = quantity.scale(largest.max(-least));
    let divisor = scale.divisor / to_base;
    let sides = comparison.sides.len();
    // Beside each other within a row, so that equal values do not cover each other.
    let place = |row: usize, side: usize| {
        row as f64 + (side as f64 - (sides - 1) as f64 / 2.0) * (0.5 / sides as f64)
    };
    let mut layers = Vec::new();
    let mut has_repeats = false;
    for (index, side) in comparison.sides.iter().enumerate() {
        let of_side =
            || spreads.iter().enumerate().filter_map(move |(row, s)| Some((row, s[index].as_ref()?)));
        let ranges: Vec<Point> = of_side()
            .filter(|(_, spread)| spread.values.len() > 1)
            .flat_map(|(row, spread)| {
                let y = place(row, index);
                [(spread.least / divisor, y), (spread.largest / divisor, y), (f64::NAN, f64::NAN)]
            })
            .collect();
        has_repeats |= !ranges.is_empty();
        if !ranges.is_empty() {
            layers.push(Layer::line("from least to largest", ink(side), Dash::Solid, ranges).unnamed());
        }
        let means = of_side().map(|(row, spread)| (spread.mean / divisor, place(row, index))).collect();
        layers.push(Layer::shaped(legend(side), ink(side), Shape::Dots, means));
    }
    layers.retain(|layer| !layer.is_blank());
    if layers.is_empty() {
        return None;
    }
    let words = metric_words(&metric.name);
    let title = capital(&words);
    let names: Vec<String> = cells.iter().map(|cell| cell.name.clone()).collect();
    let rows = names.len() as f64;
    Some(Figure {
        id: "settings".into(),
        title: format!("{title} by setting"),
        note: if has_repeats {
            "Dots: means. Lines: from the least to the largest of the repeats."
        } else {
            "One run each."
        }
        .into(),
        x: Axis {
            title: titled(&title, &scale),
            kind: AxisKind::Linear,
            range: (least / scale.divisor * 1.08, (largest / scale.divisor).max(f64::MIN_POSITIVE) * 1.08),
        },
        y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, rows - 0.5) },
        layers,
        levels: vec![],
        drawing: None,
    })
}
