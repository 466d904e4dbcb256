//! What became of datagrams, one by one.

use crate::registry::{Better, Metric};
use crate::view::{FlowSeries, View};
use std::collections::BTreeMap;
use wirespeed_record::Datagram;
use wirespeed_statistics::quantile;

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "udp_lost_packets",
        unit: "packets",
        definition: "Datagrams sent in the measurement window that never arrived, summed over UDP flows.",
        reference: "RFC 7680 (one-way loss)",
        better: Better::Lower,
        headline: false,
        compute: |view| Some(Fate::of(view.datagrams())?.lost),
    },
    Metric {
        name: "udp_loss_fraction",
        unit: "",
        definition: "udp_lost_packets over the datagrams sent in the measurement window.",
        reference: "RFC 7680 (one-way loss), as a ratio",
        better: Better::Lower,
        headline: false,
        compute: |view| Fate::of(view.datagrams())?.loss_fraction(),
    },
    Metric {
        name: "udp_reordered_packets",
        unit: "packets",
        definition: "Datagrams sent in the measurement window that arrived after one with a higher number of the \
                     same flow, duplicates not counted; summed over UDP flows.",
        reference: "RFC 4737 (reordered singletons)",
        better: Better::Lower,
        headline: false,
        compute: |view| Some(Fate::of(view.datagrams())?.reordered),
    },
    Metric {
        name: "udp_duplicate_packets",
        unit: "packets",
        definition: "Further arrivals of datagrams that had arrived already, of those sent in the measurement \
                     window; summed over UDP flows.",
        reference: "RFC 5560 (one-way duplication)",
        better: Better::Lower,
        headline: false,
        compute: |view| Some(Fate::of(view.datagrams())?.duplicates),
    },
    Metric {
        name: "interarrival_ns",
        unit: "ns",
        definition: "Median time between successive arrivals of one UDP flow's datagrams, of those sent in the \
                     measurement window, over the pairs of all UDP flows. Far below the sending interval where a \
                     host takes packets in batches.",
        reference: "cornell-2010, figure 10",
        better: Better::Neither,
        headline: false,
        compute: |view| interarrival(view.datagrams()),
    },
];

/// Counts over a set of datagrams.
struct Fate {
    sent: f64,
    lost: f64,
    reordered: f64,
    duplicates: f64,
}

impl Fate {
    /// `None` if there are no datagrams.
    fn of<'a>(datagrams: impl Iterator<Item = &'a Datagram>) -> Option<Fate> {
        let mut fate = Fate { sent: 0.0, lost: 0.0, reordered: 0.0, duplicates: 0.0 };
        let mut any = false;
        for datagram in datagrams {
            any = true;
            if datagram.duplicate {
                fate.duplicates += 1.0;
                continue;
            }
            fate.sent += 1.0;
            if datagram.arrived_ns.is_none() {
                fate.lost += 1.0;
            } else if datagram.reordered_by > 0 {
                fate.reordered += 1.0;
            }
        }
        any.then_some(fate)
    }

    fn loss_fraction(&self) -> Option<f64> {
        (self.sent > 0.0).then(|| self.lost / self.sent)
    }
}

fn interarrival<'a>(datagrams: impl Iterator<Item = &'a Datagram>) -> Option<f64> {
    let mut arrivals: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for datagram in datagrams {
        arrivals.entry(datagram.flow).or_default().extend(datagram.arrived_ns);
    }
    let mut gaps = Vec::new();
    for times in arrivals.values_mut() {
        times.sort_unstable();
        gaps.extend(times.windows(2).map(|w| (w[1] - w[0]) as f64));
    }
    quantile(&gaps, 0.5)
}

/// Datagrams of several flows, in order of their numbers, that never arrived.
pub(crate) fn lost(view: &View, flows: &[u32]) -> Option<f64> {
    Some(of_flows(view, flows)?.lost)
}

/// Loss fraction over the datagrams of several flows, in order of their numbers.
pub(crate) fn loss_fraction(view: &View, flows: &[u32]) -> Option<f64> {
    of_flows(view, flows)?.loss_fraction()
}

fn of_flows(view: &View, flows: &[u32]) -> Option<Fate> {
    Fate::of(view.datagrams().filter(|datagram| flows.binary_search(&datagram.flow).is_ok()))
}

fn of_flow<'v>(view: &'v View, flow: &FlowSeries) -> impl Iterator<Item = &'v Datagram> {
    let number = flow.number;
    view.datagrams().filter(move |d| d.flow == number)
}

pub(crate) fn flow_lost(view: &View, flow: &FlowSeries) -> Option<f64> {
    Some(Fate::of(of_flow(view, flow))?.lost)
}

pub(crate) fn flow_loss_fraction(view: &View, flow: &FlowSeries) -> Option<f64> {
    Fate::of(of_flow(view, flow))?.loss_fraction()
}

pub(crate) fn flow_reordered(view: &View, flow: &FlowSeries) -> Option<f64> {
    Some(Fate::of(of_flow(view, flow))?.reordered)
}

pub(crate) fn flow_duplicates(view: &View, flow: &FlowSeries) -> Option<f64> {
    Some(Fate::of(of_flow(view, flow))?.duplicates)
}

pub(crate) fn flow_interarrival(view: &View, flow: &FlowSeries) -> Option<f64> {
    interarrival(of_flow(view, flow))
}
