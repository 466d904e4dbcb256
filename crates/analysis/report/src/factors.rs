//! The factors of a sweep: their values in order, and the runs that share them.

use crate::digest::{RunDigest, factor_head, factor_number, factor_phrase, factor_text, last_part};
use crate::figure::Ink;
use serde_json::Value;

/// A factor with its values in order.
#[derive(Debug, Clone)]
pub(crate) struct FactorAxis {
    /// Its name in `[sweep]`.
    pub key: String,
    /// Its name for people.
    pub head: String,
    /// The unit of [`Level::number`]; empty for plain numbers and for names.
    pub unit: &'static str,
    /// At least one: by their numbers if all have one, otherwise as they were first met.
    pub levels: Vec<Level>,
}

/// A value of a factor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Level {
    value: Value,
    /// As a person wrote it.
    pub text: String,
    /// In base units, if it is a number or a quantity.
    pub number: Option<f64>,
}

impl FactorAxis {
    /// The values that `runs` have of a factor; `None` if none has it.
    pub fn of(runs: &[RunDigest], key: &str) -> Option<FactorAxis> {
        let mut levels: Vec<Level> = Vec::new();
        let mut units: Vec<&'static str> = Vec::new();
        for value in runs.iter().filter_map(|run| run.info.factors.get(key)) {
            if levels.iter().any(|level| level.value == *value) {
                continue;
            }
            let number = factor_number(value);
            // Zero is zero in every unit.
            units.extend(number.filter(|(number, _)| *number != 0.0).map(|(_, unit)| unit));
            levels.push(Level {
                value: value.clone(),
                text: factor_text(value),
                number: number.map(|(number, _)| number),
            });
        }
        units.dedup();
        let is_numeric = levels.iter().all(|level| level.number.is_some()) && units.len() <= 1;
        if is_numeric {
            levels.sort_by(|a, b| a.number.unwrap_or(0.0).total_cmp(&b.number.unwrap_or(0.0)));
        } else {
            levels.iter_mut().for_each(|level| level.number = None);
        }
        let keys: Vec<String> = runs.first()?.info.factors.keys().cloned().collect();
        let unit = if is_numeric { units.first().copied().unwrap_or("") } else { "" };
        (!levels.is_empty()).then(|| FactorAxis {
            key: key.into(),
            head: factor_head(key, &keys),
            unit,
            levels,
        })
    }

    /// The factors of which `runs` have several values, in the order of their names.
    pub fn varied(runs: &[RunDigest]) -> Vec<FactorAxis> {
        let mut keys: Vec<&String> = runs.iter().flat_map(|run| run.info.factors.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        let axes = keys.into_iter().filter_map(|key| FactorAxis::of(runs, key));
        axes.filter(|axis| axis.levels.len() > 1).collect()
    }

    /// Whether all values are numbers of one unit.
    pub fn is_numeric(&self) -> bool {
        self.levels.iter().all(|level| level.number.is_some())
    }

    /// Whether its values are congestion control algorithms.
    pub fn is_congestion(&self) -> bool {
        last_part(&self.key) == "congestion"
    }

    /// The place of a run's value among its values.
    pub fn index(&self, run: &RunDigest) -> Option<usize> {
        let value = run.info.factors.get(&self.key)?;
        self.levels.iter().position(|level| level.value == *value)
    }

    /// Its value for people, with its name: `loss 1e-5`, or `cubic` of congestion control algorithms.
    pub fn phrase(&self, index: usize) -> String {
        factor_phrase(&self.key, &self.levels[index].value)
    }

    /// The colour of a value. Algorithms keep theirs in all figures.
    pub fn ink(&self, index: usize) -> Ink {
        let text = &self.levels[index].text;
        if self.is_congestion() {
            Ink::Flow { congestion: Some(text.clone()), label: text.clone(), twin: 0 }
        } else {
            Ink::Place(index)
        }
    }

    /// `runs` by the value that they have.
    pub fn split<'a>(&self, runs: &[&'a RunDigest]) -> Vec<Vec<&'a RunDigest>> {
        let mut parts = vec![Vec::new(); self.levels.len()];
        for run in runs {
            if let Some(index) = self.index(run) {
                parts[index].push(*run);
            }
        }
        parts
    }
}

/// Runs that a figure of several alike is about.
#[derive(Debug, Clone)]
pub(crate) struct Panel<'a> {
    /// The factors that the runs have in common, with their values; empty if there is one panel.
    pub name: String,
    pub runs: Vec<&'a RunDigest>,
}

/// The panels of `runs`: one for each combination of the values of `facets` that occurs.
pub(crate) fn panels<'a>(runs: &'a [RunDigest], facets: &[FactorAxis]) -> Vec<Panel<'a>> {
    let mut panels = vec![Panel { name: String::new(), runs: runs.iter().collect() }];
    for facet in facets {
        let divided = panels.iter().flat_map(|panel| {
            let parts = facet.split(&panel.runs).into_iter().enumerate();
            parts.filter(|(_, runs)| !runs.is_empty()).map(|(index, runs)| {
                let phrase = facet.phrase(index);
                let name = if panel.name.is_empty() { phrase } else { format!("{} · {phrase}", panel.name) };
                Panel { name, runs }
            })
        });
        panels = divided.collect();
    }
    panels
}
