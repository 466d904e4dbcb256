//! Throughput of each flow over time; goodput where the packets were not counted.

use super::Draw;
use crate::figure::{Dash, Figure, From, Ink, Layer, Level};
use crate::flow_lines::{FlowLines, Kind, is_crowd};
use crate::number::Quantity;
use crate::rate_series::{goodput, throughput, total_goodput, total_throughput};
use crate::source::Source;
use crate::thin::Point;

pub(crate) struct Throughput;

const KINDS: &[Kind] = &[Kind { what: "", dash: Dash::Solid, is_main: true }];

impl Draw for Throughput {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let bin = Quantity::Seconds.text(source.bin_ns as f64 / 1e9);
        let frames = format!("Frames that arrived at the receiver, headers included, over bins of {bin}.");
        let of_frames = figure(source, "Throughput", frames, throughput, total_throughput);
        of_frames.or_else(|| {
            let payload = format!("Payload over bins of {bin}; packets were not counted.");
            figure(source, "Goodput", payload, goodput, total_goodput)
        })
    }
}

fn figure(
    source: &Source,
    title: &str,
    note: String,
    of_flow: fn(&Source, u32) -> Vec<Point>,
    of_all: fn(&Source) -> Vec<Point>,
) -> Option<Figure> {
    let mut lines = FlowLines::new(source, KINDS);
    for (flow, _, _) in source.flows() {
        lines.add(flow, 0, || of_flow(source, flow));
    }
    let (mut layers, crowd) = lines.finish("");
    if source.has_several_flows() && !is_crowd(source) {
        layers.insert(0, Layer::line("all flows", Ink::Muted, Dash::Solid, of_all(source)));
    }
    layers.extend(changing_capacity(source));
    let (zero, capacity) = (From::Zero, capacity_of_flow(source));
    let figure =
        Figure::over_time("throughput", title, title, &Quantity::Rate, zero, &source.time, layers, capacity)?;
    Some(figure.with_note(format!("{note} {crowd}").trim_end()))
}

/// The rate of the narrowest link over time, if it changes.
fn changing_capacity(source: &Source) -> Option<Layer> {
    let link = source.narrowest_link().filter(|link| !link.changes.is_empty() && !is_crowd(source))?;
    let mut rate = link.rate_bps as f64;
    let mut points: Vec<Point> = vec![(source.time.at(0), rate)];
    for change in &link.changes {
        let at = source.time.at(change.t_ns);
        points.push((at, rate));
        rate = change.rate_bps as f64;
        points.push((at, rate));
    }
    points.push((source.time.at(source.recording.info.duration_ns), rate));
    Some(Layer::line("link", Ink::Muted, Dash::Dashed, points))
}

/// The rate of the narrowest link where one flow can have much of it: beside it one of a crowd is too small to see.
pub(super) fn capacity_of_flow(source: &Source) -> Vec<Level> {
    if is_crowd(source) { Vec::new() } else { capacity(source) }
}

/// The rate of the narrowest link.
pub(super) fn capacity(source: &Source) -> Vec<Level> {
    let level = |rate: u64| {
        let at = rate as f64;
        Level { at, label: format!("link {}", Quantity::Rate.text(at)) }
    };
    source.capacity_bps().map(level).into_iter().collect()
}
