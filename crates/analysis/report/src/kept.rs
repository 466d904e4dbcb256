//! Sentences about series that were not kept as a whole.

use crate::digest::RunDigest;
use wirespeed_record::KeptSeries;

/// The sentences on the page of a run; `None` if its series are whole.
pub(crate) fn hint(run: &RunDigest) -> Option<String> {
    let figures = match run.info.series {
        KeptSeries::All => return None,
        KeptSeries::Thin { .. } => "Figures over time are as coarse.",
        KeptSeries::None => "There are no figures over time.",
    };
    let series = run.info.series;
    Some(format!(
        "The series of the run are {series} (run.series). {figures} Numbers and findings are of the whole series."
    ))
}

/// The sentences about all runs of a report; `None` if the series of all are whole.
pub(crate) fn sentence<'a>(runs: impl IntoIterator<Item = &'a RunDigest>) -> Option<String> {
    let (mut all, mut thin, mut none) = (0, 0, 0);
    for run in runs {
        all += 1;
        match run.info.series {
            KeptSeries::All => {}
            KeptSeries::Thin { .. } => thin += 1,
            KeptSeries::None => none += 1,
        }
    }
    let of = |count: usize| match (count, all) {
        (1, 1) => "the run".into(),
        (count, all) if count == all => format!("all {all} runs"),
        (count, all) => format!("{count} of {all} runs"),
    };
    let none = (none > 0)
        .then(|| format!("The series of {} are not kept, so there are no figures over time.", of(none)));
    let thin = (thin > 0)
        .then(|| format!("The series of {} are thinned, so figures over time are as coarse.", of(thin)));
    let found: Vec<String> = none.into_iter().chain(thin).collect();
    (!found.is_empty()).then(|| found.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use crate::input::RunResult;
    use wirespeed_diagnosis::Analysis;
    use wirespeed_record::{Recording, RunInfo};

    fn run(series: KeptSeries) -> RunDigest {
        let recording = Recording { info: RunInfo { series, ..RunInfo::default() }, ..Recording::default() };
        let result = RunResult::of(&recording);
        RunDigest::plain(result, &Analysis::default(), &mut Pool::default())
    }

    #[test]
    fn sentence_counts_the_runs_without_series() {
        let (all, none) = (KeptSeries::All, KeptSeries::None);
        let thin = KeptSeries::Thin { every_ns: 1_000_000_000 };
        let of = |kept: &[KeptSeries]| sentence(&kept.iter().map(|kept| run(*kept)).collect::<Vec<_>>());
        assert_eq!(of(&[all, all]), None);
        assert_eq!(
            of(&[none]).as_deref(),
            Some("The series of the run are not kept, so there are no figures over time.")
        );
        let several = of(&[none, thin, thin, all]).unwrap();
        assert!(several.starts_with("The series of 1 of 4 runs are not kept"), "{several}");
        assert!(several.contains("The series of 2 of 4 runs are thinned"), "{several}");
        assert!(
            hint(&run(thin))
                .unwrap()
                .starts_with("The series of the run are kept every 1 s only (run.series).")
        );
    }
}
