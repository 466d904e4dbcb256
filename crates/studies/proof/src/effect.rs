//! The effect of a change with its confidence interval, and the verdict.

use serde::Serialize;
use std::fmt;
use wirespeed_statistics::{mean, standard_deviation, student};

/// The change of goodput by a candidate, relative to goodput without it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// Mean of the paired differences; 0.1 is 10 % more goodput.
    pub mean: f64,
    /// Lower end of the confidence interval.
    pub low: f64,
    /// Upper end of the confidence interval.
    pub high: f64,
    /// Pairs of measurements.
    pub pairs: usize,
}

/// The conclusion from an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is above 0, and the mean is at least the smallest gain that counts.
    Helps,
    /// The whole interval is below 0, and the mean is at least as far.
    Harms,
    /// The whole interval is within the smallest gain that counts.
    NoEffect,
    /// The measurements vary too much, or are too few.
    Unknown,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Verdict::Helps => "helps",
            Verdict::Harms => "harms",
            Verdict::NoEffect => "no effect",
            Verdict::Unknown => "inconclusive",
        })
    }
}

/// The effect from pairs `(without, with)` of one round each, with an interval of confidence `1 - alpha` (Student's t of the
/// differences). `None` with fewer than two pairs, or without any goodput to compare with.
pub fn effect(pairs: &[(f64, f64)], alpha: f64) -> Option<Effect> {
    let base =
        mean(&pairs.iter().map(|(without, _)| *without).collect::<Vec<_>>()).filter(|base| *base > 0.0)?;
    let differences: Vec<f64> = pairs.iter().map(|(without, with)| (with - without) / base).collect();
    let (mean, deviation) = (mean(&differences)?, standard_deviation(&differences)?);
    let t = student(1.0 - alpha / 2.0, (pairs.len() - 1) as f64)?;
    let half = t * deviation / (pairs.len() as f64).sqrt();
    Some(Effect { mean, low: mean - half, high: mean + half, pairs: pairs.len() })
}

impl Effect {
    /// The verdict, if a gain or loss smaller than `least` does not count.
    pub fn verdict(&self, least: f64) -> Verdict {
        match () {
            () if self.low > 0.0 && self.mean >= least => Verdict::Helps,
            () if self.high < 0.0 && self.mean <= -least => Verdict::Harms,
            () if self.low > -least && self.high < least => Verdict::NoEffect,
            () => Verdict::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_that_of_a_paired_t_test() {
        // Differences 1, 2, 3 of a base of 10: mean 2, deviation 1, t(0.975, 2) = 4.302653.
        let found = effect(&[(10.0, 11.0), (10.0, 12.0), (10.0, 13.0)], 0.05).unwrap();
        let half = 4.302_653 / 3_f64.sqrt() / 10.0;
        assert!((found.mean - 0.2).abs() < 1e-12);
        assert!(
            (found.low - (0.2 - half)).abs() < 1e-6 && (found.high - (0.2 + half)).abs() < 1e-6,
            "{found:?}"
        );
        assert_eq!(found.verdict(0.02), Verdict::Unknown);
    }

    #[test]
    fn a_common_drift_cancels() {
        let found = effect(&[(10.0, 12.0), (20.0, 22.01), (30.0, 31.99), (40.0, 42.0)], 0.05).unwrap();
        assert_eq!(found.verdict(0.02), Verdict::Helps);
        assert!((found.mean - 0.08).abs() < 0.001);
    }

    #[test]
    fn verdict_follows_from_the_interval() {
        let verdict = |mean, low, high| Effect { mean, low, high, pairs: 5 }.verdict(0.02);
        assert_eq!(verdict(0.1, 0.01, 0.2), Verdict::Helps);
        assert_eq!(verdict(0.01, 0.005, 0.015), Verdict::NoEffect);
        assert_eq!(verdict(-0.1, -0.2, -0.01), Verdict::Harms);
        assert_eq!(verdict(0.0, -0.01, 0.01), Verdict::NoEffect);
        assert_eq!(verdict(0.01, -0.1, 0.12), Verdict::Unknown);
    }

    #[test]
    fn too_few_pairs_have_no_effect_to_show() {
        assert_eq!(effect(&[(1.0, 2.0)], 0.05), None);
        assert_eq!(effect(&[(0.0, 2.0), (0.0, 3.0)], 0.05), None);
    }
}
