//! Takes runs one by one and keeps little of each, so that the recordings need not be in memory together.

use crate::details::{Candidate, MOST_DETAILED, chosen};
use crate::diagnosis::diagnosis;
use crate::digest::{RunDigest, leading_metric};
use crate::facts::Pool;
use crate::figure::Figure;
use crate::figures::{REGISTRY, across};
use crate::harm;
use crate::input::{RunResult, StudyInfo};
use crate::palette::Palette;
use crate::rate_series::total_throughput;
use crate::report::Report;
use crate::source::Source;
use crate::thin::{Point, thin};
use std::borrow::Cow;
use std::collections::BTreeMap;
use wirespeed_diagnosis::Analysis;
use wirespeed_record::{Event, StoreError};

/// Points a line keeps when a run is added.
pub(crate) const POINTS_A_LINE: usize = 2000;
/// Points all figures of a page may have together before lines lose more of theirs: about 4 MB of page.
const POINTS_A_PAGE: usize = 400_000;
/// However many runs, a line keeps this many.
const FEWEST_POINTS_A_LINE: usize = 240;
/// Events worth listing a run.
const EVENTS_A_RUN: usize = 200;

/// Collects the runs of a study.
#[derive(Debug)]
pub struct Builder {
    study: StudyInfo,
    runs: Vec<RunDigest>,
    /// Parts that several runs share.
    pool: Pool,
    /// The runs that have their details.
    candidates: Vec<Candidate>,
    /// The number of each setting.
    settings: BTreeMap<String, usize>,
    /// Whether runs have lost their details.
    has_too_many: bool,
    incomplete: Vec<(String, String)>,
}

impl Builder {
    /// For the study `study`.
    pub fn new(study: StudyInfo) -> Self {
        Builder {
            study,
            runs: Vec::new(),
            pool: Pool::default(),
            candidates: Vec::new(),
            settings: BTreeMap::new(),
            has_too_many: false,
            incomplete: Vec::new(),
        }
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
        let candidate = self.candidate(&run);
        let is_detailed = self.is_worth_details(&run, &candidate);
        let computed = match run.analysis {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(Analysis::of(run.recording)?),
        };
        let digest = if is_detailed {
            let source = Source::new(run.recording)?;
            let metric = |name: &str| run.metrics.iter().find(|m| m.name == name).map(|m| m.value);
            let diagnosis = diagnosis(&source.view, &computed.diagnosis, &computed.timeline, metric);
            let (events, throughput) = (events(&source), throughput(&source));
            let figures = figures(&source);
            source.intact()?;
            let digest = RunDigest::plain(run, &computed, &mut self.pool);
            RunDigest { diagnosis, events, throughput, figures, is_detailed, ..digest }
        } else {
            let mut digest = RunDigest::plain(run, &computed, &mut self.pool);
            digest.forget_details(&mut self.pool);
            digest
        };
        self.runs.push(digest);
        if is_detailed {
            self.candidates.push(candidate);
            // Not at each one that is too many, so that choosing costs little.
            if self.candidates.len() >= 2 * MOST_DETAILED {
                self.choose();
            }
        }
        Ok(())
    }

    /// The next run, as one that may keep its details.
    fn candidate(&mut self, run: &RunResult) -> Candidate {
        let info = &run.recording.info;
        // Without factors the runs of one study may still be different scenarios.
        let name = if info.factors.is_empty() { info.id.clone() } else { format!("{:?}", info.factors) };
        let next = self.settings.len();
        let setting = *self.settings.entry(name).or_insert(next);
        Candidate { index: self.runs.len(), setting, is_first: setting == next }
    }

    /// Whether a run may be among those that keep their details: all do until there are too many.
    fn is_worth_details(&self, run: &RunResult, candidate: &Candidate) -> bool {
        if !self.has_too_many || candidate.is_first || run.expectations.iter().any(|e| !e.passed) {
            return true;
        }
        let Some(leading) = leading_metric(&self.runs) else { return false };
        let Some(value) = run.metrics.iter().find(|m| m.name == leading).map(|m| m.value) else {
            return false;
        };
        let others = || self.runs.iter().filter_map(|other| other.metric(leading));
        others().all(|other| other < value) || others().all(|other| other > value)
    }

    /// Lets only as many runs keep their details as a page shows.
    fn choose(&mut self) {
        let chosen = chosen(&self.runs, &self.candidates, self.settings.len(), MOST_DETAILED);
        self.has_too_many = true;
        for candidate in &self.candidates {
            if !chosen.contains(&candidate.index) {
                self.runs[candidate.index].forget_details(&mut self.pool);
            }
        }
        self.candidates.retain(|candidate| chosen.contains(&candidate.index));
    }

    /// Notes a run that did not finish, and why.
    pub fn add_incomplete(&mut self, id: impl Into<String>, reason: impl Into<String>) {
        self.incomplete.push((id.into(), reason.into()));
    }

    /// The report over all that was added, in that order.
    pub fn finish(mut self) -> Report {
        harm::add(&mut self.runs, &mut self.pool);
        if self.candidates.len() > MOST_DETAILED {
            self.choose();
        }
        let weight: usize = self.runs.iter().flat_map(|run| &run.figures).map(|figure| figure.weight()).sum();
        if let Some(limit) = points_a_line(weight) {
            for run in &mut self.runs {
                let figures = std::mem::take(&mut run.figures);
                run.figures = figures.into_iter().map(|figure| figure.thinned(limit)).collect();
            }
        }
        let flows = self.runs.iter().flat_map(|run| run.info.flows.iter());
        let palette = Palette::new(flows.map(|flow| (flow.congestion.as_deref(), flow.label.as_str())));
        let figures = across(&self.runs, &self.study.figures)
            .into_iter()
            .map(|figure| figure.thinned(POINTS_A_LINE))
            .collect();
        Report { study: self.study, runs: self.runs, incomplete: self.incomplete, palette, figures }
    }
}

/// The figures of one run.
fn figures(source: &Source) -> Vec<Figure> {
    let figures = REGISTRY.iter().filter_map(|draw| draw.of_run(source));
    figures.map(|figure| figure.thinned(POINTS_A_LINE)).collect()
}

/// Throughput of all flows together; time in seconds.
fn throughput(source: &Source) -> Vec<Point> {
    let to_seconds = source.time.ns / 1e9;
    let points = total_throughput(source).into_iter().map(|(t, rate)| (t * to_seconds, rate)).collect();
    thin(points, POINTS_A_LINE)
}

/// Times and texts of the first events.
fn events(source: &Source) -> Vec<(i64, String)> {
    let text = |event: &Event| {
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
    };
    source.recording.events.iter().take(EVENTS_A_RUN).map(text).collect()
}

/// How many points a line may keep on a page of `weight` points, if that is too many.
pub(crate) fn points_a_line(weight: usize) -> Option<usize> {
    (weight > POINTS_A_PAGE).then(|| (POINTS_A_LINE * POINTS_A_PAGE / weight).max(FEWEST_POINTS_A_LINE))
}
