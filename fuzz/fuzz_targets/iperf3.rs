//! Text as the JSON of iperf3, up to a recording (crates/run/iperf3/tests/hostile.rs).
#![no_main]

#[path = "../../crates/run/iperf3/tests/support/import.rs"]
mod support;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| support::import(text));
