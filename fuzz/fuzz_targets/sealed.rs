//! Bytes of a stranger in the place of the handshake of agents without ssh, and of what follows it (crates/run/substrates/tests/hostile.rs).
#![no_main]

#[path = "../../crates/run/substrates/tests/support/sealed.rs"]
mod sealed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sealed::knock(bytes));
