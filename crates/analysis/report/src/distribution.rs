//! Distributions within a run: sampled round-trip times and flow completion times.

use crate::source::Source;
use crate::thin::Point;
use wirespeed_record::{EventKind, FlowSample};

/// The values of a distribution, in words.
pub(crate) struct Distributed {
    pub what: &'static str,
    pub share_of: &'static str,
    /// How a run without any is described.
    pub missing: &'static str,
}

pub(crate) const RTT_SAMPLES: Distributed =
    Distributed { what: "Smoothed RTT", share_of: "samples", missing: "samples of the round-trip time" };

pub(crate) const FLOW_TIMES: Distributed =
    Distributed { what: "Flow completion time", share_of: "flows", missing: "flows that completed" };

/// Quantiles that stand for the samples of a run.
const QUANTILES: usize = 100;

/// Smoothed round-trip times of all flows in the measurement window, in ns and in order.
pub(crate) fn rtts(source: &Source) -> Vec<f64> {
    let column = source.view.flow_samples.column(FlowSample::rtt_ns);
    let times = source.view.flow_samples.times();
    let window = source.view.from_ns..=source.view.to_ns;
    let samples = source.flows().flat_map(|(_, _, samples)| samples.clone());
    let inside = samples.filter(|index| window.contains(&times[*index]));
    let mut values: Vec<f64> = inside.map(|index| column[index]).filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A few values with about the distribution of `sorted`.
pub(crate) fn quantiles(sorted: &[f64]) -> Vec<f64> {
    if sorted.len() <= QUANTILES {
        return sorted.to_vec();
    }
    let place = |index: usize| index * (sorted.len() - 1) / (QUANTILES - 1);
    (0..QUANTILES).map(|index| sorted[place(index)]).collect()
}

/// The times from the start of a flow until its receiver had read everything, in ns and in order; of flows that completed.
pub(crate) fn flow_times(source: &Source) -> Vec<f64> {
    let info = &source.recording.info;
    let ends = source.recording.events.iter().filter(|event| event.kind == EventKind::FlowEnd);
    let times = ends.filter_map(|event| {
        let start = info.flows.get(event.flow? as usize)?.start_ns;
        // A flow that the run's end cut off did not complete.
        (event.t_ns < info.duration_ns).then_some((event.t_ns - start) as f64)
    });
    let mut times: Vec<f64> = times.filter(|time| *time > 0.0).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The corners of a cumulative distribution, from 0 to 1.
pub(crate) fn steps(mut values: Vec<f64>) -> Vec<Point> {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let mut corners = Vec::new();
    let mut below = 0.0;
    for (index, value) in values.iter().enumerate() {
        let is_last = values.get(index + 1).is_none_or(|next| next != value);
        if is_last {
            let share = (index + 1) as f64 / n;
            corners.extend([(*value, below), (*value, share)]);
            below = share;
        }
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_rises_at_each_value_and_ends_at_one() {
        let corners = steps(vec![3.0, 1.0, 1.0, 2.0]);
        assert_eq!(corners, [(1.0, 0.0), (1.0, 0.5), (2.0, 0.5), (2.0, 0.75), (3.0, 0.75), (3.0, 1.0)]);
        assert!(steps(Vec::new()).is_empty());
    }

    #[test]
    fn quantiles_keep_the_ends_and_the_middle() {
        let sorted: Vec<f64> = (0..=9999).map(f64::from).collect();
        let kept = quantiles(&sorted);
        assert_eq!((kept.len(), kept[0], kept[99]), (100, 0.0, 9999.0));
        assert!((kept[50] - 5050.0).abs() < 2.0, "{}", kept[50]);
        assert_eq!(quantiles(&[1.0, 2.0]), [1.0, 2.0]);
    }
}
