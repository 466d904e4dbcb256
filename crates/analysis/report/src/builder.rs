//! Takes runs one by one and keeps little of each, so that the recordings need not be in memory together.

use crate::diagnosis::diagnosis;
use crate::digest::RunDigest;
use crate::distribution::{flow_times, quantiles, rtts};
use crate::figures::{REGISTRY, across};
use crate::input::{RunResult, StudyInfo};
use crate::palette::Palette;
use crate::rate_series::total_throughput;
use crate::report::Report;
use crate::source::Source;
use crate::thin::thin;
use wirespeed_diagnosis::{diagnose, unsteady};
use wirespeed_record::StoreError;

/// Points a line keeps when a run is added.
pub(crate) const POINTS_A_LINE: usize = 2000;
/// Points all figures of a page may have together before lines lose more of theirs: about 10 MB of page.
const POINTS_A_PAGE: usize = 900_000;
/// However many runs, a line keeps this many.
const FEWEST_POINTS_A_LINE: usize = 240;
/// Events worth listing a run.
const EVENTS_A_RUN: usize = 200;

/// Collects the runs of a study.
#[derive(Debug)]
pub struct Builder {
    study: StudyInfo,
    runs: Vec<RunDigest>,
    incomplete: Vec<(String, String)>,
}

impl Builder {
    /// For the study `study`.
    pub fn new(study: StudyInfo) -> Self {
        Builder { study, runs: Vec::new(), incomplete: Vec::new() }
    }

    /// Replaces the study that the report is about.
    pub fn about(&mut self, study: StudyInfo) {
        self.study = study;
    }

    /// Adds a complete run; its recording may go afterwards.
    ///
    /// # Errors
    /// If its samples are on disk and cannot be read; then it is not added.
    pub fn add(&mut self, run: RunResult) -> Result<(), StoreError> {
        let source = Source::new(run.recording)?;
        let figures = REGISTRY
            .iter()
            .filter_map(|draw| draw.of_run(&source))
            .map(|figure| figure.thinned(POINTS_A_LINE))
            .collect();
        let to_seconds = source.time.ns / 1e9;
        let throughput =
            total_throughput(&source).into_iter().map(|(t, rate)| (t * to_seconds, rate)).collect();
        let events = run
            .recording
            .events
            .iter()
            .take(EVENTS_A_RUN)
            .map(|event| {
                let mut text = event.kind.word().replace('_', " ");
                if let Some(flow) = event.flow {
                    text.push_str(&format!(" · {}", source.label(flow)));
                }
                if let Some(host) = &event.host {
                    text.push_str(&format!(" · {host}"));
                }
                if !event.detail.is_empty() {
                    text.push_str(&format!(" · {}", event.detail));
                }
                (event.t_ns, text)
            })
            .collect();
        let unsteady = unsteady(&source.view);
        let metric = |name: &str| run.metrics.iter().find(|m| m.name == name).map(|m| m.value);
        let diagnosis = diagnosis(&source.view, &diagnose(&source.view), metric);
        source.intact()?;
        self.runs.push(RunDigest {
            unsteady,
            diagnosis,
            figures,
            events,
            throughput: thin(throughput, POINTS_A_LINE),
            rtt_quantiles: quantiles(&rtts(&source)),
            flow_times: flow_times(&source),
            ..RunDigest::plain(run)
        });
        Ok(())
    }

    /// Notes a run that did not finish, and why.
    pub fn add_incomplete(&mut self, id: impl Into<String>, reason: impl Into<String>) {
        self.incomplete.push((id.into(), reason.into()));
    }

    /// The report over all that was added, in that order.
    pub fn finish(mut self) -> Report {
        let weight: usize = self.runs.iter().flat_map(|run| &run.figures).map(|figure| figure.weight()).sum();
        if let Some(limit) = points_a_line(weight) {
            for run in &mut self.runs {
                let figures = std::mem::take(&mut run.figures);
                run.figures = figures.into_iter().map(|figure| figure.thinned(limit)).collect();
            }
        }
        let flows = self.runs.iter().flat_map(|run| &run.info.flows);
        let palette = Palette::new(flows.map(|flow| (flow.congestion.as_deref(), flow.label.as_str())));
        let figures = across(&self.runs, &self.study.figures)
            .into_iter()
            .map(|figure| figure.thinned(POINTS_A_LINE))
            .collect();
        Report { study: self.study, runs: self.runs, incomplete: self.incomplete, palette, figures }
    }
}

/// How many points a line may keep on a page of `weight` points, if that is too many.
pub(crate) fn points_a_line(weight: usize) -> Option<usize> {
    (weight > POINTS_A_PAGE).then(|| (POINTS_A_LINE * POINTS_A_PAGE / weight).max(FEWEST_POINTS_A_LINE))
}
