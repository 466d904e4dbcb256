//! Bytes as what an iperf3 server says on the control connection (crates/run/iperf3/tests/hostile.rs).
#![no_main]

#[path = "../../crates/run/iperf3/tests/support/control.rs"]
mod control;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| control::converse(bytes));
