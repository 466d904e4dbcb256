//! How many observations the runs of a setting are: repeats that cannot differ are one.

use crate::digest::RunDigest;

/// The runs that count, in their order: of those that could not have differed, the first.
pub(crate) fn observations<'a>(runs: impl IntoIterator<Item = &'a RunDigest>) -> Vec<&'a RunDigest> {
    let mut counted: Vec<&RunDigest> = Vec::new();
    for run in runs {
        if !counted.iter().any(|known| cannot_differ(known, run)) {
            counted.push(run);
        }
    }
    counted
}

/// Why there are fewer observations than runs, if so.
pub(crate) fn note(runs: usize, counted: usize) -> Option<String> {
    match counted {
        _ if counted >= runs => None,
        1 => Some(format!("the {runs} repeats cannot differ: counted as one")),
        n => Some(format!("of {runs} repeats only {n} can differ: counted as {n}")),
    }
}

/// Whether two runs of a setting have one result whatever the seed. Results that chance decides may be equal and are two
/// observations; where a recording does not say whether it does, equal results to the last bit show that it does not.
fn cannot_differ(a: &RunDigest, b: &RunDigest) -> bool {
    let is_chance = |run: &RunDigest| run.info.depends_on_seed == Some(true);
    !is_chance(a) && !is_chance(b) && !a.metrics.is_empty() && a.metrics.is_same(&b.metrics) && {
        let flows = a.per_flow.iter().zip(&b.per_flow);
        a.per_flow.len() == b.per_flow.len() && flows.into_iter().all(|(a, b)| a.is_same(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use crate::input::{MetricValue, RunResult};
    use wirespeed_diagnosis::Analysis;
    use wirespeed_record::{Recording, RunInfo};

    fn counted(runs: &[(Option<bool>, f64)]) -> usize {
        let digest = |(index, (depends_on_seed, value)): (usize, &(Option<bool>, f64))| {
            let info =
                RunInfo { depends_on_seed: *depends_on_seed, repeat: index as u32, ..Default::default() };
            let recording = Recording { info, ..Default::default() };
            let metric = MetricValue {
                name: "goodput_bps".into(),
                unit: "bit/s".into(),
                value: *value,
                headline: true,
            };
            let run = RunResult {
                metrics: vec![metric.clone()],
                per_flow: vec![vec![metric]],
                ..RunResult::of(&recording)
            };
            RunDigest::plain(run, &Analysis::default(), &mut Pool::default())
        };
        let digests: Vec<RunDigest> = runs.iter().enumerate().map(digest).collect();
        observations(&digests).len()
    }

    #[test]
    fn repeats_without_chance_are_one_observation() {
        assert_eq!(counted(&[(Some(false), 1.0), (Some(false), 1.0), (Some(false), 1.0)]), 1);
    }

    #[test]
    fn equal_results_of_chance_are_observations_of_their_own() {
        assert_eq!(counted(&[(Some(true), 1.0), (Some(true), 1.0)]), 2);
    }

    #[test]
    fn old_recordings_are_one_observation_if_they_are_equal_to_the_last_bit() {
        assert_eq!(counted(&[(None, 0.3), (None, 0.3), (None, 0.1 + 0.2)]), 2);
    }

    /// A report over two folders may have two settings of one name.
    #[test]
    fn different_results_are_never_one() {
        assert_eq!(counted(&[(Some(false), 1.0), (Some(false), 2.0)]), 2);
    }

    #[test]
    fn the_note_says_how_many_count() {
        assert_eq!(note(3, 3), None);
        assert_eq!(note(3, 1).as_deref(), Some("the 3 repeats cannot differ: counted as one"));
        assert_eq!(note(4, 2).as_deref(), Some("of 4 repeats only 2 can differ: counted as 2"));
    }
}
