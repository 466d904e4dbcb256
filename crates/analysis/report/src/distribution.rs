//! Distributions within a run: sampled round-trip times and flow completion times.

use crate::thin::Point;
use wirespeed_record::{EventKind, Recording};

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

/// The times from the start of a flow until its receiver had read everything, in ns and in order; of flows that completed.
pub(crate) fn flow_times(recording: &Recording) -> Vec<f64> {
    let info = &recording.info;
    let ends = recording.events.iter().filter(|event| event.kind == EventKind::FlowEnd);
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
}
