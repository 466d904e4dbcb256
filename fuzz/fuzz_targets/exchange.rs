//! Bytes as a file of another program, up to a recording and its exports (crates/run/exchange/tests/hostile.rs).
#![no_main]

#[path = "../../crates/run/exchange/tests/support/import.rs"]
mod support;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| support::import(bytes.to_vec()));
