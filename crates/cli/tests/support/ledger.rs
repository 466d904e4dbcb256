//! What the program says of a run in `--json`: its ledger, by entry and by stage.

use super::errors;
use serde_json::Value;
use std::process::Output;

/// The only run of the results.
pub fn results(output: &Output) -> Value {
    let told = || format!("{}: {}{}", output.status, String::from_utf8_lossy(&output.stdout), errors(output));
    assert!(output.status.success(), "{}", told());
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    results["runs"][0].clone()
}

/// Packets of an entry of the ledger.
pub fn entry(run: &Value, direction: &str, entry: &str) -> i64 {
    run["ledger"][direction][entry].as_i64().unwrap_or_else(|| panic!("no {entry}: {}", run["ledger"]))
}

/// Packets lost at a stage, data.
pub fn lost(run: &Value, stage: &str) -> i64 {
    let rows = run["ledger"]["data"]["lost"].as_array().expect("a ledger has losses, if only zeros");
    rows.iter().filter(|row| row["stage"] == stage).map(|row| row["packets"].as_i64().unwrap()).sum()
}

/// Packets lost at all stages, data.
pub fn lost_anywhere(run: &Value) -> i64 {
    let rows = run["ledger"]["data"]["lost"].as_array().expect("a ledger has losses, if only zeros");
    rows.iter().map(|row| row["packets"].as_i64().unwrap()).sum()
}
