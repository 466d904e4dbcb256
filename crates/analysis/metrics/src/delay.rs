//! Round-trip times, and the queue before the bottleneck.

use crate::capacity::Capacity;
use crate::link::bottleneck;
use crate::registry::{Better, Metric};
use crate::statistics::{weighted_mean, weighted_quantile};
use crate::view::{FlowSeries, View};
use wirespeed_record::{FlowSample, QueueSample};

macro_rules! rtt_row {
    ($name:literal, $what:literal, $headline:literal, $of:expr) => {
        Metric {
            name: $name,
            unit: "ns",
            definition: concat!(
                $what,
                " of the smoothed round-trip time (rtt_ns, the sender's srtt) over the samples of all flows in the \
                 measurement window, weighted by the time until the next sample, at most one step of the grid."
            ),
            reference: "RFC 6298, section 2 (SRTT); tcpi_rtt",
            better: Better::Lower,
            headline: $headline,
            compute: |view| {
                let samples: Vec<_> = view.flows.iter().flat_map(|f| rtts(view, f)).collect();
                $of(samples)
            },
        }
    };
}

pub(crate) const ROWS: &[Metric] = &[
    rtt_row!("rtt_min_ns", "Least", false, |s| weighted_quantile(s, 0.0)),
    rtt_row!("rtt_median_ns", "Median", true, |s| weighted_quantile(s, 0.5)),
    rtt_row!("rtt_mean_ns", "Mean", false, |s: Vec<_>| weighted_mean(&s)),
    rtt_row!("rtt_q95_ns", "95 % quantile", false, |s| weighted_quantile(s, 0.95)),
    rtt_row!("rtt_max_ns", "Largest", false, |s| weighted_quantile(s, 1.0)),
    Metric {
        name: "queue_delay_mean_ns",
        unit: "ns",
        definition: "Mean over the measurement window of the time that the backlog of the bottleneck's forward \
                     queue takes to leave at the link's rate: backlog_bytes x 8 / rate (of a link that changes, at each rate that it has until then), weighted by the time until \
                     the next sample. The bottleneck is the link of link_utilisation.",
        reference: "RFC 6349 (buffer delay), here read from the queue itself",
        better: Better::Lower,
        headline: false,
        compute: |view| weighted_mean(&queue_delays(view)?),
    },
    Metric {
        name: "queue_delay_q95_ns",
        unit: "ns",
        definition: "95 % quantile over time of what queue_delay_mean_ns is the mean of.",
        reference: "RFC 6349 (buffer delay), here read from the queue itself",
        better: Better::Lower,
        headline: false,
        compute: |view| weighted_quantile(queue_delays(view)?, 0.95),
    },
];

fn rtts(view: &View, flow: &FlowSeries) -> Vec<(f64, f64)> {
    flow.states(view, FlowSample::rtt_ns)
}

fn queue_delays(view: &View) -> Option<Vec<(f64, f64)>> {
    let bottleneck = bottleneck(view)?;
    let capacity = Capacity::of(bottleneck.link);
    let delay = |t_ns, backlog: f64| capacity.time_ns(t_ns, backlog * 8.0).unwrap_or(f64::NAN);
    Some(bottleneck.queue.states_of(view, QueueSample::backlog_bytes, delay))
}

/// Quantile of the round-trip times of several flows, ns.
pub(crate) fn rtt_of(view: &View, flows: &[&FlowSeries], q: f64) -> Option<f64> {
    weighted_quantile(flows.iter().flat_map(|flow| rtts(view, flow)).collect(), q)
}

/// Quantile of one flow's round-trip time, ns.
pub(crate) fn flow_rtt(view: &View, flow: &FlowSeries, q: f64) -> Option<f64> {
    weighted_quantile(rtts(view, flow), q)
}

/// Mean of one flow's round-trip time, ns.
pub(crate) fn flow_rtt_mean(view: &View, flow: &FlowSeries) -> Option<f64> {
    weighted_mean(&rtts(view, flow))
}
