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
        definition: "Packets that TCP sent again in the measurement window (growth of retrans_packets), summed \
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
                     dsack_dups), summed over flows: sent again for nothing, or duplicated on the way.",
        reference: "RFC 2883; tcpi_dsack_dups",
        better: Better::Lower,
        headline: false,
        compute: |view| view.sum(|f| flow_spurious(view, f)),
    },
];

pub(crate) fn flow_retransmissions(view: &View, flow: &FlowSeries) -> Option<f64> {
    flow.count(view, FlowSample::retrans_packets)
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
