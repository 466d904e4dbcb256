//! Bytes as events for every congestion control (crates/base/congestion/tests/random_events.rs).
#![no_main]

#[path = "../../crates/base/congestion/tests/support/steps.rs"]
mod steps;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let numbers: Vec<u16> =
        bytes.chunks(2).map(|two| u16::from_le_bytes([two[0], *two.last().unwrap()])).collect();
    let (&[window, seed], events) = numbers.split_first_chunk::<2>().unwrap_or((&[0, 0], &[]));
    let window = steps::WINDOWS[usize::from(window) % steps::WINDOWS.len()];
    let steps = steps::steps(events);
    if let Err(what) = steps::check(window, u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15), &steps) {
        panic!("{what}\n{steps:#?}");
    }
});
