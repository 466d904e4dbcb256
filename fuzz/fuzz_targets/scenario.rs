//! Bytes as choices of a scenario, through the whole model, against what holds in every run
//! (crates/model/sim/tests/invariants.rs).
#![no_main]

#[path = "../../crates/model/sim/tests/support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use support::random::Scenario;

fuzz_target!(|bytes: &[u8]| {
    let numbers: Vec<u16> =
        bytes.chunks(2).map(|two| u16::from_le_bytes([two[0], *two.last().unwrap()])).collect();
    let scenario = Scenario::any(&numbers);
    let (run, outcome) = support::carry_out(&scenario.0);
    if let Err(what) = support::invariants::check(&run, &outcome) {
        panic!("{what}\n{scenario:?}");
    }
});
