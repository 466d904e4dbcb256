//! Comparisons of pairs: two levels of a factor under the same seed, or one run before and one after a change.
//!
//! A pair is `(first, other)`; differences are `other - first`, ratios `other / first`. The part that
//! both values of a pair share, such as the losses that a seed draws, cancels.

use crate::interval::{Estimate, Interval, Method, student_t};
use crate::level::Level;
use crate::sample::{mean, normal_cdf, standard_deviation, two_sided_p};

/// The mean difference with the interval and p-value of the paired t test. `None` of fewer than two pairs, if a value is not
/// finite, or if all differences are equal.
pub fn difference(pairs: &[(f64, f64)], level: Level) -> Option<Estimate> {
    of_differences(&differences(pairs), level, Method::PairedT)
}

/// The geometric mean of the ratios, with the t interval and test of their logarithms. `None` also if a value is not above 0.
///
/// Logarithms treat both levels alike: the ratio of `(b, a)` is the inverse of that of `(a, b)`, as is its interval.
pub fn ratio(pairs: &[(f64, f64)], level: Level) -> Option<Estimate> {
    if !pairs.iter().all(|(first, other)| *first > 0.0 && *other > 0.0) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(first, other)| (other / first).ln()).collect();
    of_differences(&logs, level, Method::PairedLogT).map(exponential)
}

fn differences(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().map(|(first, other)| other - first).collect()
}

/// The mean of differences or logarithms with its t interval and test.
pub(crate) fn of_differences(differences: &[f64], level: Level, method: Method) -> Option<Estimate> {
    let deviation = standard_deviation(differences).filter(|deviation| *deviation > 0.0)?;
    let n = differences.len() as f64;
    let value = mean(differences)?;
    let interval = Interval { method, ..student_t(differences, level)? };
    let (error, freedom) = (deviation / n.sqrt(), n - 1.0);
    Some(Estimate { value, interval, p: two_sided_p(value / error, freedom)?, error, freedom })
}

/// From logarithms to ratios.
pub(crate) fn exponential(logs: Estimate) -> Estimate {
    let interval = Interval { low: logs.interval.low.exp(), high: logs.interval.high.exp(), ..logs.interval };
    Estimate { value: logs.value.exp(), interval, ..logs }
}

/// The result of Wilcoxon's signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wilcoxon {
    /// Sum of the ranks of the positive differences.
    pub rank_sum: f64,
    /// Two-sided p-value. With n differences that are not 0 it is at least 2 / 2^n: fewer than six cannot reach 0.05.
    pub p: f64,
    /// Whether `p` is exact. If not, it is that of the normal approximation.
    pub is_exact: bool,
}

/// Wilcoxon's signed-rank test (Biometrics Bulletin 1, 1945), which needs no normal differences, only symmetric ones. Pairs
/// without a difference are left out; equal sizes get their mean rank. Up to 50 differences, the p-value is exact for these
/// ranks. `None` if no pair differs, or if a value is not finite.
pub fn wilcoxon(pairs: &[(f64, f64)]) -> Option<Wilcoxon> {
    /// As many as SciPy: up to here, an exact number of arrangements fits into a float.
    const MOST_EXACT: usize = 50;
    let mut differences: Vec<f64> = differences(pairs);
    if !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    differences.retain(|d| *d != 0.0);
    differences.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = differences.len();
    let ranks = doubled_ranks(&differences);
    let positive: usize =
        ranks.iter().zip(&differences).filter(|(_, d)| **d > 0.0).map(|(rank, _)| rank).sum();
    let total: usize = ranks.iter().sum();
    let rank_sum = positive as f64 / 2.0;
    if n == 0 {
        return None;
    }
    if n > MOST_EXACT {
        let variance: f64 = ranks.iter().map(|rank| (*rank as f64 / 2.0).powi(2)).sum::<f64>() / 4.0;
        let z = (rank_sum - total as f64 / 4.0) / variance.sqrt();
        return Some(Wilcoxon { rank_sum, p: (2.0 * normal_cdf(-z.abs())).min(1.0), is_exact: false });
    }
    // How many of the 2^n arrangements of signs have each sum of ranks.
    let mut arrangements = vec![0.0; total + 1];
    arrangements[0] = 1.0;
    let mut reached = 0;
    for rank in &ranks {
        reached += rank;
        for sum in (*rank..=reached).rev() {
            arrangements[sum] += arrangements[sum - rank];
        }
    }
    let tail = positive.min(total - positive);
    let extreme: f64 = arrangements[..=tail].iter().sum();
    let p = (2.0 * extreme / (n as f64).exp2()).min(1.0);
    Some(Wilcoxon { rank_sum, p, is_exact: true })
}

/// Twice the ranks by size, so that mean ranks are whole; the values are in order of size.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut before = 0;
    let groups = sorted.chunk_by(|a, b| a.abs() == b.abs());
    groups
        .flat_map(|same| {
            let doubled = 2 * before + same.len() + 1;
            before += same.len();
            std::iter::repeat_n(doubled, same.len())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_factor_cancels_in_ratios() {
        let pairs = [(1.0, 1.4), (10.0, 14.1), (100.0, 139.5)];
        let found = ratio(&pairs, Level::NINETY_FIVE).unwrap();
        assert!((found.value - 1.4).abs() < 0.01 && found.interval.low > 1.38, "{found:?}");
        let swapped: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let inverse = ratio(&swapped, Level::NINETY_FIVE).unwrap();
        assert!((inverse.interval.high * found.interval.low - 1.0).abs() < 1e-12);
        assert!((inverse.p - found.p).abs() < 1e-15);
    }

    #[test]
    fn pairs_that_show_no_chance_have_no_interval() {
        assert_eq!(difference(&[(1.0, 2.0)], Level::NINETY_FIVE), None);
        assert_eq!(difference(&[(1.0, 2.0), (3.0, 4.0)], Level::NINETY_FIVE), None);
        assert_eq!(ratio(&[(1.0, 0.0), (3.0, 4.0)], Level::NINETY_FIVE), None);
    }

    #[test]
    fn five_pairs_of_one_sign_have_the_least_p_of_the_signed_rank_test() {
        let pairs: Vec<(f64, f64)> = (1..=5).map(|i| (0.0, f64::from(i))).collect();
        assert_eq!(wilcoxon(&pairs), Some(Wilcoxon { rank_sum: 15.0, p: 0.0625, is_exact: true }));
        assert_eq!(wilcoxon(&[(1.0, 1.0)]), None);
    }
}
