//! The analysis of a single run as text, and the limiting factor of each of several runs.

use std::fmt::Write;
use wirespeed_campaign::Judged;
use wirespeed_metrics::View;
use wirespeed_report::diagnosis;

/// The only run of a study.
pub(super) fn run(judged: &Judged, view: &View) -> String {
    let metric = |name: &str| judged.metrics.iter().find(|m| m.name == name).map(|m| m.value);
    let sections = diagnosis(view, &judged.analysis.diagnosis, &judged.analysis.timeline, metric);
    // What limited it stands above, as of several runs.
    sections
        .iter()
        .filter(|section| section.title != "Limiting factor")
        .map(|section| section.text())
        .collect()
}

/// The limiting factor of each run, a line each. Of many runs only the first are kept.
#[derive(Default)]
pub(super) struct Limits {
    lines: Vec<String>,
    /// Runs without a line.
    more: usize,
}

impl Limits {
    /// More lines than this nobody reads; `--json` has them all.
    const MOST: usize = 12;

    /// The limiting factor of a run.
    pub fn add(&mut self, id: &str, limit: &str) {
        match self.lines.len() {
            0..Self::MOST => self.lines.push(format!("{id}: {limit}")),
            _ => self.more += 1,
        }
    }

    /// All together.
    pub fn text(&self) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let mut text = String::from("\nWhat limited:\n");
        for line in &self.lines {
            let _ = writeln!(text, "  {line}");
        }
        if self.more > 0 {
            let _ = writeln!(text, "  and {} more runs (--json has them)", self.more);
        }
        text
    }
}
