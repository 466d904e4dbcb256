//! How many runs lost how large a share of their packets.

use super::Draw;
use super::losses::data;
use crate::digest::RunDigest;
use crate::figure::{Axis, AxisKind, Figure, Ink, Layer, Shape};
use crate::ledger::Extent;
use wirespeed_record::Entry;

pub(crate) struct LossHistogram;

/// Fewer runs are read one by one.
const LEAST_RUNS: usize = 10;
/// Upper ends of the classes, as shares, and how they are called; the first holds what lost nothing.
pub(super) const CLASSES: [(f64, &str); 8] = [
    (0.0, "none"),
    (1e-6, "to 0.0001 %"),
    (1e-5, "to 0.001 %"),
    (1e-4, "to 0.01 %"),
    (1e-3, "to 0.1 %"),
    (1e-2, "to 1 %"),
    (1e-1, "to 10 %"),
    (1.0, "more"),
];

impl Draw for LossHistogram {
    fn of_study(&self, runs: &[RunDigest]) -> Option<Figure> {
        let shares: Vec<f64> = runs.iter().filter_map(share).collect();
        if shares.len() < LEAST_RUNS {
            return None;
        }
        let mut counts = [0_u32; CLASSES.len()];
        for share in &shares {
            counts[class(*share)] += 1;
        }
        let percent = |count: u32| f64::from(count) * 100.0 / shares.len() as f64;
        let points: Vec<_> =
            counts.iter().enumerate().map(|(place, count)| (percent(*count), place as f64)).collect();
        let largest = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let names: Vec<String> = CLASSES.iter().map(|(_, name)| (*name).into()).collect();
        let rows = names.len() as f64;
        let layer = Layer::shaped("runs", Ink::Total, Shape::HorizontalBars, points).unnamed();
        Some(Figure {
            id: "loss-histogram".into(),
            title: "How much was lost in how many runs".into(),
            note: format!(
                "Lost data packets as a share of those sent{}, in any stage, for each of {} runs.",
                Extent::words(runs.iter().map(|run| run.measured.extent)),
                shares.len()
            ),
            x: Axis {
                title: "Share of the runs (%)".into(),
                kind: AxisKind::Linear,
                range: (0.0, largest * 1.12),
            },
            y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, rows - 0.5) },
            layers: vec![layer],
            levels: vec![],
            drawing: None,
        })
    }
}

/// Lost data packets as a share of those sent.
fn share(run: &RunDigest) -> Option<f64> {
    let account = data(run)?;
    let lost: i64 =
        account.lines.iter().filter(|line| line.entry == Entry::Lost).map(|line| line.packets).sum();
    let sent = account.sent.filter(|sent| *sent > 0)?;
    Some(lost as f64 / sent as f64)
}

pub(super) fn class(share: f64) -> usize {
    CLASSES.iter().position(|(upper, _)| share <= *upper).unwrap_or(CLASSES.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn classes_hold_their_upper_end() {
        assert_eq!([0.0, 1e-7, 1e-6, 2e-6, 1e-2, 0.02, 0.4].map(class), [0, 1, 1, 2, 5, 6, 7]);
    }
}
