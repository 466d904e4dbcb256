//! The parts of `run.json` that reports show. Runs share those that are equal.

use crate::input::MetricValue;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use wirespeed_record::{
    Cost, FlowGroup, FlowInfo, HostInfo, KeptSeries, KernelInfo, LinkInfo, RunInfo, SubstrateKind, ToolInfo,
    ValidatedRegion,
};

/// The parts of a [`RunInfo`], under its names. The scenario and the inventory of hosts, most of its size, are left out.
#[derive(Debug, Clone)]
pub(crate) struct RunFacts {
    pub id: Box<str>,
    pub study: Arc<str>,
    pub about: Arc<str>,
    pub factors: Arc<BTreeMap<String, Value>>,
    pub repeat: u32,
    pub seed: u64,
    pub depends_on_seed: Option<bool>,
    pub substrate: SubstrateKind,
    pub started: Option<Box<str>>,
    pub omit_ns: i64,
    pub duration_ns: i64,
    pub series: KeptSeries,
    pub links: Arc<Vec<LinkInfo>>,
    /// With name, settings and router only.
    pub hosts: Arc<Vec<HostInfo>>,
    pub flows: Arc<Vec<FlowInfo>>,
    pub tool: Arc<ToolInfo>,
    pub kernel: Option<Arc<KernelInfo>>,
    pub warnings: Arc<Vec<String>>,
    pub cost: Cost,
    pub command: Box<str>,
    pub validated_region: Option<Arc<ValidatedRegion>>,
}

impl RunFacts {
    /// Forgets what only the page of the run itself shows.
    pub fn forget_details(&mut self, pool: &mut Pool) {
        self.command = Box::default();
        self.started = None;
        self.warnings = pool.warnings.share(Vec::new());
        let bare = |host: &HostInfo| HostInfo {
            name: host.name.clone(),
            router: host.router,
            ..HostInfo::default()
        };
        self.hosts = pool.hosts.share(self.hosts.iter().map(bare).collect());
    }
}

/// Equal parts of different runs, each of which is in memory once.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    words: HashSet<Arc<str>>,
    factors: Recent<BTreeMap<String, Value>>,
    links: Recent<Vec<LinkInfo>>,
    hosts: Recent<Vec<HostInfo>>,
    flows: Recent<Vec<FlowInfo>>,
    tools: Recent<ToolInfo>,
    kernels: Recent<KernelInfo>,
    warnings: Recent<Vec<String>>,
    regions: Recent<ValidatedRegion>,
    groups: Recent<FlowGroup>,
    names: Recent<Vec<MetricName>>,
    scenarios: Recent<Value>,
}

impl Pool {
    /// The facts of a run.
    pub fn facts(&mut self, info: &RunInfo) -> RunFacts {
        let host = |host: &HostInfo| HostInfo {
            name: host.name.clone(),
            settings: host.settings.clone(),
            router: host.router,
            ..HostInfo::default()
        };
        RunFacts {
            id: info.id.as_str().into(),
            study: self.word(&info.study),
            about: self.word(&info.about),
            factors: self.factors.share_ref(&info.factors),
            repeat: info.repeat,
            seed: info.seed,
            depends_on_seed: info.depends_on_seed,
            substrate: info.substrate,
            started: info.started.as_deref().map(Into::into),
            omit_ns: info.omit_ns,
            duration_ns: info.duration_ns,
            series: info.series,
            links: self.links.share_ref(&info.links),
            hosts: self.hosts.share(info.hosts.iter().map(host).collect()),
            flows: self.flows.share_ref(&info.flows),
            tool: self.tools.share_ref(&info.tool),
            kernel: info.kernel.as_ref().map(|kernel| self.kernels.share_ref(kernel)),
            warnings: self.warnings.share_ref(&info.warnings),
            cost: info.cost,
            command: info.command.as_str().into(),
            validated_region: info.validated_region.as_ref().map(|region| self.regions.share_ref(region)),
        }
    }

    /// A word that many runs have, such as the name of a queue.
    pub fn word(&mut self, word: &str) -> Arc<str> {
        if let Some(known) = self.words.get(word) {
            return Arc::clone(known);
        }
        let word: Arc<str> = word.into();
        self.words.insert(Arc::clone(&word));
        word
    }

    /// A group of flows.
    pub fn group(&mut self, group: FlowGroup) -> Arc<FlowGroup> {
        self.groups.share(group)
    }

    /// Names of metrics.
    pub fn names(&mut self, names: Vec<MetricName>) -> Arc<Vec<MetricName>> {
        self.names.share(names)
    }

    /// A resolved scenario.
    pub fn scenario(&mut self, scenario: Value) -> Arc<Value> {
        self.scenarios.share(scenario)
    }
}

/// A metric but for its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetricName {
    pub name: Box<str>,
    pub unit: Box<str>,
    pub headline: bool,
}

impl From<&MetricValue> for MetricName {
    fn from(metric: &MetricValue) -> Self {
        MetricName {
            name: metric.name.as_str().into(),
            unit: metric.unit.as_str().into(),
            headline: metric.headline,
        }
    }
}

/// The values of one type that were shared last. Repeats of a setting follow each other, so few of them are enough.
#[derive(Debug)]
struct Recent<T> {
    values: Vec<Arc<T>>,
    /// The place of the next one.
    next: usize,
}

/// How many values of one type are compared with a new one.
const MOST_RECENT: usize = 64;

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Recent { values: Vec::new(), next: 0 }
    }
}

impl<T: PartialEq> Recent<T> {
    fn share(&mut self, value: T) -> Arc<T> {
        self.known(&value).unwrap_or_else(|| self.add(value))
    }

    fn share_ref(&mut self, value: &T) -> Arc<T>
    where
        T: Clone,
    {
        self.known(value).unwrap_or_else(|| self.add(value.clone()))
    }

    fn known(&self, value: &T) -> Option<Arc<T>> {
        self.values.iter().find(|known| ***known == *value).cloned()
    }

    fn add(&mut self, value: T) -> Arc<T> {
        let value = Arc::new(value);
        match self.values.get_mut(self.next) {
            Some(oldest) => *oldest = Arc::clone(&value),
            None => self.values.push(Arc::clone(&value)),
        }
        self.next = (self.next + 1) % MOST_RECENT;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_share_all_but_their_name_and_seed() {
        let mut pool = Pool::default();
        let run = |repeat: u32| RunInfo {
            id: format!("r{repeat}"),
            repeat,
            factors: [("path.rtt".to_owned(), Value::from("10 ms"))].into(),
            flows: vec![FlowInfo::default()],
            hosts: vec![HostInfo::default()],
            ..RunInfo::default()
        };
        let (first, second) = (pool.facts(&run(0)), pool.facts(&run(1)));
        assert!(Arc::ptr_eq(&first.factors, &second.factors) && Arc::ptr_eq(&first.flows, &second.flows));
        assert!(Arc::ptr_eq(&first.hosts, &second.hosts) && Arc::ptr_eq(&first.study, &second.study));
        assert_eq!((&*second.id, second.repeat), ("r1", 1));
    }

    #[test]
    fn only_recent_values_are_compared() {
        let mut recent = Recent::default();
        let first = recent.share(0);
        for value in 1..=MOST_RECENT {
            recent.share(value);
        }
        assert_eq!(recent.values.len(), MOST_RECENT);
        assert!(!Arc::ptr_eq(&first, &recent.share(0)));
        assert!(Arc::ptr_eq(&recent.share(7), &recent.share(7)));
    }
}
