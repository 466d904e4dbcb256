//! Throughput of each flow over time; goodput where the packets were not counted.

use super::Draw;
use crate::figure::{Dash, Figure, From, Ink, Layer, Level};
use crate::number::Quantity;
use crate::rate_series::{goodput, throughput, total_goodput, total_throughput};
use crate::source::Source;
use crate::thin::Point;

pub(crate) struct Throughput;

impl Draw for Throughput {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let bin = Quantity::Seconds.text(source.bin_ns as f64 / 1e9);
        let of_frames = figure(source, "Throughput", throughput, total_throughput).map(|figure| {
            figure.with_note(format!(
                "Frames that arrived at the receiver, headers included, over bins of {bin}."
            ))
        });
        of_frames.or_else(|| {
            let figure = figure(source, "Goodput", goodput, total_goodput)?;
            Some(figure.with_note(format!("Payload over bins of {bin}; packets were not counted.")))
        })
    }
}

fn figure(
    source: &Source,
    title: &str,
    of_flow: fn(&Source, u32) -> Vec<Point>,
    of_all: fn(&Source) -> Vec<Point>,
) -> Option<Figure> {
    let mut layers = Vec::new();
    if source.has_several_flows() {
        layers.push(Layer::line("all flows", Ink::Muted, Dash::Solid, of_all(source)));
    }
    for (flow, _, _) in source.flows() {
        let points = of_flow(source, flow);
        layers.push(Layer::line(source.label(flow), source.ink(flow), Dash::Solid, points));
    }
    let (zero, capacity) = (From::Zero, capacity(source));
    Figure::over_time("throughput", title, title, &Quantity::Rate, zero, &source.time, layers, capacity)
}

/// The rate of the narrowest link.
pub(super) fn capacity(source: &Source) -> Vec<Level> {
    let level = |rate: u64| {
        let at = rate as f64;
        Level { at, label: format!("link {}", Quantity::Rate.text(at)) }
    };
    source.capacity_bps().map(level).into_iter().collect()
}
