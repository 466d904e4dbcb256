//! Bytes as what controller and agent say to each other: in frames, and as messages of agents at work, up to the recording
//! (crates/run/substrates/tests/hostile.rs).
#![no_main]

#[path = "../../crates/run/substrates/tests/support/hostile.rs"]
mod hostile;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    hostile::hear(bytes);
    hostile::work(bytes);
});
