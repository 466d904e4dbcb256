//! The factors of a sweep, their levels, and the settings of all other factors.

use crate::digest::{Group, RunDigest, factor_number, factors_key, last_part};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use wirespeed_scenario::run::ONLY_KEY;

/// Up to this many levels that are names are all compared with each other; of more, each with the first.
const MOST_LEVELS_IN_PAIRS: usize = 8;

/// A factor with at least two levels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factor {
    pub key: String,
    /// In the order of the runs, which is that of the scenario.
    pub levels: Vec<Value>,
}

impl Factor {
    /// The varied factors: congestion control first, then others whose levels are names, then numbers.
    pub fn all(runs: &[RunDigest]) -> Vec<Factor> {
        let keys: BTreeSet<&String> = runs.iter().flat_map(|run| run.info.factors.keys()).collect();
        // Totals of all groups and of one group are of different flows: harm compares these.
        let keys = keys.into_iter().filter(|key| *key != ONLY_KEY);
        let mut factors: Vec<Factor> = keys.map(|key| Factor::of(key, runs)).collect();
        factors.retain(|factor| factor.levels.len() > 1);
        factors.sort_by_key(|factor| (!factor.is_congestion(), factor.is_numeric()));
        factors
    }

    /// Whether several factors vary, so that settings have other factors that are equal.
    pub fn are_crossed(runs: &[RunDigest]) -> bool {
        Factor::all(runs).len() > 1
    }

    fn of(key: &str, runs: &[RunDigest]) -> Factor {
        let mut seen = BTreeSet::new();
        let values = runs.iter().filter_map(|run| run.info.factors.get(key));
        let levels = values.filter(|value| seen.insert(value.to_string())).cloned().collect();
        Factor { key: key.into(), levels }
    }

    pub fn is_congestion(&self) -> bool {
        last_part(&self.key) == "congestion"
    }

    pub fn is_numeric(&self) -> bool {
        self.levels.iter().all(|level| factor_number(level).is_some())
    }

    /// The levels to compare, as (first, other). The choice does not look at results, so the adjusted p-values hold for any
    /// pair that a reader picks.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let count = self.levels.len();
        match self.is_numeric() || count > MOST_LEVELS_IN_PAIRS {
            true => (1..count).map(|other| (0, other)).collect(),
            false => {
                (0..count).flat_map(|first| (first + 1..count).map(move |other| (first, other))).collect()
            }
        }
    }

    /// Groups that differ in nothing but this factor, in the order of the runs. In each block, by level; `None` where a level
    /// has no run.
    pub fn blocks<'g, 'a>(&self, groups: &'g [Group<'a>]) -> Vec<Vec<Option<&'g Group<'a>>>> {
        let levels: HashMap<String, usize> =
            self.levels.iter().enumerate().map(|(place, level)| (level.to_string(), place)).collect();
        let mut blocks: Vec<Vec<Option<&Group>>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for group in groups {
            let factors = &group.runs[0].info.factors;
            let Some(level) = factors.get(&self.key).and_then(|value| levels.get(&value.to_string())) else {
                continue;
            };
            let place = *places.entry(factors_key(factors, Some(&self.key))).or_insert_with(|| {
                blocks.push(vec![None; self.levels.len()]);
                blocks.len() - 1
            });
            blocks[place][*level] = Some(group);
        }
        blocks
    }
}
