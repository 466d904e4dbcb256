//! Arrival and loss of UDP datagrams.

use super::Draw;
use crate::figure::{Dash, Figure, From, Ink, Layer, Shape};
use crate::flow_lines::is_crowd;
use crate::number::{Quantity, whole};
use crate::source::Source;
use std::collections::BTreeMap;

pub(crate) struct Datagrams;

/// More intervals than this cannot be told apart.
const MOST_BINS: i64 = 300;

#[derive(Default)]
struct Flow {
    sent: BTreeMap<i64, u64>,
    arrived: BTreeMap<i64, u64>,
    lost: BTreeMap<i64, u64>,
}

impl Draw for Datagrams {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let bin = (source.duration_ns() / MOST_BINS / source.bin_ns).max(1) * source.bin_ns;
        let mut flows: BTreeMap<u32, Flow> = BTreeMap::new();
        let is_crowd = is_crowd(source);
        let (mut reordered, mut duplicates) = (0, 0);
        for datagram in &source.recording.datagrams {
            // Of a crowd all together.
            let flow = flows.entry(if is_crowd { 0 } else { datagram.flow }).or_default();
            let sent = datagram.sent_ns.div_euclid(bin);
            if datagram.duplicate {
                duplicates += 1;
                continue;
            }
            reordered += i64::from(datagram.reordered_by > 0);
            *flow.sent.entry(sent).or_default() += 1;
            match datagram.arrived_ns {
                Some(t) => *flow.arrived.entry(t.div_euclid(bin)).or_default() += 1,
                None => *flow.lost.entry(sent).or_default() += 1,
            }
        }
        let points = |bins: BTreeMap<i64, u64>| -> Vec<(f64, f64)> {
            bins.into_iter().map(|(i, n)| (source.time.at(i * bin + bin / 2), n as f64)).collect()
        };
        let mut layers = Vec::new();
        for (place, (number, flow)) in flows.into_iter().enumerate() {
            let label = if is_crowd { "all flows".into() } else { source.label(number) };
            let ink = source.ink(number);
            let lost: u64 = flow.lost.values().sum();
            let name = format!("{label} lost: {}", whole(lost as i64));
            layers.push(Layer::shaped(
                name,
                Ink::Place(place + 1),
                Shape::Bars { width: source.time.at(bin) },
                points(flow.lost),
            ));
            layers.push(Layer::line(format!("{label} sent"), Ink::Muted, Dash::Dashed, points(flow.sent)));
            layers.push(Layer::line(format!("{label} arrived"), ink, Dash::Solid, points(flow.arrived)));
        }
        let text = Quantity::Seconds.text(bin as f64 / 1e9);
        let figure = Figure::over_time(
            "datagrams",
            "Datagrams",
            &format!("Per {text}"),
            &Quantity::Plain("datagrams".into()),
            From::Zero,
            &source.time,
            layers,
            vec![],
        )?;
        Some(figure.with_note(format!(
            "Lost ones stand at the time they were sent. {} arrived out of order, {} twice.",
            whole(reordered),
            whole(duplicates)
        )))
    }
}
