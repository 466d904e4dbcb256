//! The results of a folder as three Parquet files, so that a data tool reads them without opening every run.

use crate::verdict::Judged;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use wirespeed_record::{Cost, SheetColumn, SheetValues, StoreError, write_sheet};
use wirespeed_report::{GroupResult, MetricValue, factor_number, factor_text};

/// The file with a row for each run.
const RESULTS: &str = "results.parquet";
/// The file with a row for each flow of each run.
const FLOW_RESULTS: &str = "flow_results.parquet";

/// The file with a row for each group of flows of each run.
const GROUP_RESULTS: &str = "group_results.parquet";

/// Identity, factors, metrics and cost of runs, collected run by run. Numbers are kept by column, and words that several runs
/// have are kept once, so that a run takes some hundred bytes and not some kilobytes.
#[derive(Debug, Default)]
pub struct ResultTables {
    ids: Vec<Box<str>>,
    studies: Words,
    substrates: Words,
    repeats: Vec<u64>,
    seeds: Vec<u64>,
    started: Words,
    copies: Words,
    limits: Words,
    factors: Factors,
    metrics: Metrics,
    costs: Vec<Cost>,
    flows: FlowRows,
    groups: GroupRows,
}

/// A row for each flow.
#[derive(Debug, Default)]
struct FlowRows {
    /// The run of each, by its place.
    runs: Vec<u32>,
    numbers: Vec<u64>,
    labels: Words,
    kinds: Words,
    congestion: Words,
    metrics: Metrics,
}

/// A row for each group of flows.
#[derive(Debug, Default)]
struct GroupRows {
    runs: Vec<u32>,
    labels: Words,
    classes: Words,
    flows: Vec<u64>,
    metrics: Metrics,
}

/// A column of words.
#[derive(Debug, Default)]
struct Words {
    /// The number of each text.
    known: HashMap<Box<str>, u32>,
    /// By row, the number of its text.
    rows: Vec<Option<u32>>,
}

impl Words {
    fn push(&mut self, word: Option<&str>) {
        let next = self.known.len() as u32;
        let number = word.map(|word| match self.known.get(word) {
            Some(number) => *number,
            None => *self.known.entry(word.into()).or_insert(next),
        });
        self.rows.push(number);
    }

    fn values(&self) -> SheetValues {
        let mut words = vec![""; self.known.len()];
        self.known.iter().for_each(|(word, number)| words[*number as usize] = word);
        let word = |number: &Option<u32>| number.map(|number| words[number as usize].to_owned());
        SheetValues::Text(self.rows.iter().map(word).collect())
    }
}

/// The factors of each run.
#[derive(Debug, Default)]
struct Factors {
    /// The place of each setting in `settings`, by its text.
    known: HashMap<String, u32>,
    settings: Vec<BTreeMap<String, Value>>,
    /// By row, the place of its setting.
    rows: Vec<u32>,
}

impl Factors {
    fn push(&mut self, factors: &BTreeMap<String, Value>) {
        let place = *self.known.entry(format!("{factors:?}")).or_insert_with(|| {
            self.settings.push(factors.clone());
            (self.settings.len() - 1) as u32
        });
        self.rows.push(place);
    }

    /// A column of words for each factor, and one of numbers if it has any.
    fn columns(&self) -> Vec<SheetColumn> {
        let keys: BTreeSet<&String> = self.settings.iter().flat_map(BTreeMap::keys).collect();
        let mut columns = Vec::new();
        for key in keys {
            let values = || self.rows.iter().map(|place| self.settings[*place as usize].get(key));
            let texts = values().map(|value| value.map(factor_text)).collect();
            columns.push(column(key, "", "factor, as the scenario has it", SheetValues::Text(texts)));
            let numbers: Vec<_> = values().map(|value| value.and_then(factor_number)).collect();
            if numbers.iter().any(Option::is_some) {
                // 0 has the unit of the others.
                let unit =
                    numbers.iter().flatten().find(|number| number.0 != 0.0).map_or("", |number| number.1);
                let numbers = numbers.iter().map(|number| number.map(|number| number.0)).collect();
                let doc = "the factor as a number; null for words";
                columns.push(column(&format!("{key}.value"), unit, doc, SheetValues::Real(numbers)));
            }
        }
        columns
    }
}

/// Metrics by column.
#[derive(Debug, Default)]
struct Metrics {
    rows: usize,
    /// By name, the values of the rows up to the last one that has the metric; not a number where a row does not have it.
    columns: HashMap<&'static str, Vec<f64>>,
}

impl Metrics {
    fn push(&mut self, metrics: &[MetricValue]) {
        for MetricValue { name, value, .. } in metrics {
            let Some(metric) = wirespeed_metrics::find(name) else { continue };
            let column = self.columns.entry(metric.name).or_default();
            column.resize(self.rows, f64::NAN);
            column.push(*value);
        }
        self.rows += 1;
    }

    /// The metrics that at least one row has, in the order of the registry.
    fn columns(&self) -> impl Iterator<Item = SheetColumn> {
        wirespeed_metrics::all().iter().filter_map(|metric| {
            let values =
                self.columns.get(metric.name)?.iter().map(|value| Some(*value).filter(|v| !v.is_nan()));
            let missing = std::iter::repeat(None);
            let values = SheetValues::Real(values.chain(missing).take(self.rows).collect());
            Some(column(metric.name, metric.unit, metric.definition, values))
        })
    }
}

impl ResultTables {
    /// Adds a complete run.
    pub fn add(&mut self, judged: &Judged) {
        let info = &judged.recording.info;
        let run = self.ids.len() as u32;
        for ((number, flow), metrics) in (0..).zip(&info.flows).zip(&judged.per_flow) {
            self.flows.runs.push(run);
            self.flows.numbers.push(number);
            self.flows.labels.push(Some(&flow.label));
            self.flows.kinds.push(Some(flow.kind.word()));
            self.flows.congestion.push(flow.congestion.as_deref());
            self.flows.metrics.push(metrics);
        }
        for GroupResult { group, metrics } in &judged.per_group {
            self.groups.runs.push(run);
            self.groups.labels.push(Some(&group.label));
            self.groups.classes.push(Some(group.class.word()));
            self.groups.flows.push(group.flows.len() as u64);
            self.groups.metrics.push(metrics);
        }
        self.ids.push(info.id.as_str().into());
        self.studies.push(Some(&info.study));
        self.substrates.push(Some(info.substrate.word()));
        self.repeats.push(info.repeat.into());
        self.seeds.push(info.seed);
        self.started.push(info.started.as_deref());
        self.copies.push(info.copy_of.as_deref());
        self.limits.push(judged.analysis.diagnosis.sentence().as_deref());
        self.factors.push(&info.factors);
        self.metrics.push(&judged.metrics);
        self.costs.push(info.cost);
    }

    /// Writes the files to `folder`; each replaces an earlier one as a whole.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), StoreError> {
        write_sheet(&folder.join(RESULTS), &self.run_columns())?;
        write_sheet(&folder.join(FLOW_RESULTS), &self.flow_columns())?;
        write_sheet(&folder.join(GROUP_RESULTS), &self.group_columns())
    }

    fn run_columns(&self) -> Vec<SheetColumn> {
        let ids = SheetValues::Text(self.ids.iter().map(|id| Some(id.to_string())).collect());
        let seconds = |name, doc, of: fn(&Cost) -> f64| {
            let values = self.costs.iter().map(|cost| Some(of(cost))).collect();
            column(name, "s", doc, SheetValues::Real(values))
        };
        let repeats = SheetValues::Whole(self.repeats.clone());
        let seeds = SheetValues::Whole(self.seeds.clone());
        let packets = SheetValues::Whole(self.costs.iter().map(|cost| cost.packets).collect());
        let started = "begin of the run in UTC (RFC 3339); null where time is computed";
        let mut columns = vec![
            column("id", "", "name of the run, and of its directory below runs/", ids),
            column("study", "", "name of the scenario", self.studies.values()),
            column("substrate", "", "substrate of the run", self.substrates.values()),
            column("repeat", "", "repetition, from 0", repeats),
            column("seed", "", "seed of all random numbers of the run", seeds),
            column("started", "", started, self.started.values()),
            column(
                "copy_of",
                "",
                "run that this is a copy of; null if it was executed",
                self.copies.values(),
            ),
            column("limit", "", "limiting factor as a sentence; null if there is none", self.limits.values()),
        ];
        columns.extend(self.factors.columns());
        columns.extend(self.metrics.columns());
        columns.push(seconds("cost_wall_s", "elapsed time of the execution", |cost| cost.wall_s));
        columns.push(seconds("cost_cpu_s", "processor time of the execution", |cost| cost.cpu_s));
        let doc = "data packets sent, with retransmissions";
        columns.push(column("cost_packets", "packets", doc, packets));
        columns
    }

    fn flow_columns(&self) -> Vec<SheetColumn> {
        let FlowRows { runs, numbers, labels, kinds, congestion, metrics } = &self.flows;
        let numbers = SheetValues::Whole(numbers.clone());
        let mut columns = vec![
            column("id", "", "name of the run", self.ids_of(runs)),
            column("flow", "", "number of the flow in the run, from 0", numbers),
            column("label", "", "label of the flow", labels.values()),
            column("kind", "", "transport protocol", kinds.values()),
            column("congestion", "", "congestion control algorithm; null for UDP", congestion.values()),
        ];
        columns.extend(metrics.columns());
        columns
    }

    fn group_columns(&self) -> Vec<SheetColumn> {
        let GroupRows { runs, labels, classes, flows, metrics } = &self.groups;
        let class = "tcp: without a size; tcp-finite: with a size; udp";
        let mut columns = vec![
            column("id", "", "name of the run", self.ids_of(runs)),
            column("group", "", "label of the group of flows", labels.values()),
            column("class", "", class, classes.values()),
            column("flows", "", "number of flows in the group", SheetValues::Whole(flows.clone())),
        ];
        columns.extend(metrics.columns());
        columns
    }

    fn ids_of(&self, runs: &[u32]) -> SheetValues {
        SheetValues::Text(runs.iter().map(|run| Some(self.ids[*run as usize].to_string())).collect())
    }
}

fn column(name: &str, unit: &'static str, doc: &'static str, values: SheetValues) -> SheetColumn {
    SheetColumn { name: name.into(), unit, doc, values }
}
