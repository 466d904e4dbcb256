//! Random scenarios through the whole model: what must hold in every run. `PROPTEST_CASES=10000` tries more of them
//! than the usual 256; `tests/corpus/` has those that once failed.

mod support;

use proptest::prelude::*;
use std::path::Path;
use support::random::Scenario;
use support::{carry_out, invariants, samples};

fn numbers() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..160)
}

proptest! {
    // The list of numbers is all that could be kept, and means something else once a choice is added: what fails goes
    // to `tests/corpus/` as a scenario.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_keeps_the_invariants(scenario in numbers().prop_map(|n| Scenario::any(&n))) {
        let (run, outcome) = carry_out(&scenario.0);
        if let Err(what) = invariants::check(&run, &outcome) {
            return Err(TestCaseError::fail(what));
        }
    }

    #[test]
    fn what_is_limited_in_bytes_arrives_whole(scenario in numbers().prop_map(|n| Scenario::transfer(&n))) {
        arrives_whole(&scenario.0).map_err(TestCaseError::fail)?;
    }
}

fn arrives_whole(scenario: &str) -> Result<(), String> {
    let (run, outcome) = carry_out(scenario);
    invariants::check(&run, &outcome)?;
    let bytes = run.flows[0].bytes.expect("a transfer has an amount").get();
    let last = samples(&outcome, 0).pop().expect("a flow has samples");
    let got = (last.delivered_bytes, last.read_bytes, last.acked_bytes);
    if got == (bytes, bytes, Some(bytes)) { Ok(()) } else { Err(format!("{got:?} of {bytes}")) }
}

#[test]
fn the_corpus_keeps_the_invariants() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let scenario = std::fs::read_to_string(&file).unwrap();
        let whole = scenario.contains("name = \"transfer\"");
        let (run, outcome) = carry_out(&scenario);
        let result = if whole { arrives_whole(&scenario) } else { invariants::check(&run, &outcome) };
        result.unwrap_or_else(|what| panic!("{}: {what}", file.display()));
    }
}
