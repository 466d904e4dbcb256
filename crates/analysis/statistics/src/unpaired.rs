//! Comparisons of two lots of repeats without anything in common.

use crate::interval::{Estimate, Interval, Method};
use crate::level::Level;
use crate::paired::exponential;
use crate::sample::{mean, standard_deviation, student, two_sided_p};
use statrs::function::gamma::ln_gamma;

/// Welch's comparison of two means, whose values may scatter differently (Biometrika 34, 1947), with the degrees of freedom
/// after Satterthwaite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Of the means, other minus first.
    pub difference: f64,
    /// Standard error of the difference; above 0.
    pub error: f64,
    /// Degrees of freedom; above 0.
    pub freedom: f64,
}

impl Welch {
    /// `None` with fewer than two values on a side, or if the repeats do not scatter: then they do not show what chance does.
    pub fn of(first: &[f64], other: &[f64]) -> Option<Welch> {
        let (a, b) = (variance_of_mean(first)?, variance_of_mean(other)?);
        Welch::from_parts(mean(other)? - mean(first)?, [a, b], [first.len(), other.len()])
    }

    fn from_parts(difference: f64, [a, b]: [f64; 2], lengths: [usize; 2]) -> Option<Welch> {
        let [a_freedom, b_freedom] = lengths.map(|n| n as f64 - 1.0);
        let freedom = (a + b).powi(2) / (a * a / a_freedom + b * b / b_freedom);
        let error = (a + b).sqrt();
        (a + b > 0.0 && freedom.is_finite() && error.is_finite() && difference.is_finite()).then_some(Welch {
            difference,
            error,
            freedom,
        })
    }

    /// The interval of the difference.
    pub fn interval(&self, level: Level) -> Interval {
        let half = self.student(level.upper()) * self.error;
        let (low, high) = (self.difference - half, self.difference + half);
        Interval { low, high, level, method: Method::Welch }
    }

    /// Two-sided p-value of no difference.
    pub fn p(&self) -> f64 {
        two_sided_p(self.difference / self.error, self.freedom).unwrap_or(1.0)
    }

    /// The smallest difference that so many repeats of this scatter show with probability `power` (0.5 to 1). It is the sum of
    /// the quantiles of test and power, times the standard error (Bloom, Evaluation Review 19, 1995).
    pub fn detectable(&self, level: Level, power: Level) -> f64 {
        (self.student(level.upper()) + self.student(power.get())) * self.error
    }

    /// The largest difference, of either sign, that the values leave open: the farther end of the interval of level
    /// `2 * level - 1`. Two one-sided tests of error 1 - `level` reject every larger one (Schuirmann, J. Pharmacokinet.
    /// Biopharm. 15, 1987). `level` is at least 0.5.
    pub fn open(&self, level: Level) -> f64 {
        self.difference.abs() + self.student(level.get()) * self.error
    }

    /// The difference with its interval and p-value.
    pub fn estimate(&self, level: Level) -> Estimate {
        let interval = self.interval(level);
        Estimate { value: self.difference, interval, p: self.p(), error: self.error, freedom: self.freedom }
    }

    fn student(&self, q: f64) -> f64 {
        // There are positive degrees of freedom, and `q` lies between 0 and 1.
        student(q, self.freedom).unwrap_or(f64::NAN)
    }
}

/// The ratio of the means, other / first, with Welch's interval and test of the difference of their logarithms. `None` as for
/// [`Welch::of`], and if a mean is not above 0.
///
/// The standard error of a logarithm is that of the mean over the mean (delta method). Fieller's interval (1954) needs no such
/// approximation. But it has no ends if the first mean is not clearly above 0, and it changes if the two sides are exchanged.
pub fn ratio(first: &[f64], other: &[f64], level: Level) -> Option<Estimate> {
    let means = [mean(first)?, mean(other)?];
    if !means.iter().all(|mean| *mean > 0.0) {
        return None;
    }
    let [a, b] = [variance_of_mean(first)? / means[0].powi(2), variance_of_mean(other)? / means[1].powi(2)];
    let logs = Welch::from_parts((means[1] / means[0]).ln(), [a, b], [first.len(), other.len()])?;
    let logs = logs.estimate(level);
    Some(exponential(Estimate { interval: Interval { method: Method::WelchLog, ..logs.interval }, ..logs }))
}

/// Hedges' g: the difference of the means, other minus first, in pooled standard deviations, without the bias of few values
/// (J. Educ. Stat. 6, 1981, with the exact factor). Some call 0.2 small, 0.5 medium and 0.8 large (Cohen, 1988); runs on a
/// computed path often have far larger ones. `None` with fewer than two values on a side, or if none scatters.
pub fn hedges_g(first: &[f64], other: &[f64]) -> Option<f64> {
    let [a, b] = [first, other].map(|values| values.len() as f64 - 1.0);
    let freedom = a + b;
    let pooled =
        ((a * standard_deviation(first)?.powi(2) + b * standard_deviation(other)?.powi(2)) / freedom).sqrt();
    let factor = (ln_gamma(freedom / 2.0) - ln_gamma((freedom - 1.0) / 2.0)).exp() / (freedom / 2.0).sqrt();
    (pooled > 0.0).then(|| factor * (mean(other).unwrap_or(0.0) - mean(first).unwrap_or(0.0)) / pooled)
}

fn variance_of_mean(values: &[f64]) -> Option<f64> {
    Some(standard_deviation(values)?.powi(2) / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_one_of_the_textbook() {
        // Both variances 1, n = 4: 6 degrees of freedom, half width 2.447 x sqrt(1/2).
        let a = [-1.161_895_004, -0.387_298_335, 0.387_298_335, 1.161_895_004];
        let found = Welch::of(&a, &a.map(|v| v + 1.0)).unwrap().interval(Level::NINETY_FIVE);
        assert!((found.low - (1.0 - 1.7303)).abs() < 1e-3 && (found.high - 2.7303).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn ratio_of_exchanged_sides_is_the_inverse() {
        let (a, b) = ([1.0, 1.2, 0.9], [2.0, 2.6, 2.1, 2.2]);
        let (there, back) =
            (ratio(&a, &b, Level::NINETY_FIVE).unwrap(), ratio(&b, &a, Level::NINETY_FIVE).unwrap());
        assert!((there.value * back.value - 1.0).abs() < 1e-12);
        assert!((there.interval.low * back.interval.high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn repeats_that_do_not_scatter_have_no_test() {
        assert_eq!(Welch::of(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(Welch::of(&[1.0], &[2.0, 2.1]), None);
        assert_eq!(ratio(&[0.0, 0.0], &[2.0, 2.1], Level::NINETY_FIVE), None);
        assert_eq!(hedges_g(&[1.0, 1.0], &[2.0, 2.0]), None);
    }
}
