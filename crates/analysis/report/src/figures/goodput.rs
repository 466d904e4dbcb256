//! Goodput of every combination of factors, side by side.

use super::Draw;
use crate::digest::{Group, RunDigest, leading_metric, metric_words};
use crate::figure::{Axis, AxisKind, Figure, Ink, Layer, Shape, titled};
use crate::number::Quantity;

pub(crate) struct Goodput;

/// More bars than this are not read; the lines over a factor are.
const MOST_BARS: usize = 48;

impl Draw for Goodput {
    fn of_study(&self, runs: &[RunDigest]) -> Option<Figure> {
        let metric = leading_metric(runs)?;
        let groups: Vec<Group> = Group::all(runs).into_iter().filter(|g| g.mean(metric).is_some()).collect();
        if groups.len() < 2 || groups.len() > MOST_BARS {
            return None;
        }
        let largest = groups.iter().flat_map(|g| g.values(metric)).fold(0.0, f64::max);
        let scale = Quantity::Rate.scale(largest);
        let mut layers: Vec<Layer> = Vec::new();
        let mut dots = Vec::new();
        let mut names = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            let run = group.runs[0];
            let mean = group.mean(metric)? / scale.divisor;
            let (name, ink) = (run.congestion().unwrap_or("runs").to_string(), run.ink(0));
            match layers.iter_mut().find(|layer| layer.name == name && layer.ink == ink) {
                Some(layer) => layer.points.push((mean, place as f64)),
                None => {
                    layers.push(Layer::shaped(name, ink, Shape::HorizontalBars, vec![(mean, place as f64)]))
                }
            }
            if group.observations().len() > 1 {
                dots.extend(group.values(metric).into_iter().map(|v| (v / scale.divisor, place as f64)));
            }
            names.push(group.name(&[]));
        }
        // Where every bar is named by its control alone, a legend would repeat the axis.
        if layers.iter().all(|layer| layer.points.len() == 1) {
            layers.iter_mut().for_each(|layer| layer.legend = false);
        }
        let repeats = !dots.is_empty();
        if repeats {
            layers.push(Layer::shaped("single runs", Ink::Total, Shape::Dots, dots));
        }
        let what = metric_words(metric);
        let title = format!("{}{}", what[..1].to_uppercase(), &what[1..]);
        let bars = names.len() as f64;
        Some(Figure {
            id: "goodput".into(),
            title: format!("{title} by setting"),
            note: if repeats { "Bars: mean over the repeats. Dots: single runs." } else { "One run each." }
                .into(),
            x: Axis {
                title: titled(&title, &scale),
                kind: AxisKind::Linear,
                range: (0.0, (largest / scale.divisor).max(f64::MIN_POSITIVE) * 1.12),
            },
            y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, bars - 0.5) },
            layers,
            levels: vec![],
            drawing: None,
        })
    }
}
