//! Named sets of settings for hosts and paths. One row each; the text of a row is what one would write in the
//! file, so everything a file can say a preset can say. A file's own lines win over its preset's.
//!
//! A host's machine and costs are numbers with a source each; docs/models/hosts.md says which of them are calibrated
//! on which published result.

mod cornell;
mod general;
mod kit;
mod onl;
mod paths;
mod slac;
mod today;

use serde::Serialize;
use std::sync::LazyLock;

/// A named set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Preset {
    /// What to write after `preset =`.
    pub name: &'static str,
    /// Whether it goes under `[host.NAME]` or `[path]`.
    pub kind: PresetKind,
    /// What it stands for.
    pub about: &'static str,
    /// Where its values come from.
    pub source: &'static str,
    /// The settings, as TOML.
    pub settings: &'static str,
}

/// What a preset describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PresetKind {
    /// Goes under `[host.NAME]`.
    Host,
    /// Goes under `[path]`.
    Path,
}

/// The preset of hosts that name none.
pub const DEFAULT_HOST_PRESET: &str = "tuned";

/// All presets, hosts first.
pub fn presets() -> &'static [Preset] {
    static ALL: LazyLock<Vec<Preset>> = LazyLock::new(|| {
        let files = [
            general::PRESETS,
            kit::PRESETS,
            cornell::PRESETS,
            onl::PRESETS,
            slac::PRESETS,
            today::PRESETS,
            paths::PRESETS,
        ];
        files.concat()
    });
    &ALL
}

/// The preset of that kind and name.
pub fn preset(kind: PresetKind, name: &str) -> Option<&'static Preset> {
    presets().iter().find(|p| p.kind == kind && p.name == name)
}
