//! Output of `wirespeed tune`.

use crate::failure::Failure;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use wirespeed_tuning::{Identity, Journal, State, StepState, ThisHost, still_set};

/// Prints a line on standard error. The terminal of a session may be gone, and the transaction continues without it.
pub fn note(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", wirespeed_record::plain_line(text));
}

/// A value as JSON.
pub fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| Failure::Environment(error.to_string()))
}

/// All transactions, oldest first.
pub fn status(journals: &[Journal], as_json: bool) -> Result<String, Failure> {
    let here = Identity::here().map_err(|error| Failure::Environment(format!("/proc: {error}; mount it")))?;
    if as_json {
        let all: Vec<Value> = journals.iter().map(|journal| entry(journal, &here)).collect();
        return json(&json!({ "transactions": all }));
    }
    if journals.is_empty() {
        return Ok("no transactions\n".into());
    }
    let mut text = String::new();
    for journal in journals {
        describe(journal, &here, &mut text);
    }
    Ok(text)
}

fn entry(journal: &Journal, here: &Identity) -> Value {
    let still = if journal.is_open() { still_set(&mut ThisHost, journal) } else { Vec::new() };
    let step = |(step, state): (&wirespeed_tuning::Step, StepState)| {
        json!({
            "setting": step.change.setting, "value": step.change.value, "before": step.before.value,
            "rule": step.change.rule, "state": state, "is_in_effect": still.contains(&step.change),
        })
    };
    json!({
        "journal": journal.path(), "state": journal.state(), "is_of_this_boot": journal.is_of_boot(here),
        "is_of_this_namespace": journal.header().identity.namespace == here.namespace,
        "began_unix_s": journal.header().began_unix_s, "confirm_within_s": journal.header().confirm_within_s,
        "files": journal.header().files.iter().map(|file| &file.path).collect::<Vec<_>>(),
        "steps": journal.steps().into_iter().map(step).collect::<Vec<_>>(),
    })
}

fn describe(journal: &Journal, here: &Identity, text: &mut String) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let age = now.saturating_sub(journal.header().began_unix_s);
    let state = match journal.state() {
        State::Unfinished => "unfinished: run `wirespeed tune revert` or `wirespeed tune apply --resume`",
        State::Unconfirmed => "waits for `wirespeed tune confirm`",
        State::Applied => "applied",
        State::Reverted => "reverted",
    };
    let _ = writeln!(text, "{}: {state}; began {age} s ago", journal.path().display());
    if !journal.is_open() {
        return;
    }
    if journal.state() == State::Unconfirmed && !journal.timer().is_some_and(|timer| timer.is_running()) {
        text.push_str("  the dead-man timer does not run; `wirespeed tune revert` puts everything back\n");
    }
    if !journal.is_of_boot(here) {
        text.push_str("  of another boot; `wirespeed tune revert` puts back the values that are still set\n");
    } else if journal.header().identity.namespace != here.namespace {
        text.push_str("  of another network namespace; the values are those of this one\n");
    }
    let still = still_set(&mut ThisHost, journal);
    for (step, state) in journal.steps() {
        let state = match state {
            StepState::Waiting => "not changed yet",
            StepState::Restored => "put back",
            _ if still.contains(&step.change) => "in effect",
            StepState::Started => "begun",
            StepState::Done => "changed by another program or person since",
        };
        let (setting, before, value) = (&step.change.setting, &step.before.value, &step.change.value);
        let _ = writeln!(text, "  {setting}: `{before}` -> `{value}`, {state}");
    }
    for file in &journal.header().files {
        let _ = writeln!(text, "  {}", file.path.display());
    }
}
