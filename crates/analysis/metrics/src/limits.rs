//! Windows: how large they were, and what the sender waited for.

use crate::registry::{Better, Metric};
use crate::statistics::weighted_mean;
use crate::view::{FlowSeries, View};
use wirespeed_record::FlowSample;
use wirespeed_statistics::mean;

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "cwnd_mean_bytes",
        unit: "bytes",
        definition: "Mean over time of the congestion window (cwnd_bytes, each sample weighted by the time until \
                     the next) in the measurement window; the mean over flows.",
        reference: "RFC 5681, section 2; tcpi_snd_cwnd",
        better: Better::Neither,
        headline: false,
        compute: |view| mean(&view.flows.iter().filter_map(|f| flow_cwnd(view, f)).collect::<Vec<_>>()),
    },
    Metric {
        name: "slow_start_exit_ns",
        unit: "ns",
        definition: "Time from the start of the first flow until a sample first shows a finite ssthresh; the \
                     whole run counts, what is omitted from rates included. Resolved to the sampling grid. \
                     Absent if slow start never ended.",
        reference: "RFC 5681, section 3.1; onl-wiki",
        better: Better::Neither,
        headline: false,
        compute: |view| flow_slow_start_exit(view, view.flow(0)?),
    },
    Metric {
        name: "rwnd_limited_ratio",
        unit: "",
        definition: "Share of the time with data to send (busy_ns) that flows stood still for the receive window \
                     (rwnd_limited_ns), in the measurement window, all flows together.",
        reference: "tcpi_rwnd_limited / tcpi_busy_time; RFC 4898, tcpEStatsPerfSndLimTimeRwin",
        better: Better::Lower,
        headline: false,
        compute: |view| ratio(view.sum(|f| rwnd_limited(view, f)), view.sum(|f| busy(view, f))),
    },
    Metric {
        name: "sndbuf_limited_ratio",
        unit: "",
        definition: "Share of the time with data to send (busy_ns) that flows stood still for the send buffer \
                     (sndbuf_limited_ns), in the measurement window, all flows together.",
        reference: "tcpi_sndbuf_limited / tcpi_busy_time; RFC 4898, tcpEStatsPerfSndLimTimeSnd",
        better: Better::Lower,
        headline: false,
        compute: |view| ratio(view.sum(|f| sndbuf_limited(view, f)), view.sum(|f| busy(view, f))),
    },
];

pub(crate) fn flow_cwnd(view: &View, flow: &FlowSeries) -> Option<f64> {
    weighted_mean(&flow.states(view, FlowSample::cwnd_bytes))
}

pub(crate) fn flow_slow_start_exit(view: &View, flow: &FlowSeries) -> Option<f64> {
    let (times, ssthresh) = (view.flow_samples.times(), view.flow_samples.column(FlowSample::ssthresh_bytes));
    let left = flow.samples.clone().find(|i| times[*i] >= flow.start_ns && !ssthresh[*i].is_nan())?;
    Some((times[left] - flow.start_ns) as f64)
}

pub(crate) fn flow_rwnd_limited(view: &View, flow: &FlowSeries) -> Option<f64> {
    ratio(rwnd_limited(view, flow), busy(view, flow))
}

pub(crate) fn flow_sndbuf_limited(view: &View, flow: &FlowSeries) -> Option<f64> {
    ratio(sndbuf_limited(view, flow), busy(view, flow))
}

fn busy(view: &View, flow: &FlowSeries) -> Option<f64> {
    flow.count(view, FlowSample::busy_ns)
}

fn rwnd_limited(view: &View, flow: &FlowSeries) -> Option<f64> {
    flow.count(view, FlowSample::rwnd_limited_ns)
}

fn sndbuf_limited(view: &View, flow: &FlowSeries) -> Option<f64> {
    flow.count(view, FlowSample::sndbuf_limited_ns)
}

fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(part? / whole.filter(|w| *w > 0.0)?)
}
