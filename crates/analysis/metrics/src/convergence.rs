//! How fast a new flow finds its rate, and how well it keeps it.

use crate::registry::{Better, Metric};
use crate::view::{FlowSeries, View};
use crate::{SHORT_BIN_NS, rates, series};
use wirespeed_statistics::mean;

/// Share of its long-term mean that a flow has to reach (ulm-2016).
const EPSILON: f64 = 0.8;

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "convergence_time_ns",
        unit: "ns",
        definition: "Time from the start of the newest flow until its short-term average throughput u first \
                     reaches 0.8 of its long-term mean (throughput over its own time in the measurement window). \
                     u(t+d) = 0.9 u(t) + 0.1 bytes/d with d = 100 ms and u = 0 at its start, so the least is d. \
                     Of several flows that start last together, the slowest; absent if one of them never gets there.",
        reference: "ulm-2016, convergence time with eps 0.8 and lambda 0.1; d is ours",
        better: Better::Lower,
        headline: false,
        compute: |view| {
            let times: Option<Vec<i64>> = newest(view).map(|f| Some(converge(view, f)?.time_ns)).collect();
            times?.into_iter().max().map(|t| t as f64)
        },
    },
    Metric {
        name: "convergence_spread_bps",
        unit: "bit/s",
        definition: "Mean distance of the newest flow's short-term average throughput from its long-term mean, \
                     from convergence_time_ns on. Of several flows that start last together, the mean of theirs.",
        reference: "ulm-2016, spread",
        better: Better::Lower,
        headline: false,
        compute: |view| {
            let spreads: Option<Vec<f64>> =
                newest(view).map(|f| Some(converge(view, f)?.spread_bps)).collect();
            mean(&spreads?)
        },
    },
];

struct Convergence {
    time_ns: i64,
    spread_bps: f64,
}

/// The flows that start last.
fn newest<'v, 'a>(view: &'v View<'a>) -> impl Iterator<Item = &'v FlowSeries<'a>> {
    let last = view.flows.iter().map(|f| f.start_ns).max();
    view.flows.iter().filter(move |f| Some(f.start_ns) == last)
}

fn converge(view: &View, flow: &FlowSeries) -> Option<Convergence> {
    let long_term = rates::flow_throughput(view, flow).filter(|r| *r > 0.0)?;
    let averages = series::short_term_average(view, flow.number, SHORT_BIN_NS);
    let reached = averages.iter().position(|(_, u)| *u >= EPSILON * long_term)?;
    let distances: Vec<f64> = averages[reached..].iter().map(|(_, u)| (u - long_term).abs()).collect();
    Some(Convergence { time_ns: averages[reached].0 - flow.start_ns, spread_bps: mean(&distances)? })
}

pub(crate) fn flow_convergence_time(view: &View, flow: &FlowSeries) -> Option<f64> {
    Some(converge(view, flow)?.time_ns as f64)
}

pub(crate) fn flow_convergence_spread(view: &View, flow: &FlowSeries) -> Option<f64> {
    Some(converge(view, flow)?.spread_bps)
}
