//! Measured numbers against what a claim expects.

use super::expect::{Bound, Expect, Ratio, Trend};
use super::order::{LEVEL, Order, Relation};
use super::words::{percent, plain};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;
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
    /// There are numbers, and nothing that decides by them.
    NotJudged {
        /// Why.
        why: String,
    },
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

/// Judges the cells of a claim's runs. `over`: the factor of `order`, `trend` and `ratio`; `unit`: of the metric.
pub fn judge(expect: &Expect, over: Option<&str>, unit: &str, cells: &[Cell]) -> Judgement {
    let trial = Trial { unit, over, cells };
    let missing = |why: String| Judgement { measured: String::new(), verdict: Verdict::Missing { why } };
    if expect.is_by_stage() || expect.order.is_some() && over.is_none() {
        return trial.by_stage(expect).unwrap_or_else(|why| missing(why.to_string()));
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
    let groups = trial.groups();
    for group in &groups {
        let mut of_group = Vec::new();
        let words = match trial.group(expect, group, &mut of_group) {
            Ok(words) => words,
            Err(why) => return missing(why.to_string()),
        };
        if groups.len() == 1 && !words.is_empty() {
            measured = words;
        }
        let label = if groups.len() == 1 { String::new() } else { trial.group_label(group) };
        faults.extend(of_group.into_iter().map(|fault| named(&label, fault)));
    }
    let verdict = match expect.shape {
        Some(_) if !expect.is_by_number() => Verdict::Drawn,
        _ => verdict(faults),
    };
    Judgement { measured, verdict }
}

/// What it is about in front of it, if that has a name.
fn named(label: &str, words: String) -> String {
    if label.is_empty() { words } else { format!("{label}: {words}") }
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

/// Why there is no number to judge.
#[derive(Debug, Error)]
enum NoNumber {
    #[error("no run has `{factor}` = {level}")]
    Level { factor: String, level: String },
    #[error("the ledger does not count `{0}`")]
    Stage(String),
    #[error("there are no runs")]
    Runs,
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
        self.label_but(cell, None)
    }

    /// What tells a group from the others: all but the factor compared.
    fn group_label(&self, group: &[&Cell]) -> String {
        group.first().map_or(String::new(), |cell| self.label_but(cell, self.over))
    }

    fn label_but(&self, cell: &Cell, factor: Option<&str>) -> String {
        let varies =
            |name: &str| self.cells.iter().map(|c| c.factors.get(name)).collect::<BTreeSet<_>>().len() > 1;
        let told = cell.factors.iter().filter(|(name, _)| Some(name.as_str()) != factor && varies(name));
        told.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn each(&self, faults: &mut Vec<String>, fault: impl Fn(f64) -> Option<String>) {
        for cell in self.cells {
            if let Some(words) = cell.value.and_then(&fault) {
                faults.push(named(&self.label(cell), words));
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

    fn at(&self, level: &str, group: &[&Cell]) -> Result<f64, NoNumber> {
        let over = self.over.unwrap_or_default();
        let cell = group.iter().find(|cell| cell.factors.get(over).is_some_and(|value| value == level));
        cell.and_then(|cell| cell.value)
            .ok_or_else(|| NoNumber::Level { factor: over.to_owned(), level: level.to_owned() })
    }

    /// Everything that compares levels within a group; gives the values.
    fn group(&self, expect: &Expect, group: &[&Cell], faults: &mut Vec<String>) -> Result<String, NoNumber> {
        let mut words = Vec::new();
        if let Some(order) = &expect.order {
            words.push(self.order(order, group, faults)?);
        }
        if let Some(trend) = &expect.trend {
            words.push(self.trend(trend, group, faults)?);
        }
        if let Some(ratio) = &expect.ratio {
            let is_alone = words.is_empty() && ratio.of.len() == 1;
            words.push(self.ratio(ratio, is_alone, group, faults)?);
        }
        Ok(words.join("; "))
    }

    /// Every step goes its way or is level, and the end is beyond the beginning.
    fn trend(&self, trend: &Trend, group: &[&Cell], faults: &mut Vec<String>) -> Result<String, NoNumber> {
        let values: Result<Vec<(&str, f64)>, NoNumber> =
            trend.levels.iter().map(|level| Ok((level.as_str(), self.at(level, group)?))).collect();
        let values = values?;
        let way = if trend.rises { 1.0 } else { -1.0 };
        let (beyond, back) = if trend.rises { ("above", "below") } else { ("below", "above") };
        let steps_back = |from: f64, to: f64| way * (from - to);
        let earlier = faults.len();
        for pair in values.windows(2) {
            let ((from, before), (to, after)) = (pair[0], pair[1]);
            if steps_back(before, after) > trend.within * before.abs() {
                let share = ((after - before) / before).abs();
                faults.push(match share < 2.0 {
                    true => format!("{to} is {} % {back} {from}", percent(share)),
                    false => format!("{to} is {}, {back} {from}'s {}", self.text(after), self.text(before)),
                });
            }
        }
        if let [(first, before), .., (last, after)] = values[..]
            && steps_back(before, after) >= 0.0
            && faults.len() == earlier
        {
            faults.push(format!("{last} is not {beyond} {first}"));
        }
        let words: Vec<String> =
            values.iter().map(|(level, value)| format!("{level} {}", self.text(*value))).collect();
        Ok(words.join(", "))
    }

    fn order(&self, order: &Order, group: &[&Cell], faults: &mut Vec<String>) -> Result<String, NoNumber> {
        compare(order, &|level| self.at(level, group), &|value| self.text(value), faults)
    }

    /// `is_alone`: nothing else is judged that a fault could be of.
    fn ratio(
        &self,
        ratio: &Ratio,
        is_alone: bool,
        group: &[&Cell],
        faults: &mut Vec<String>,
    ) -> Result<String, NoNumber> {
        let below = self.at(&ratio.to, group)?;
        let mut words = Vec::new();
        for level in &ratio.of {
            let above = self.at(level, group)?;
            let found = above / below;
            let name = if is_alone { String::new() } else { format!("{level} / {}: ", ratio.to) };
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

    fn by_stage(&self, expect: &Expect) -> Result<Judgement, NoNumber> {
        let mut faults = Vec::new();
        let mut words = Vec::new();
        for cell in self.cells {
            let label = match self.label(cell) {
                label if label.is_empty() => label,
                label => format!("{label}: "),
            };
            let stage =
                |name: &str| cell.stages.get(name).copied().ok_or_else(|| NoNumber::Stage(name.to_owned()));
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
            return Err(NoNumber::Runs);
        }
        Ok(Judgement { measured: words.join("; "), verdict: verdict(faults) })
    }
}

/// Checks everything an order says; gives the values in its order.
fn compare(
    order: &Order,
    value: &dyn Fn(&str) -> Result<f64, NoNumber>,
    text: &dyn Fn(f64) -> String,
    faults: &mut Vec<String>,
) -> Result<String, NoNumber> {
    for relation in order.relations() {
        let (Relation::More(a, b) | Relation::Level(a, b)) = relation;
        let (x, y) = (value(a)?, value(b)?);
        let largest = x.abs().max(y.abs());
        let apart = if largest > 0.0 { (x - y).abs() / largest } else { 0.0 };
        match relation {
            Relation::More(..) if x <= y => {
                faults.push(match x == y {
                    true => format!("{a} and {b} are both {}", text(x)),
                    false => format!("{a} is {} % below {b}", percent(apart)),
                });
            }
            Relation::Level(..) if apart > LEVEL => {
                faults.push(format!("{a} and {b} are {} % apart", percent(apart)));
            }
            _ => {}
        }
    }
    let words: Result<Vec<String>, NoNumber> =
        order.levels().map(|level| Ok(format!("{level} {}", text(value(level)?)))).collect();
    Ok(words?.join(", "))
}

#[cfg(test)]
mod tests;
