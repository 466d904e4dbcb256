//! The entries of the lists on the page.

use serde::Serialize;
use wirespeed_scenario::{DEFAULT_HOST_PRESET, Preset, PresetKind, congestion_controls, presets};

#[derive(Serialize)]
struct Choices {
    /// The sources of the model ([`wirespeed_sim::PROGRAM`]).
    program: &'static str,
    algorithms: Vec<Choice>,
    hosts: Vec<Choice>,
    default_host: &'static str,
}

#[derive(Serialize)]
struct Choice {
    name: &'static str,
    about: &'static str,
}

/// The congestion control algorithms, the presets of hosts, and the name of the model's program, as JSON.
pub fn choices() -> String {
    let hosts = presets().iter().filter(|preset| preset.kind == PresetKind::Host);
    let choices = Choices {
        program: wirespeed_sim::PROGRAM,
        algorithms: congestion_controls()
            .iter()
            .map(|row| Choice { name: row.name, about: row.about })
            .collect(),
        hosts: hosts.map(|Preset { name, about, .. }| Choice { name, about }).collect(),
        default_host: DEFAULT_HOST_PRESET,
    };
    serde_json::to_string(&choices).expect("words are valid JSON")
}
