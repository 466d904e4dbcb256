//! What was lost in each stage, by combination of factors.

use super::Draw;
use crate::digest::{Group, RunDigest};
use crate::figure::{Axis, AxisKind, Figure, Ink, Layer, Shape};
use crate::ledger::{Account, Extent};
use wirespeed_record::{Direction, Entry, Stage};

pub(crate) struct Losses;

/// More bars than this are not read.
const MOST_BARS: usize = 48;
/// Below this share of the packets a percentage is all zeros.
const LEAST_PERCENT: f64 = 1e-3;

impl Draw for Losses {
    fn of_study(&self, runs: &[RunDigest]) -> Option<Figure> {
        let mut names = Vec::new();
        let mut stages: Vec<Vec<f64>> = Vec::new();
        for group in Group::all(runs) {
            let accounts: Vec<&Account> = group.runs.iter().filter_map(|run| data(run)).collect();
            let sent: i64 = accounts.iter().filter_map(|account| account.sent).sum();
            if sent > 0 {
                names.push(group.name(&[]));
                let lost = |stage: &Stage| accounts.iter().map(|account| lost(account, *stage)).sum::<i64>();
                stages.push(Stage::ALL.iter().map(|stage| lost(stage) as f64 / sent as f64).collect());
            }
        }
        if names.len() < 2 || names.len() > MOST_BARS {
            return None;
        }
        let title = "Losses by stage";
        let largest = stages.iter().map(|parts| parts.iter().sum::<f64>()).fold(0.0, f64::max);
        if largest <= 0.0 {
            return Some(Figure::statement("losses", title, "No run lost a data packet in any stage."));
        }
        let (unit, factor) = if largest >= LEAST_PERCENT { ("%", 1e2) } else { ("per million", 1e6) };
        let layers = Stage::ALL.iter().enumerate().filter_map(|(index, stage)| {
            let parts = stages.iter().map(|parts| parts[index] * factor).enumerate();
            let points: Vec<_> =
                parts.filter(|(_, part)| *part > 0.0).map(|(row, part)| (part, row as f64)).collect();
            let name = stage.word().replace('_', " ");
            let is_blank = points.is_empty();
            let layer = Layer::shaped(name, Ink::Place(index), Shape::StackedBars, points);
            (!is_blank).then_some(layer)
        });
        let layers = layers.collect();
        let bars = names.len() as f64;
        Some(Figure {
            id: "losses".into(),
            title: title.into(),
            note: format!(
                "Lost data packets as a share of those sent{}, from the loss ledgers; repeats together. A setting without a bar lost none.",
                Extent::words(runs.iter().map(|run| run.measured.extent))
            ),
            x: Axis {
                title: format!("Share of packets sent ({unit})"),
                kind: AxisKind::Linear,
                range: (0.0, largest * factor * 1.12),
            },
            y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, bars - 0.5) },
            layers,
            levels: vec![],
            drawing: None,
        })
    }
}

/// The account of a run's data packets, if it says what was sent.
pub(super) fn data(run: &RunDigest) -> Option<&Account> {
    run.measured
        .accounts
        .iter()
        .find(|account| account.direction == Direction::Data && account.sent.is_some())
}

fn lost(account: &Account, stage: Stage) -> i64 {
    let lines = account.lines.iter().filter(|line| line.entry == Entry::Lost && line.stage == Some(stage));
    lines.map(|line| line.packets).sum()
}
