//! Two levels of a factor with all else equal.

use super::factors::Factor;
use super::{FAMILY_ERROR, LEVEL};
use crate::digest::{Group, RunDigest, leading_metric};
use crate::report::Report;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wirespeed_statistics::unpaired::{self, Welch, hedges_g};
use wirespeed_statistics::{Estimate, Interval, blocks, mean, multiple, paired};

/// Two levels of one factor, in one setting of the others or over all of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelComparison {
    /// Key of the factor, such as `flow.congestion`.
    pub factor: String,
    /// The level that is compared with: the earlier one in the scenario.
    pub first: Value,
    /// The level that is compared.
    pub other: Value,
    /// The other factors and their values; `None` for the comparison over all settings.
    pub setting: Option<BTreeMap<String, Value>>,
    /// Number of settings: 1, or for the comparison over all settings those with both levels.
    pub settings: usize,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Means of the two levels in `unit`; `None` over all settings.
    pub means: Option<[f64; 2]>,
    /// Observations of the two levels.
    pub repeats: [usize; 2],
    /// How the observations of the two levels belong together.
    pub pairing: Pairing,
    /// Whether `value` and `interval` are ratios or differences.
    pub scale: Scale,
    /// Other over first, or other minus first in `unit`.
    pub value: f64,
    /// The 95 % interval of `value`; `None` where the observations do not show what chance does.
    pub interval: Option<Interval>,
    /// Two-sided p-value of no difference, with `interval`.
    pub p: Option<f64>,
    /// The same after Holm's adjustment for all comparisons of this factor by setting, or for all over settings.
    pub adjusted_p: Option<f64>,
    /// Hedges' g of the observations; `None` over all settings and where none scatter.
    pub hedges_g: Option<f64>,
}

/// How the observations of two levels belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Each seed occurs once on both sides: seeds are pairs.
    SameSeed,
    /// The seeds differ.
    Independent,
    /// Each setting is a pair.
    Setting,
}

/// The quantity of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// A ratio of means, or a geometric mean of ratios.
    Ratio,
    /// A difference of means, where a value is not above 0.
    Difference,
}

impl LevelComparison {
    /// Whether a difference is shown: its adjusted p-value is below 5 %.
    pub fn is_shown(&self) -> bool {
        self.adjusted_p.is_some_and(|p| p < FAMILY_ERROR)
    }
}

/// All comparisons by the leading metric: factor by factor, first over all settings, then by setting.
pub(crate) fn comparisons(report: &Report) -> Vec<LevelComparison> {
    let Some(metric) = leading_metric(&report.runs) else { return Vec::new() };
    let units = report.metric_columns();
    let unit = units.iter().find(|column| column.name == metric).map_or("", |column| &column.unit);
    let groups = Group::all(&report.runs);
    Factor::all(&report.runs).iter().flat_map(|factor| of_factor(factor, &groups, metric, unit)).collect()
}

fn of_factor(factor: &Factor, groups: &[Group], metric: &str, unit: &str) -> Vec<LevelComparison> {
    let mut by_setting: Vec<Vec<(LevelComparison, Option<Estimate>)>> =
        vec![Vec::new(); factor.pairs().len()];
    for block in factor.blocks(groups) {
        let levels: Vec<Option<Side>> = block.iter().map(|g| Side::of((*g)?, metric)).collect();
        for ((first, other), found) in factor.pairs().into_iter().zip(&mut by_setting) {
            let (Some(a), Some(b)) = (&levels[first], &levels[other]) else { continue };
            let outcome = Outcome::of(a, b);
            let mut setting = BTreeMap::clone(&a.runs[0].info.factors);
            setting.remove(&factor.key);
            let comparison = LevelComparison {
                factor: factor.key.clone(),
                first: factor.levels[first].clone(),
                other: factor.levels[other].clone(),
                setting: Some(setting),
                settings: 1,
                metric: metric.into(),
                unit: unit.into(),
                means: Some([a.mean, b.mean]),
                repeats: [a.values.len(), b.values.len()],
                pairing: outcome.pairing,
                scale: outcome.scale,
                value: outcome.value,
                interval: outcome.test.map(|test| test.interval),
                p: outcome.test.map(|test| test.p),
                adjusted_p: None,
                hedges_g: hedges_g(&a.values, &b.values),
            };
            found.push((comparison, outcome.test));
        }
    }
    let mut overall: Vec<LevelComparison> =
        by_setting.iter().filter_map(|found| over_settings(found)).collect();
    let mut single: Vec<LevelComparison> =
        by_setting.into_iter().flatten().map(|(comparison, _)| comparison).collect();
    adjust(&mut overall);
    adjust(&mut single);
    overall.extend(single);
    overall
}

/// The geometric mean of the ratios of one pair over settings; `None` with fewer than two.
///
/// The settings of a sweep are chosen, so its interval is that of the repeats. Without repeats everywhere, it is that of the
/// settings.
fn over_settings(found: &[(LevelComparison, Option<Estimate>)]) -> Option<LevelComparison> {
    let with_ratio = || found.iter().filter(|(comparison, _)| comparison.scale == Scale::Ratio);
    let ratios: Vec<f64> = with_ratio().map(|(comparison, _)| comparison.value).collect();
    let tests: Option<Vec<Estimate>> = with_ratio().map(|(_, test)| *test).collect();
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let value = mean(&logs).filter(|_| ratios.len() >= 2)?.exp();
    let test = match tests {
        Some(tests) => blocks::of_repeats(&tests, LEVEL),
        None => blocks::of_settings(&ratios, LEVEL),
    };
    Some(LevelComparison {
        setting: None,
        settings: ratios.len(),
        means: None,
        repeats: [0, 1].map(|side| with_ratio().map(|(c, _)| c.repeats[side]).sum()),
        pairing: Pairing::Setting,
        scale: Scale::Ratio,
        value,
        interval: test.map(|test| test.interval),
        p: test.map(|test| test.p),
        adjusted_p: None,
        hedges_g: None,
        ..found[0].0.clone()
    })
}

/// Holm's adjustment over those that have a p-value.
fn adjust(family: &mut [LevelComparison]) {
    let mut tested: Vec<&mut LevelComparison> = family.iter_mut().filter(|c| c.p.is_some()).collect();
    let p: Vec<f64> = tested.iter().filter_map(|c| c.p).collect();
    for (comparison, adjusted) in tested.iter_mut().zip(multiple::holm(&p)) {
        comparison.adjusted_p = Some(adjusted);
    }
}

/// The observations of one level in one setting.
struct Side<'a> {
    runs: Vec<&'a RunDigest>,
    values: Vec<f64>,
    mean: f64,
}

impl<'a> Side<'a> {
    fn of(group: &Group<'a>, metric: &str) -> Option<Side<'a>> {
        let found = group.observations().into_iter().filter_map(|run| Some((run, run.metric(metric)?)));
        let (runs, values): (Vec<_>, Vec<_>) = found.unzip();
        Some(Side { runs, mean: mean(&values)?, values })
    }

    /// Values by seed; `None` if two runs have the same.
    fn by_seed(&self) -> Option<HashMap<u64, f64>> {
        let seeds: BTreeSet<u64> = self.runs.iter().map(|run| run.info.seed).collect();
        let pairs = self.runs.iter().map(|run| run.info.seed).zip(self.values.iter().copied());
        (seeds.len() == self.runs.len()).then(|| pairs.collect())
    }
}

/// Values `(first, other)` of equal seeds, if all seeds of both sides are the same.
fn pairs(first: &Side, other: &Side) -> Option<Vec<(f64, f64)>> {
    let (a, b) = (first.by_seed()?, other.by_seed()?);
    if a.len() != b.len() || a.len() < 2 {
        return None;
    }
    first.runs.iter().map(|run| Some((*a.get(&run.info.seed)?, *b.get(&run.info.seed)?))).collect()
}

struct Outcome {
    pairing: Pairing,
    scale: Scale,
    value: f64,
    test: Option<Estimate>,
}

impl Outcome {
    fn of(first: &Side, other: &Side) -> Outcome {
        let pairs = pairs(first, other);
        let pairing = if pairs.is_some() { Pairing::SameSeed } else { Pairing::Independent };
        let is_positive = match &pairs {
            Some(pairs) => pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0),
            None => first.mean > 0.0 && other.mean > 0.0,
        };
        let (scale, test, value) = match (is_positive, &pairs) {
            (true, Some(pairs)) => (Scale::Ratio, paired::ratio(pairs, LEVEL), other.mean / first.mean),
            (true, None) => {
                (Scale::Ratio, unpaired::ratio(&first.values, &other.values, LEVEL), other.mean / first.mean)
            }
            (false, Some(pairs)) => {
                (Scale::Difference, paired::difference(pairs, LEVEL), other.mean - first.mean)
            }
            (false, None) => {
                (Scale::Difference, welch(&first.values, &other.values), other.mean - first.mean)
            }
        };
        Outcome { pairing, scale, value: test.map_or(value, |test| test.value), test }
    }
}

fn welch(first: &[f64], other: &[f64]) -> Option<Estimate> {
    Welch::of(first, other).map(|found| found.estimate(LEVEL))
}
