//! The metrics of groups of flows, under the names that the registry has for the whole run. A definition holds with "all flows"
//! read as those of the group; a rate of the group is over the whole measurement window.

use crate::completion::{mean_of, quantile_of, slowdowns, times, unfinished};
use crate::parts::of_parts;
use crate::view::{ANY_GAP, FlowSeries, View};
use crate::{delay, exchanges, fairness, rates, retransmission, udp};
use std::collections::BTreeMap;
use wirespeed_record::{FlowGroup, StoreError};

/// A group and those of its flows that have samples.
struct Members<'v, 'a> {
    group: &'v FlowGroup,
    series: Vec<&'v FlowSeries<'a>>,
}

type Compute = fn(&View, &Members) -> Option<f64>;

const ROWS: &[(&str, Compute)] = &[
    ("goodput_bps", |view, of| fairness::goodput(view, &of.group.flows)),
    ("throughput_bps", |view, of| {
        let frames = |flow: &&FlowSeries| flow.frames.growth(view.from_ns, view.to_ns, ANY_GAP);
        let bytes = of.series.iter().filter(|flow| flow.samples.len() >= 2).filter_map(frames);
        Some(bytes.reduce(|a, b| a + b)? * 8.0 / view.seconds()?)
    }),
    ("flow_goodput_mean_bps", |view, of| {
        let rates = of.series.iter().filter_map(|flow| rates::flow_goodput(view, flow));
        wirespeed_statistics::mean(&rates.collect::<Vec<_>>())
    }),
    ("goodput_share", |view, of| fairness::share(view, &of.group.flows)),
    ("jain_index", |view, of| {
        let rates = of.series.iter().filter_map(|flow| rates::flow_throughput(view, flow));
        crate::statistics::jain(&rates.collect::<Vec<_>>())
    }),
    ("rtt_median_ns", |view, of| delay::rtt_of(view, &of.series, 0.5)),
    ("rtt_q95_ns", |view, of| delay::rtt_of(view, &of.series, 0.95)),
    ("retransmissions_packets", |view, of| sum(view, of, retransmission::flow_retransmissions)),
    ("retransmission_ratio", |view, of| retransmission::ratio(view, of.series.iter().copied())),
    ("fct_mean_ns", |view, of| mean_of(&times(view, &of.group.flows))),
    ("fct_median_ns", |view, of| quantile_of(&times(view, &of.group.flows), 0.5)),
    ("fct_q95_ns", |view, of| quantile_of(&times(view, &of.group.flows), 0.95)),
    ("fct_q99_ns", |view, of| quantile_of(&times(view, &of.group.flows), 0.99)),
    ("slowdown_median", |view, of| quantile_of(&slowdowns(view, &of.group.flows), 0.5)),
    ("slowdown_q99", |view, of| quantile_of(&slowdowns(view, &of.group.flows), 0.99)),
    ("unfinished_flows", |view, of| unfinished(view, &of.group.flows)),
    ("data_set_time_ns", |view, of| exchanges::data_set_time(view, &of.group.flows)),
    ("data_set_goodput_bps", |view, of| exchanges::data_set_goodput(view, &of.group.flows)),
    ("file_time_median_ns", |view, of| quantile_of(&exchanges::file_times(view, &of.group.flows), 0.5)),
    ("file_time_q99_ns", |view, of| quantile_of(&exchanges::file_times(view, &of.group.flows), 0.99)),
    ("straggler_fraction", |view, of| exchanges::straggler_fraction(view, &of.group.flows)),
    ("straggler_ratio", |view, of| exchanges::straggler_ratio(view, &of.group.flows)),
    ("unfinished_files", |view, of| exchanges::unfinished_files(view, &of.group.flows)),
    ("response_time_median_ns", |view, of| exchanges::response_time(view, &of.group.flows, 0.5)),
    ("response_time_q99_ns", |view, of| exchanges::response_time(view, &of.group.flows, 0.99)),
    ("response_first_byte_median_ns", |view, of| exchanges::first_byte_time(view, &of.group.flows)),
    ("responses_per_s", |view, of| exchanges::response_rate(view, &of.group.flows)),
    ("udp_lost_packets", |view, of| udp::lost(view, &of.group.flows)),
    ("udp_loss_fraction", |view, of| udp::loss_fraction(view, &of.group.flows)),
];

/// Names of the metrics that [`evaluate_groups`] can give; each is in the registry.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

/// A group of a run with its metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupValues {
    /// The group.
    pub group: FlowGroup,
    /// Every metric that the recording gives for it.
    pub values: BTreeMap<&'static str, f64>,
}

/// The groups of the run, in the order of their first flows, each with its metrics.
///
/// # Errors
/// If samples are on disk and cannot be read.
pub fn evaluate_groups(view: &View) -> Result<Vec<GroupValues>, StoreError> {
    let groups = view.recording.info.flow_groups();
    let members = groups.iter().map(|group| Members {
        group,
        series: group.flows.iter().filter_map(|number| view.flow(*number)).collect(),
    });
    let members: Vec<Members> = members.collect();
    let values = of_parts(ROWS, &members, |compute, of| compute(view, of));
    drop(members);
    view.intact()?;
    Ok(groups.into_iter().zip(values).map(|(group, values)| GroupValues { group, values }).collect())
}

fn sum(view: &View, of: &Members, value: fn(&View, &FlowSeries) -> Option<f64>) -> Option<f64> {
    of.series.iter().filter_map(|flow| value(view, flow)).reduce(|a, b| a + b)
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
