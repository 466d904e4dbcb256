//! The results of a folder as three Parquet files, so that a data tool reads them without opening every run.

use crate::verdict::Judged;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wirespeed_record::{FlowGroup, FlowInfo, RunInfo, SheetColumn, SheetValues, StoreError, write_sheet};
use wirespeed_report::{GroupResult, MetricValue, factor_number, factor_text};

/// The file with a row for each run.
const RESULTS: &str = "results.parquet";
/// The file with a row for each flow of each run.
const FLOW_RESULTS: &str = "flow_results.parquet";

/// The file with a row for each group of flows of each run.
const GROUP_RESULTS: &str = "group_results.parquet";

/// Identity, factors, metrics and cost of runs, collected run by run. A run takes some kilobytes.
#[derive(Debug, Default)]
pub struct ResultTables {
    runs: Vec<RunRow>,
    flows: Vec<FlowRow>,
    groups: Vec<GroupRow>,
}

#[derive(Debug)]
struct RunRow {
    info: RunInfo,
    metrics: Metrics,
    limit: Option<String>,
}

#[derive(Debug)]
struct FlowRow {
    id: String,
    flow: usize,
    info: FlowInfo,
    metrics: Metrics,
}

#[derive(Debug)]
struct GroupRow {
    id: String,
    group: FlowGroup,
    metrics: Metrics,
}

type Metrics = BTreeMap<String, f64>;

impl ResultTables {
    /// Adds a complete run.
    pub fn add(&mut self, judged: &Judged) {
        let full = &judged.recording.info;
        for (flow, (info, metrics)) in full.flows.iter().zip(&judged.per_flow).enumerate() {
            let (id, info, metrics) = (full.id.clone(), info.clone(), by_name(metrics));
            self.flows.push(FlowRow { id, flow, info, metrics });
        }
        for GroupResult { group, metrics } in &judged.per_group {
            let (id, group, metrics) = (full.id.clone(), group.clone(), by_name(metrics));
            self.groups.push(GroupRow { id, group, metrics });
        }
        // Without the scenario and the inventory of hosts, which would be most of the memory.
        let info = RunInfo {
            id: full.id.clone(),
            study: full.study.clone(),
            factors: full.factors.clone(),
            repeat: full.repeat,
            seed: full.seed,
            substrate: full.substrate,
            started: full.started.clone(),
            copy_of: full.copy_of.clone(),
            cost: full.cost,
            ..RunInfo::default()
        };
        let limit = judged.diagnosis.sentence();
        self.runs.push(RunRow { info, metrics: by_name(&judged.metrics), limit });
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
        let text = |name, doc, of: fn(&RunInfo) -> Option<&str>| {
            column(name, "", doc, words(self.runs.iter().map(|row| of(&row.info))))
        };
        let whole = |name, unit, doc, of: fn(&RunInfo) -> u64| {
            column(name, unit, doc, SheetValues::Whole(self.runs.iter().map(|row| of(&row.info)).collect()))
        };
        let seconds = |name, doc, of: fn(&RunInfo) -> f64| {
            let values = self.runs.iter().map(|row| Some(of(&row.info))).collect();
            column(name, "s", doc, SheetValues::Real(values))
        };
        let mut columns = vec![
            text("id", "name of the run, and of its directory below runs/", |info| Some(&info.id)),
            text("study", "name of the scenario", |info| Some(&info.study)),
            text("substrate", "substrate of the run", |info| Some(info.substrate.word())),
            whole("repeat", "", "repetition, from 0", |info| info.repeat.into()),
            whole("seed", "", "seed of all random numbers of the run", |info| info.seed),
            text("started", "begin of the run in UTC (RFC 3339); null where time is computed", |info| {
                info.started.as_deref()
            }),
            text("copy_of", "run that this is a copy of; null if it was executed", |info| {
                info.copy_of.as_deref()
            }),
        ];
        let limits = words(self.runs.iter().map(|row| row.limit.as_deref()));
        columns.push(column("limit", "", "limiting factor as a sentence; null if there is none", limits));
        columns.extend(self.factor_columns());
        columns.extend(metric_columns(self.runs.iter().map(|row| &row.metrics)));
        columns.push(seconds("cost_wall_s", "elapsed time of the execution", |info| info.cost.wall_s));
        columns.push(seconds("cost_cpu_s", "processor time of the execution", |info| info.cost.cpu_s));
        columns.push(whole("cost_packets", "packets", "data packets sent, with retransmissions", |info| {
            info.cost.packets
        }));
        columns
    }

    /// A column of words for each factor, and one of numbers if it has any.
    fn factor_columns(&self) -> Vec<SheetColumn> {
        let keys: BTreeSet<&String> = self.runs.iter().flat_map(|row| row.info.factors.keys()).collect();
        let mut columns = Vec::new();
        for key in keys {
            let values: Vec<_> = self.runs.iter().map(|row| row.info.factors.get(key)).collect();
            let texts = values.iter().map(|value| value.map(factor_text)).collect();
            columns.push(column(key, "", "factor, as the scenario has it", SheetValues::Text(texts)));
            let numbers: Vec<_> = values.iter().map(|value| value.and_then(factor_number)).collect();
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

    fn flow_columns(&self) -> Vec<SheetColumn> {
        let text = |name, doc, of: fn(&FlowRow) -> Option<&str>| {
            column(name, "", doc, words(self.flows.iter().map(of)))
        };
        let numbers = SheetValues::Whole(self.flows.iter().map(|row| row.flow as u64).collect());
        let mut columns = vec![
            text("id", "name of the run", |row| Some(&row.id)),
            column("flow", "", "number of the flow in the run, from 0", numbers),
            text("label", "label of the flow", |row| Some(&row.info.label)),
            text("kind", "transport protocol", |row| Some(row.info.kind.word())),
            text("congestion", "congestion control algorithm; null for UDP", |row| {
                row.info.congestion.as_deref()
            }),
        ];
        columns.extend(metric_columns(self.flows.iter().map(|row| &row.metrics)));
        columns
    }
}

impl ResultTables {
    fn group_columns(&self) -> Vec<SheetColumn> {
        let text = |name, doc, of: fn(&GroupRow) -> &str| {
            column(name, "", doc, words(self.groups.iter().map(|row| Some(of(row)))))
        };
        let flows = SheetValues::Whole(self.groups.iter().map(|row| row.group.flows.len() as u64).collect());
        let mut columns = vec![
            text("id", "name of the run", |row| &row.id),
            text("group", "label of the group of flows", |row| &row.group.label),
            text("class", "tcp: without a size; tcp-finite: with a size; udp", |row| row.group.class.word()),
            column("flows", "", "number of flows in the group", flows),
        ];
        columns.extend(metric_columns(self.groups.iter().map(|row| &row.metrics)));
        columns
    }
}

fn by_name(metrics: &[MetricValue]) -> Metrics {
    metrics.iter().map(|metric| (metric.name.clone(), metric.value)).collect()
}

fn column(name: &str, unit: &'static str, doc: &'static str, values: SheetValues) -> SheetColumn {
    SheetColumn { name: name.into(), unit, doc, values }
}

fn words<'a>(values: impl Iterator<Item = Option<&'a str>>) -> SheetValues {
    SheetValues::Text(values.map(|value| value.map(str::to_owned)).collect())
}

/// The metrics that at least one row has, in the order of the registry.
fn metric_columns<'a>(rows: impl Iterator<Item = &'a Metrics> + Clone) -> Vec<SheetColumn> {
    let found: BTreeSet<&str> = rows.clone().flat_map(|row| row.keys().map(String::as_str)).collect();
    let metrics = wirespeed_metrics::all().iter().filter(|metric| found.contains(metric.name));
    metrics
        .map(|metric| {
            let values = rows.clone().map(|row| row.get(metric.name).copied()).collect();
            column(metric.name, metric.unit, metric.definition, SheetValues::Real(values))
        })
        .collect()
}
