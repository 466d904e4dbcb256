//! Bytes as a capture, up to its connections (crates/run/capture/tests/hostile.rs).
#![no_main]

#[path = "../../crates/run/capture/tests/support/any.rs"]
mod any;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| any::capture(bytes));
