//! Mean, standard deviation and quantiles of a sample, and the quantiles of Student's t and the normal distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation (divisor n - 1); `None` of fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The `q` quantile (0 to 1) on the line between neighbouring order statistics (Hyndman and Fan, 1996, type 7).
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, q)
}

/// The same of values in ascending order.
pub(crate) fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let position = q.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (position.floor() as usize, position.ceil() as usize);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (position - low as f64))
}

/// The `q` quantile (between 0 and 1) of Student's t with so many degrees of freedom, of which there may be a fraction.
pub fn student(q: f64, freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    (q > 0.0 && q < 1.0).then(|| distribution.inverse_cdf(q))
}

/// The probability that Student's t is at least as far from 0 as `t`, on either side.
pub(crate) fn two_sided_p(t: f64, freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    (!t.is_nan()).then(|| (2.0 * distribution.sf(t.abs())).min(1.0))
}

/// The `q` quantile of the standard normal distribution; infinite at 0 and 1.
pub(crate) fn normal_quantile(q: f64) -> f64 {
    Normal::standard().inverse_cdf(q)
}

/// The distribution function of the standard normal distribution.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Least and largest value; `None` of nothing.
pub(crate) fn range(values: &[f64]) -> Option<(f64, f64)> {
    let ends = |(low, high): (f64, f64), v: &f64| (low.min(*v), high.max(*v));
    (!values.is_empty()).then(|| values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn quantiles_and_deviation_of_known_numbers() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[7.0], 0.95), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(standard_deviation(&[1.0, 3.0]), Some(2.0f64.sqrt()));
        assert_eq!((mean(&[]), standard_deviation(&[1.0])), (None, None));
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        let rounded = |freedom: f64, q: f64| student(q, freedom).map(|t| (t * 1e3).round() / 1e3);
        let table = [1.0, 2.0, 4.0, 10.0, 120.0].map(|freedom| rounded(freedom, 0.975));
        assert_eq!(table, [12.706, 4.303, 2.776, 2.228, 1.98].map(Some));
        assert_eq!(rounded(8.0, 0.8), Some(0.889));
        let between = student(0.975, 2.5).unwrap();
        assert!(3.182 < between && between < 4.303, "{between}");
        assert_eq!([student(1.0, 3.0), student(0.9, 0.0), student(0.9, f64::NAN)], [None; 3]);
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_inside(x in vec(-1e6..1e6, 1..50usize), p in 0.0..1.0, q in 0.0..1.0) {
            let (p, q): (f64, f64) = if p < q { (p, q) } else { (q, p) };
            let (low, high) = (quantile(&x, p).unwrap(), quantile(&x, q).unwrap());
            prop_assert!(low <= high + 1e-6);
            prop_assert!(quantile(&x, 0.0).unwrap() <= low && high <= quantile(&x, 1.0).unwrap());
        }
    }
}
