//! Pages of reference that are written by hand, compared with what the program prints and reads.

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use support::{errors, wirespeed};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs/reference").join(name)).unwrap()
}

/// The first cells of the table whose header begins with `header`.
fn first_cells<'a>(page: &'a str, header: &str) -> Vec<&'a str> {
    let (_, table) = page.split_once(&format!("\n{header}")).unwrap_or_else(|| panic!("no table {header}"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(1)).map(str::trim).collect()
}

/// Words in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_key_of_json_results_is_on_the_page_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "schema = 1\nname = \"t\"\npath = { rate = \"100 Mbit/s\", rtt = \"10 ms\" }\n\
                    flow = [{}]\nrun = { duration = \"1 s\" }\n";
    fs::write(folder.path().join("t.toml"), scenario).unwrap();
    let output = wirespeed(folder.path(), &["run", "t.toml", "--on", "model", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let printed: BTreeSet<&str> =
        printed["runs"][0].as_object().unwrap().keys().map(String::as_str).collect();
    let page = page("results.md");
    let mut listed: BTreeSet<&str> =
        first_cells(&page, "| Key of a run |").into_iter().flat_map(quoted).collect();
    // Keys that the example introduces; the page describes their values nowhere else.
    listed.extend(["id", "factors"]);
    assert_eq!(listed, printed, "docs/reference/results.md (left) differs from `--json` (right)");
}

/// The code that a failure ends with is chosen in one place.
#[test]
fn every_exit_code_is_on_the_page_and_in_the_help() {
    let source = include_str!("../src/failure.rs");
    let (_, choice) = source.split_once("fn code(&self)").unwrap();
    let choice = choice.split_once("\n    }").unwrap().0;
    let mut codes: BTreeSet<u8> =
        choice.split("=> ").skip(1).filter_map(|rest| rest.split(',').next()?.trim().parse().ok()).collect();
    codes.insert(0);
    assert!(codes.len() >= 4, "only {codes:?} were found");
    let page = page("environment.md");
    let listed: BTreeSet<u8> =
        first_cells(&page, "| Code |").iter().map(|code| code.parse().unwrap()).collect();
    assert_eq!(listed, codes, "docs/reference/environment.md (left) differs from `Failure::code` (right)");
    let help = String::from_utf8(wirespeed(Path::new("."), &["--help"]).stdout).unwrap();
    let (_, listed) = help.split_once("\nExit codes:\n").unwrap();
    let words = listed.lines().filter_map(|line| line.split_whitespace().next());
    let listed: BTreeSet<u8> = words.map(|code| code.parse().unwrap()).collect();
    assert_eq!(listed, codes, "the help (left) differs from `Failure::code` (right)");
}

/// Sources of the crates, without tests.
fn sources() -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join("crates")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !["target", "tests", "examples"].contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "build.rs" && !name.ends_with("tests.rs") {
                found.push((path.clone(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// The name in quotes that a text begins with, if it is one of a variable.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix('"')?.split('"').next()?;
    name.chars().all(|c| c.is_ascii_uppercase() || c == '_').then_some(name)
}

#[test]
fn every_variable_that_the_program_reads_is_on_the_page_and_no_other() {
    let sources = sources();
    let constant = |name: &str| {
        let definition = format!("const {name}: &str = ");
        sources.iter().find_map(|(_, text)| variable(text.split_once(&definition)?.1))
    };
    let mut read = BTreeSet::new();
    for (path, text) in &sources {
        for call in ["env::var(", "env::var_os("] {
            for argument in text.split(call).skip(1) {
                let word = argument.split(')').next().unwrap_or_default();
                let name = variable(argument).or_else(|| constant(word));
                // One closure is called with each of its names.
                let names = match name {
                    Some(name) => vec![name],
                    None if word == "name" => text.split("set(").filter_map(variable).collect(),
                    None => panic!("{}: which variable is `{word}`?", path.display()),
                };
                assert!(!names.is_empty(), "{}: `{word}`", path.display());
                read.extend(names);
            }
        }
    }
    // Only the program sets the first, in a guest. Tests read the second.
    for internal in ["WIRESPEED_GUEST", "WIRESPEED_BLESS"] {
        assert!(read.remove(internal), "{internal} is not read any more");
    }
    let page = page("environment.md");
    let listed: BTreeSet<&str> = first_cells(&page, "| Variable |").into_iter().flat_map(quoted).collect();
    let mut in_make = listed.clone();
    in_make.retain(|name| !read.contains(name));
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    for name in &in_make {
        assert!(makefile.contains(&format!("$({name})")), "{name} is on the page, but nothing reads it");
    }
    let missing: Vec<_> = read.difference(&listed).collect();
    assert!(missing.is_empty(), "docs/reference/environment.md does not list {missing:?}");
}
