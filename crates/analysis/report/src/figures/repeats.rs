//! Spread across repeats: a box for every combination of factors.

use super::Draw;
use crate::digest::{Group, RunDigest, leading_metric, metric_words};
use crate::figure::Axis;
use crate::figure::{AxisKind, Figure, Layer, Shape, titled};
use crate::number::Quantity;

pub(crate) struct Repeats;

/// More boxes than this are not read.
const MOST_BOXES: usize = 48;

impl Draw for Repeats {
    fn of_study(&self, runs: &[RunDigest]) -> Option<Figure> {
        let metric = leading_metric(runs)?;
        let groups: Vec<Group> =
            Group::all(runs).into_iter().filter(|g| !g.values(metric).is_empty()).collect();
        let most = groups.iter().map(|g| g.values(metric).len()).max()?;
        if most < 2 || groups.len() > MOST_BOXES {
            return None;
        }
        let largest = groups.iter().flat_map(|g| g.values(metric)).fold(0.0, f64::max);
        let scale = Quantity::Rate.scale(largest);
        let mut names = Vec::new();
        let mut layers = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            let points =
                group.values(metric).into_iter().map(|v| (v / scale.divisor, place as f64)).collect();
            names.push(group.name(&[]));
            layers.push(Layer::shaped(group.name(&[]), group.runs[0].ink(0), Shape::Box, points).unnamed());
        }
        let least = groups.iter().flat_map(|g| g.values(metric)).fold(f64::INFINITY, f64::min);
        let room = (largest - least).max(largest * 0.01) * 0.08;
        let what = metric_words(metric);
        let capital = format!("{}{}", what[..1].to_uppercase(), &what[1..]);
        let boxes = names.len() as f64;
        Some(Figure {
            id: "repeats".into(),
            title: format!("Spread of {what} across repeats"),
            note: format!(
                "Up to {most} repeats: quartiles, whiskers to the farthest run within 1.5 interquartile ranges, and every run.{} The axis need not start at 0.",
                if groups.iter().any(|g| g.observations().len() < g.runs.len()) {
                    " Repeats that cannot differ count as one."
                } else {
                    ""
                }
            ),
            x: Axis {
                title: titled(&capital, &scale),
                kind: AxisKind::Linear,
                range: (((least - room) / scale.divisor).max(0.0), (largest + room) / scale.divisor),
            },
            y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, boxes - 0.5) },
            layers,
            levels: vec![],
            drawing: None,
        })
    }
}
