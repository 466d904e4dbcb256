//! `--until-ci`: repeats of a setting until its mean is certain enough.

use super::run::quoted;
use crate::failure::Failure;
use clap::Args;
use std::collections::BTreeMap;
use wirespeed_campaign::{Outcome, Repeats};
use wirespeed_diagnosis::Analysis;
use wirespeed_metrics::{per_flow, per_group};
use wirespeed_record::read_lazily;
use wirespeed_scenario::{Run, Study, Subject, metric_of};

/// Repeats of every setting before the first decision, at least: the rule needs as many (`wirespeed_statistics::sequential`).
const LEAST: u32 = 5;

/// Options of `wirespeed run` about the number of repeats.
#[derive(Debug, Clone, Default, Args)]
pub struct UntilCertain {
    /// Repeat each setting until the 95 % interval of its mean is within PERCENT to each side.
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Scenario")]
    until_ci: Option<f64>,
    /// Metric whose mean has to be certain.
    #[arg(
        long,
        value_name = "METRIC",
        default_value = "goodput_bps",
        requires = "until_ci",
        help_heading = "Scenario"
    )]
    ci_metric: String,
    /// Repeats of a setting at most.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(5..=10_000),
        requires = "until_ci",
        help_heading = "Scenario"
    )]
    max_repeats: u32,
}

/// Executes runs, in the order in which it gets them; `None` if others will do so.
pub type Execute<'a> = dyn Fn(&[Run]) -> Result<Option<Vec<Outcome>>, Failure> + 'a;

/// Runs of a study, in its order, and their outcomes.
pub struct Executed {
    /// The runs.
    pub runs: Vec<Run>,
    /// An outcome for each.
    pub outcomes: Vec<Outcome>,
}

/// The share that a text such as `5%` or `5 %` means.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    let share = number.map(|percent| percent / 100.0).filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "write a number of percent between 0 and 100, such as 5%".into())
}

impl UntilCertain {
    /// The setting of the scenario that makes all repeats which are allowed part of the study.
    pub fn override_of_scenario(&self) -> Option<(String, String)> {
        self.until_ci.map(|_| ("run.repeat".into(), self.max_repeats.to_string()))
    }

    /// Executes the runs of the study that are needed, round by round, by `execute`. `has_chance`: whether the repeats
    /// of a run can differ. `None` if all runs of the study are wanted.
    pub fn carry_out(
        &self,
        study: &Study,
        has_chance: &dyn Fn(&Run) -> bool,
        execute: &Execute,
    ) -> Result<Option<Executed>, Failure> {
        let Some(width) = self.until_ci else { return Ok(None) };
        self.check_metric()?;
        let mut repeats = Repeats::new(&study.runs, LEAST, width, has_chance);
        let mut known: Vec<(Run, Outcome)> = Vec::new();
        loop {
            let round: Vec<Run> =
                study.runs.iter().filter(|run| repeats.wants(run) && !repeats.knows(run)).cloned().collect();
            let Some(outcomes) = execute(&round)? else {
                return Err(Failure::Usage {
                    message:
                        "--until-ci needs the results of each round, which --engine manual does not wait for"
                            .into(),
                    remedy: "use --engine local or slurm, or set run.repeat".into(),
                });
            };
            let mut is_stopped = false;
            for (run, outcome) in round.into_iter().zip(outcomes) {
                is_stopped |= matches!(outcome, Outcome::Interrupted | Outcome::Cut(_) | Outcome::Postponed);
                repeats.learn(&run, self.value(&outcome)?);
                known.push((run, outcome));
            }
            if is_stopped || !repeats.extend() {
                break;
            }
        }
        self.tell_uncertain(&repeats, width);
        let place = |run: &Run| study.runs.iter().position(|other| other.id == run.id);
        known.sort_by_cached_key(|(run, _)| place(run));
        let (runs, outcomes) = known.into_iter().unzip();
        Ok(Some(Executed { runs, outcomes }))
    }

    fn check_metric(&self) -> Result<(), Failure> {
        let (subject, metric) = metric_of(&self.ci_metric);
        let is_known = match subject {
            Subject::Run => wirespeed_metrics::find(metric).is_some(),
            Subject::Flow(_) => per_flow::names().any(|name| name == metric),
            Subject::Group(_) => per_group::names().any(|name| name == metric),
        };
        match is_known {
            true => Ok(()),
            false => Err(Failure::Usage {
                message: format!("`{}` is not a metric", self.ci_metric),
                remedy: "`wirespeed list metrics` lists all".into(),
            }),
        }
    }

    fn value(&self, outcome: &Outcome) -> Result<Option<f64>, Failure> {
        let Some(directory) = outcome.directory() else { return Ok(None) };
        let recording = read_lazily(directory)?;
        let Analysis { metrics, mut per_flow, per_group, .. } = Analysis::of(&recording)?;
        let (subject, metric) = metric_of(&self.ci_metric);
        let values = match subject {
            Subject::Run => metrics,
            Subject::Flow(label) => {
                let flow = recording.info.flows.iter().position(|flow| flow.label == label);
                let Some(flow) = flow else { return Ok(None) };
                std::mem::take(&mut per_flow[flow])
            }
            Subject::Group(label) => {
                let mut groups = per_group.into_iter();
                groups
                    .find(|found| found.group.label == label)
                    .map_or_else(BTreeMap::new, |found| found.values)
            }
        };
        Ok(values.get(metric).copied())
    }

    fn tell_uncertain(&self, repeats: &Repeats, width: f64) {
        /// More lines are not read.
        const MOST: usize = 10;
        let uncertain = repeats.uncertain();
        for setting in uncertain.iter().take(MOST) {
            let name = if setting.setting.is_empty() { "the run" } else { &setting.setting };
            let missing = match setting.missing {
                Some(count) => format!("about {count} more are needed"),
                None => "no number of repeats suffices".into(),
            };
            crate::tell(&format!(
                "note: {} of {} is not within {:.3} % after {} repeats; {missing}",
                self.ci_metric,
                quoted(name),
                width * 100.0,
                setting.repeats
            ));
        }
        if uncertain.len() > MOST {
            crate::tell(&format!("note: the same holds for {} more settings", uncertain.len() - MOST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_is_a_share_and_nonsense_is_rejected() {
        for text in ["5%", "5 %", "5"] {
            assert_eq!(percent(text), Ok(0.05));
        }
        for wrong in ["", "0", "-1%", "100%", "five", "nan"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
