//! `wirespeed explain`.

use crate::failure::Failure;
use crate::print;
use clap::Args;
use wirespeed_scenario::{CongestionControl, Preset, congestion_control, presets};

/// Arguments of `wirespeed explain`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Name of a metric, congestion control, preset, table or column.
    name: String,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let name = arguments.name.as_str();
    let mut found: Vec<String> = Vec::new();
    found.extend(wirespeed_metrics::find(name).map(wirespeed_metrics::explain));
    found.extend(congestion_control(name).map(explain_congestion));
    found.extend(presets().iter().filter(|preset| preset.name == name).map(explain_preset));
    for (table, about, columns) in wirespeed_record::tables() {
        if table == name {
            let listed: String = columns.iter().map(|c| format!("  {:24} {}\n", c.name, c.doc)).collect();
            found.push(format!("table {table}: {about}\n{listed}"));
        }
        let column = columns.iter().filter(|column| column.name == name);
        found.extend(column.map(|column| format!("column {name} of table {table}: {}\n", column.doc)));
    }
    if found.is_empty() {
        let near = wirespeed_metrics::suggest(name).join(", ");
        return Err(Failure::Usage {
            message: format!("nothing is called `{name}`"),
            remedy: format!("near it: {near}; `wirespeed list metrics|cc|presets` shows all"),
        });
    }
    print(&found.join("\n"))
}

fn explain_congestion(control: &CongestionControl) -> String {
    let mut text =
        format!("congestion control {}: {}\nReference: {}\n", control.name, control.about, control.reference);
    if !control.parameters.is_empty() {
        text.push_str("Parameters:\n");
    }
    for parameter in control.parameters {
        text.push_str(&format!("  {:24} {}\n", parameter.name, parameter.about));
    }
    text
}

fn explain_preset(preset: &Preset) -> String {
    format!(
        "preset {}: {}\nSource: {}\n\n{}\n",
        preset.name,
        preset.about,
        preset.source,
        preset.settings.trim()
    )
}
