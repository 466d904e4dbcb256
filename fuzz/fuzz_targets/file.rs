//! Text as a scenario file, up to its runs (crates/base/scenario/tests/hostile.rs).
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = wirespeed_scenario::parse(text, "fuzz.toml", &[], None);
});
