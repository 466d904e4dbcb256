//! Means and what is known of them.

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
}

impl Estimate {
    /// Of independent values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        match values.len() {
            0 => None,
            1 => Some(Estimate { mean, half_width: 0.0 }),
            n => {
                let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
                let t = T_975.get(n - 2).copied().unwrap_or(Z_975);
                Some(Estimate { mean, half_width: t * (variance / count).sqrt() })
            }
        }
    }

    /// Whether the interval holds `value`.
    pub fn holds(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}

/// The `q` quantile on the line between neighbours (Hyndman and Fan 1996, type 7); `None` of nothing.
pub fn quantile(values: impl IntoIterator<Item = f64>, q: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let place = q * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
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
        assert_eq!(Estimate::of(&[5.0]), Some(Estimate { mean: 5.0, half_width: 0.0 }));
        let many: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let deviation = (25.0f64 / 99.0).sqrt();
        assert!((Estimate::of(&many).unwrap().half_width - 1.960 * deviation / 10.0).abs() < 1e-12);
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile([4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
        assert_eq!(quantile([], 0.5), None);
    }
}
