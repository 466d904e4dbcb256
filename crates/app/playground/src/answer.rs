//! A scenario's text in, its series as JSON out.

use crate::series::RunSeries;
use serde::Serialize;
use wirespeed_scenario::{Study, parse};
use wirespeed_sim::{Ended, Progress, simulate};

/// The name of the text in messages.
const NAME: &str = "scenario";

/// The result for the page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// All runs of the scenario.
    Runs { warnings: Vec<String>, runs: Vec<RunSeries> },
    /// The reason that there are none, with the remedy.
    Error(String),
    /// The caller stopped it.
    Stopped,
}

/// Executes every run of a scenario on the model. Returns JSON: `runs` with their time series, `error` with the reason, or
/// `stopped` after `watch` returned false. `watch` is called at each sample with the time that the run has reached.
pub fn answer(text: &str, watch: &mut dyn FnMut(Progress) -> bool) -> String {
    let answer = study(text).map_or_else(Answer::Error, |study| execute(&study, watch));
    serde_json::to_string(&answer).expect("numbers, words and lists are valid JSON")
}

/// The scenario, or the message for its author.
pub(crate) fn study(text: &str) -> Result<Study, String> {
    parse(text, NAME, &[], None).map_err(|error| match error.mistake() {
        Some(mistake) => format!("{mistake:#}"),
        None => error.to_string(),
    })
}

fn execute(study: &Study, watch: &mut dyn FnMut(Progress) -> bool) -> Answer {
    let mut warnings = study.warnings.clone();
    let mut runs = Vec::new();
    for run in &study.runs {
        match simulate(run, watch) {
            Ok(outcome) => {
                let new = outcome.warnings.iter().filter(|warning| !warnings.contains(warning));
                warnings.extend(new.cloned().collect::<Vec<_>>());
                runs.push(RunSeries::of(run, &outcome));
            }
            Err(Ended::Cancelled) => return Answer::Stopped,
            Err(Ended::Unsupported(feature)) => {
                return Answer::Error(format!("the model does not have this: {feature}"));
            }
        }
    }
    Answer::Runs { warnings, runs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const SCENARIO: &str = r#"
        schema = 1
        name = "one-flow"
        about = "Does one flow fill the path?"
        [path]
        rate = "1 Gbit/s"
        rtt = "2 ms"
        buffer = "1 bdp"
        [[flow]]
        congestion = "cubic"
        count = 2
        [run]
        duration = "1 s"
        sample = "10 ms"
    "#;

    fn json(text: &str) -> Value {
        serde_json::from_str(&answer(text, &mut |_| true)).unwrap()
    }

    #[test]
    fn series_have_a_value_for_each_sample() {
        let answer = json(SCENARIO);
        let run = &answer["runs"]["runs"][0];
        let samples = run["t_ns"].as_array().unwrap().len();
        assert_eq!(samples, 101);
        assert_eq!(run["flows"].as_array().unwrap().len(), 2);
        for key in ["goodput_bps", "cwnd_bytes", "rtt_ns"] {
            assert_eq!(run["flows"][0][key].as_array().unwrap().len(), samples, "{key}");
        }
        for key in ["backlog_bytes", "dropped_packets", "lost_packets"] {
            assert_eq!(run["queues"][0][key].as_array().unwrap().len(), samples, "{key}");
        }
    }

    #[test]
    fn goodput_of_all_flows_fits_the_path() {
        let answer = json(SCENARIO);
        let goodput = answer["runs"]["runs"][0]["goodput_bps"].as_u64().unwrap();
        assert!((700_000_000..1_000_000_000).contains(&goodput), "{goodput}");
    }

    #[test]
    fn mistake_gives_its_place_and_the_remedy() {
        let answer = json(&SCENARIO.replace("\"cubic\"", "\"cubik\""));
        let error = answer["error"].as_str().unwrap();
        assert!(error.starts_with("scenario:10:22: ") && error.contains("cubic"), "{error}");
    }

    #[test]
    fn watch_that_returns_false_stops_the_run() {
        let mut calls = 0;
        let stopped = answer(SCENARIO, &mut |_| {
            calls += 1;
            calls < 3
        });
        assert_eq!((stopped.as_str(), calls), ("\"stopped\"", 3));
    }
}
