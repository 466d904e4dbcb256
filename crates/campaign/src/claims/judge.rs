//! Measured numbers against what a claim expects.

use super::expect::{Bound, Expect, Ratio};
use super::order::{LEVEL, Order, Relation};
use super::words::{percent, plain};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_report::with_unit;

/// The runs of one setting: factors, and the claim's metric over the repetitions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The factors by name, as a person writes their values.
    pub factors: BTreeMap<String, String>,
    /// The mean over the repetitions that have the metric, in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Where the metric speaks of stages: the same by stage.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stages: BTreeMap<String, f64>,
}

/// What became of a claim on a substrate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything holds.
    Agrees,
    /// Something does not.
    Differs {
        /// What, and by how much.
        by: String,
    },
    /// There is no number.
    Missing {
        /// Why.
        why: String,
    },
    /// This substrate cannot run it.
    NotRunnable {
        /// Why.
        why: String,
    },
    /// A shape: its figure is drawn.
    Drawn,
}

/// What was measured, in words, and the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The numbers.
    pub measured: String,
    /// What they say.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Judges the cells of a claim's runs. `over`: the factor of `order` and `ratio`; `unit`: of the metric.
pub fn judge(expect: &Expect, over: Option<&str>, unit: &str, cells: &[Cell]) -> Judgement {
    let trial = Trial { unit, over, cells };
    let missing = |why: String| Judgement { measured: String::new(), verdict: Verdict::Missing { why } };
    if expect.is_by_stage() || expect.order.is_some() && over.is_none() {
        return trial.by_stage(expect).unwrap_or_else(missing);
    }
    let lacking: Vec<String> =
        cells.iter().filter(|cell| cell.value.is_none()).map(|cell| trial.label(cell)).collect();
    if cells.is_empty() || lacking.len() == cells.len() {
        return missing("the runs do not give this metric".into());
    }
    if !lacking.is_empty() {
        return missing(format!("the runs of {} do not give this metric", lacking.join(", ")));
    }
    let mut faults = Vec::new();
    if let Some((wanted, rtol)) = expect.value {
        trial.each(&mut faults, |value| off(value, wanted, rtol, " %"));
    }
    if let Some(Bound::One(min)) = expect.min {
        trial.each(&mut faults, |value| (value < min).then(|| distance(value, min, "below the least")));
    }
    if let Some(Bound::One(max)) = expect.max {
        trial.each(&mut faults, |value| (value > max).then(|| distance(value, max, "above the most")));
    }
    let mut measured = trial.summary();
    for group in trial.groups() {
        let outcome = match (&expect.order, &expect.ratio) {
            (Some(order), _) => trial.order(order, &group, &mut faults),
            (None, Some(ratio)) => trial.ratio(ratio, &group, &mut faults),
            (None, None) => break,
        };
        match outcome {
            Ok(words) if trial.groups().len() == 1 => measured = words,
            Ok(_) => {}
            Err(why) => return missing(why),
        }
    }
    let verdict = match expect.shape {
        Some(_) if faults.is_empty() && !decides(expect) => Verdict::Drawn,
        _ => verdict(faults),
    };
    Judgement { measured, verdict }
}

/// Whether a number decides.
fn decides(expect: &Expect) -> bool {
    expect.value.is_some()
        || expect.min.is_some()
        || expect.max.is_some()
        || expect.order.is_some()
        || expect.ratio.is_some()
}

fn verdict(mut faults: Vec<String>) -> Verdict {
    const MOST: usize = 3;
    if faults.is_empty() {
        return Verdict::Agrees;
    }
    let more = faults.len().saturating_sub(MOST);
    faults.truncate(MOST);
    let mut by = faults.join("; ");
    if more > 0 {
        by.push_str(&format!("; and {more} more"));
    }
    Verdict::Differs { by }
}

/// How far a value is outside `wanted` ± `rtol`.
fn off(value: f64, wanted: f64, rtol: f64, unit: &str) -> Option<String> {
    // A last digit of floating point is no difference.
    if (value - wanted).abs() <= rtol * wanted.abs() + 1e-12 * wanted.abs() {
        return None;
    }
    Some(distance(value, wanted, if value < wanted { "below" } else { "above" }).replace(" %", unit))
}

fn distance(value: f64, wanted: f64, where_to: &str) -> String {
    let share = ((value - wanted) / wanted).abs();
    match wanted {
        0.0 => format!("{} {where_to}", plain((value - wanted).abs())),
        _ if share >= 2.0 => format!("{:.1} times it", value / wanted),
        _ => format!("{} % {where_to}", percent(share)),
    }
}

struct Trial<'a> {
    unit: &'a str,
    over: Option<&'a str>,
    cells: &'a [Cell],
}

impl<'a> Trial<'a> {
    fn text(&self, value: f64) -> String {
        with_unit(value, self.unit)
    }

    /// What tells a cell from the others; empty if it is the only one.
    fn label(&self, cell: &Cell) -> String {
        let varies =
            |name: &str| self.cells.iter().map(|c| c.factors.get(name)).collect::<BTreeSet<_>>().len() > 1;
        let values = cell.factors.iter().filter(|(name, _)| varies(name)).map(|(_, value)| value.as_str());
        values.collect::<Vec<_>>().join(" ")
    }

    fn each(&self, faults: &mut Vec<String>, fault: impl Fn(f64) -> Option<String>) {
        for cell in self.cells {
            if let Some(words) = cell.value.and_then(&fault) {
                let label = self.label(cell);
                faults.push(if label.is_empty() { words } else { format!("{label}: {words}") });
            }
        }
    }

    fn summary(&self) -> String {
        let mut sorted: Vec<(f64, &Cell)> = self.cells.iter().filter_map(|c| Some((c.value?, c))).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        match sorted.as_slice() {
            [] => String::new(),
            [(value, _)] => self.text(*value),
            [first, .., last] => {
                let end =
                    |(value, cell): (f64, &Cell)| format!("{} ({})", self.text(value), self.label(cell));
                format!("{} to {}", end(*first), end(*last))
            }
        }
    }

    /// Cells that differ in nothing but the factor compared.
    fn groups(&self) -> Vec<Vec<&'a Cell>> {
        let mut groups: BTreeMap<BTreeMap<&str, &str>, Vec<&Cell>> = BTreeMap::new();
        for cell in self.cells {
            let others = cell.factors.iter().filter(|(name, _)| Some(name.as_str()) != self.over);
            let key = others.map(|(name, value)| (name.as_str(), value.as_str())).collect();
            groups.entry(key).or_default().push(cell);
        }
        groups.into_values().collect()
    }

    fn at(&self, level: &str, group: &[&Cell]) -> Result<f64, String> {
        let over = self.over.unwrap_or_default();
        let cell = group.iter().find(|cell| cell.factors.get(over).is_some_and(|value| value == level));
        cell.and_then(|cell| cell.value).ok_or_else(|| format!("no run has `{over}` = {level}"))
    }

    fn order(&self, order: &Order, group: &[&Cell], faults: &mut Vec<String>) -> Result<String, String> {
        compare(order, &|level| self.at(level, group), &|value| self.text(value), faults)
    }

    fn ratio(&self, ratio: &Ratio, group: &[&Cell], faults: &mut Vec<String>) -> Result<String, String> {
        let below = self.at(&ratio.to, group)?;
        let mut words = Vec::new();
        for level in &ratio.of {
            let above = self.at(level, group)?;
            let found = above / below;
            let name = if ratio.of.len() > 1 { format!("{level}: ") } else { String::new() };
            words.push(format!("{level} {}", with_unit(found, "")));
            let fault = match (ratio.value, ratio.min, ratio.max) {
                (Some((wanted, rtol)), ..) => off(found, wanted, rtol, " %"),
                (None, Some(min), _) if found < min => Some(distance(found, min, "below the least")),
                (None, _, Some(max)) if found > max => Some(distance(found, max, "above the most")),
                _ if !found.is_finite() => Some("nothing to divide by".into()),
                _ => None,
            };
            faults.extend(fault.map(|fault| format!("{name}{fault}")));
        }
        Ok(format!("{} of {} ({})", words.join(", "), ratio.to, self.text(below)))
    }

    fn by_stage(&self, expect: &Expect) -> Result<Judgement, String> {
        let mut faults = Vec::new();
        let mut words = Vec::new();
        for cell in self.cells {
            let label = match self.label(cell) {
                label if label.is_empty() => label,
                label => format!("{label}: "),
            };
            let stage = |name: &str| {
                cell.stages.get(name).copied().ok_or_else(|| format!("the ledger does not count `{name}`"))
            };
            let mut found = Vec::new();
            for (bound, is_least) in [(&expect.min, true), (&expect.max, false)] {
                let Some(Bound::ByStage(bounds)) = bound else { continue };
                for (name, limit) in bounds {
                    let value = stage(name)?;
                    found.push(format!("{name} {}", plain(value)));
                    if is_least && value < *limit || !is_least && value > *limit {
                        let end = if is_least { "below the least" } else { "above the most" };
                        faults.push(format!("{label}{name}: {}", distance(value, *limit, end)));
                    }
                }
            }
            for name in &expect.zero {
                let value = stage(name)?;
                if value != 0.0 {
                    faults.push(format!("{label}{name}: {} and not none", plain(value)));
                }
            }
            if let Some(order) = &expect.order {
                found.push(compare(order, &stage, &|value| plain(value), &mut faults)?);
            }
            words.push(format!("{label}{}", found.join(", ")));
        }
        if self.cells.is_empty() {
            return Err("there are no runs".into());
        }
        Ok(Judgement { measured: words.join("; "), verdict: verdict(faults) })
    }
}

/// Checks everything an order says; gives the values in its order.
fn compare(
    order: &Order,
    value: &dyn Fn(&str) -> Result<f64, String>,
    text: &dyn Fn(f64) -> String,
    faults: &mut Vec<String>,
) -> Result<String, String> {
    for relation in order.relations() {
        let (Relation::More(a, b) | Relation::Level(a, b)) = relation;
        let (x, y) = (value(a)?, value(b)?);
        let largest = x.abs().max(y.abs());
        let apart = if largest > 0.0 { (x - y).abs() / largest } else { 0.0 };
        match relation {
            Relation::More(..) if x <= y => {
                faults.push(format!("{a} is {} % below {b}", percent(apart)));
            }
            Relation::Level(..) if apart > LEVEL => {
                faults.push(format!("{a} and {b} are {} % apart", percent(apart)));
            }
            _ => {}
        }
    }
    let words: Result<Vec<String>, String> =
        order.levels().map(|level| Ok(format!("{level} {}", text(value(level)?)))).collect();
    Ok(words?.join(", "))
}

#[cfg(test)]
mod tests;
