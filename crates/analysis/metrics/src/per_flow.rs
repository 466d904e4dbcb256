//! The metrics that make sense for one flow, under the names that the registry has for the whole run. Rates are
//! over the flow's own time in the measurement window; otherwise a definition holds with "all flows" read as this one.

use crate::parts::of_parts;
use crate::view::{FlowSeries, View};
use crate::{
    completion, convergence, delay, exchanges, fairness, limits, marks, rates, retransmission, udp,
    window_cycles,
};
use std::collections::BTreeMap;
use wirespeed_record::StoreError;

type Compute = fn(&View, &FlowSeries) -> Option<f64>;

const ROWS: &[(&str, Compute)] = &[
    ("goodput_bps", rates::flow_goodput),
    ("throughput_bps", rates::flow_throughput),
    ("goodput_share", fairness::flow_share),
    ("convergence_time_ns", convergence::flow_convergence_time),
    ("convergence_spread_bps", convergence::flow_convergence_spread),
    ("rtt_min_ns", |view, flow| delay::flow_rtt(view, flow, 0.0)),
    ("rtt_median_ns", |view, flow| delay::flow_rtt(view, flow, 0.5)),
    ("rtt_mean_ns", delay::flow_rtt_mean),
    ("rtt_q95_ns", |view, flow| delay::flow_rtt(view, flow, 0.95)),
    ("rtt_max_ns", |view, flow| delay::flow_rtt(view, flow, 1.0)),
    ("retransmissions_packets", retransmission::flow_retransmissions),
    ("retransmissions_per_s", retransmission::flow_retransmissions_per_second),
    ("retransmission_ratio", retransmission::flow_ratio),
    ("retransmission_events_per_s", retransmission::flow_events_per_second),
    ("fct_median_ns", completion::flow_time),
    ("slowdown_median", completion::flow_slowdown),
    ("file_time_median_ns", exchanges::flow_file_time),
    ("response_time_median_ns", |view, flow| exchanges::flow_response_time(view, flow, 0.5)),
    ("response_time_q99_ns", |view, flow| exchanges::flow_response_time(view, flow, 0.99)),
    ("responses_per_s", exchanges::flow_response_rate),
    ("ce_marked_packets", marks::flow_marked),
    ("ce_marked_fraction", marks::flow_marked_fraction),
    ("rto_count", retransmission::flow_timeouts),
    ("spurious_retransmissions_packets", retransmission::flow_spurious),
    ("cwnd_mean_bytes", limits::flow_cwnd),
    ("slow_start_exit_ns", limits::flow_slow_start_exit),
    ("rwnd_limited_ratio", limits::flow_rwnd_limited),
    ("sndbuf_limited_ratio", limits::flow_sndbuf_limited),
    ("window_cycles", window_cycles::window_cycles),
    ("udp_lost_packets", udp::flow_lost),
    ("udp_loss_fraction", udp::flow_loss_fraction),
    ("udp_reordered_packets", udp::flow_reordered),
    ("udp_duplicate_packets", udp::flow_duplicates),
    ("interarrival_ns", udp::flow_interarrival),
];

/// Names of the metrics that [`evaluate_flow`] can give; each is in the registry.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

/// Every metric that the recording gives for the flow of that number; empty if there is no such flow.
///
/// # Errors
/// If samples are on disk and cannot be read.
pub fn evaluate_flow(view: &View, flow: u32) -> Result<BTreeMap<&'static str, f64>, StoreError> {
    Ok(evaluate_flows(view, [flow])?.remove(0))
}

/// The same for many flows, in their order.
///
/// # Errors
/// If samples are on disk and cannot be read.
pub fn evaluate_flows(
    view: &View,
    flows: impl IntoIterator<Item = u32>,
) -> Result<Vec<BTreeMap<&'static str, f64>>, StoreError> {
    let series: Vec<_> = flows.into_iter().map(|flow| view.flow(flow)).collect();
    let values = of_parts(ROWS, &series, |compute, flow| flow.and_then(|flow| compute(view, flow)));
    view.intact()?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_the_registry() {
        for name in names() {
            assert!(crate::find(name).is_some(), "{name} is not in the registry");
        }
    }
}
