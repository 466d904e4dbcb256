//! A single run in words, and what limited each of several.

use std::fmt::Write;
use wirespeed_campaign::Judged;
use wirespeed_metrics::{
    Interval, Moment, Unsteady, View, held_back as held_back_by, placement, timeline, unsteady,
};
use wirespeed_report::{SECOND_NS, diagnosis};

/// What is worked out of a run beside its metrics.
pub(super) struct Analysis {
    /// What limited its flows.
    pub held_back: Vec<Interval>,
    /// The ledger by interval.
    pub timeline: Vec<Moment>,
    /// What of the CPU placement costs throughput.
    pub findings: Vec<String>,
    /// Why it is not steady, if it is not.
    pub unsteady: Option<Unsteady>,
}

impl Analysis {
    /// Of a recording.
    pub fn of(view: &View) -> Analysis {
        Analysis {
            held_back: held_back_by(view, SECOND_NS),
            timeline: timeline(view),
            findings: placement::findings(view),
            unsteady: unsteady(view),
        }
    }
}

/// The only run of a study.
pub(super) fn run(judged: &Judged, view: &View) -> String {
    let metric = |name: &str| judged.metrics.iter().find(|m| m.name == name).map(|m| m.value);
    let sections = diagnosis(view, metric);
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
