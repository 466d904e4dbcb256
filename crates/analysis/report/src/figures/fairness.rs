//! Jain's fairness index over time.

use super::Draw;
use crate::figure::{Axis, AxisKind, Dash, Figure, Ink, Layer};
use crate::rate_series::jain_index;
use crate::source::Source;

pub(crate) struct Fairness;

impl Draw for Fairness {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        if !source.has_several_flows() {
            return None;
        }
        let layer = Layer::line("Jain index", Ink::Total, Dash::Solid, jain_index(source)).unnamed();
        if layer.is_blank() {
            return None;
        }
        let x = Axis {
            title: format!("Time ({})", source.time.unit),
            kind: AxisKind::Time,
            range: (0.0, source.time.end),
        };
        let y = Axis { title: "Jain index".into(), kind: AxisKind::Linear, range: (0.0, 1.05) };
        Some(Figure {
            id: "fairness".into(),
            title: "Fairness".into(),
            note: "Index of Jain, Chiu and Hawe (1984) over the throughput of the flows that run: 1 is an equal share, 1/n is one flow alone.".into(),
            x,
            y,
            layers: vec![layer],
            levels: vec![],
            drawing: None,
        })
    }
}
