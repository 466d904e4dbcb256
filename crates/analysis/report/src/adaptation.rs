//! How fast flows follow a link that changes, as a sentence of the report.

use crate::digest::{Group, RunDigest};
use crate::harm;
use crate::number::{whole, with_unit};
use wirespeed_record::LinkChange;

const METRIC: &str = "reconvergence_time_ns";

/// The settings that adapt to the link's changes fastest and slowest; `None` if no link changes, or too often to follow.
pub(crate) fn sentence(runs: &[RunDigest]) -> Option<String> {
    let settings: Vec<Group> =
        harm::with_all_groups(runs).into_iter().filter(|setting| changes(setting.runs[0])).collect();
    let mut times: Vec<(String, f64)> =
        settings.iter().filter_map(|setting| Some((setting.name(&[]), setting.mean(METRIC)?))).collect();
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    let time = |ns: f64| with_unit(ns, "ns");
    let never = settings.len() - times.len();
    let never = match never {
        0 => String::new(),
        _ => format!(
            "; in {} of {} settings not to each of them in time",
            whole(never as i64),
            whole(settings.len() as i64)
        ),
    };
    match times.as_slice() {
        [] => None,
        [(_, only)] => Some(format!("Flows adapt to a change of the link in {}{never}.", time(*only))),
        [(fastest, least), .., (slowest, most)] => Some(format!(
            "Flows adapt to a change of the link fastest with {fastest}, in {}, and slowest with {slowest}, in {}{never}.",
            time(*least),
            time(*most)
        )),
    }
}

/// Whether the rate or the round-trip time of a link of the run changes.
fn changes(run: &RunDigest) -> bool {
    run.info.links.iter().any(|link| {
        let is_new = |change: &LinkChange| (change.rate_bps, change.rtt_ns) != (link.rate_bps, link.rtt_ns);
        link.changes.iter().any(is_new)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use crate::input::{MetricValue, RunResult};
    use wirespeed_diagnosis::Analysis;
    use wirespeed_record::{LinkInfo, Recording};

    fn run(congestion: &str, time_ns: Option<f64>) -> RunDigest {
        let mut recording = Recording::default();
        recording.info.id = congestion.into();
        recording.info.factors = [("flow.congestion".to_owned(), congestion.into())].into();
        let change = LinkChange { t_ns: 1, rate_bps: 5, ..LinkChange::default() };
        recording.info.links = vec![LinkInfo { rate_bps: 9, changes: vec![change], ..LinkInfo::default() }];
        let value = |value| MetricValue { name: METRIC.into(), unit: "ns".into(), value, headline: false };
        let metrics: Vec<MetricValue> = time_ns.map(value).into_iter().collect();
        let result = RunResult { metrics, ..RunResult::of(&recording) };
        RunDigest::plain(result, &Analysis::default(), &mut Pool::default())
    }

    #[test]
    fn the_fastest_and_the_slowest_are_named() {
        assert_eq!(sentence(&[run("reno", None)]), None);
        let one = sentence(&[run("reno", Some(2e8))]);
        assert_eq!(one.as_deref(), Some("Flows adapt to a change of the link in 200 ms."));
        let three = sentence(&[
            run("reno", Some(2e8)),
            run("bbr", Some(2e9)),
            run("cubic", Some(5e8)),
            run("lp", None),
        ]);
        let expected = "Flows adapt to a change of the link fastest with reno, in 200 ms, and slowest with bbr, in 2 s; in 1 of 4 \
                        settings not to each of them in time.";
        assert_eq!(three.as_deref(), Some(expected));
    }
}
