//! The analysis of a single run as text, and the limiting factor of each of several runs.

use std::fmt::Write;
use wirespeed_campaign::Judged;
use wirespeed_diagnosis::{Unsteady, unsteady};
use wirespeed_metrics::{Moment, View, timeline};
use wirespeed_report::diagnosis;

/// Everything about a run besides its metrics and findings.
pub(super) struct Analysis {
    /// The ledger by interval.
    pub timeline: Vec<Moment>,
    /// Why it is not steady, if it is not.
    pub unsteady: Option<Unsteady>,
}

impl Analysis {
    /// Of a recording.
    pub fn of(view: &View) -> Analysis {
        Analysis { timeline: timeline(view), unsteady: unsteady(view) }
    }
}

/// The only run of a study.
pub(super) fn run(judged: &Judged, view: &View) -> String {
    let metric = |name: &str| judged.metrics.iter().find(|m| m.name == name).map(|m| m.value);
    let sections = diagnosis(view, &judged.diagnosis, metric);
    // What limited it stands above, as of several runs.
    sections
        .iter()
        .filter(|section| section.title != "Limiting factor")
        .map(|section| section.text())
        .collect()
}

/// What limited each run, a line each.
pub(super) fn limits(limits: &[String]) -> String {
    /// More lines than this nobody reads; `--json` has them all.
    const MOST: usize = 12;
    if limits.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nWhat limited:\n");
    for limit in limits.iter().take(MOST) {
        let _ = writeln!(text, "  {limit}");
    }
    if limits.len() > MOST {
        let _ = writeln!(text, "  and {} more runs (--json has them)", limits.len() - MOST);
    }
    text
}
