//! Whether there are enough repeats: the mean within a share of itself, with a stated confidence.
//!
//! A rule that stops at the first interval that is narrow enough stops too early: it prefers samples that scatter little. This
//! one spends half of the error probability on the repeated looks. Its interval at every look has the error probability
//! `(1 - level) / 2`, and it begins with [`LEAST_REPEATS`].
//!
//! `coverage.rs` simulates the rule with normal values. In at least `level` of the cases, the mean at the stop lies within the
//! wanted share of the true mean, for any scatter. Fewer looks, as after batches of repeats, are only safer.

use crate::interval::student_t;
use crate::level::Level;
use crate::sample::{mean, standard_deviation, student};
use std::fmt;

/// The rule does not stop before: the scatter of fewer repeats is too uncertain.
pub const LEAST_REPEATS: usize = 5;
/// Estimates end here.
const MOST_REPEATS: usize = 1_000_000;

/// The conclusion from the repeats so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The mean is as certain as wanted.
    Enough,
    /// So many more repeats are needed, if they scatter as those so far; at least 1, at most 1,000,000.
    More(usize),
    /// No number of repeats suffices.
    Impossible(Reason),
}

/// Why no number of repeats suffices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A value is infinite or not a number.
    NotFinite,
    /// The mean is 0, which has no share.
    MeanIsZero,
    /// The wanted share is not a positive number.
    WidthNotPositive,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Reason::NotFinite => "a value is not a finite number",
            Reason::MeanIsZero => "the mean is 0, so its interval has no relative width",
            Reason::WidthNotPositive => "the wanted width is not above 0",
        })
    }
}

/// Whether the mean of independent repeats lies within a share of the true mean with confidence `level`, and how many more
/// repeats that needs. `relative_half_width` is the share: 0.05 is 5 %. Repeats that are all equal are enough.
pub fn needed(values: &[f64], level: Level, relative_half_width: f64) -> Decision {
    if relative_half_width.is_nan() || relative_half_width <= 0.0 {
        return Decision::Impossible(Reason::WidthNotPositive);
    }
    if !values.iter().all(|v| v.is_finite()) {
        return Decision::Impossible(Reason::NotFinite);
    }
    if values.len() < LEAST_REPEATS {
        return Decision::More(LEAST_REPEATS - values.len());
    }
    let Some(look) = Level::new(1.0 - level.error() / 2.0) else { return Decision::More(MOST_REPEATS) };
    let (Some(mean), Some(deviation), Some(interval)) =
        (mean(values), standard_deviation(values), student_t(values, look))
    else {
        return Decision::Impossible(Reason::NotFinite);
    };
    if interval.low == interval.high {
        return Decision::Enough;
    }
    if mean == 0.0 {
        return Decision::Impossible(Reason::MeanIsZero);
    }
    let wanted = relative_half_width * mean.abs();
    if interval.half_width() <= wanted {
        return Decision::Enough;
    }
    let suffices = |n: usize| {
        student(look.upper(), n as f64 - 1.0).is_some_and(|t| t * deviation <= wanted * (n as f64).sqrt())
    };
    Decision::More(least(values.len() + 1, MOST_REPEATS, suffices) - values.len())
}

/// The least number from `from` to `to` that suffices, if all larger ones do, too; `to` if none does.
fn least(from: usize, to: usize, suffices: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (from, to.max(from));
    while low < high {
        let middle = low + (high - low) / 2;
        if suffices(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const LEVEL: Level = Level::NINETY_FIVE;

    #[test]
    fn few_repeats_are_never_enough_and_equal_ones_are() {
        assert_eq!(needed(&[], LEVEL, 0.1), Decision::More(5));
        assert_eq!(needed(&[1.0; 4], LEVEL, 0.1), Decision::More(1));
        assert_eq!(needed(&[1.0; 5], LEVEL, 0.1), Decision::Enough);
    }

    #[test]
    fn impossible_wishes_have_a_reason() {
        let impossible = |values: &[f64], width| match needed(values, LEVEL, width) {
            Decision::Impossible(reason) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(impossible(&[1.0; 5], 0.0), Reason::WidthNotPositive);
        assert_eq!(impossible(&[1.0; 5], f64::NAN), Reason::WidthNotPositive);
        assert_eq!(impossible(&[1.0, f64::NAN], 0.1), Reason::NotFinite);
        assert_eq!(impossible(&[-2.0, -1.0, 0.0, 1.0, 2.0], 0.1), Reason::MeanIsZero);
    }

    #[test]
    fn the_estimate_is_the_first_number_that_suffices() {
        // Mean 10, deviation 1.5811: t(0.9875, n - 1) x 1.5811 <= 1 x sqrt(n), first for n = 16.
        let Decision::More(more) = needed(&[8.0, 9.0, 10.0, 11.0, 12.0], LEVEL, 0.1) else {
            panic!("not enough")
        };
        let enough = |n: f64| student(0.9875, n - 1.0).unwrap() * 2.5_f64.sqrt() <= n.sqrt();
        assert!(enough((5 + more) as f64) && !enough((4 + more) as f64), "{more}");
    }

    /// With known deviation, the fixed number of repeats is (2.2414 x deviation / width)^2: here 125.6 and 31.4.
    #[test]
    fn it_stops_where_the_known_variance_wants_it() {
        let mut random = Random::new(11);
        for (width, least, most) in [(0.02, 110.0, 132.0), (0.04, 27.0, 36.0)] {
            let stops: Vec<f64> = (0..400)
                .map(|_| {
                    let mut values: Vec<f64> = Vec::new();
                    while needed(&values, LEVEL, width) != Decision::Enough {
                        values.push(1.0 + 0.1 * random.normal());
                    }
                    values.len() as f64
                })
                .collect();
            let found = mean(&stops).unwrap();
            assert!((least..most).contains(&found), "{width}: {found}");
        }
    }
}
