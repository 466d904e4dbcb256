//! The intervals contain the true value as often as theory says, or miss it as often as the method must.

mod simulation;

use simulation::{Shape, coverage, tolerance};
use wirespeed_statistics::bootstrap::{Resampling, bca, percentile};
use wirespeed_statistics::sequential::{Decision, needed};
use wirespeed_statistics::{Interval, Level, Random, mean, paired, student_t, unpaired};

const LEVEL: Level = Level::NINETY_FIVE;

fn of_mean(values: &[f64]) -> f64 {
    mean(values).unwrap_or(f64::NAN)
}

fn of_sample(
    shape: Shape,
    n: usize,
    cases: usize,
    interval: impl Fn(&[f64], u64) -> Option<Interval>,
) -> f64 {
    let mut seed = 0;
    coverage(cases, shape.true_mean(), |random| {
        seed += 1;
        interval(&shape.sample(n, random), seed)
    })
}

#[test]
fn students_t_is_exact_for_normal_values() {
    for n in [2, 3, 5, 10, 30] {
        let found = of_sample(Shape::Normal, n, 4_000, |values, _| student_t(values, LEVEL));
        assert!((found - 0.95).abs() < tolerance(0.95, 4_000), "{n}: {found}");
    }
}

/// The interval of values that all come from one mode misses the mean.
#[test]
fn no_interval_sees_a_mode_without_a_value() {
    for n in [3, 5, 10, 30] {
        let unseen = Shape::UPPER.powi(n as i32) + (1.0 - Shape::UPPER).powi(n as i32);
        let found = of_sample(Shape::Bimodal, n, 2_000, |values, _| student_t(values, LEVEL));
        assert!(found < 1.0 - unseen + tolerance(unseen, 2_000), "{n}: {found}");
    }
    let many = of_sample(Shape::Bimodal, 30, 2_000, |values, _| student_t(values, LEVEL));
    assert!(many > 0.92, "{many}");
}

/// Of 27 resamples of three values one in 27 is three times the least, which is more than 2.5 %: the interval reaches from the
/// least to the largest value, and these enclose the median of a symmetric distribution in 1 - 2 / 2^3 of all cases.
#[test]
fn bootstrap_of_three_normal_values_covers_three_quarters() {
    let resampling = |seed| Resampling { resamples: 999, seed };
    let found = of_sample(Shape::Normal, 3, 2_000, |values, seed| {
        percentile(values, of_mean, LEVEL, resampling(seed))
    });
    assert!((found - 0.75).abs() < tolerance(0.75, 2_000), "{found}");
    let corrected =
        of_sample(Shape::Normal, 3, 2_000, |values, seed| bca(values, of_mean, LEVEL, resampling(seed)));
    assert!(corrected < 0.75 + tolerance(0.75, 2_000), "{corrected}");
}

#[test]
fn bootstrap_of_thirty_values_is_nearly_exact() {
    for (shape, least) in [(Shape::Normal, 0.92), (Shape::LogNormal, 0.88), (Shape::Bimodal, 0.91)] {
        let found = of_sample(shape, 30, 400, |values, seed| {
            bca(values, of_mean, LEVEL, Resampling { resamples: 499, seed })
        });
        assert!(found > least - tolerance(least, 400) / 2.0 && found < 0.99, "{shape:?}: {found}");
    }
}

#[test]
fn ratios_of_means_are_covered_paired_and_unpaired() {
    const CASES: usize = 4_000;
    for n in [3, 5, 10] {
        let found = coverage(CASES, 1.4, |random| {
            let (first, other) = (Shape::Normal.sample(n, random), Shape::Normal.sample(n, random));
            let other: Vec<f64> = other.iter().map(|v| 1.4 * v).collect();
            unpaired::ratio(&first, &other, LEVEL).map(|found| found.interval)
        });
        // Satterthwaite's degrees of freedom make it a little too wide for few values.
        assert!(found > 0.95 - tolerance(0.95, CASES) && found < 0.98, "{n}: {found}");
        let found = coverage(CASES, 1.4, |random| {
            let pair = |random: &mut Random| {
                let shared = (0.5 * random.normal()).exp();
                (shared, 1.4 * shared * (0.05 * random.normal()).exp())
            };
            let pairs: Vec<(f64, f64)> = (0..n).map(|_| pair(random)).collect();
            paired::ratio(&pairs, LEVEL).map(|found| found.interval)
        });
        assert!((found - 0.95).abs() < tolerance(0.95, CASES), "{n}: {found}");
    }
}

/// The share of cases in which the mean at the stop is within `width` of the truth, and the mean number of repeats.
fn stopped(shape: Shape, width: f64, cases: usize) -> (f64, f64) {
    let (mut random, mut within, mut repeats) = (Random::new(5), 0, 0);
    for _ in 0..cases {
        let mut values = Vec::new();
        while needed(&values, LEVEL, width) != Decision::Enough {
            values.push(shape.draw(&mut random));
        }
        repeats += values.len();
        let mean = of_mean(&values);
        within += usize::from((mean - shape.true_mean()).abs() <= width * mean);
    }
    (within as f64 / cases as f64, repeats as f64 / cases as f64)
}

/// The widths are those at which a rule of this kind errs most often: where 10 to 30 repeats suffice.
#[test]
fn repeats_do_not_stop_early_more_often_than_stated() {
    const CASES: usize = 1_500;
    for width in [0.1, 0.06, 0.05, 0.04] {
        let (within, repeats) = stopped(Shape::Normal, width, CASES);
        assert!(within > 0.95 - tolerance(0.95, CASES) / 4.0, "{width}: {within} after {repeats}");
    }
}
