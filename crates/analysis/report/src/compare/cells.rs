//! Which runs belong together: those of the same factors, whatever they ran on.

use super::difference::{Difference, Spread};
use super::side::{Side, SideRun};
use crate::digest::{Group, RunDigest, factor_number};
use crate::observations::observations;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A combination of factors, with the runs of it in each folder.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// What tells it from the others.
    pub name: String,
    pub factors: BTreeMap<String, Value>,
    /// By folder, indices of its runs.
    pub runs: Vec<Vec<usize>>,
}

/// The same repetition of a cell in several folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Match {
    /// Index of the cell.
    pub cell: usize,
    pub repeat: u32,
    /// By folder, the index of its run.
    pub runs: Vec<Option<usize>>,
}

impl Cell {
    /// Whether there is something to compare with the first folder.
    pub fn is_matched(&self) -> bool {
        !self.runs[0].is_empty() && self.runs[1..].iter().any(|runs| !runs.is_empty())
    }

    /// The runs of a folder.
    pub fn of<'a>(&'a self, sides: &'a [Side], side: usize) -> impl Iterator<Item = &'a SideRun> + 'a {
        self.runs[side].iter().map(move |run| &sides[side].runs[*run])
    }

    /// The runs of a folder that are observations of their own.
    pub fn observations<'a>(&'a self, sides: &'a [Side], side: usize) -> Vec<&'a RunDigest> {
        observations(self.of(sides, side).map(|run| &run.digest))
    }

    /// A metric in each folder.
    pub fn spreads(&self, sides: &[Side], metric: &str) -> Vec<Option<Spread>> {
        let observed = |side| self.observations(sides, side).into_iter();
        let values = |side| observed(side).filter_map(|run| run.metric(metric)).collect();
        (0..sides.len()).map(|side| Spread::of(values(side))).collect()
    }

    /// The difference of a metric from the first folder, by folder; the first has none.
    pub fn differences(spreads: &[Option<Spread>]) -> Vec<Option<Difference>> {
        let first = spreads[0].as_ref();
        let of = |(side, spread): (usize, &Option<Spread>)| {
            (side > 0).then(|| Some(Difference::between(first?, spread.as_ref()?))).flatten()
        };
        spreads.iter().enumerate().map(of).collect()
    }
}

/// All cells of the folders, in the order of their factors.
pub(super) fn cells(sides: &[Side]) -> Vec<Cell> {
    let mut found: Vec<(Vec<(String, Level)>, Cell)> = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        for (run, side_run) in side.runs.iter().enumerate() {
            let factors = &side_run.digest.info.factors;
            let key: Vec<_> = factors.iter().map(|(key, value)| (key.clone(), Level::of(value))).collect();
            let at = found.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                let runs = vec![Vec::new(); sides.len()];
                found.push((key, Cell { name: String::new(), factors: BTreeMap::clone(factors), runs }));
                found.len() - 1
            });
            found[at].1.runs[index].push(run);
        }
    }
    found.sort_by(|(a, _), (b, _)| in_order(a, b));
    let mut cells: Vec<Cell> = found.into_iter().map(|(_, cell)| cell).collect();
    cells.iter_mut().for_each(|cell| cell.name = name(cell, sides));
    cells
}

/// Factors; without any, the congestion control if all runs have the same.
fn name(cell: &Cell, sides: &[Side]) -> String {
    let names: BTreeSet<String> = (0..sides.len())
        .flat_map(|side| cell.of(sides, side))
        .map(|run| match cell.factors.is_empty() {
            true => run.digest.congestion().unwrap_or_default().to_string(),
            false => Group { runs: vec![&run.digest] }.name(&[]),
        })
        .collect();
    let mut names = names.into_iter();
    match (names.next(), names.next()) {
        (Some(name), None) if !name.is_empty() => name,
        // The same factors may be written differently: 10 ms and 0.01 s.
        (Some(name), Some(_)) if !cell.factors.is_empty() => name,
        _ => "all runs".into(),
    }
}

/// The runs that lie over each other: of the same cell and repetition, else in the order of their repetitions.
pub(super) fn matches(sides: &[Side], cells: &[Cell]) -> Vec<Match> {
    let mut found = Vec::new();
    for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.is_matched()) {
        let repeat = |side: usize, run: usize| sides[side].runs[run].digest.info.repeat;
        let repeats: BTreeSet<u32> = cell.runs[0].iter().map(|run| repeat(0, *run)).collect();
        let before = found.len();
        for wanted in repeats {
            let same = |(side, runs): (usize, &Vec<usize>)| {
                runs.iter().copied().find(|run| repeat(side, *run) == wanted)
            };
            found.push(Match {
                cell: index,
                repeat: wanted,
                runs: cell.runs.iter().enumerate().map(same).collect(),
            });
        }
        found.retain(|m: &Match| m.runs.iter().flatten().count() > 1);
        if found.len() == before {
            let runs = cell.runs.iter().map(|runs| runs.first().copied()).collect();
            found.push(Match { cell: index, repeat: repeat(0, cell.runs[0][0]), runs });
        }
    }
    found
}

/// The value of a factor, so that `10 ms` and `0.01 s` are the same and numbers stand in their order.
#[derive(Debug, Clone, PartialEq)]
enum Level {
    Number(f64, &'static str),
    Text(String),
}

impl Level {
    fn of(value: &Value) -> Self {
        match factor_number(value) {
            Some((number, unit)) => Level::Number(number, unit),
            None => Level::Text(value.as_str().map_or_else(|| value.to_string(), String::from)),
        }
    }
}

fn in_order(a: &[(String, Level)], b: &[(String, Level)]) -> Ordering {
    let pair = |(a, b): (&(String, Level), &(String, Level))| {
        a.0.cmp(&b.0).then_with(|| match (&a.1, &b.1) {
            (Level::Number(x, u), Level::Number(y, v)) => u.cmp(v).then(x.total_cmp(y)),
            (Level::Number(..), Level::Text(_)) => Ordering::Less,
            (Level::Text(_), Level::Number(..)) => Ordering::Greater,
            (Level::Text(x), Level::Text(y)) => x.cmp(y),
        })
    };
    a.iter().zip(b).map(pair).find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_quantity_is_the_same_factor_however_it_is_written() {
        assert_eq!(Level::of(&json!("10 ms")), Level::of(&json!("0.01 s")));
        assert_eq!(Level::of(&json!(0)), Level::of(&json!(0.0)));
        assert_ne!(Level::of(&json!("cubic")), Level::of(&json!("bic")));
    }

    #[test]
    fn numbers_stand_in_their_order() {
        let key = |value: Value| vec![("path.rate".to_string(), Level::of(&value))];
        assert_eq!(in_order(&key(json!("2 Gbit/s")), &key(json!("10 Gbit/s"))), Ordering::Less);
        assert_eq!(in_order(&key(json!(1e-4)), &key(json!(1e-6))), Ordering::Greater);
    }
}
