//! What a report says of runs that are not steady.

use crate::digest::RunDigest;
use crate::number::whole;
use wirespeed_diagnosis::Unsteady;

/// Stands at runs that are not steady.
pub(crate) const MARK: &str = "~";

/// How many of `runs` are not steady and how long they would have to run; `None` if all are.
pub(crate) fn sentence<'a>(runs: impl IntoIterator<Item = &'a RunDigest>) -> Option<String> {
    let runs: Vec<&RunDigest> = runs.into_iter().collect();
    let unsteady: Vec<&Unsteady> = runs.iter().filter_map(|run| run.unsteady.as_ref()).collect();
    let worst = unsteady.iter().max_by_key(|unsteady| unsteady.needed_ns)?;
    if runs.len() == 1 {
        return Some(format!("The run is not steady: {}.", worst.words()));
    }
    Some(format!(
        "{} of {} runs {} not steady ({MARK}): fewer than ten window cycles in the measured time; farthest from it: {}.",
        whole(unsteady.len() as i64),
        whole(runs.len() as i64),
        if unsteady.len() == 1 { "is" } else { "are" },
        worst.words()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use crate::input::RunResult;
    use wirespeed_diagnosis::Analysis;
    use wirespeed_record::Recording;

    fn run(needed_s: Option<i64>) -> RunDigest {
        let recording = Recording::default();
        let result = RunResult::of(&recording);
        let digest = RunDigest::plain(result, &Analysis::default(), &mut Pool::default());
        let unsteady = needed_s.map(|needed_s| Unsteady {
            label: "cubic".into(),
            flows: 1,
            cycles: 2,
            drifts: false,
            measured_ns: 15_000_000_000,
            needed_ns: needed_s * 1_000_000_000,
        });
        RunDigest { unsteady, ..digest }
    }

    #[test]
    fn steady_runs_need_no_sentence() {
        assert_eq!(sentence(&[run(None), run(None)]), None);
    }

    #[test]
    fn the_longest_run_that_is_needed_is_said() {
        assert_eq!(
            sentence(&[run(Some(80))]).as_deref(),
            Some("The run is not steady: 2 window cycles of cubic in the measured 15 s; run at least 80 s.")
        );
        let several = sentence(&[run(Some(80)), run(None), run(Some(90))]).unwrap();
        assert!(several.starts_with("2 of 3 runs are not steady (~)"), "{several}");
        assert!(several.ends_with("run at least 90 s."), "{several}");
    }
}
