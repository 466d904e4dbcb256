//! What a report is made from: plain data, so that nothing here depends on how metrics are computed.

use wirespeed_diagnosis::Analysis;
use wirespeed_record::{FlowGroup, Recording};
use wirespeed_scenario::FigureRequest;

/// The study a report is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StudyInfo {
    /// Name of the scenario.
    pub name: String,
    /// What it asks, in the author's words.
    pub about: String,
    /// The command that repeats the whole study.
    pub command: String,
    /// The scenario file as it was read.
    pub scenario_text: String,
    /// Program and version that made the report, e.g. `wirespeed 0.1.0 (85f9235)`.
    pub generated_by: String,
    /// Figures across runs besides those that the runs suggest. They come first, in this order.
    pub figures: Vec<FigureRequest>,
}

/// One number about a run or a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricValue {
    /// Name of the metric, as in `[expect]`.
    pub name: String,
    /// Unit of `value`, e.g. `bit/s`, `ns`, `byte`, `packet`, `ratio`; shown scaled (Gbit/s, ms) where it has a scale.
    pub unit: String,
    /// The value; what is not finite is shown as missing.
    pub value: f64,
    /// Whether it belongs into the short table.
    pub headline: bool,
}

/// A group of flows of a run, and its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupResult {
    /// The group.
    pub group: FlowGroup,
    /// Its metrics.
    pub metrics: Vec<MetricValue>,
}

impl GroupResult {
    /// The value of a metric, if the group has it.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|m| m.name == name).map(|m| m.value).filter(|value| value.is_finite())
    }
}

/// What became of one bound of `[expect]` on one run.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectOutcome {
    /// Name of the metric.
    pub metric: String,
    /// The bound as a person reads it, e.g. `at least 0.5`.
    pub bound: String,
    /// What was measured; `None` if the run does not have this metric.
    pub value: Option<f64>,
    /// Whether the bound holds.
    pub passed: bool,
}

/// A complete run and its numbers. Metrics a run does not have are absent.
#[derive(Debug)]
pub struct RunResult<'a> {
    /// What was recorded.
    pub recording: &'a Recording,
    /// All that follows from its series, if it is known: it is computed otherwise.
    pub analysis: Option<&'a Analysis>,
    /// Metrics of the whole run.
    pub metrics: Vec<MetricValue>,
    /// Metrics by flow, indexed by the flow's number.
    pub per_flow: Vec<Vec<MetricValue>>,
    /// Metrics by group of flows, in the order of the groups.
    pub per_group: Vec<GroupResult>,
    /// Outcomes of the bounds that apply to this run.
    pub expectations: Vec<ExpectOutcome>,
}

impl<'a> RunResult<'a> {
    /// A run without numbers.
    pub fn of(recording: &'a Recording) -> Self {
        RunResult {
            recording,
            analysis: None,
            metrics: Vec::new(),
            per_flow: Vec::new(),
            per_group: Vec::new(),
            expectations: Vec::new(),
        }
    }
}
