//! Weighted means and quantiles, and Jain's index, of plain numbers. Crate `statistics` has the others.

/// Mean of `(value, weight)` pairs; `None` if they have no weight.
pub(crate) fn weighted_mean(values: &[(f64, f64)]) -> Option<f64> {
    let total: f64 = values.iter().map(|v| v.1).sum();
    (total > 0.0).then(|| values.iter().map(|v| v.0 * v.1).sum::<f64>() / total)
}

/// The least value below or at which a share `q` of the weight lies; `None` if there is no weight.
pub(crate) fn weighted_quantile(mut values: Vec<(f64, f64)>, q: f64) -> Option<f64> {
    values.retain(|v| v.1 > 0.0);
    let of_values = values.iter().map(|v| v.0);
    // The ends need no order, and there may be millions of values.
    if q <= 0.0 {
        return of_values.min_by(f64::total_cmp);
    }
    if q >= 1.0 {
        return of_values.max_by(f64::total_cmp);
    }
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|v| v.1).sum();
    let mut sum = 0.0;
    values
        .iter()
        .find(|v| {
            sum += v.1;
            sum >= q * total
        })
        .or(values.last())
        .map(|v| v.0)
}

/// Jain's fairness index: (sum x)^2 / (n sum x^2). `None` of fewer than two values, or if all are 0.
pub(crate) fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    (values.len() >= 2 && squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use wirespeed_statistics::mean;

    #[test]
    fn weighted_quantiles_of_known_numbers() {
        assert_eq!(weighted_quantile(vec![(1.0, 1.0), (9.0, 3.0)], 0.5), Some(9.0));
        let ends = [0.0, 1.0].map(|q| weighted_quantile(vec![(9.0, 3.0), (1.0, 1.0), (0.0, 0.0)], q));
        assert_eq!(ends, [Some(1.0), Some(9.0)]);
        assert_eq!(weighted_quantile(vec![(1.0, 0.0)], 0.5), None);
    }

    #[test]
    fn jain_at_its_ends() {
        assert_eq!(jain(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[5.0]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    proptest! {
        #[test]
        fn jain_lies_between_one_nth_and_one(x in vec(0.0..1e12, 2..20usize)) {
            if let Some(j) = jain(&x) {
                prop_assert!(j >= 1.0 / x.len() as f64 - 1e-12 && j <= 1.0 + 1e-12, "{j}");
            }
        }

        #[test]
        fn jain_does_not_depend_on_scale_or_order(x in vec(1.0..1e6, 2..20usize), scale in 1e-3..1e6) {
            let mut other: Vec<f64> = x.iter().map(|v| v * scale).collect();
            other.reverse();
            prop_assert!((jain(&x).unwrap() - jain(&other).unwrap()).abs() < 1e-9);
        }

        #[test]
        fn equal_weights_do_not_move_the_mean(x in vec(0.0..1e9, 1..30usize), weight in 1.0..1e9) {
            let pairs: Vec<_> = x.iter().map(|v| (*v, weight)).collect();
            let (plain, weighted) = (mean(&x).unwrap(), weighted_mean(&pairs).unwrap());
            prop_assert!((plain - weighted).abs() <= 1e-9 * plain.max(1.0));
        }
    }
}
