//! What is kept of a run once its recording has gone: figures with few points, and plain values.

use crate::diagnosis::Section;
use crate::distribution::flow_times;
use crate::ended_early::EndedEarly;
use crate::facts::{Pool, RunFacts};
use crate::figure::{Figure, Ink};
use crate::input::{ExpectOutcome, RunResult};
use crate::ledger::{Account, Measured};
use crate::observations::observations;
use crate::run_metrics::{GroupMetrics, Metric, RunMetrics};
use crate::source::flow_ink;
use crate::thin::Point;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use wirespeed_diagnosis::{Analysis, Unsteady};
use wirespeed_metrics::Pair;
use wirespeed_scenario::{Subject, metric_of};

/// A run, reduced.
#[derive(Debug, Clone)]
pub(crate) struct RunDigest {
    pub info: RunFacts,
    pub metrics: RunMetrics,
    pub per_flow: Box<[RunMetrics]>,
    pub per_group: Box<[GroupMetrics]>,
    pub expectations: Box<[ExpectOutcome]>,
    pub figures: Vec<Figure>,
    /// Whether the page has its figures, ledgers and events. Others have their row only.
    pub is_detailed: bool,
    /// The ledger of the whole run.
    pub accounts: Arc<[Account]>,
    /// The ledger of what the metrics are about.
    pub measured: Measured,
    pub events: Vec<(i64, String)>,
    /// Throughput of all flows together; time in seconds, rate in bit/s.
    pub throughput: Vec<Point>,
    /// Quantiles of the smoothed round-trip times that were sampled, in ns.
    pub rtt_quantiles: Vec<f64>,
    /// Completion times of flows, in ns.
    pub flow_times: Vec<f64>,
    /// Losses of datagrams by pair of hosts.
    pub pairs: Vec<Pair>,
    /// Why it is not steady, if it is not.
    pub unsteady: Option<Unsteady>,
    /// Flows that ended early, if any did.
    pub ended_early: Option<EndedEarly>,
    /// The run in words.
    pub diagnosis: Vec<Section>,
}

impl RunDigest {
    /// Values and ledger only: no figure, no event. Parts that other runs have come from `pool`.
    pub fn plain(run: RunResult, computed: &Analysis, pool: &mut Pool) -> Self {
        let mut share = |accounts: Vec<Account>| -> Arc<[Account]> {
            accounts.into_iter().map(|account| account.shared(pool)).collect()
        };
        let accounts = share(Account::all(run.recording));
        let measured = Measured::of(run.recording, &accounts, &mut share);
        RunDigest {
            info: pool.facts(&run.recording.info),
            metrics: RunMetrics::new(&run.metrics, pool),
            per_flow: run.per_flow.iter().map(|metrics| RunMetrics::new(metrics, pool)).collect(),
            per_group: run.per_group.into_iter().map(|found| GroupMetrics::new(found, pool)).collect(),
            expectations: run.expectations.into(),
            pairs: computed.pairs.clone(),
            accounts,
            measured,
            figures: Vec::new(),
            is_detailed: false,
            events: Vec::new(),
            throughput: Vec::new(),
            rtt_quantiles: computed.rtt_quantiles.clone(),
            flow_times: flow_times(run.recording),
            unsteady: computed.unsteady.clone(),
            ended_early: EndedEarly::of(run.recording),
            diagnosis: Vec::new(),
        }
    }

    /// A metric of the run, of one of its flows (`flow.LABEL.METRIC`) or of a group of them (`group.LABEL.METRIC`), if it
    /// has it.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.measured_metric(name).map(|m| m.value).filter(|v| v.is_finite())
    }

    /// The unit of such a metric; empty if the run does not have it.
    pub fn unit(&self, name: &str) -> &str {
        self.measured_metric(name).map_or("", |m| m.unit)
    }

    fn measured_metric(&self, name: &str) -> Option<Metric<'_>> {
        let (subject, name) = metric_of(name);
        let metrics = match subject {
            Subject::Run => &self.metrics,
            Subject::Flow(label) => {
                self.per_flow.get(self.info.flows.iter().position(|flow| flow.label == label)?)?
            }
            Subject::Group(label) => &self.group(label)?.metrics,
        };
        metrics.get(name)
    }

    /// The group of flows of this label.
    pub fn group(&self, label: &str) -> Option<&GroupMetrics> {
        self.per_group.iter().find(|found| found.group.label == label)
    }

    /// The congestion control, if all TCP flows have the same and there is one.
    pub fn congestion(&self) -> Option<&str> {
        let mut controls = self.info.flows.iter().filter_map(|f| f.congestion.as_deref());
        let first = controls.next()?;
        controls.all(|c| c == first).then_some(first)
    }

    /// Colour of the run in figures across runs; `twin` counts earlier lines of the same control.
    pub fn ink(&self, twin: usize) -> Ink {
        match (self.congestion(), self.info.flows.len()) {
            (Some(control), _) => Ink::Flow { congestion: Some(control.into()), label: control.into(), twin },
            (None, 1) => flow_ink(&self.info.flows, 0),
            _ => Ink::Place(twin),
        }
    }

    /// Keeps only what figures and tables across runs need.
    pub fn forget_details(&mut self, pool: &mut Pool) {
        self.is_detailed = false;
        self.figures = Vec::new();
        self.events = Vec::new();
        self.diagnosis = Vec::new();
        self.throughput = Vec::new();
        self.info.forget_details(pool);
    }

    /// Failed bounds.
    pub fn failed(&self) -> usize {
        self.expectations.iter().filter(|e| !e.passed).count()
    }

    /// The run without its repetition: what repeats have in common.
    pub fn factors_text(&self, except: &[&str]) -> String {
        let factors = self.info.factors.iter().filter(|(key, _)| !except.contains(&key.as_str()));
        factors.map(|(key, value)| factor_phrase(key, value)).collect::<Vec<_>>().join(" · ")
    }
}

/// `cubic` for a congestion control, otherwise `loss 1e-5`.
pub(crate) fn factor_phrase(key: &str, value: &Value) -> String {
    let text = factor_text(value);
    if last_part(key) == "congestion" { text } else { format!("{} {text}", last_part(key).replace('_', " ")) }
}

/// The value of a factor as a person wrote it.
pub fn factor_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(v) if v != 0.0 && v.abs() < 1e-3 => format!("{v:e}"),
            _ => number.to_string(),
        },
        Value::Null => crate::number::MISSING.into(),
        other => other.to_string(),
    }
}

/// `congestion` of `flow.congestion`.
pub(crate) fn last_part(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Name of a factor for a head: its last part, unless another of `keys` ends the same.
pub fn factor_head(key: &str, keys: &[String]) -> String {
    let part = last_part(key);
    let same = keys.iter().filter(|k| last_part(k) == part).count();
    if same > 1 { key.into() } else { part.replace('_', " ") }
}

/// What a factor's value is as a number: itself, or a quantity with a unit in base units (s, bit/s, byte).
pub fn factor_number(value: &Value) -> Option<(f64, &'static str)> {
    match value {
        Value::Number(number) => Some((number.as_f64()?, "")),
        Value::String(text) => {
            if let Ok(span) = text.parse::<wirespeed_units::Span>() {
                return Some((span.as_secs_f64(), "s"));
            }
            if let Ok(rate) = text.parse::<wirespeed_units::Rate>() {
                return Some((rate.get() as f64, "bit/s"));
            }
            if let Ok(bytes) = text.parse::<wirespeed_units::Bytes>() {
                return Some((bytes.get() as f64, "B"));
            }
            let (number, unit) = text.trim().split_once(' ')?;
            (unit.trim() == "bdp").then_some((number.parse().ok()?, "BDP"))
        }
        _ => None,
    }
}

/// The same text for the same factors, without factor `except`: a key by which runs are sorted into settings.
pub(crate) fn factors_key(factors: &BTreeMap<String, Value>, except: Option<&str>) -> String {
    let kept = factors.iter().filter(|(key, _)| except != Some(key.as_str()));
    kept.map(|(key, value)| format!("{}={value}\n", Value::from(key.as_str()))).collect()
}

/// Runs with the same factors.
pub(crate) struct Group<'a> {
    pub runs: Vec<&'a RunDigest>,
}

impl<'a> Group<'a> {
    /// All groups of `runs`, in the order in which they were added.
    pub fn all(runs: &'a [RunDigest]) -> Vec<Group<'a>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut places: HashMap<(String, Option<&str>), usize> = HashMap::new();
        for run in runs {
            // Without factors the runs of one study may still be different scenarios.
            let congestion = if run.info.factors.is_empty() { run.congestion() } else { None };
            let place =
                *places.entry((factors_key(&run.info.factors, None), congestion)).or_insert_with(|| {
                    groups.push(Group { runs: Vec::new() });
                    groups.len() - 1
                });
            groups[place].runs.push(run);
        }
        groups
    }

    /// Whether a run is a repeat of its runs.
    pub fn is_of(&self, run: &RunDigest) -> bool {
        let first = self.runs[0];
        // Without factors the runs of one study may still be different scenarios.
        let is_same = || !run.info.factors.is_empty() || first.congestion() == run.congestion();
        first.info.factors == run.info.factors && is_same()
    }

    /// The runs that are observations of their own.
    pub fn observations(&self) -> Vec<&'a RunDigest> {
        observations(self.runs.iter().copied())
    }

    /// The values of a metric, one for each observation that has it.
    pub fn values(&self, metric: &str) -> Vec<f64> {
        self.observations().iter().filter_map(|run| run.metric(metric)).collect()
    }

    /// Mean of a metric.
    pub fn mean(&self, metric: &str) -> Option<f64> {
        let values = self.values(metric);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// What tells it from the others: its factors, or its congestion control, or the run's name.
    pub fn name(&self, except: &[&str]) -> String {
        let run = self.runs[0];
        let factors = run.factors_text(except);
        if !factors.is_empty() {
            return factors;
        }
        run.congestion().map_or_else(|| run.info.id.to_string(), String::from)
    }
}

/// The metric by which runs are compared: goodput, or what comes nearest to it.
pub(crate) fn leading_metric(runs: &[RunDigest]) -> Option<&'static str> {
    ["goodput_bps", "throughput_bps"]
        .into_iter()
        .find(|name| runs.iter().any(|run| run.metric(name).is_some()))
}

/// `goodput` of `goodput_bps`: the name without its unit, in words.
pub fn metric_words(name: &str) -> String {
    let suffixes = ["_bps", "_ns", "_bytes", "_packets", "_ratio"];
    let stem = suffixes.iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
    stem.replace('_', " ")
}
