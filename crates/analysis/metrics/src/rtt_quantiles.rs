//! The distribution of the smoothed round-trip times within a run, in few values.

use crate::view::View;
use wirespeed_record::FlowSample;

/// Quantiles that stand for the samples of a run.
const QUANTILES: usize = 100;

/// Quantiles of the smoothed round-trip times of all flows in the measurement window, in ns and in order: at most 100, from the
/// least to the largest.
pub fn rtt_quantiles(view: &View) -> Vec<f64> {
    quantiles(&smoothed_rtts(view))
}

/// All of these round-trip times, in ns and in order.
pub fn smoothed_rtts(view: &View) -> Vec<f64> {
    let column = view.flow_samples.column(FlowSample::rtt_ns);
    let times = view.flow_samples.times();
    let window = view.from_ns..=view.to_ns;
    let samples = view.flows.iter().flat_map(|flow| flow.samples.clone());
    let inside = samples.filter(|index| window.contains(&times[*index]));
    let mut values: Vec<f64> = inside.map(|index| column[index]).filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// At most 100 values with about the distribution of `sorted`.
pub fn quantiles(sorted: &[f64]) -> Vec<f64> {
    if sorted.len() <= QUANTILES {
        return sorted.to_vec();
    }
    let place = |index: usize| index * (sorted.len() - 1) / (QUANTILES - 1);
    (0..QUANTILES).map(|index| sorted[place(index)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_keep_the_ends_and_the_middle() {
        let sorted: Vec<f64> = (0..=9999).map(f64::from).collect();
        let kept = quantiles(&sorted);
        assert_eq!((kept.len(), kept[0], kept[99]), (100, 0.0, 9999.0));
        assert!((kept[50] - 5050.0).abs() < 2.0, "{}", kept[50]);
        assert_eq!(quantiles(&[1.0, 2.0]), [1.0, 2.0]);
    }
}
