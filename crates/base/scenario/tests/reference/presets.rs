//! The page of the presets, from their tables.

use std::fmt::Write;
use wirespeed_scenario::{DEFAULT_HOST_PRESET, Preset, PresetKind, presets};

/// The settings without the indentation of the source.
fn settings(preset: &Preset) -> String {
    let lines: Vec<&str> = preset.settings.lines().collect();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = filled.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let text: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or("").trim_end()).collect();
    text.join("\n").trim_matches('\n').to_owned()
}

fn kind(out: &mut String, kind: PresetKind, title: &str, about: &str) {
    let _ = write!(out, "\n## {title}\n\n{about}\n");
    let word = match kind {
        PresetKind::Host => "host",
        PresetKind::Path => "path",
    };
    for preset in presets().iter().filter(|preset| preset.kind == kind) {
        let Preset { name, about, source, .. } = preset;
        let end = |text: &str| if text.ends_with('.') { "" } else { "." };
        let _ = write!(out, "\n<a id=\"{word}.{name}\"></a>\n### `{name}`\n\n{about}{}\n\n", end(about));
        let _ = writeln!(out, "**Source:** {source}{}", end(source));
        match settings(preset) {
            settings if settings.is_empty() => {
                out.push_str("\nIt sets nothing: every key has its default.\n")
            }
            settings => {
                let _ = write!(out, "\n```toml\n{settings}\n```\n");
            }
        }
    }
}

fn page() -> String {
    let mut out = super::head(
        "Presets",
        "Look up here the values of every preset. A preset is named by `preset` in `[path]` or in `[host.NAME]`; lines of the\n\
         scenario itself override those of the preset. `wirespeed list presets` prints one line for each, and\n\
         `wirespeed explain NAME` the same as here. [Scenario file](scenario.md) describes the keys.",
    );
    let hosts = format!(
        "For `preset` in `[host.NAME]`. A host that names none has `{DEFAULT_HOST_PRESET}`. `[machine]` and `[costs]` are the tables\n\
         `[host.NAME.machine]` and `[host.NAME.costs]`. [Hosts](../models/hosts.md) explains which numbers are calibrated, and on what."
    );
    kind(&mut out, PresetKind::Host, "Hosts", &hosts);
    kind(&mut out, PresetKind::Path, "Paths", "For `preset` in `[path]`.");
    out
}

#[test]
fn page_of_presets_is_up_to_date() {
    super::compare("presets.md", &page());
}

#[test]
fn every_preset_has_a_section_with_its_values() {
    let page = page();
    assert!(presets().len() >= 10, "only {} presets were found", presets().len());
    for preset in presets() {
        let (_, section) = page.split_once(&format!("### `{}`\n", preset.name)).expect(preset.name);
        for line in preset.settings.lines().map(str::trim).filter(|line| !line.is_empty()) {
            assert!(section.contains(line), "{}: {line}", preset.name);
        }
    }
}
