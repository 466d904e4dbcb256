//! Bounds that make a scenario a test.

use crate::address::Address;
use crate::error::{Complaint, ScenarioError};
use crate::metric_of::{Labels, Subject, metric_of};
use crate::run::{Factor, ONLY_KEY, Run};
use crate::suggest;
use crate::sweep::{Axis, factor};
use crate::tree::{Node, Place, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use wirespeed_units::{Bytes, Rate, Span};

/// A bound on a metric, for the runs it applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The metric's name; [`crate::metric_of`] finds the flow or the group that it is of, if it is of one.
    pub metric: String,
    /// Least value that is good, in the metric's unit.
    pub min: Option<f64>,
    /// Largest value that is good, in the metric's unit.
    pub max: Option<f64>,
    /// Only runs whose factors have these values, by path in the file.
    pub filter: BTreeMap<String, Factor>,
    /// Bytes of the file in which the metric's name stands.
    pub span: Range<usize>,
    pub(crate) at: Place,
}

impl Expectation {
    /// Whether the bound is meant for this run. One on flows that `run.only` leaves out is not.
    pub fn applies(&self, run: &Run) -> bool {
        if run.factors.contains_key(ONLY_KEY) && !has(run, metric_of(&self.metric).0) {
            return false;
        }
        self.filter
            .iter()
            .all(|(path, wanted)| run.factors.get(path).is_some_and(|value| same(value, wanted)))
    }

    /// Whether a value keeps the bound. A value that is not a number does not.
    pub fn holds(&self, value: f64) -> bool {
        !value.is_nan() && self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
    }
}

/// Whether a run has the flow or the group of flows that a metric is of.
fn has(run: &Run, subject: Subject) -> bool {
    match subject {
        Subject::Run => true,
        Subject::Flow(label) => run.flows.iter().any(|flow| flow.label == label),
        Subject::Group(label) => run.flow_groups().iter().any(|group| group == label),
    }
}

/// Fails at the first bound whose metric is not among `known` (name, unit), or is of a flow or group that is not among
/// `labels`.
pub(crate) fn check_metrics(
    expect: &[Expectation],
    known: &[(&str, &str)],
    labels: &Labels,
) -> Result<(), ScenarioError> {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    for expectation in expect {
        let metric = labels.check(&expectation.metric, &expectation.at)?;
        if !names.contains(&metric) {
            return Err(Complaint::at(&expectation.at, format!("unknown metric `{metric}` in [expect]"))
                .label("no such metric")
                .help(suggest::choices(metric, "metrics", &names))
                .into());
        }
    }
    Ok(())
}

/// Reads the `[expect]` table. `axes` are the sweep as the file has it.
pub(crate) fn expectations(expect: &Node, axes: &[Axis]) -> Result<Vec<Expectation>, Complaint> {
    if !matches!(expect.value, Value::Table(_)) {
        return Err(Complaint::at(&expect.at, format!("expect: expected a table, found {}", expect.kind()))
            .help("write [expect] and below it lines such as link_utilisation = { min = 0.9 }"));
    }
    let mut list = Vec::new();
    for entry in expect.entries() {
        let bounds = match &entry.node.value {
            Value::Array(bounds) => bounds.iter().collect(),
            _ => vec![&entry.node],
        };
        for bound in bounds {
            list.push(expectation(&entry.key, &entry.at, bound, axes)?);
        }
    }
    Ok(list)
}

fn expectation(metric: &str, at: &Place, bound: &Node, axes: &[Axis]) -> Result<Expectation, Complaint> {
    const KEYS: &[&str] = &["min", "max", "where"];
    if !matches!(bound.value, Value::Table(_)) {
        return Err(Complaint::at(
            &bound.at,
            format!("expect.{metric}: expected a table, found {}", bound.kind()),
        )
        .label("not a bound")
        .help("write { min = ... }, { max = ... } or both"));
    }
    if let Some(stranger) = bound.entries().iter().find(|e| !KEYS.contains(&e.key.as_str())) {
        return Err(Complaint::at(
            &stranger.at,
            format!("unknown key `{}` in [expect.{metric}]", stranger.key),
        )
        .label("not a key here")
        .help(suggest::choices(&stranger.key, "keys here", KEYS)));
    }
    let limit = |key| bound.get(key).map(|node| number(metric, key, node)).transpose();
    let (min, max) = (limit("min")?, limit("max")?);
    match (min, max) {
        (None, None) => {
            return Err(Complaint::at(at, format!("expect.{metric} has neither `min` nor `max`"))
                .label("expects nothing")
                .help("give at least one, for example { min = 0.9 }"));
        }
        (Some(least), Some(most)) if least > most => {
            return Err(Complaint::at(
                at,
                format!("expect.{metric}: min is above max, which no value can meet"),
            )
            .label("cannot be met")
            .help("exchange the two"));
        }
        _ => {}
    }
    let filter = match bound.get("where") {
        Some(node) => conditions(metric, node, axes)?,
        None => BTreeMap::new(),
    };
    Ok(Expectation { metric: metric.to_owned(), min, max, filter, span: at.span.clone(), at: at.clone() })
}

/// Conditions on swept factors, by the path as [sweep] writes it.
fn conditions(metric: &str, node: &Node, axes: &[Axis]) -> Result<BTreeMap<String, Factor>, Complaint> {
    if !matches!(node.value, Value::Table(_)) {
        return Err(Complaint::at(
            &node.at,
            format!("expect.{metric}.where: expected a table, found {}", node.kind()),
        )
        .help("write { \"flow.congestion\" = \"bic\" }"));
    }
    let swept: Vec<&str> = axes.iter().map(|a| a.address.text.as_str()).collect();
    let mut filter = BTreeMap::new();
    for entry in node.entries() {
        let key = &entry.key;
        let address = Address::parse(key, &entry.at)?;
        let Some(axis) = axes.iter().find(|a| a.address.same(&address)) else {
            return Err(Complaint::at(&entry.at, format!("expect.{metric}.where: `{key}` is not swept"))
                .label("not in [sweep]")
                .help(suggest::choices(key, "swept", &swept)));
        };
        let value = factor(&entry.node, key)?;
        let values: Vec<String> =
            axis.values.iter().filter_map(|v| factor(v, key).ok()).map(|f| f.to_string()).collect();
        if !values.contains(&value.to_string()) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let message = format!("expect.{metric}.where: `{key}` never is `{value}`");
            return Err(Complaint::at(&entry.node.at, message)
                .label("not among the swept values")
                .help(suggest::choices(&value.to_string(), "values in [sweep]", &values)));
        }
        filter.insert(axis.address.text.clone(), value);
    }
    Ok(filter)
}

/// A bound's number; a quantity is converted into the unit in which the metric's name ends.
fn number(metric: &str, key: &str, node: &Node) -> Result<f64, Complaint> {
    quantity(metric, &format!("expect.{metric}.{key}"), node)
}

/// A number in the unit of `metric`: a plain one, or a quantity, which is converted into the unit in which the
/// metric's name ends. `what` names it in messages.
///
/// # Errors
/// If it is neither.
pub fn quantity(metric: &str, what: &str, node: &Node) -> Result<f64, Complaint> {
    let fault = |message: String| Complaint::at(&node.at, format!("{what}: {message}"));
    match &node.value {
        Value::Integer(v) => Ok(*v as f64),
        Value::Float(v) => Ok(*v),
        Value::Text(text) => {
            let parsed = if metric.ends_with("_bps") {
                text.parse::<Rate>().map(|v| v.get() as f64)
            } else if metric.ends_with("_ns") {
                text.parse::<Span>().map(|v| v.picoseconds() as f64 / 1e3)
            } else if metric.ends_with("_bytes") {
                text.parse::<Bytes>().map(|v| v.get() as f64)
            } else {
                return Err(fault(format!("expected a number, found the string \"{text}\""))
                    .label("not a number")
                    .help(
                        "only metrics whose names end in _bps, _ns or _bytes take a quantity with a unit",
                    ));
            };
            parsed.map_err(|e| {
                let text = e.to_string();
                let (wrong, remedy) =
                    text.split_once(": ").unwrap_or((&text, "write a number or a quantity"));
                fault(wrong.to_owned()).label("not a quantity of this metric").help(remedy)
            })
        }
        _ => Err(fault(format!("expected a number or a quantity in quotes, found {}", node.kind()))),
    }
}

/// Equal as written: `0` and `0.0` are the same, "1 ms" and "1000 us" are not.
fn same(a: &Factor, b: &Factor) -> bool {
    a.to_string() == b.to_string()
}
