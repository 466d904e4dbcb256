//! Bootstrap intervals of any statistic: quantiles of its values over resamples.
//!
//! They assume no distribution. Few values have few different resamples, so these intervals are too narrow below about ten
//! values. [`crate::student_t`] is the better interval of a mean there.

use crate::interval::{Interval, Method};
use crate::level::Level;
use crate::random::Random;
use crate::sample::{normal_cdf, normal_quantile, quantile_of_sorted, range};

/// How values are resampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// Number of resamples, at least 1. The ends of an interval have a random error that falls with its square root.
    pub resamples: usize,
    /// Seed of the random indices. The same seed gives the same interval.
    pub seed: u64,
}

impl Default for Resampling {
    /// 9,999 resamples, as in Davison and Hinkley, Bootstrap Methods and their Application (1997), 5.2.
    fn default() -> Self {
        Resampling { resamples: 9_999, seed: 1 }
    }
}

/// The percentile interval (Efron, 1979): quantiles of the resampled statistic. `None` of fewer than two values, or if the
/// statistic is not finite. A point if all values are equal.
pub fn percentile(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    level: Level,
    resampling: Resampling,
) -> Option<Interval> {
    let method = Method::BootstrapPercentile;
    if let Some(point) = degenerate(values, &statistic, level, method)? {
        return Some(point);
    }
    let resampled = resampled(values, &statistic, resampling)?;
    between(&resampled, 1.0 - level.upper(), level.upper(), level, method)
}

/// The interval corrected for bias and acceleration (BCa; Efron, J. Am. Stat. Assoc. 82, 1987), with the acceleration from the
/// jackknife. `None` and points are those of [`percentile`].
///
/// The correction does not exist if all resamples lie on one side of the statistic, or if no omitted value changes it.
/// Its formula also has a pole. The result is then the percentile interval, with that `method`.
pub fn bca(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    level: Level,
    resampling: Resampling,
) -> Option<Interval> {
    if let Some(point) = degenerate(values, &statistic, level, Method::BootstrapBca)? {
        return Some(point);
    }
    let resampled = resampled(values, &statistic, resampling)?;
    let corrected = Correction::of(values, &statistic, &resampled).and_then(|correction| {
        let [low, high] = [1.0 - level.upper(), level.upper()].map(|q| correction.quantile(q));
        between(&resampled, low?, high?, level, Method::BootstrapBca)
    });
    corrected.or_else(|| {
        between(&resampled, 1.0 - level.upper(), level.upper(), level, Method::BootstrapPercentile)
    })
}

/// `None` if there is no interval, `Some(Some(point))` if all values are equal.
fn degenerate(
    values: &[f64],
    statistic: &impl Fn(&[f64]) -> f64,
    level: Level,
    method: Method,
) -> Option<Option<Interval>> {
    let (least, largest) = range(values).filter(|_| values.len() >= 2)?;
    if !values.iter().all(|v| v.is_finite()) {
        return None;
    }
    let value = statistic(values);
    (value.is_finite())
        .then(|| (least == largest).then_some(Interval { low: value, high: value, level, method }))
}

/// The statistic of every resample, in ascending order; `None` if one is not finite.
fn resampled(values: &[f64], statistic: &impl Fn(&[f64]) -> f64, resampling: Resampling) -> Option<Vec<f64>> {
    let mut random = Random::new(resampling.seed);
    let mut sample = vec![0.0; values.len()];
    let mut all = Vec::with_capacity(resampling.resamples);
    for _ in 0..resampling.resamples.max(1) {
        sample.iter_mut().for_each(|v| *v = values[random.index(values.len())]);
        all.push(statistic(&sample));
    }
    all.sort_by(f64::total_cmp);
    all.iter().all(|v| v.is_finite()).then_some(all)
}

fn between(sorted: &[f64], low: f64, high: f64, level: Level, method: Method) -> Option<Interval> {
    Some(Interval {
        low: quantile_of_sorted(sorted, low)?,
        high: quantile_of_sorted(sorted, high)?,
        level,
        method,
    })
}

/// Bias and acceleration.
struct Correction {
    bias: f64,
    acceleration: f64,
}

impl Correction {
    fn of(values: &[f64], statistic: &impl Fn(&[f64]) -> f64, sorted: &[f64]) -> Option<Correction> {
        let found = statistic(values);
        // Resamples equal to the statistic count half: with few values there are many.
        let (below, not_above) =
            (sorted.partition_point(|v| *v < found), sorted.partition_point(|v| *v <= found));
        let bias = normal_quantile((below + not_above) as f64 / (2 * sorted.len()) as f64);
        let without: Vec<f64> = (0..values.len())
            .map(|left_out| {
                let kept = values.iter().enumerate().filter(|(index, _)| *index != left_out);
                statistic(&kept.map(|(_, v)| *v).collect::<Vec<_>>())
            })
            .collect();
        let centre = crate::mean(&without)?;
        let sum = |power: i32| without.iter().map(|v| (centre - v).powi(power)).sum::<f64>();
        let acceleration = sum(3) / (6.0 * sum(2).powf(1.5));
        (bias.is_finite() && acceleration.is_finite()).then_some(Correction { bias, acceleration })
    }

    /// The corrected quantile in place of `q`; `None` where the correction has a pole.
    fn quantile(&self, q: f64) -> Option<f64> {
        let shifted = self.bias + normal_quantile(q);
        let scale = 1.0 - self.acceleration * shifted;
        (scale > 0.0).then(|| normal_cdf(self.bias + shifted / scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mean, quantile};

    const LEVEL: Level = Level::NINETY_FIVE;

    fn of_mean(values: &[f64]) -> f64 {
        mean(values).unwrap_or(f64::NAN)
    }

    #[test]
    fn few_and_equal_values_have_no_interval_and_a_point() {
        assert_eq!(bca(&[1.0], of_mean, LEVEL, Resampling::default()), None);
        assert_eq!(bca(&[1.0, f64::INFINITY], of_mean, LEVEL, Resampling::default()), None);
        let point = bca(&[2.0; 4], of_mean, LEVEL, Resampling::default()).unwrap();
        assert_eq!((point.low, point.high), (2.0, 2.0));
    }

    #[test]
    fn a_correction_that_does_not_exist_is_not_named() {
        // Resamples on both sides of the maximum count ties half, so its correction exists. No value left out changes this median.
        let largest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let found = bca(&[1.0, 2.0, 3.0, 4.0, 5.0], largest, LEVEL, Resampling::default()).unwrap();
        assert_eq!(found.method, Method::BootstrapBca);
        let median = |values: &[f64]| quantile(values, 0.5).unwrap_or(f64::NAN);
        let flat = [1.0, 3.0, 3.0, 3.0, 3.0, 9.0];
        assert_eq!(
            bca(&flat, median, LEVEL, Resampling::default()).unwrap().method,
            Method::BootstrapPercentile
        );
    }

    #[test]
    fn intervals_shift_to_the_side_of_the_long_tail() {
        let skewed = [1.0, 1.1, 1.2, 1.3, 1.5, 1.8, 2.2, 3.0, 5.0, 12.0];
        let plain = percentile(&skewed, of_mean, LEVEL, Resampling::default()).unwrap();
        let corrected = bca(&skewed, of_mean, LEVEL, Resampling::default()).unwrap();
        assert!(corrected.low > plain.low && corrected.high > plain.high, "{plain:?} {corrected:?}");
        assert_eq!(corrected, bca(&skewed, of_mean, LEVEL, Resampling::default()).unwrap());
    }
}
