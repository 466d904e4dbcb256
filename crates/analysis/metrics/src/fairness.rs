//! How flows share.

use crate::registry::{Better, Metric};
use crate::statistics::jain;
use crate::view::{ANY_GAP, FlowSeries, View};
use crate::{SHORT_BIN_NS, completion, rates, series};
use wirespeed_record::{FlowClass, FlowInfo, Transport};
use wirespeed_statistics::mean;

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "jain_index",
        unit: "",
        definition: "(sum x)^2 / (n sum x^2) with x the throughput of each flow over its own time in the \
                     measurement window (a flow that starts later counts from its start). 1: all alike; 1/n: one \
                     has it all. Of TCP and UDP together, the flows of TCP count; of TCP flows with and without a size, \
                     those without. Absent with fewer than two flows.",
        reference: "Jain, Chiu and Hawe 1984, DEC-TR-301; ulm-2016, fairness",
        better: Better::Higher,
        headline: true,
        compute: |view| jain(&own_rates(view, rates::flow_throughput)),
    },
    Metric {
        name: "jain_index_mean",
        unit: "",
        definition: "Mean over time of Jain's index in 100 ms bins, in each over the throughput of the flows that \
                     live through all of it. The flows of jain_index count. Low where flows take turns though the whole run is fair.",
        reference: "Jain, Chiu and Hawe 1984, DEC-TR-301, over time",
        better: Better::Higher,
        headline: false,
        compute: |view| {
            let over_time = series::jain_over(view, view.from_ns, view.to_ns, SHORT_BIN_NS);
            mean(&over_time.into_iter().map(|(_, index)| index).collect::<Vec<_>>())
        },
    },
    Metric {
        name: "goodput_difference_bps",
        unit: "bit/s",
        definition: "Largest less least goodput of the flows, each over its own time in the measurement window. \
                     The flows of jain_index count. Absent with fewer than two flows.",
        reference: "ulm-2016, figure 10",
        better: Better::Lower,
        headline: false,
        compute: |view| {
            let rates = own_rates(view, rates::flow_goodput);
            let (least, largest) =
                (rates.iter().copied().reduce(f64::min)?, rates.iter().copied().reduce(f64::max)?);
            (rates.len() >= 2).then_some(largest - least)
        },
    },
    Metric {
        name: "flow_goodput_mean_bps",
        unit: "bit/s",
        definition: "Mean over flows of the goodput of each over its own time in the measurement window. The flows of \
                     jain_index count.",
        reference: "RFC 2647 (goodput), flow by flow",
        better: Better::Higher,
        headline: false,
        compute: |view| mean(&own_rates(view, rates::flow_goodput)),
    },
    Metric {
        name: "goodput_share",
        unit: "",
        definition: "Payload of a flow, or of a group of flows, over that of all TCP flows of the run, in the measurement \
                     window. Absent for UDP, whose rate the scenario decides. A run has none.",
        reference: "wirespeed; the shares of all groups add up to 1",
        better: Better::Neither,
        headline: false,
        compute: |_| None,
    },
];

/// Payload that flows delivered in the measurement window, in bytes; `None` if that is known of none.
fn payload(view: &View, flows: impl Iterator<Item = u32>) -> Option<f64> {
    let of_flow = |number: u32| {
        let series = view.flow(number).filter(|flow| flow.samples.len() >= 2);
        let sampled = series.and_then(|flow| flow.payload.growth(view.from_ns, view.to_ns, ANY_GAP));
        // A flow may come and go between two samples.
        sampled.or_else(|| completion::payload_within(view, number))
    };
    flows.filter_map(of_flow).reduce(|a, b| a + b)
}

/// Goodput of flows over the whole measurement window, bit/s.
pub(crate) fn goodput(view: &View, flows: &[u32]) -> Option<f64> {
    Some(payload(view, flows.iter().copied())? * 8.0 / view.seconds()?)
}

/// The part of the payload of all TCP flows that these have; `None` if one of them is not a TCP flow.
pub(crate) fn share(view: &View, flows: &[u32]) -> Option<f64> {
    let known = &view.recording.info.flows;
    let is_tcp = |number: &u32| {
        // The last leg of a flow delivers the same bytes as the legs before it.
        let counts = |info: &FlowInfo| info.kind == Transport::Tcp && info.class() != FlowClass::Leg;
        known.get(*number as usize).is_some_and(counts)
    };
    // The same for thousands of flows.
    let total = view.tcp_payload.get_or_init(|| payload(view, (0..known.len() as u32).filter(is_tcp)));
    let total = total.filter(|total| *total > 0.0)?;
    flows.iter().all(is_tcp).then(|| payload(view, flows.iter().copied()).unwrap_or(0.0) / total)
}

/// The share of one flow.
pub(crate) fn flow_share(view: &View, flow: &FlowSeries) -> Option<f64> {
    share(view, &[flow.number])
}

fn own_rates(view: &View, rate: fn(&View, &FlowSeries) -> Option<f64>) -> Vec<f64> {
    view.sharing().filter_map(|f| rate(view, f)).collect()
}
