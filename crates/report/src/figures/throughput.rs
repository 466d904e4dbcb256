//! Throughput of each flow over time.

use super::Draw;
use crate::figure::{Dash, Figure, From, Ink, Layer, Level};
use crate::number::Quantity;
use crate::rate_series::{throughput, total_throughput};
use crate::source::Source;

pub(crate) struct Throughput;

impl Draw for Throughput {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut layers = Vec::new();
        if source.has_several_flows() {
            layers.push(Layer::line("all flows", Ink::Muted, Dash::Solid, total_throughput(source)));
        }
        for (flow, _, _) in source.flows() {
            let points = throughput(source, flow);
            layers.push(Layer::line(source.label(flow), source.ink(flow), Dash::Solid, points));
        }
        let bin = Quantity::Seconds.text(source.bin_ns as f64 / 1e9);
        let figure = Figure::over_time(
            "throughput",
            "Throughput",
            "Throughput",
            &Quantity::Rate,
            From::Zero,
            &source.time,
            layers,
            capacity(source),
        )?;
        Some(
            figure.with_note(format!(
                "Frames that arrived at the receiver, headers included, over bins of {bin}."
            )),
        )
    }
}

/// The rate of the narrowest link.
pub(super) fn capacity(source: &Source) -> Vec<Level> {
    let level = |rate: u64| {
        let at = rate as f64;
        Level { at, label: format!("link {}", Quantity::Rate.text(at)) }
    };
    source.capacity_bps().map(level).into_iter().collect()
}
