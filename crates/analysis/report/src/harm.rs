//! Harm that groups of flows do to each other: runs with all groups beside runs of each group alone.

use crate::digest::{Group, RunDigest, factors_key};
use crate::estimate::Estimate;
use crate::facts::Pool;
use crate::input::MetricValue;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use wirespeed_metrics::find;
use wirespeed_scenario::run::{ALL_GROUPS, ONLY_KEY};

/// The names of the metrics.
pub(crate) const GOODPUT: &str = "goodput_harm";
pub(crate) const COMPLETION: &str = "fct_harm";

/// A metric of harm, from the value of a group beside others and its value alone.
struct Kind {
    name: &'static str,
    of: &'static str,
    harm: fn(f64, f64) -> f64,
}

const KINDS: &[Kind] = &[
    Kind { name: GOODPUT, of: "goodput_bps", harm: |beside, alone| 1.0 - beside / alone },
    Kind { name: COMPLETION, of: "fct_median_ns", harm: |beside, alone| 1.0 - alone / beside },
];

/// The groups that a run has, if `run.only` is swept.
fn only(run: &RunDigest) -> Option<&str> {
    run.info.factors.get(ONLY_KEY).and_then(Value::as_str)
}

/// The settings in which all groups of flows run: every setting, without those in which `run.only` leaves one group.
pub(crate) fn with_all_groups(runs: &[RunDigest]) -> Vec<Group<'_>> {
    let mut settings = Group::all(runs);
    settings.retain(|setting| alone(setting.runs[0]).is_none());
    settings
}

/// The group that a run has alone.
fn alone(run: &RunDigest) -> Option<&str> {
    only(run).filter(|label| *label != ALL_GROUPS)
}

/// Adds the harm to the metrics of each group that some run with the same factors and the same repetition has alone.
pub(crate) fn add(runs: &mut [RunDigest], pool: &mut Pool) {
    let setting = |run: &RunDigest| (factors_key(&run.info.factors, Some(ONLY_KEY)), run.info.repeat);
    let mut twins: HashMap<(String, u32), BTreeMap<String, usize>> = HashMap::new();
    for (index, run) in runs.iter().enumerate() {
        if let Some(label) = alone(run) {
            twins.entry(setting(run)).or_default().insert(label.to_owned(), index);
        }
    }
    if twins.is_empty() {
        return;
    }
    for index in 0..runs.len() {
        if only(&runs[index]) != Some(ALL_GROUPS) {
            continue;
        }
        let Some(of_setting) = twins.get(&setting(&runs[index])) else { continue };
        let harms: Vec<Vec<MetricValue>> = runs[index]
            .per_group
            .iter()
            .map(|found| {
                let twin = of_setting.get(&found.group.label).and_then(|twin| runs[*twin].per_group.first());
                let harm = |kind: &Kind| {
                    let (beside, alone) = (found.metric(kind.of)?, twin?.metric(kind.of)?);
                    let value = Some((kind.harm)(beside, alone)).filter(|value| value.is_finite())?;
                    let metric = find(kind.name)?;
                    let (name, unit) = (metric.name.into(), metric.unit.into());
                    Some(MetricValue { name, unit, value, headline: metric.headline })
                };
                KINDS.iter().filter_map(harm).collect()
            })
            .collect();
        for (found, harms) in runs[index].per_group.iter_mut().zip(harms) {
            if !harms.is_empty() {
                found.metrics = found.metrics.with(&harms, pool);
            }
        }
    }
}

/// The harm to a group in a setting, over its repetitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Harm {
    /// The values of the factors.
    pub factors: BTreeMap<String, Value>,
    /// The label of the group.
    pub group: String,
    /// `goodput_harm` or `fct_harm`.
    pub metric: &'static str,
    /// Mean over repetitions: a fraction, negative if the others are of use.
    pub mean: f64,
    /// Half of the 95 % confidence interval (Student's t); `None` of a single observation.
    pub half_width: Option<f64>,
    /// Observations.
    pub n: usize,
}

/// All harm in the order of settings and groups.
pub(crate) fn all(runs: &[RunDigest]) -> Vec<Harm> {
    let mut found = Vec::new();
    for setting in Group::all(runs) {
        let first = setting.runs[0];
        for group in &first.per_group {
            let label = &group.group.label;
            for kind in KINDS {
                let full = format!("group.{label}.{}", kind.name);
                found.extend(Estimate::of(&setting.runs, &full).map(|harm| Harm {
                    factors: BTreeMap::clone(&first.info.factors),
                    group: label.clone(),
                    metric: kind.name,
                    mean: harm.mean,
                    half_width: harm.half_width,
                    n: harm.n,
                }));
            }
        }
    }
    found
}
