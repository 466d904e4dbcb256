//! A figure of a study that shows one run over time: the run's own figure.

use crate::builder::POINTS_A_LINE;
use crate::figure::Figure;
use crate::figures::{Cwnd, Draw, Drops, InterArrival, Queue, Rtt, Stacked, Throughput, TimeSequence};
use crate::source::Source;
use wirespeed_record::{Recording, StoreError};

/// What can be shown of a run, by name.
const KINDS: &[(&str, &dyn Draw)] = &[
    ("throughput", &Throughput),
    ("stacked", &Stacked),
    ("cwnd", &Cwnd),
    ("rtt", &Rtt),
    ("queue", &Queue),
    ("drops", &Drops),
    ("time-sequence", &TimeSequence),
    ("inter-arrival", &InterArrival),
];

/// The names of what can be shown of a run over time.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(name, _)| *name)
}

/// A run over time.
#[derive(Debug, Clone)]
pub struct OverTime {
    /// The substrate, and which run.
    pub run: String,
    /// Of its flows the congestion control and the label.
    pub(super) flows: Vec<(Option<String>, String)>,
    pub(super) figure: Figure,
}

impl OverTime {
    /// One of [`kinds`] of a run; `None` if it is none of them, or the run has nothing of it.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn of(recording: &Recording, kind: &str, run: String) -> Result<Option<Self>, StoreError> {
        let Some((_, draw)) = KINDS.iter().find(|(name, _)| *name == kind) else { return Ok(None) };
        let source = Source::new(recording)?;
        let figure = draw.of_run(&source).map(|figure| figure.thinned(POINTS_A_LINE));
        source.intact()?;
        let flows = recording.info.flows.iter().map(|flow| (flow.congestion.clone(), flow.label.clone()));
        Ok(figure.map(|figure| OverTime { run, flows: flows.collect(), figure }))
    }
}
