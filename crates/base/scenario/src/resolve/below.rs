//! Presets: the settings below a table's own.

use super::named_file::NamedFile;
use crate::error::Complaint;
use crate::presets::{PresetKind, preset, presets};
use crate::suggest;
use crate::tree::{Node, Place, Source, layer, parse_document};
use std::path::{Path, PathBuf};

/// A preset whose name ends so is a file.
const EXTENSION: &str = ".toml";
/// A preset has no more MiB.
const MOST_MIB: u64 = 1;

/// The table's own lines over those of the preset it names (or of `default`), without the `preset` line.
pub(super) fn over_preset(table: &Node, kind: PresetKind, default: Option<&str>) -> Result<Node, Complaint> {
    let mut table = table.clone();
    let entry = table.remove("preset");
    let (name, at) = match &entry {
        None => match default {
            None => return Ok(table),
            Some(name) => (name, &table.at),
        },
        Some(entry) => match entry.node.text() {
            Some(name) => (name, &entry.node.at),
            None => {
                return Err(Complaint::at(&entry.node.at, "preset: expected the name of a preset in quotes"));
            }
        },
    };
    let mut below =
        if name.ends_with(EXTENSION) { of_file(name, kind, at)? } else { built_in(name, kind, at)? };
    below.at = table.at.clone();
    Ok(layer(&below, &table))
}

fn built_in(name: &str, kind: PresetKind, at: &Place) -> Result<Node, Complaint> {
    let Some(row) = preset(kind, name) else {
        let names: Vec<&str> = presets().iter().filter(|p| p.kind == kind).map(|p| p.name).collect();
        let what = if kind == PresetKind::Host { "host presets" } else { "path presets" };
        return Err(Complaint::at(at, format!("unknown preset `{name}`"))
            .label("no such preset")
            .help(suggest::choices(name, what, &names)));
    };
    parse_document(&Source::new(format!("preset {name}"), row.settings))
}

/// The settings of a file. It may name a built-in preset that its lines are laid over, but not another file.
fn of_file(name: &str, kind: PresetKind, at: &Place) -> Result<Node, Complaint> {
    let help = "; `wirespeed calibrate` writes such a file";
    let source = NamedFile::new(at, "preset", Path::new(name), help).read(MOST_MIB)?;
    let document = parse_document(&source)?;
    match document.get("preset") {
        Some(node) if node.text().is_some_and(|base| base.ends_with(EXTENSION)) => {
            Err(Complaint::at(&node.at, "preset: the preset of a file cannot be another file")
                .label("a file")
                .help("name a built-in preset here; `wirespeed list presets` lists them"))
        }
        Some(_) => over_preset(&document, kind, None),
        None => Ok(document),
    }
}

/// Files that are named as presets.
pub(super) fn files(root: &Node) -> Vec<PathBuf> {
    let hosts = root.get("host").map_or(&[][..], Node::entries).iter().map(|host| &host.node);
    let named = hosts.chain(root.get("path")).filter_map(|table| table.get("preset")?.text());
    named.filter(|name| name.ends_with(EXTENSION)).map(PathBuf::from).collect()
}
