//! Two lots of repeats, and whether they differ by more than repeats do.

use crate::number::{Column, significant};
use wirespeed_metrics::statistics::{mean, standard_deviation, student_975};

/// The values of one metric over the repeats of one setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spread {
    pub mean: f64,
    pub least: f64,
    pub largest: f64,
    pub values: Vec<f64>,
}

impl Spread {
    /// `None` of nothing.
    pub fn of(values: Vec<f64>) -> Option<Self> {
        let mean = mean(&values)?;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Spread { mean, least, largest, values })
    }

    /// Variance of the mean and its degrees of freedom; `None` of a single run, which says nothing about the others.
    fn variance_of_mean(&self) -> Option<(f64, f64)> {
        let n = self.values.len() as f64;
        Some((standard_deviation(&self.values)?.powi(2) / n, n - 1.0))
    }
}

/// How a folder differs from the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// Of the means.
    pub absolute: f64,
    /// Over the first mean; `None` if that is 0 and the other is not.
    pub relative: Option<f64>,
    /// The 95 % confidence interval of `absolute`; `None` if either ran once only.
    pub interval: Option<(f64, f64)>,
}

impl Difference {
    /// Of `other` from `first`.
    pub fn between(first: &Spread, other: &Spread) -> Self {
        let absolute = other.mean - first.mean;
        let relative = match first.mean {
            _ if absolute == 0.0 => Some(0.0),
            0.0 => None,
            mean => Some(absolute / mean.abs()),
        };
        Difference { absolute, relative, interval: welch(first, other, absolute) }
    }

    /// Whether repeats alone leave it unexplained; `None` if there are none to tell.
    pub fn is_beyond_repeats(&self) -> Option<bool> {
        self.interval.map(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// The relative difference for people, or the absolute one (in `form`) where there is none.
    pub fn text(&self, form: &Column) -> String {
        self.relative.map_or_else(|| format!("{} {}", self.absolute_text(form), form.unit), percent)
    }

    /// The absolute difference with its sign, as a cell of `form`.
    pub fn absolute_text(&self, form: &Column) -> String {
        signed(form.cell(Some(self.absolute)))
    }

    /// The same with half of its interval: `-0.20 ±0.05`.
    pub fn interval_text(&self, form: &Column) -> String {
        let half = self.half_text(form).map_or(String::new(), |half| format!(" ±{half}"));
        self.absolute_text(form) + &half
    }

    /// Half of its interval, as a cell of `form`.
    pub fn half_text(&self, form: &Column) -> Option<String> {
        self.interval.map(|(low, high)| form.cell(Some((high - low) / 2.0)))
    }
}

/// Welch's interval: the two may scatter differently (Welch, Biometrika 1947; degrees of freedom after Satterthwaite).
fn welch(first: &Spread, other: &Spread, difference: f64) -> Option<(f64, f64)> {
    let ((a, a_freedom), (b, b_freedom)) = (first.variance_of_mean()?, other.variance_of_mean()?);
    if a + b == 0.0 {
        return Some((difference, difference));
    }
    let freedom = (a + b).powi(2) / (a * a / a_freedom + b * b / b_freedom);
    let half = student_975(freedom) * (a + b).sqrt();
    Some((difference - half, difference + half))
}

/// A share as percent with its sign, or as a factor where percents would be thousands.
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        size if size < 1e-3 => "0.0 %".into(),
        size if size < 0.05 => format!("{}{} %", if value > 0.0 { "+" } else { "" }, significant(value, 1)),
        // Nearly all of it is not all of it.
        _ if value > -100.0 && value < -99.5 => format!("{value:+.2} %"),
        size if size < 9.95 => format!("{value:+.1} %"),
        size if size < 999.5 => format!("{value:+.0} %"),
        _ => format!("x {}", significant(1.0 + share, 3)),
    }
}

/// With a plus sign, unless it is zero to all its digits.
fn signed(text: String) -> String {
    let mantissa = text.split('e').next().unwrap_or_default();
    let is_zero = !mantissa.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if is_zero || text.starts_with('-') { text } else { format!("+{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(first: &[f64], other: &[f64]) -> Difference {
        let spread = |values: &[f64]| Spread::of(values.to_vec()).unwrap();
        Difference::between(&spread(first), &spread(other))
    }

    #[test]
    fn repeats_decide_what_a_difference_is_worth() {
        assert_eq!(between(&[10.0, 11.0, 12.0], &[10.5, 11.5, 12.5]).is_beyond_repeats(), Some(false));
        assert_eq!(between(&[10.0, 10.1, 9.9], &[12.0, 12.1, 11.9]).is_beyond_repeats(), Some(true));
        assert_eq!(between(&[10.0], &[12.0, 12.1]).is_beyond_repeats(), None, "one run says nothing");
        // Two of each never overlap in a third of all cases by chance alone.
        assert_eq!(between(&[10.0, 11.0], &[11.5, 12.0]).is_beyond_repeats(), Some(false));
    }

    #[test]
    fn repeats_that_are_all_the_same_explain_nothing() {
        assert_eq!(between(&[1.0, 1.0], &[1.0, 1.0]).is_beyond_repeats(), Some(false));
        assert_eq!(between(&[1.0, 1.0], &[2.0, 2.0]).is_beyond_repeats(), Some(true));
    }

    #[test]
    fn the_interval_is_the_one_of_the_textbook() {
        // Both variances 1, n = 4: 6 degrees of freedom, half width 2.447 x sqrt(1/2).
        let a = [-1.161_895_004, -0.387_298_335, 0.387_298_335, 1.161_895_004];
        let (low, high) = between(&a, &a.map(|v| v + 1.0)).interval.unwrap();
        assert!((low - (1.0 - 1.7303)).abs() < 1e-3 && (high - 2.7303).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn a_share_of_nothing_is_no_number() {
        let difference = between(&[0.0], &[3.0]);
        assert_eq!(difference.relative, None);
        assert_eq!(between(&[0.0], &[0.0]).relative, Some(0.0));
        let form = Column::new("packets", [3.0].into_iter());
        assert_eq!(difference.text(&form), "+3 packets");
    }

    #[test]
    fn percents_have_signs_and_as_many_digits_as_are_read() {
        let texts = [-0.0287, 0.0004, 1e-6, 0.14, 41.0, -0.9992, -1.0].map(percent);
        assert_eq!(texts, ["-2.9 %", "+0.04 %", "0.0 %", "+14 %", "x 42", "-99.92 %", "-100 %"]);
        assert_eq!(signed("0.00".into()), "0.00");
        assert_eq!(signed("1.25e-6".into()), "+1.25e-6");
        assert_eq!(signed("0e-6".into()), "0e-6");
    }
}
