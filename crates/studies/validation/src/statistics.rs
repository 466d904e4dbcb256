//! Means and what is known of them.

use wirespeed_statistics::{mean, standard_deviation};

/// 97.5 % quantiles of Student's t distribution by degrees of freedom, from 1.
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The same, from the normal distribution, for more.
const Z_975: f64 = 1.960;

/// A mean and its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the interval; 0 of a single value, of which nothing more is known.
    pub half_width: f64,
    /// How many values there are.
    pub runs: usize,
}

impl Estimate {
    /// Of independent values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let mean = mean(values)?;
        let half_width = standard_deviation(values).map_or(0.0, |deviation| {
            let t = T_975.get(values.len() - 2).copied().unwrap_or(Z_975);
            t * deviation / (values.len() as f64).sqrt()
        });
        Some(Estimate { mean, half_width, runs: values.len() })
    }

    /// Whether the interval holds `value`.
    pub fn holds(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_three_values_is_students() {
        let estimate = Estimate::of(&[9.0, 10.0, 11.0]).unwrap();
        assert_eq!(estimate.mean, 10.0);
        assert!((estimate.half_width - 4.303 / 3f64.sqrt()).abs() < 1e-12);
        assert!(estimate.holds(12.4) && !estimate.holds(12.5) && estimate.holds(7.6));
    }

    #[test]
    fn one_value_has_no_width_and_many_are_normal() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[5.0]), Some(Estimate { mean: 5.0, half_width: 0.0, runs: 1 }));
        let many: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let deviation = (25.0f64 / 99.0).sqrt();
        assert!((Estimate::of(&many).unwrap().half_width - 1.960 * deviation / 10.0).abs() < 1e-12);
    }
}
