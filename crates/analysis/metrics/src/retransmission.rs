//! What TCP sent again, as the sender counts it.

use crate::SHORT_BIN_NS;
use crate::registry::{Better, Metric};
use crate::view::{FlowSeries, View};
use std::collections::BTreeSet;
use wirespeed_record::FlowSample;

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "retransmissions_packets",
        unit: "packets",
        definition: "Packets that TCP retransmitted in the measurement window (growth of retrans_packets), summed \
                     over flows.",
        reference: "tcpi_total_retrans; RFC 4898, tcpEStatsPerfSegsRetrans",
        better: Better::Lower,
        headline: true,
        compute: |view| view.sum(|f| flow_retransmissions(view, f)),
    },
    Metric {
        name: "retransmissions_per_s",
        unit: "1/s",
        definition: "retransmissions_packets over the length of the measurement window.",
        reference: "kit-2019, figure 11",
        better: Better::Lower,
        headline: false,
        compute: |view| Some(view.sum(|f| flow_retransmissions(view, f))? / view.seconds()?),
    },
    Metric {
        name: "retransmission_ratio",
        unit: "",
        definition: "Packets that TCP retransmitted over the data packets that it sent, these included (growth of \
                     retrans_packets over growth of data_packets_out in the measurement window, both summed over TCP \
                     flows). Absent if nothing was sent.",
        reference: "tcpi_total_retrans and tcpi_data_segs_out",
        better: Better::Lower,
        headline: false,
        compute: |view| ratio(view, view.flows.iter()),
    },
    Metric {
        name: "retransmission_events_per_s",
        unit: "1/s",
        definition: "Retransmission events over the length of the measurement window. What one flow sends again \
                     within the same 100 ms (bins from the start of the window on) is one event, placed where a \
                     sample first shows it; summed over flows.",
        reference: "kit-2019, retransmission events",
        better: Better::Lower,
        headline: false,
        compute: |view| Some(view.sum(|f| flow_events(view, f))? / view.seconds()?),
    },
    Metric {
        name: "rto_count",
        unit: "",
        definition: "Retransmission timeouts in the measurement window (growth of rto_count), summed over flows.",
        reference: "RFC 6298, section 5; tcpi_total_rto",
        better: Better::Lower,
        headline: false,
        compute: |view| view.sum(|f| flow_timeouts(view, f)),
    },
    Metric {
        name: "spurious_retransmissions_packets",
        unit: "packets",
        definition: "Packets that receivers reported as arrived twice in the measurement window (growth of \
                     dsack_dups), summed over flows: retransmitted needlessly, or duplicated on the way.",
        reference: "RFC 2883; tcpi_dsack_dups",
        better: Better::Lower,
        headline: false,
        compute: |view| view.sum(|f| flow_spurious(view, f)),
    },
];

pub(crate) fn flow_retransmissions(view: &View, flow: &FlowSeries) -> Option<f64> {
    flow.count(view, FlowSample::retrans_packets)
}

/// Retransmissions over data packets of the flows of which both are known.
pub(crate) fn ratio<'v, 'a: 'v>(view: &View, flows: impl Iterator<Item = &'v FlowSeries<'a>>) -> Option<f64> {
    let counts = flows.filter_map(|flow| {
        Some((flow_retransmissions(view, flow)?, flow.count(view, FlowSample::data_packets_out)?))
    });
    let (retransmitted, sent) = counts.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    (sent > 0.0).then(|| retransmitted / sent)
}

pub(crate) fn flow_ratio(view: &View, flow: &FlowSeries) -> Option<f64> {
    ratio(view, std::iter::once(flow))
}

pub(crate) fn flow_retransmissions_per_second(view: &View, flow: &FlowSeries) -> Option<f64> {
    Some(flow_retransmissions(view, flow)? / flow.own_seconds()?)
}

pub(crate) fn flow_events_per_second(view: &View, flow: &FlowSeries) -> Option<f64> {
    Some(flow_events(view, flow)? / flow.own_seconds()?)
}

pub(crate) fn flow_timeouts(view: &View, flow: &FlowSeries) -> Option<f64> {
    flow.count(view, FlowSample::rto_count)
}

pub(crate) fn flow_spurious(view: &View, flow: &FlowSeries) -> Option<f64> {
    flow.count(view, FlowSample::dsack_dups)
}

fn flow_events(view: &View, flow: &FlowSeries) -> Option<f64> {
    flow_retransmissions(view, flow)?;
    let counter = flow.counter(view, FlowSample::retrans_packets);
    // A reading at t shows what happened up to t, so a reading on a border belongs to the bin before it.
    let bin = |t: i64| (t - view.from_ns - 1) / SHORT_BIN_NS;
    Some(counter.increases(view.from_ns, view.to_ns).map(bin).collect::<BTreeSet<_>>().len() as f64)
}
