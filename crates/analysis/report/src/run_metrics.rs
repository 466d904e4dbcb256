//! The metrics of a run as a report keeps them: numbers, and names that are shared between runs.

use crate::facts::{MetricName, Pool};
use crate::input::{GroupResult, MetricValue};
use std::sync::Arc;
use wirespeed_record::FlowGroup;

/// The metrics of a run, a flow or a group of flows.
#[derive(Debug, Clone)]
pub(crate) struct RunMetrics {
    names: Arc<Vec<MetricName>>,
    /// One for each name.
    values: Box<[f64]>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metric<'a> {
    pub name: &'a str,
    pub unit: &'a str,
    pub headline: bool,
    pub value: f64,
}

impl RunMetrics {
    pub fn new(metrics: &[MetricValue], pool: &mut Pool) -> RunMetrics {
        let names = pool.names(metrics.iter().map(MetricName::from).collect());
        RunMetrics { names, values: metrics.iter().map(|metric| metric.value).collect() }
    }

    /// The same, and `more` after them.
    pub fn with(&self, more: &[MetricValue], pool: &mut Pool) -> RunMetrics {
        let names = self.names.iter().cloned().chain(more.iter().map(MetricName::from));
        let values = self.values.iter().copied().chain(more.iter().map(|metric| metric.value));
        RunMetrics { names: pool.names(names.collect()), values: values.collect() }
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Metric<'_>> {
        let both = self.names.iter().zip(&self.values);
        both.map(|(name, value)| Metric {
            name: &name.name,
            unit: &name.unit,
            headline: name.headline,
            value: *value,
        })
    }

    /// The metric of that name.
    pub fn get(&self, name: &str) -> Option<Metric<'_>> {
        self.iter().find(|metric| metric.name == name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether names and values are equal to the last bit.
    pub fn is_same(&self, other: &RunMetrics) -> bool {
        let is_equal = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(is_equal)
            && (Arc::ptr_eq(&self.names, &other.names)
                || self.names.iter().zip(&*other.names).all(|(a, b)| a.name == b.name))
    }
}

/// A group of flows of a run, and its metrics.
#[derive(Debug, Clone)]
pub(crate) struct GroupMetrics {
    pub group: Arc<FlowGroup>,
    pub metrics: RunMetrics,
}

impl GroupMetrics {
    pub fn new(found: GroupResult, pool: &mut Pool) -> GroupMetrics {
        GroupMetrics { metrics: RunMetrics::new(&found.metrics, pool), group: pool.group(found.group) }
    }

    /// The value of a metric, if the group has it.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).map(|metric| metric.value).filter(|value| value.is_finite())
    }
}
