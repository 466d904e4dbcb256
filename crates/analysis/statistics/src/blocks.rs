//! One ratio over several settings, each of which has its own: their geometric mean. Settings are blocks, so that what differs
//! between them cancels in every ratio.

use crate::interval::{Estimate, Interval, Method};
use crate::level::Level;
use crate::paired::{exponential, of_differences};
use crate::sample::{mean, student, two_sided_p};

/// From the scatter of the repeats: it is about these settings, as those of a sweep. The error is that of the mean of the
/// logarithms, with the degrees of freedom after Satterthwaite. `None` of nothing, or if a ratio is not above 0.
pub fn of_repeats(ratios: &[Estimate], level: Level) -> Option<Estimate> {
    if !ratios.iter().all(|ratio| ratio.value > 0.0) {
        return None;
    }
    let value = mean(&ratios.iter().map(|ratio| ratio.value.ln()).collect::<Vec<_>>())?;
    let squares = || ratios.iter().map(|ratio| (ratio.error.powi(2), ratio.freedom));
    let sum: f64 = squares().map(|(square, _)| square).sum();
    let freedom = sum.powi(2) / squares().map(|(square, freedom)| square.powi(2) / freedom).sum::<f64>();
    let error = sum.sqrt() / ratios.len() as f64;
    let half = student(level.upper(), freedom)? * error;
    let (low, high) = (value - half, value + half);
    let interval = Interval { low, high, level, method: Method::RepeatsLogT };
    Some(exponential(Estimate { value, interval, p: two_sided_p(value / error, freedom)?, error, freedom }))
}

/// From the scatter of the settings: it is about settings like these, and needs no repeats. Two settings make it very wide.
/// `None` with fewer than two, if a ratio is not above 0, or if all are equal.
pub fn of_settings(ratios: &[f64], level: Level) -> Option<Estimate> {
    if !ratios.iter().all(|ratio| *ratio > 0.0) {
        return None;
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    of_differences(&logs, level, Method::SettingsLogT).map(exponential)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unpaired;

    #[test]
    fn settings_of_one_ratio_share_their_repeats() {
        let ratio = |scale: f64| {
            let (a, b) = ([1.0, 1.1, 0.9], [2.0, 2.1, 1.9]);
            unpaired::ratio(&a.map(|v| v * scale), &b.map(|v| v * scale), Level::NINETY_FIVE).unwrap()
        };
        let both = of_repeats(&[ratio(1.0), ratio(100.0)], Level::NINETY_FIVE).unwrap();
        let single = ratio(1.0);
        assert!((both.value - single.value).abs() < 1e-12);
        assert!((both.error - single.error / 2f64.sqrt()).abs() < 1e-12);
        assert!((both.freedom - 2.0 * single.freedom).abs() < 1e-9);
    }

    #[test]
    fn too_little_has_no_interval() {
        assert_eq!(of_repeats(&[], Level::NINETY_FIVE), None);
        assert_eq!(of_settings(&[1.5], Level::NINETY_FIVE), None);
        assert_eq!(of_settings(&[1.5, 0.0], Level::NINETY_FIVE), None);
    }
}
