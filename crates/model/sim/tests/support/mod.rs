//! What the tests of whole runs have in common. The fuzz targets (`fuzz/`) include these files too.
#![allow(dead_code, reason = "each test uses a part")]

pub mod invariants;
pub mod random;

use wirespeed_record::FlowSample;
use wirespeed_scenario::Run;
use wirespeed_sim::{Outcome, simulate};

/// The first run of a scenario.
///
/// # Panics
/// If it is not one.
pub fn run_of(scenario: &str) -> Run {
    runs_of(scenario, &[]).remove(0)
}

/// Its runs, with settings changed as `--set` does.
///
/// # Panics
/// If it is no scenario.
pub fn runs_of(scenario: &str, overrides: &[(&str, &str)]) -> Vec<Run> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    match wirespeed_scenario::parse(scenario, "test", &overrides, None) {
        Ok(study) => study.runs,
        Err(error) => panic!("{error}\n{scenario}"),
    }
}

/// A scenario from its tables: what stands in `[path]`, in one `[[flow]]` each, in `[run]`, and any further tables.
pub fn scenario(path: &str, flows: &[&str], run: &str, more: &str) -> String {
    let flows: String = flows.iter().map(|flow| format!("[[flow]]\n{flow}\n\n")).collect();
    format!("schema = 1\nname = \"test\"\n\n{more}\n\n[path]\n{path}\n\n{flows}[run]\n{run}\n")
}

/// Carries a run out.
///
/// # Panics
/// If the model cannot.
pub fn outcome(run: &Run) -> Outcome {
    simulate(run, &mut |_| true).unwrap_or_else(|ended| panic!("{ended:?}"))
}

/// Carries a scenario of one run out.
pub fn carry_out(scenario: &str) -> (Run, Outcome) {
    let run = run_of(scenario);
    let outcome = outcome(&run);
    (run, outcome)
}

/// Samples of one flow.
pub fn samples(outcome: &Outcome, flow: u32) -> Vec<&FlowSample> {
    outcome.flows.iter().filter(|row| row.flow == flow).collect()
}

/// What a flow's receiver got from one time to the end, in bit/s of payload.
pub fn goodput(outcome: &Outcome, flow: u32, from_ns: i64) -> f64 {
    let rows = samples(outcome, flow);
    let first = rows.iter().find(|row| row.t_ns >= from_ns).expect("the flow goes on after that");
    let last = rows.last().expect("a flow has samples");
    let delivered = |row: &FlowSample| row.delivered_bytes.expect("the model sees both ends");
    (delivered(last) - delivered(first)) as f64 * 8e9 / (last.t_ns - first.t_ns) as f64
}

/// A mean over the samples of a flow from one time on.
pub fn mean(outcome: &Outcome, flow: u32, from_ns: i64, value: impl Fn(&FlowSample) -> Option<f64>) -> f64 {
    let values: Vec<f64> =
        samples(outcome, flow).into_iter().filter(|row| row.t_ns >= from_ns).filter_map(value).collect();
    assert!(!values.is_empty(), "no sample of flow {flow} has the value");
    values.iter().sum::<f64>() / values.len() as f64
}

/// The frames of a capture: when each was seen, in nanoseconds, its length, and what was kept of it.
pub fn frames(capture: &[u8]) -> Vec<(i64, usize, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut frames) = (24, Vec::new());
    while at < capture.len() {
        let time = i64::from(word(at)) * 1_000_000_000 + i64::from(word(at + 4));
        let end = at + 16 + word(at + 8) as usize;
        frames.push((time, word(at + 12) as usize, &capture[at + 16..end]));
        at = end;
    }
    frames
}
