//! Time of each core by kind of work.

use super::Draw;
use crate::core_time::{INKS, busiest};
use crate::figure::{Axis, AxisKind, Figure, Layer, Shape};
use crate::source::Source;
use wirespeed_metrics::core_time::{KINDS, core_times};

pub(crate) struct Cpu;

/// More bars than this are not read.
const MOST_BARS: usize = 40;

impl Draw for Cpu {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let (cores, left_out) = busiest(core_times(source.recording), MOST_BARS);
        if cores.is_empty() {
            return None;
        }
        let layers = KINDS
            .iter()
            .zip(INKS)
            .enumerate()
            .map(|(kind, (name, ink))| {
                let parts = cores.iter().map(|core| core.parts[kind] * 100.0).enumerate();
                let points = parts.filter(|(_, part)| *part > 0.0).map(|(place, part)| (part, place as f64));
                Layer::shaped(*name, ink.clone(), Shape::StackedBars, points.collect())
            })
            .filter(|layer| !layer.points.is_empty())
            .collect();
        let several = |host: &str| {
            let mut nodes = cores.iter().filter(|core| core.host == host).map(|core| core.node);
            let first = nodes.next();
            nodes.any(|node| Some(node) != first)
        };
        let names: Vec<String> = cores
            .iter()
            .map(|core| match several(core.host) {
                true => format!("{} core {} (node {})", core.host, core.core, core.node),
                false => format!("{} core {}", core.host, core.core),
            })
            .collect();
        let mut note =
            "Part of the measurement window that each core worked, by kind; at 100 % the core is full. \
                        softirq: packets and protocol; application: calls that read and write."
                .to_string();
        if left_out > 0 {
            let cores = if left_out == 1 { "core that worked less is" } else { "cores that worked less are" };
            note.push_str(&format!(" {left_out} {cores} left out."));
        }
        let bars = names.len() as f64;
        let largest = cores.iter().map(|core| core.busy() * 100.0).fold(100.0, f64::max);
        Some(Figure {
            id: "cpu".into(),
            title: "Time of the cores".into(),
            note,
            x: Axis {
                title: "Share of time (%)".into(),
                kind: AxisKind::Linear,
                range: (0.0, largest * 1.08),
            },
            y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, bars - 0.5) },
            layers,
            levels: vec![],
            drawing: None,
        })
    }
}
