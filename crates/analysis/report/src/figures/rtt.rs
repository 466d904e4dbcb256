//! Round-trip time: smoothed and least.

use super::Draw;
use crate::figure::{Dash, Figure, From, Level};
use crate::flow_lines::{FlowLines, Kind};
use crate::number::Quantity;
use crate::source::Source;
use wirespeed_record::FlowSample;

pub(crate) struct Rtt;

const KINDS: &[Kind] = &[
    Kind { what: "smoothed", dash: Dash::Solid, is_main: true },
    Kind { what: "least", dash: Dash::Dotted, is_main: false },
];

impl Draw for Rtt {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut lines = FlowLines::new(source, KINDS);
        let mut bases: Vec<i64> = Vec::new();
        let samples_of = &source.view.flow_samples;
        let (least_of, smoothed_of) =
            (samples_of.column(FlowSample::min_rtt_ns), samples_of.column(FlowSample::rtt_ns));
        for (flow, info, samples) in source.flows() {
            lines.add(flow, 0, || source.line(samples, &smoothed_of, seconds));
            lines.add(flow, 1, || source.line(samples, &least_of, seconds));
            if let Some(base) = info.map(|i| i.base_rtt_ns).filter(|base| *base > 0 && !bases.contains(base))
            {
                bases.push(base);
            }
        }
        let level = |base: i64| {
            let at = seconds(base as f64);
            Level { at, label: format!("propagation {}", Quantity::Seconds.text(at)) }
        };
        let levels = bases.into_iter().map(level).collect();
        let (layers, note) =
            lines.finish("Solid: smoothed RTT of the sender. Dotted: the least it saw within its window.");
        let figure = Figure::over_time(
            "rtt",
            "Round-trip time",
            "RTT",
            &Quantity::Seconds,
            From::Least,
            &source.time,
            layers,
            levels,
        )?;
        Some(figure.with_note(format!("{note} The axis does not start at 0.")))
    }
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}
