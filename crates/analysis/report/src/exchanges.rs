//! How long data sets and responses take, as sentences of the report.

use crate::digest::{Group, RunDigest};
use crate::harm;
use crate::number::{significant, whole, with_unit};

const SET_TIME: &str = "data_set_time_ns";
const UNFINISHED: &str = "unfinished_files";
const RESPONSE_TIME: &str = "response_time_median_ns";

/// The times of data sets and of responses, in this order; empty if there are none.
pub(crate) fn sentences(runs: &[RunDigest]) -> Vec<String> {
    let settings = harm::with_all_groups(runs);
    [data_sets(&settings), unfinished(&settings), responses(&settings)].into_iter().flatten().collect()
}

fn time(ns: f64) -> String {
    with_unit(ns, "ns")
}

/// The settings with the least and with the largest mean of a metric, and these.
fn extremes(settings: &[Group], metric: &str) -> Option<[(String, f64); 2]> {
    let mut found: Vec<(String, f64)> =
        settings.iter().filter_map(|setting| Some((setting.name(&[]), setting.mean(metric)?))).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    Some([found.first()?.clone(), found.last()?.clone()])
}

fn data_sets(settings: &[Group]) -> Option<String> {
    let [(fastest, least), (slowest, most)] = extremes(settings, SET_TIME)?;
    if settings.len() > 1 {
        return Some(format!(
            "The data set is complete fastest with {fastest}, in {}, and slowest with {slowest}, in {}.",
            time(least),
            time(most)
        ));
    }
    let of = |metric: &str| settings[0].mean(metric);
    let mut sentence = format!("The data set is complete after {}", time(least));
    if let (Some(median), Some(ratio)) = (of("file_time_median_ns"), of("straggler_ratio")) {
        sentence += &format!(
            ". A file takes {} (median), and the slowest one {} times as long",
            time(median),
            significant(ratio, 2)
        );
    }
    if let Some(part) = of("straggler_fraction") {
        let percent = significant(part * 100.0, 2);
        sentence += &format!(". In {percent} % of the time fewer than all streams had a file");
    }
    Some(sentence + ".")
}

fn unfinished(settings: &[Group]) -> Option<String> {
    let missing: Vec<f64> =
        settings.iter().filter_map(|setting| setting.mean(UNFINISHED)).filter(|files| *files > 0.0).collect();
    let most = missing.iter().copied().reduce(f64::max)?;
    let files = match most.ceil() as i64 {
        1 => "1 file of a data set was".to_owned(),
        files => format!("{} files of a data set were", whole(files)),
    };
    Some(match settings.len() {
        1 => format!("{files} not complete at the end of the run."),
        all => format!(
            "In {} of {} settings up to {files} not complete at the end of the run.",
            whole(missing.len() as i64),
            whole(all as i64)
        ),
    })
}

fn responses(settings: &[Group]) -> Option<String> {
    let [(fastest, least), (slowest, most)] = extremes(settings, RESPONSE_TIME)?;
    if settings.len() > 1 {
        return Some(format!(
            "Responses come fastest with {fastest}, in {} (median), and slowest with {slowest}, in {}.",
            time(least),
            time(most)
        ));
    }
    let of = |metric: &str| settings[0].mean(metric);
    let tail = of("response_time_q99_ns")
        .map_or(String::new(), |q99| format!(", 99 % of them within {}", time(q99)));
    let rate = of("responses_per_s")
        .map_or(String::new(), |rate| format!("; there are {} a second", significant(rate, 3)));
    Some(format!("A response takes {} (median){tail}{rate}.", time(least)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use crate::input::{MetricValue, RunResult};
    use wirespeed_diagnosis::Analysis;
    use wirespeed_record::Recording;

    fn run(streams: &str, metrics: &[(&str, &str, f64)]) -> RunDigest {
        let mut recording = Recording::default();
        recording.info.id = streams.into();
        recording.info.factors = [("flow.streams".to_owned(), streams.into())].into();
        let value = |(name, unit, value): &(&str, &str, f64)| MetricValue {
            name: (*name).into(),
            unit: (*unit).into(),
            value: *value,
            headline: false,
        };
        let metrics = metrics.iter().map(value).collect();
        let result = RunResult { metrics, ..RunResult::of(&recording) };
        RunDigest::plain(result, &Analysis::default(), &mut Pool::default())
    }

    #[test]
    fn one_setting_has_its_stragglers_named() {
        let found = sentences(&[run(
            "4",
            &[
                (SET_TIME, "ns", 2e9),
                ("file_time_median_ns", "ns", 2e8),
                ("straggler_ratio", "", 2.4),
                ("straggler_fraction", "", 0.25),
                (UNFINISHED, "", 0.0),
            ],
        )]);
        let expected = "The data set is complete after 2 s. A file takes 200 ms (median), and the slowest one 2.4 times as long. In \
                        25 % of the time fewer than all streams had a file.";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn several_settings_are_compared_and_missing_files_reported() {
        let found = sentences(&[
            run("1", &[(SET_TIME, "ns", 4e9), (UNFINISHED, "", 0.0)]),
            run("4", &[(SET_TIME, "ns", 2e9), (UNFINISHED, "", 0.0)]),
            run("8", &[(UNFINISHED, "", 3.0)]),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("in 2 s, and slowest with") && found[0].ends_with("in 4 s."), "{found:?}");
        assert_eq!(
            found[1],
            "In 1 of 3 settings up to 3 files of a data set were not complete at the end of the run."
        );
    }

    #[test]
    fn responses_have_their_times_and_their_rate() {
        let found = sentences(&[run(
            "1",
            &[
                (RESPONSE_TIME, "ns", 2e7),
                ("response_time_q99_ns", "ns", 5e7),
                ("responses_per_s", "1/s", 42.0),
            ],
        )]);
        assert_eq!(
            found,
            ["A response takes 20 ms (median), 99 % of them within 50 ms; there are 42 a second."]
        );
        assert!(sentences(&[run("1", &[])]).is_empty());
    }
}
