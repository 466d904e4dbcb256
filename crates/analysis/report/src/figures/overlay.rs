//! Throughput over time of every run, in one figure.

use super::Draw;
use crate::digest::{Group, RunDigest};
use crate::figure::{Axis, AxisKind, Dash, Figure, From, Layer, Level};
use crate::number::Quantity;
use std::collections::BTreeMap;

pub(crate) struct Overlay;

/// More lines than this hide each other.
const MOST_LINES: usize = 12;

impl Draw for Overlay {
    fn of_study(&self, runs: &[RunDigest]) -> Option<Figure> {
        let groups: Vec<Group> =
            Group::all(runs).into_iter().filter(|g| !g.runs[0].throughput.is_empty()).collect();
        if groups.len() < 2 || groups.len() > MOST_LINES {
            return None;
        }
        let repeats = groups.iter().any(|g| g.runs.len() > 1);
        let mut twins: BTreeMap<Option<String>, usize> = BTreeMap::new();
        let mut layers = Vec::new();
        let mut end: f64 = 0.0;
        for group in &groups {
            let run = group.runs[0];
            let twin = twins.entry(run.congestion().map(String::from)).or_default();
            let points = run.throughput.clone();
            end = end.max(run.info.duration_ns as f64 / 1e9);
            layers.push(Layer::line(group.name(&[]), run.ink(*twin), Dash::Solid, points));
            *twin += 1;
        }
        let scale = Quantity::Seconds.scale(end);
        layers.iter_mut().for_each(|l| l.points.iter_mut().for_each(|p| p.0 /= scale.divisor));
        let x = Axis {
            title: format!("Time ({})", scale.unit),
            kind: AxisKind::Linear,
            range: (0.0, end / scale.divisor),
        };
        let rates: Vec<u64> =
            groups.iter().filter_map(|g| g.runs[0].info.links.iter().map(|l| l.rate_bps).min()).collect();
        // One line for the link, if it is the same in all.
        let levels = match rates.as_slice() {
            [first, rest @ ..] if *first > 0 && rest.iter().all(|r| r == first) => {
                let at = *first as f64;
                vec![Level { at, label: format!("link {}", Quantity::Rate.text(at)) }]
            }
            _ => vec![],
        };
        let figure = Figure::of_values(
            "throughput-all",
            "Throughput over time",
            x,
            "Throughput",
            &Quantity::Rate,
            From::Zero,
            layers,
            levels,
        )?;
        let which = if repeats { "; the first repeat of each setting" } else { "" };
        Some(figure.with_note(format!("All flows of a run together{which}.")))
    }
}
