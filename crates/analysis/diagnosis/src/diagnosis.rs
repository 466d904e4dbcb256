//! All findings about a run, and its sentence.

use crate::finding::{Finding, Subject};
use crate::id::Id;
use crate::limiting_factor::{Interval, limiting_factors};
use crate::limits::{judged, limits, windows};
use crate::losses::losses;
use crate::resources::{full_cores, full_link, nothing_delivered};
use crate::{SECOND_NS, causes, placement};
use wirespeed_metrics::View;
use wirespeed_metrics::core_time::core_times;

/// The findings about a run, and the limiting factors that some of them are based on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnosis {
    /// In the order in which the sentence has them.
    pub findings: Vec<Finding>,
    /// The limiting factor of each TCP flow, second by second.
    pub intervals: Vec<Interval>,
    /// The number of flows with limiting factors.
    pub(crate) flows: usize,
}

/// Applies every rule to a recording.
pub fn diagnose(view: &View) -> Diagnosis {
    let intervals = limiting_factors(view, SECOND_NS);
    let flows = judged(view, &intervals);
    let cores = core_times(view.recording);
    let mut findings: Vec<Finding> = full_link(view).into_iter().collect();
    let nothing = nothing_delivered(view, &intervals);
    let of_flows = limits(view, &intervals);
    // TCP's own account comes first: a flow that waits for a window does not wait for a core. Without a delivery no full
    // core limits anything.
    let has_core_findings = nothing.is_none() && windows(&of_flows, flows).is_none();
    findings.extend(nothing);
    findings.extend(of_flows);
    if has_core_findings {
        findings.extend(full_cores(view.recording, &cores));
    }
    findings.extend(losses(view, &cores));
    findings.extend(placement::findings(view));
    causes::explain(view, &mut findings);
    Diagnosis { findings, intervals, flows }
}

impl Diagnosis {
    /// The limiting factor of the run in one sentence, or `None` if no finding is about it.
    pub fn sentence(&self) -> Option<String> {
        /// Losses and cores with numbers: more of them make a sentence longer and not clearer.
        const MOST: usize = 2;
        let of = |is_wanted: &dyn Fn(Id) -> bool| -> Vec<&Finding> {
            self.findings.iter().filter(|finding| is_wanted(finding.id)).collect()
        };
        let texts = |findings: &[&Finding]| -> Vec<String> {
            findings.iter().take(MOST).map(|finding| finding.to_string()).collect()
        };
        let mut parts = texts(&of(&|id| id == Id::LinkRate));
        let nothing = of(&|id| id == Id::NothingDelivered);
        parts.extend(texts(&nothing));
        if nothing.is_empty() {
            parts.extend(windows(&self.findings, self.flows));
            let cores = of(&|id| id == Id::FullCore);
            parts.extend(texts(&cores));
            let others: Vec<String> = cores.iter().skip(MOST).filter_map(|core| core_name(core)).collect();
            if !others.is_empty() {
                parts.push(format!("full as well: {}", others.join(", ")));
            }
        }
        parts.extend(texts(&of(&|id| id.family() == "loss")));
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The findings of a family, such as `placement`.
    pub fn of_family<'a>(&'a self, family: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |finding| finding.id.family() == family)
    }
}

fn core_name(finding: &Finding) -> Option<String> {
    match &finding.subject {
        Subject::Core { host, core } => Some(format!("{host} core {core}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::softirq_sample;
    use wirespeed_record::Recording;

    /// So many cores, each with this part of its time in softirq.
    fn cores(number: u32, percent: i64) -> Recording {
        let mut recording = Recording::default();
        recording.info.duration_ns = 1_000;
        recording.cores = (0..number)
            .flat_map(|core| [softirq_sample(0, core, 0), softirq_sample(1_000, core, 10 * percent)])
            .collect();
        recording
    }

    fn sentence(recording: &Recording) -> Option<String> {
        diagnose(&View::new(recording).unwrap()).sentence()
    }

    #[test]
    fn core_is_full_from_the_same_part_on_for_a_run_and_for_a_second() {
        // The run had a threshold of its own before, 97 %.
        assert_eq!(sentence(&cores(1, 96)).as_deref(), Some("receiver core 0: softirq 96 % busy"));
        assert_eq!(sentence(&cores(1, 94)), None);
    }

    #[test]
    fn sentence_has_two_cores_with_numbers_and_the_names_of_others() {
        let words = "receiver core 0: softirq 100 % busy; receiver core 1: softirq 100 % busy; full as well: receiver \
                     core 2, receiver core 3";
        assert_eq!(sentence(&cores(4, 100)).as_deref(), Some(words));
        let recording = cores(4, 100);
        assert_eq!(diagnose(&View::new(&recording).unwrap()).of_family("core").count(), 4);
    }

    #[test]
    fn every_finding_of_a_run_has_evidence_a_remedy_and_a_source() {
        let recording = cores(2, 100);
        let diagnosis = diagnose(&View::new(&recording).unwrap());
        assert_eq!(diagnosis.findings.len(), 2);
        for finding in &diagnosis.findings {
            assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty() && !finding.source.is_empty());
            let crossed = finding.evidence.iter().filter_map(|e| Some((e.value, e.threshold?)));
            assert!(
                crossed.clone().count() > 0 && crossed.into_iter().all(|(value, least)| value >= least.value)
            );
        }
    }
}
