//! Two lots of repeats, and whether they differ by more than repeats do.

use crate::number::{Column, significant};
use wirespeed_statistics::unpaired::Welch;
use wirespeed_statistics::{Level, mean};

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
}

/// A difference of a smaller share is printed as 0.0 %: too small to call two results different.
const NOTHING: f64 = 5e-4;
/// Results that are shown to differ by no larger share are called equivalent.
const EQUIVALENT: f64 = 0.05;

/// How a folder differs from the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// Of the means.
    pub absolute: f64,
    /// Over the first mean; `None` if that is 0 and the other is not.
    pub relative: Option<f64>,
    /// What the repeats allow to say; `None` without two observations on both sides, or if no repeat differs from another.
    pub test: Option<Test>,
    /// Size of the first mean.
    base: f64,
}

/// What the repeats of two folders allow to say of their difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Test {
    /// The 95 % confidence interval of the difference.
    pub interval: (f64, f64),
    /// The smallest difference that so many repeats of this scatter show in four comparisons out of five.
    pub detectable: f64,
    /// The largest difference, either way, that they leave open: the farther end of the 90 % confidence interval. Two
    /// one-sided tests of 5 % reject every larger one (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
    pub open: f64,
}

/// What is found of a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    /// It is more than the repeats explain.
    Different,
    /// The results differ by no more than this share.
    Equivalent(f64),
    /// None is shown, and a large one is not excluded.
    NotShown,
    /// There is no test.
    Untested,
}

impl Verdict {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Different => "different",
            Verdict::Equivalent(_) => "equivalent",
            Verdict::NotShown => "not shown",
            Verdict::Untested => "not tested",
        }
    }
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
        Difference { absolute, relative, test: Test::of(first, other), base: first.mean.abs() }
    }

    /// What is found of it.
    pub fn verdict(&self) -> Verdict {
        let Some(test) = &self.test else { return Verdict::Untested };
        let (low, high) = test.interval;
        let is_nothing = self.relative.is_some_and(|share| share.abs() < NOTHING);
        match self.share(test.open) {
            _ if (low > 0.0 || high < 0.0) && !is_nothing => Verdict::Different,
            Some(open) if open <= EQUIVALENT => Verdict::Equivalent(open),
            _ => Verdict::NotShown,
        }
    }

    /// A size in the metric's unit as a share of the first mean, if there is one.
    pub fn share(&self, size: f64) -> Option<f64> {
        (self.base > 0.0).then(|| size / self.base)
    }

    /// The smallest difference that the repeats could have shown, in percent, or in `form` where there is no share.
    pub fn detectable_text(&self, form: &Column) -> Option<String> {
        let size = self.test?.detectable;
        Some(self.share(size).map_or_else(|| format!("{} {}", form.cell(Some(size)), form.unit), unsigned))
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
        self.test.map(|Test { interval: (low, high), .. }| form.cell(Some((high - low) / 2.0)))
    }
}

impl Test {
    /// Welch's. Repeats that came out the same do not show what chance does.
    fn of(first: &Spread, other: &Spread) -> Option<Test> {
        const LEVEL: Level = Level::NINETY_FIVE;
        let (welch, power) = (Welch::of(&first.values, &other.values)?, Level::new(0.8)?);
        let interval = welch.interval(LEVEL);
        Some(Test {
            interval: (interval.low, interval.high),
            detectable: welch.detectable(LEVEL, power),
            open: welch.open(LEVEL),
        })
    }
}

/// A share as percent without a sign.
pub(super) fn unsigned(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 2))
}

/// A share as percent with its sign, or as a factor where percents would be thousands.
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        size if size < NOTHING * 100.0 => "0.0 %".into(),
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
        let verdict = |first: &[f64], other: &[f64]| between(first, other).verdict();
        assert_eq!(verdict(&[10.0, 11.0, 12.0], &[10.5, 11.5, 12.5]), Verdict::NotShown);
        assert_eq!(verdict(&[10.0, 10.1, 9.9], &[12.0, 12.1, 11.9]), Verdict::Different);
        // Two of each never overlap in a third of all cases by chance alone.
        assert_eq!(verdict(&[10.0, 11.0], &[11.5, 12.0]), Verdict::NotShown);
    }

    #[test]
    fn there_is_no_test_of_what_has_not_varied() {
        let verdict = |first: &[f64], other: &[f64]| between(first, other).verdict();
        assert_eq!(verdict(&[10.0], &[12.0, 12.1]), Verdict::Untested, "one run says nothing");
        assert_eq!(verdict(&[1.0, 1.0], &[2.0, 2.0]), Verdict::Untested);
        assert_eq!(
            between(&[1.0, 1.0], &[2.0, 2.0]).detectable_text(&Column::new("bit/s", [1.0].into_iter())),
            None
        );
    }

    #[test]
    fn a_difference_that_prints_as_zero_is_none() {
        let shifted = |by: f64| between(&[99.999, 100.0, 100.001], &[99.999 + by, 100.0 + by, 100.001 + by]);
        assert!(shifted(0.04).test.unwrap().interval.0 > 0.0);
        assert!(matches!(shifted(0.04).verdict(), Verdict::Equivalent(open) if open < 1e-3));
        assert_eq!(percent(shifted(0.04).relative.unwrap()), "0.0 %");
        assert_eq!(shifted(0.06).verdict(), Verdict::Different);
        assert_eq!(percent(shifted(0.06).relative.unwrap()), "+0.1 %");
    }

    #[test]
    fn equal_means_are_equivalent_only_if_repeats_are_close() {
        let about = |scatter: f64| {
            between(&[100.0 - scatter, 100.0, 100.0 + scatter], &[100.0 - scatter, 100.0, 100.0 + scatter])
        };
        // 4 degrees of freedom, standard error 0.8165: 2.132 of them.
        assert!(matches!(about(1.0).verdict(), Verdict::Equivalent(open) if (open - 0.017406).abs() < 1e-5));
        assert_eq!(about(10.0).verdict(), Verdict::NotShown);
    }

    #[test]
    fn the_interval_is_the_one_of_the_textbook() {
        // Both variances 1, n = 4: 6 degrees of freedom, half width 2.447 x sqrt(1/2).
        let a = [-1.161_895_004, -0.387_298_335, 0.387_298_335, 1.161_895_004];
        let (low, high) = between(&a, &a.map(|v| v + 1.0)).test.unwrap().interval;
        assert!((low - (1.0 - 1.7303)).abs() < 1e-3 && (high - 2.7303).abs() < 1e-3, "{low} {high}");
    }

    /// Comparisons of five with five repeats of a normal distribution that differ by what is said to be detectable.
    #[test]
    fn the_detectable_difference_is_found_in_four_comparisons_of_five() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // The sum of twelve is as good as normal (Irwin and Hall).
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let scatter = [-1.264_911, -0.632_456, 0.0, 0.632_456, 1.264_911];
        let detectable = between(&scatter, &scatter).test.unwrap().detectable;
        let mut found = 0;
        for _ in 0..4_000 {
            let first: Vec<f64> = (0..5).map(|_| 1e3 + normal()).collect();
            let other: Vec<f64> = (0..5).map(|_| 1e3 + detectable + normal()).collect();
            found += usize::from(between(&first, &other).verdict() == Verdict::Different);
        }
        assert!((3_080..3_320).contains(&found), "{found} of 4000");
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
        let texts = [-0.0287, 0.0006, 1e-6, 0.14, 41.0, -0.9992, -1.0].map(percent);
        assert_eq!(texts, ["-2.9 %", "+0.1 %", "0.0 %", "+14 %", "x 42", "-99.92 %", "-100 %"]);
        assert_eq!(signed("0.00".into()), "0.00");
        assert_eq!(signed("1.25e-6".into()), "+1.25e-6");
        assert_eq!(signed("0e-6".into()), "0e-6");
    }
}
