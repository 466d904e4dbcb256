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

/// The scenario file of a study as it was read, and the files that it names: C files of its own congestion controls,
/// presets, schedules and lists.
///
/// # Errors
/// If such a file cannot be read.
pub fn inputs_of(study: &Study) -> Result<Vec<Input>, BundleError> {
    let name = file_name(&study.path).unwrap_or_else(|| format!("{}.toml", study.name));
    let mut names = BTreeSet::from([name.clone()]);
    let mut inputs = vec![Input { name, content: study.source.clone().into_bytes() }];
    let folder = study.path.parent().unwrap_or(Path::new(""));
    for path in study.own_controls.iter().chain(&study.data_files) {
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

    #[test]
    fn files_that_a_scenario_names_are_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let text = "schema = 1\nname = \"s\"\nabout = \"?\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"9 ms\"\n\
                    schedule = { csv = \"rates/day.csv\" }\n[[flow]]\ncongestion = \"own\"\n[congestion.own]\n\
                    source = \"own.c\"\n[run]\nduration = \"1 s\"\n";
        let files = [("s.toml", text), ("rates/day.csv", "time,rate\n0,1 Mbit/s\n"), ("own.c", "int x;\n")];
        fs::create_dir(folder.path().join("rates")).unwrap();
        files.iter().for_each(|(name, content)| fs::write(folder.path().join(name), content).unwrap());
        let study = wirespeed_scenario::load(&folder.path().join("s.toml"), &[], None).unwrap();
        let inputs = inputs_of(&study).unwrap();
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names, ["s.toml", "own.c", "rates/day.csv"]);
        assert_eq!(inputs[2].content, files[1].1.as_bytes());
    }
}
