//! Conditions of runs in one line, for figures that leave the report.

use crate::digest::factor_phrase;
use crate::facts::RunFacts;
use crate::number::Quantity;
use wirespeed_record::LinkInfo;

/// Study, factors, narrowest link, propagation, length and substrate, as far as all `runs` have the same. Empty without runs.
pub(crate) fn conditions(runs: &[&RunFacts]) -> String {
    let is_swept = |name: &str| {
        let keys = || runs.iter().flat_map(|run| run.factors.keys());
        keys().any(|key| key.rsplit('.').next() == Some(name))
    };
    let rate = same(runs, |run| Some(narrowest(run)?.rate_bps)).filter(|_| !is_swept("rate"));
    let buffer = same(runs, |run| Some(narrowest(run)?.buffer_bytes)).filter(|_| !is_swept("buffer"));
    let parts = [
        same(runs, |run| Some(run.study.to_string())).filter(|study| !study.is_empty()),
        same(runs, |run| Some(factors(run))).filter(|factors| !factors.is_empty()),
        match runs {
            [run] if run.repeat > 0 => Some(format!("repeat {}", run.repeat)),
            [] | [_] => None,
            several => Some(format!("{} runs", several.len())),
        },
        rate.map(|bps| Quantity::Rate.text(bps as f64)),
        same(runs, propagation)
            .filter(|_| !is_swept("rtt"))
            .map(|ns| format!("RTT {}", Quantity::Seconds.text(ns as f64 / 1e9))),
        buffer
            .filter(|bytes| *bytes > 0)
            .map(|bytes| format!("buffer {}", Quantity::Bytes.text(bytes as f64))),
        same(runs, |run| Some(run.duration_ns))
            .map(|ns| format!("duration {}", Quantity::Seconds.text(ns as f64 / 1e9))),
        same(runs, |run| Some(format!("substrate {}", run.substrate))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn factors(run: &RunFacts) -> String {
    run.factors.iter().map(|(key, value)| factor_phrase(key, value)).collect::<Vec<_>>().join(" · ")
}

/// The link with the least rate, of those with a known rate.
fn narrowest(run: &RunFacts) -> Option<&LinkInfo> {
    run.links.iter().filter(|link| link.rate_bps > 0).min_by_key(|link| link.rate_bps)
}

/// Propagation there and back, if all flows have the same.
fn propagation(run: &RunFacts) -> Option<i64> {
    let first = run.flows.first()?.base_rtt_ns;
    (first > 0 && run.flows.iter().all(|flow| flow.base_rtt_ns == first)).then_some(first)
}

/// The value that all runs have.
fn same<T: PartialEq>(runs: &[&RunFacts], value: impl Fn(&RunFacts) -> Option<T>) -> Option<T> {
    let first = value(runs.first()?)?;
    runs[1..].iter().all(|run| value(run).as_ref() == Some(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use serde_json::json;
    use wirespeed_record::{FlowInfo, RunInfo};

    fn run(control: &str, rate_bps: u64, repeat: u32) -> RunFacts {
        Pool::default().facts(&RunInfo {
            study: "first-look".into(),
            factors: [("flow.congestion".to_string(), json!(control))].into(),
            repeat,
            duration_ns: 60_000_000_000,
            links: vec![LinkInfo { rate_bps, buffer_bytes: 2_000_000, ..LinkInfo::default() }],
            flows: vec![FlowInfo { base_rtt_ns: 12_000_000, ..FlowInfo::default() }],
            ..RunInfo::default()
        })
    }

    #[test]
    fn conditions_of_one_run_name_its_factors_and_path() {
        let one = run("bic", 9_500_000_000, 2);
        let substrate = one.substrate;
        let expected = format!(
            "first-look · bic · repeat 2 · 9.5 Gbit/s · RTT 12 ms · buffer 2 MB · duration 60 s · substrate {substrate}"
        );
        assert_eq!(conditions(&[&one]), expected);
    }

    #[test]
    fn conditions_of_several_runs_are_those_in_common() {
        let (a, b) = (run("bic", 9_500_000_000, 0), run("reno", 1_000_000_000, 0));
        let line = conditions(&[&a, &b]);
        assert!(line.starts_with("first-look · 2 runs · RTT 12 ms · buffer 2 MB · duration 60 s"), "{line}");
        assert!(!line.contains("bic") && !line.contains("Gbit"), "{line}");
    }

    #[test]
    fn unknown_values_are_left_out() {
        assert_eq!(conditions(&[]), "");
        let mut bare = run("bic", 0, 0);
        bare.flows = Vec::new().into();
        assert!(!conditions(&[&bare]).contains("RTT") && !conditions(&[&bare]).contains("bit/s"));
    }
}
