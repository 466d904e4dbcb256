//! Text as the history of a mesh, up to its summary and the page for Prometheus (crates/studies/mesh/tests/hostile.rs).
#![no_main]

#[path = "../../crates/studies/mesh/tests/support/history.rs"]
mod history;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| history::read(text));
