//! Means of runs with their intervals.

use crate::digest::RunDigest;
use crate::observations::observations;
use wirespeed_statistics::{mean, standard_deviation, student};

/// A mean, how certain it is, and of how many observations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub mean: f64,
    /// Half of the 95 % confidence interval by Student's t; `None` of a single observation.
    pub half_width: Option<f64>,
    /// Observations: repeats that cannot differ are one.
    pub n: usize,
}

impl Estimate {
    /// Of a metric over `runs`; `None` if no run has it.
    pub fn of(runs: &[&RunDigest], metric: &str) -> Option<Estimate> {
        let values = values(runs, metric);
        let n = values.len();
        let half_width = || Some(student(0.975, n as f64 - 1.0)? * standard_deviation(&values)?);
        Some(Estimate {
            mean: mean(&values)?,
            half_width: (n > 1).then(half_width).flatten().map(|width| width / (n as f64).sqrt()),
            n,
        })
    }
}

/// The values of a metric, one for each observation. Runs of different settings are always different observations.
pub(crate) fn values(runs: &[&RunDigest], metric: &str) -> Vec<f64> {
    let mut settings: Vec<Vec<&RunDigest>> = Vec::new();
    for run in runs {
        match settings.iter_mut().find(|setting| setting[0].info.factors == run.info.factors) {
            Some(setting) => setting.push(run),
            None => settings.push(vec![run]),
        }
    }
    let counted = settings.into_iter().flat_map(observations);
    counted.filter_map(|run| run.metric(metric)).collect()
}
