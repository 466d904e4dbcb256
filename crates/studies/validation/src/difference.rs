//! How far two sets of runs of the same cells and seeds are apart, run by run: the model with and without trains.

use super::compare::{QUANTITIES, Quantity};
use super::data::Row;
use std::collections::BTreeSet;
use wirespeed_statistics::quantile;

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
    let mut counts: Vec<u32> = rows.iter().map(|row| row.cell.flows()).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut distances = Vec::new();
    for flows in counts {
        for (quantity, Quantity { metric, .. }) in QUANTITIES.iter().enumerate() {
            let differences: Vec<f64> = rows
                .iter()
                .filter(|row| row.cell.flows() == flows)
                .filter_map(|row| {
                    let other = others.iter().find(|o| o.cell == row.cell && o.repeat == row.repeat)?;
                    relative(row.value(metric)?, other.value(metric)?)
                })
                .collect();
            if differences.is_empty() {
                continue;
            }
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

/// Says so if `others` were not made by the program that made `rows`: their distance is then not that of trains alone.
pub fn other_programs(rows: &[Row], others: &[Row]) -> Option<String> {
    let of = |rows: &[Row]| rows.iter().map(|row| row.build.clone()).collect::<BTreeSet<String>>();
    let (with, without) = (of(rows), of(others));
    let named = |builds: BTreeSet<String>| builds.into_iter().collect::<Vec<_>>().join(", ");
    (!rows.is_empty() && !others.is_empty() && with != without).then(|| {
        format!(
            "made by another program ({}) than the runs with trains ({}); `wirespeed validate --trains off` makes it anew",
            named(without),
            named(with)
        )
    })
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
        assert_eq!(distances.len(), QUANTITIES.len(), "the test's rows have them all");
        let goodput = &distances[0];
        assert_eq!((goodput.of.as_str(), goodput.runs, goodput.same), ("4 flows", 3, 1));
        assert!((goodput.quantiles[0] - 0.1).abs() < 1e-12 && (goodput.quantiles[2] - 0.3).abs() < 1e-12);
    }

    #[test]
    fn files_of_two_programs_are_told_apart() {
        let of = |build: &str| vec![Row { build: build.into(), ..row(1, 0, 100.0) }];
        assert_eq!(other_programs(&of("0.1.0+a"), &of("0.1.0+a")), None);
        assert_eq!(other_programs(&of("0.1.0+a"), &[]), None, "there is no file");
        let message = other_programs(&of("0.1.0+b"), &of("0.1.0")).expect("they differ");
        assert!(
            message.starts_with("made by another program (0.1.0) than the runs with trains (0.1.0+b);"),
            "{message}"
        );
        let mixed = [of("0.1.0+a"), of("0.1.0+b")].concat();
        assert!(other_programs(&of("0.1.0+a"), &mixed).is_some());
    }

    /// What `wirespeed validate` found when the page was written, from the files as they are.
    #[test]
    fn the_page_says_whether_the_committed_files_are_of_one_program() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/validation");
        let paths = &super::super::section::sections()[0];
        let read =
            |name: &str| super::super::data::read(paths, &folder.join(name)).expect("the file is in order");
        let differ = other_programs(&read("model.csv"), &read("model-without-trains.csv"));
        let page = std::fs::read_to_string(folder.join("README.md")).expect("the page is there");
        let says = page.contains("made by another program");
        assert_eq!(says, differ.is_some(), "{differ:?}: write the page anew with `wirespeed validate`");
        if let Some(message) = differ {
            assert!(page.contains(&message), "{message}");
        }
    }
}
