//! Distance of datagrams when they were sent and when they arrived, one by one.

use super::Draw;
use crate::figure::{Axis, AxisKind, Dash, Figure, From, Layer, Shape};
use crate::number::Quantity;
use crate::source::Source;
use std::collections::BTreeMap;
use wirespeed_record::Datagram;

pub(crate) struct InterArrival;

/// So many datagrams, from the measurement window on, show bursts; of more single ones cannot be told apart.
const FIRST: usize = 300;
/// Flows beyond these would hide each other.
const MOST_FLOWS: usize = 3;

impl Draw for InterArrival {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut flows: BTreeMap<u32, Vec<&Datagram>> = BTreeMap::new();
        let omit = source.recording.info.omit_ns;
        for row in source.recording.datagrams.iter().filter(|row| row.sent_ns >= omit && !row.duplicate) {
            let rows = flows.entry(row.flow).or_default();
            if rows.len() < FIRST {
                rows.push(row);
            }
        }
        let mut layers = Vec::new();
        for (flow, rows) in flows.iter().take(MOST_FLOWS) {
            let (label, ink) = (source.label(*flow), source.ink(*flow));
            let sent = distances(rows, |row| Some(row.sent_ns));
            let arrived = distances(rows, |row| row.arrived_ns);
            layers.push(Layer::shaped(format!("{label} sent"), ink.clone(), Shape::Line(Dash::Dashed), sent));
            layers.push(Layer::shaped(format!("{label} arrived"), ink, Shape::Dots, arrived));
        }
        let longest = flows.values().map(Vec::len).max().unwrap_or(0);
        let x =
            Axis { title: "Datagram".into(), kind: AxisKind::Linear, range: (0.0, longest.max(1) as f64) };
        let figure = Figure::of_values(
            "inter-arrival",
            "Inter-arrival times",
            x,
            "Since the one before",
            &Quantity::Seconds,
            From::Zero,
            layers,
            vec![],
        )?;
        Some(figure.with_note(format!(
            "The first {longest} datagrams of the measurement window. Many at zero and a few far up are bursts: what \
             moderated interrupts and polling make of an even stream."
        )))
    }
}

/// Seconds between each datagram that has a time and the one before it, by place.
fn distances(rows: &[&Datagram], time: impl Fn(&Datagram) -> Option<i64>) -> Vec<(f64, f64)> {
    let times: Vec<(usize, i64)> =
        rows.iter().enumerate().filter_map(|(place, row)| Some((place, time(row)?))).collect();
    let pairs = times.windows(2).map(|pair| (pair[1].0 as f64, (pair[1].1 - pair[0].1) as f64 / 1e9));
    pairs.collect()
}
