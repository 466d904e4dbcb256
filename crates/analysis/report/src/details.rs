//! The choice of the runs of a large study whose figures, ledgers and events are in the page.

use crate::digest::{RunDigest, leading_metric};
use std::collections::BTreeSet;

/// A page with the details of more runs than this opens slowly.
pub(crate) const MOST_DETAILED: usize = 24;

/// A run that may keep its details.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Its place among the runs.
    pub index: usize,
    /// The number of its setting, in the order in which settings were first met.
    pub setting: usize,
    /// Whether it is the first run of its setting.
    pub is_first: bool,
}

/// At most `most` of `candidates`: the runs with extremes, then the first run of each setting. If there are more settings
/// than that, they are at equal distances of the `settings` in all.
pub(crate) fn chosen(
    runs: &[RunDigest],
    candidates: &[Candidate],
    settings: usize,
    most: usize,
) -> BTreeSet<usize> {
    if candidates.len() <= most {
        return candidates.iter().map(|candidate| candidate.index).collect();
    }
    let mut chosen: BTreeSet<usize> = extremes(runs, candidates).into_iter().take(most).collect();
    let firsts: Vec<&Candidate> = candidates.iter().filter(|candidate| candidate.is_first).collect();
    let room = most - chosen.len();
    let wanted = room.min(settings);
    for place in 0..wanted {
        // From the first setting to the last.
        let target = if wanted > 1 { place * (settings - 1) / (wanted - 1) } else { 0 };
        let nearest = firsts
            .iter()
            .filter(|candidate| !chosen.contains(&candidate.index))
            .min_by_key(|candidate| candidate.setting.abs_diff(target));
        chosen.extend(nearest.map(|candidate| candidate.index));
    }
    chosen
}

/// The first run, those with the least and the largest value of the leading metric, the one with most losses, the first that
/// missed a bound, and the first that is not steady.
fn extremes(runs: &[RunDigest], candidates: &[Candidate]) -> Vec<usize> {
    let indices = || candidates.iter().map(|candidate| candidate.index);
    let largest = |metric: &str, sign: f64| {
        let values = indices().filter_map(|index| Some((runs[index].metric(metric)? * sign, index)));
        // Of equals, the first.
        values.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, index)| index)
    };
    let leading = leading_metric(runs).unwrap_or("goodput_bps");
    let found = [
        indices().next(),
        largest(leading, 1.0),
        largest(leading, -1.0),
        largest("loss_fraction", 1.0),
        indices().find(|index| runs[*index].failed() > 0),
        indices().find(|index| runs[*index].unsteady.is_some()),
    ];
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use crate::input::{MetricValue, RunResult};
    use wirespeed_diagnosis::Analysis;
    use wirespeed_record::Recording;

    /// One run for each value, `repeats` of which are a setting.
    fn study(goodputs: &[f64], repeats: usize) -> (Vec<RunDigest>, Vec<Candidate>) {
        let digest = |value: &f64| {
            let metric = MetricValue {
                name: "goodput_bps".into(),
                unit: "bit/s".into(),
                value: *value,
                headline: true,
            };
            let recording = Recording::default();
            let run = RunResult { metrics: vec![metric], ..RunResult::of(&recording) };
            RunDigest::plain(run, &Analysis::default(), &mut Pool::default())
        };
        let candidate = |index| Candidate { index, setting: index / repeats, is_first: index % repeats == 0 };
        (goodputs.iter().map(digest).collect(), (0..goodputs.len()).map(candidate).collect())
    }

    fn indices(goodputs: &[f64], repeats: usize, most: usize) -> Vec<usize> {
        let (runs, candidates) = study(goodputs, repeats);
        chosen(&runs, &candidates, goodputs.len() / repeats, most).into_iter().collect()
    }

    #[test]
    fn few_runs_are_all_kept() {
        assert_eq!(indices(&[1.0, 2.0, 3.0], 1, 3), [0, 1, 2]);
    }

    #[test]
    fn of_many_runs_the_extremes_and_the_first_of_each_setting_are_kept() {
        // Settings of three runs; the best and the worst are no first runs.
        let goodputs = [5.0, 5.0, 9.0, 5.0, 1.0, 5.0, 5.0, 5.0, 5.0];
        assert_eq!(indices(&goodputs, 3, 6), [0, 2, 3, 4, 6]);
    }

    #[test]
    fn of_many_settings_some_at_equal_distances_are_kept() {
        let goodputs: Vec<f64> = (0..100).map(|_| 1.0).collect();
        let kept = indices(&goodputs, 1, 12);
        assert_eq!(kept.len(), 12);
        assert!(kept.contains(&0) && kept.contains(&99), "{kept:?}");
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= 11), "{kept:?}");
    }
}
