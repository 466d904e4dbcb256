//! The loss ledgers of the folders beside each other.

use crate::ledger::{Account, Balance};
use serde_json::{Value, json};
use wirespeed_record::{Direction, Entry, Stage};
use wirespeed_statistics::mean;

/// One direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sheet {
    pub direction: Direction,
    /// What is counted, in words.
    pub packets: &'static str,
    pub lines: Vec<Line>,
}

/// An entry; losses by stage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub entry: Entry,
    /// Where it was lost or is in flight.
    pub stage: Option<Stage>,
    /// By folder, mean over its runs; `None` if it has no ledger for this direction.
    pub packets: Vec<Option<f64>>,
}

/// The ledgers of `runs`, which are given by folder, each as its accounts. A direction of which nobody has one is left out.
pub(super) fn sheets(runs: &[Vec<&[Account]>]) -> Vec<Sheet> {
    let sheet = |direction: &Direction| {
        let of = |accounts: &&[Account]| accounts.iter().find(|a| a.direction == *direction).cloned();
        let sides: Vec<Vec<Account>> = runs.iter().map(|runs| runs.iter().filter_map(of).collect()).collect();
        let lines = lines(&sides);
        let packets = sides.iter().flatten().next()?.packets;
        (!lines.is_empty()).then_some(Sheet { direction: *direction, packets, lines })
    };
    Direction::ALL.iter().filter_map(sheet).collect()
}

fn lines(sides: &[Vec<Account>]) -> Vec<Line> {
    let mut keys: Vec<(Entry, Option<Stage>)> = Vec::new();
    for line in sides.iter().flatten().flat_map(|account| &account.lines) {
        let key = (line.entry, line.stage);
        // What is nowhere lost says nothing; that nothing is unexplained does.
        if !keys.contains(&key) && (line.packets != 0 || ALWAYS.contains(&line.entry)) {
            keys.push(key);
        }
    }
    keys.sort_unstable();
    let of = |account: &Account, entry: Entry, stage: Option<Stage>| -> f64 {
        let same = account.lines.iter().filter(|line| line.entry == entry && line.stage == stage);
        same.map(|line| line.packets as f64).sum()
    };
    keys.into_iter()
        .map(|(entry, stage)| Line {
            entry,
            stage,
            packets: sides
                .iter()
                .map(|runs| mean(&runs.iter().map(|account| of(account, entry, stage)).collect::<Vec<_>>()))
                .collect(),
        })
        .collect()
}

/// Entries that stand there even if they are 0.
const ALWAYS: [Entry; 3] = [Entry::Sent, Entry::Delivered, Entry::Unexplained];

impl Line {
    /// `lost: network`.
    pub fn words(&self) -> String {
        let entry = self.entry.word().replace('_', " ");
        self.stage.map_or(entry.clone(), |stage| format!("{entry}: {stage}"))
    }
}

/// Whether an account of the run does not come out even.
pub(super) fn is_odd(accounts: &[Account]) -> bool {
    accounts.iter().any(|a| matches!(a.balance, Balance::Wrong(_) | Balance::Unexplained(_)))
}

/// By direction, a list of lines.
pub(super) fn json(sheets: &[Sheet]) -> Value {
    let line = |line: &Line| {
        // Entries without a stage have an empty one.
        let stage = line.stage.map_or("", Stage::word);
        json!({ "entry": line.entry, "stage": stage, "packets": line.packets })
    };
    let sheet = |sheet: &Sheet| {
        (sheet.direction.word().to_string(), Value::Array(sheet.lines.iter().map(line).collect()))
    };
    Value::Object(sheets.iter().map(sheet).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{LedgerRow, Recording, Stage};

    fn account(lost: i64) -> Vec<Account> {
        let row = |entry: Entry, stage, packets| LedgerRow {
            direction: Direction::Data,
            entry,
            stage,
            place: "x".into(),
            cause: None,
            packets,
            source: "y".into(),
        };
        let ledger = vec![
            row(Entry::Lost, Some(Stage::Network), lost),
            row(Entry::Lost, Some(Stage::Qdisc), 0),
            row(Entry::Sent, None, 100),
            row(Entry::Delivered, None, 100 - lost),
        ];
        Account::all(&Recording { ledger, ..Default::default() })
    }

    #[test]
    fn entries_are_means_over_runs_and_missing_ledgers_are_missing() {
        let (a, b) = (account(4), account(2));
        let sheets = sheets(&[vec![&a, &b], vec![&a], vec![]]);
        assert_eq!(sheets.len(), 1, "nobody accounts for acknowledgements");
        let lines: Vec<(String, &[Option<f64>])> =
            sheets[0].lines.iter().map(|line| (line.words(), line.packets.as_slice())).collect();
        assert_eq!(lines[0], ("sent".into(), &[Some(100.0), Some(100.0), None][..]));
        assert_eq!(lines[1], ("delivered".into(), &[Some(97.0), Some(96.0), None][..]));
        assert_eq!(lines[2], ("lost: network".into(), &[Some(3.0), Some(4.0), None][..]));
        assert_eq!(lines.len(), 3, "no loss at the qdisc, no line");
    }
}
