//! How far two sets of runs of the same cells and seeds are apart, run by run: the model with and without trains.

use super::compare::{QUANTITIES, Quantity};
use super::data::Row;
use wirespeed_metrics::statistics::quantile;

/// The distance in one quantity over some of the runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    /// Which runs.
    pub of: String,
    /// Index in [`QUANTITIES`].
    pub quantity: usize,
    /// How many runs were compared.
    pub runs: usize,
    /// How many of them are the same to the last digit kept.
    pub same: usize,
    /// Median, 95 % quantile and largest relative difference, either way.
    pub quantiles: [f64; 3],
}

/// The distances by number of flows and quantity. Runs are matched by cell and repetition.
pub fn distances(rows: &[Row], others: &[Row]) -> Vec<Distance> {
    let mut counts: Vec<u32> = rows.iter().map(|row| row.cell.flows).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut distances = Vec::new();
    for flows in counts {
        for (quantity, Quantity { metric, .. }) in QUANTITIES.iter().enumerate() {
            let differences: Vec<f64> = rows
                .iter()
                .filter(|row| row.cell.flows == flows)
                .filter_map(|row| {
                    let other = others.iter().find(|o| o.cell == row.cell && o.repeat == row.repeat)?;
                    relative(row.value(metric)?, other.value(metric)?)
                })
                .collect();
            let of = |q| quantile(&differences, q).unwrap_or(f64::NAN);
            distances.push(Distance {
                of: if flows == 1 { "1 flow".into() } else { format!("{flows} flows") },
                quantity,
                runs: differences.len(),
                same: differences.iter().filter(|d| **d == 0.0).count(),
                quantiles: [0.5, 0.95, 1.0].map(of),
            });
        }
    }
    distances
}

/// `None` where the first is nothing and the second something.
fn relative(one: f64, other: f64) -> Option<f64> {
    if one == other { Some(0.0) } else { (one != 0.0).then(|| (other / one - 1.0).abs()) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::row;
    use super::*;

    #[test]
    fn runs_are_matched_and_their_differences_ranked() {
        let rows: Vec<Row> = (0..3).map(|repeat| row(1, repeat, 100.0)).collect();
        let others = [row(1, 2, 130.0), row(1, 1, 110.0), row(1, 0, 100.0), row(2, 0, 1.0)];
        let distances = distances(&rows, &others);
        assert_eq!(distances.len(), QUANTITIES.len());
        let goodput = &distances[0];
        assert_eq!((goodput.of.as_str(), goodput.runs, goodput.same), ("4 flows", 3, 1));
        assert!((goodput.quantiles[0] - 0.1).abs() < 1e-12 && (goodput.quantiles[2] - 0.3).abs() < 1e-12);
    }
}
