//! Hosts for tests: network namespaces of this machine, joined in a row, gone when the test ends.
//!
//! A [`Row`] has hosts with addresses, routes and neighbour entries. [`within`] and [`in_new_namespace`] run work in a
//! namespace. [`skip`] reports a test that its environment does not allow.

mod command;
mod row;
mod thread;

pub use command::{CommandError, run};
pub use row::{Row, address, address_v6};
pub use thread::{in_new_namespace, within};

use std::io::Write;

/// Reports that a test was skipped, and why. The line goes past the test harness, which hides the output of tests that
/// pass; `tools/test-summary` counts it.
pub fn skip(test: &str, reason: &str) {
    // One write, as tests run at the same time.
    let _ = std::io::stderr().write_all(format!("{test} skipped: {reason}\n").as_bytes());
}
