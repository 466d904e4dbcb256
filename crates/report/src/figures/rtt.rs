//! Round-trip time: smoothed and least.

use super::Draw;
use crate::figure::{Dash, Figure, From, Layer, Level};
use crate::number::Quantity;
use crate::source::Source;
use wirespeed_record::FlowSample;

pub(crate) struct Rtt;

impl Draw for Rtt {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut layers = Vec::new();
        let mut bases: Vec<i64> = Vec::new();
        let samples_of = &source.view.flow_samples;
        let (least_of, smoothed_of) =
            (samples_of.column(FlowSample::min_rtt_ns), samples_of.column(FlowSample::rtt_ns));
        for (flow, info, samples) in source.flows() {
            let (label, ink) = (source.label(flow), source.ink(flow));
            let least = source.line(samples, &least_of, seconds);
            let smoothed = source.line(samples, &smoothed_of, seconds);
            layers.push(Layer::line(format!("{label} smoothed"), ink.clone(), Dash::Solid, smoothed));
            layers.push(Layer::line(format!("{label} least"), ink, Dash::Dotted, least));
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
        Some(figure.with_note(
            "Solid: smoothed RTT of the sender. Dotted: the least it saw within its window. The axis does not start at 0.",
        ))
    }
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}
