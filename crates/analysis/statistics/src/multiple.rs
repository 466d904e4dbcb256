//! Adjusted p-values of a family of tests. An adjusted p-value is compared with the error probability of the whole family.

/// Holm's adjustment (Scand. J. Stat. 6, 1979): it bounds the probability that any true "no difference" is rejected, whatever
/// the dependence of the tests. In the order of `p`, each from 0 to 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let count = p.len();
    let mut adjusted = vec![0.0; count];
    let mut largest = 0.0_f64;
    for (rank, index) in ascending(p).into_iter().enumerate() {
        largest = largest.max(p[index] * (count - rank) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// The adjustment of Benjamini and Hochberg (J. R. Stat. Soc. B 57, 1995): it bounds the expected share of true "no difference"
/// among those rejected, for tests that are independent or positively dependent. In the order of `p`, each from 0 to 1.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let count = p.len();
    let mut adjusted = vec![0.0; count];
    let mut least = 1.0_f64;
    for (rank, index) in ascending(p).into_iter().enumerate().rev() {
        least = least.min(p[index] * count as f64 / (rank + 1) as f64);
        adjusted[index] = least;
    }
    adjusted
}

/// Indices of `p` by its values.
fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_do_not_fall_and_stay_in_order() {
        let p = [0.01, 0.04, 0.03];
        let near = |found: Vec<f64>, wanted: [f64; 3]| {
            found.iter().zip(wanted).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{found:?}"));
        };
        near(holm(&p), [0.03, 0.06, 0.06]);
        near(benjamini_hochberg(&p), [0.03, 0.04, 0.04]);
        assert_eq!((holm(&[]), holm(&[0.2])), (vec![], vec![0.2]));
    }
}
