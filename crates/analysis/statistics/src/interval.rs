//! An interval with its level and method, and the one of a mean by Student's t.

use crate::level::Level;
use crate::sample::{mean, range, standard_deviation, student};
use serde::Serialize;
use std::fmt;

/// How an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Mean and Student's t.
    StudentT,
    /// Quantiles of the resampled statistic.
    BootstrapPercentile,
    /// The same, corrected for bias and acceleration.
    BootstrapBca,
    /// Difference of two means and Student's t, unequal variances.
    Welch,
    /// Ratio of two means: Welch's interval of the difference of their logarithms.
    WelchLog,
    /// Mean of the differences of pairs and Student's t.
    PairedT,
    /// Geometric mean of the ratios of pairs: Student's t of the logarithms.
    PairedLogT,
    /// Geometric mean of the ratios of several settings: t of the logarithms, by the scatter of the repeats.
    RepeatsLogT,
    /// The same by the scatter of the settings.
    SettingsLogT,
}

impl Method {
    /// The name for people and files.
    pub fn name(self) -> &'static str {
        match self {
            Method::StudentT => "Student's t",
            Method::BootstrapPercentile => "percentile bootstrap",
            Method::BootstrapBca => "BCa bootstrap",
            Method::Welch => "Welch's t",
            Method::WelchLog => "Welch's t of logarithms",
            Method::PairedT => "paired t",
            Method::PairedLogT => "paired t of logarithms",
            Method::RepeatsLogT => "t of logarithms, scatter of repeats",
            Method::SettingsLogT => "t of logarithms, scatter of settings",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A confidence interval, in the unit of its values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end; not below `low`.
    pub high: f64,
    /// How often such an interval contains the true value.
    pub level: Level,
    /// How it is computed.
    pub method: Method,
}

impl Interval {
    /// Half of its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether `value` lies within it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A difference or a ratio with what chance does to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// The probability of an estimate at least as far from "no difference" if there is none: two-sided, of the same test as
    /// the interval. From 0 to 1.
    pub p: f64,
    /// Standard error: of the difference, or of the logarithm of the ratio.
    pub error: f64,
    /// Degrees of freedom of the test.
    pub freedom: f64,
}

/// The interval of the mean of independent values by Student's t; exact for normal values. `None` of fewer than two values, or
/// if one is not finite. A point if all are equal.
pub fn student_t(values: &[f64], level: Level) -> Option<Interval> {
    let (low, high) = range(values)?;
    let n = values.len() as f64;
    let (mean, deviation) = (mean(values)?, standard_deviation(values)?);
    if !(mean.is_finite() && deviation.is_finite()) {
        return None;
    }
    let method = Method::StudentT;
    if low == high {
        return Some(Interval { low, high, level, method });
    }
    let half = student(level.upper(), n - 1.0)? * deviation / n.sqrt();
    Some(Interval { low: mean - half, high: mean + half, level, method })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values_have_the_interval_of_the_textbook() {
        let found = student_t(&[9.0, 10.0, 11.0], Level::NINETY_FIVE).unwrap();
        assert!((found.half_width() - 4.302_652_73 / 3f64.sqrt()).abs() < 1e-7, "{found:?}");
        assert!(found.contains(12.4) && !found.contains(12.5));
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_a_point() {
        assert_eq!(student_t(&[5.0], Level::NINETY_FIVE), None);
        assert_eq!(student_t(&[5.0, f64::NAN], Level::NINETY_FIVE), None);
        let point = student_t(&[0.1, 0.1, 0.1], Level::NINETY_FIVE).unwrap();
        assert_eq!((point.low, point.high), (0.1, 0.1));
    }
}
