//! The files that a study was read from.

use crate::error::{BundleError, io_error};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path};
use wirespeed_scenario::Study;

/// A file that a study was read from, or that its scenario refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its path below the folder of the scenario.
    pub name: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// The scenario file of a study as it was read, and the C files of its own congestion controls.
///
/// # Errors
/// If a C file cannot be read.
pub fn inputs_of(study: &Study) -> Result<Vec<Input>, BundleError> {
    let name = file_name(&study.path).unwrap_or_else(|| format!("{}.toml", study.name));
    let mut names = BTreeSet::from([name.clone()]);
    let mut inputs = vec![Input { name, content: study.source.clone().into_bytes() }];
    let folder = study.path.parent().unwrap_or(Path::new(""));
    for path in &study.own_controls {
        let name = below(path, folder).or_else(|| file_name(path)).unwrap_or_default();
        if names.insert(name.clone()) {
            inputs.push(Input { name, content: fs::read(path).map_err(io_error("read", path))? });
        }
    }
    Ok(inputs)
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// The path below a folder, if it does not leave it.
fn below(path: &Path, folder: &Path) -> Option<String> {
    let relative = path.strip_prefix(folder).ok()?;
    let names: Option<Vec<String>> = relative
        .components()
        .filter(|component| *component != Component::CurDir)
        .map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    names.filter(|names| !names.is_empty()).map(|names| names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_file_keeps_its_place_below_the_scenario() {
        assert_eq!(below(Path::new("s/./cc/own.c"), Path::new("s")).as_deref(), Some("cc/own.c"));
        assert_eq!(below(Path::new("s/../own.c"), Path::new("s")), None);
        assert_eq!(below(Path::new("/own.c"), Path::new("s")), None);
    }
}
