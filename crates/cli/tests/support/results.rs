//! What `wirespeed run --json` says of its only run.

use serde_json::Value;
use std::process::Output;

/// The run of a command that ended well.
pub fn results(output: &Output) -> Value {
    let told = || format!("{}{}", String::from_utf8_lossy(&output.stdout), super::errors(output));
    assert!(output.status.success(), "{}", told());
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    results["runs"][0].clone()
}

/// Packets of an entry of the ledger.
pub fn entry(run: &Value, direction: &str, entry: &str) -> i64 {
    run["ledger"][direction][entry].as_i64().unwrap_or_else(|| panic!("no {entry}: {}", run["ledger"]))
}

/// Data packets lost at a stage.
pub fn lost(run: &Value, stage: &str) -> i64 {
    places(run).filter(|row| row["stage"] == stage).map(|row| row["packets"].as_i64().unwrap()).sum()
}

/// Data packets lost at any.
pub fn lost_anywhere(run: &Value) -> i64 {
    places(run).map(|row| row["packets"].as_i64().unwrap()).sum()
}

fn places(run: &Value) -> impl Iterator<Item = &Value> {
    run["ledger"]["data"]["lost"].as_array().expect("a ledger has losses, if only zeros").iter()
}
