//! The recipes of CONTRIBUTING.md name the files they touch; here the lists are held against the tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_scenario::{congestion_control, congestion_controls};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// A fenced block ```` ```files ```` below a heading `### Add ...`.
#[derive(Debug, Default)]
struct Recipe {
    title: String,
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    /// A new file: its pattern, in which words of capitals stand for names, and one that is like it.
    Add { pattern: String, like: String },
    /// A file that is edited or generated.
    Existing(String),
    /// The name of something that was added in this way.
    Proof(String),
}

fn recipes() -> Vec<Recipe> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let chapter = text.split_once("\n## Recipes\n").expect("CONTRIBUTING.md has a chapter of recipes").1;
    let sections = chapter.split("\n### ").skip(1);
    sections.map(|section| recipe(section).unwrap_or_else(|e| panic!("CONTRIBUTING.md: {e}"))).collect()
}

fn recipe(section: &str) -> Result<Recipe, String> {
    let title = section.lines().next().unwrap_or_default().to_owned();
    let (_, block) = section.split_once("\n```files\n").ok_or(format!("\"{title}\" lists no files"))?;
    let (block, rest) = block.split_once("\n```").ok_or(format!("\"{title}\": the list does not end"))?;
    if rest.contains("```files") {
        return Err(format!("\"{title}\" has two lists"));
    }
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["add", pattern, "like", like] => Ok(Line::Add { pattern: pattern.into(), like: like.into() }),
            ["edit" | "generated", path] => Ok(Line::Existing(path.into())),
            ["proof", word] => Ok(Line::Proof(word.into())),
            _ => {
                Err(format!("\"{title}\": `{line}` is none of add PATTERN like PATH, edit, generated, proof"))
            }
        }
    };
    let lines = block.lines().map(line).collect::<Result<Vec<_>, _>>()?;
    Ok(Recipe { title, lines })
}

impl Recipe {
    /// Whether the list names this file, itself or by a pattern.
    fn covers(&self, path: &str) -> bool {
        self.lines.iter().any(|line| match line {
            Line::Add { pattern, .. } => matches(pattern, path),
            Line::Existing(listed) => listed == path,
            Line::Proof(_) => false,
        })
    }
}

/// `scenarios/NAME.toml` matches `scenarios/first-look.toml`.
fn matches(pattern: &str, path: &str) -> bool {
    let start = pattern.find(|c: char| c.is_ascii_uppercase());
    let end = pattern.rfind(|c: char| c.is_ascii_uppercase());
    let (Some(start), Some(end)) = (start, end) else { return pattern == path };
    let (before, after) = (&pattern[..start], &pattern[end + 1..]);
    path.len() > before.len() + after.len()
        && path.starts_with(before)
        && path.ends_with(after)
        && !path[before.len()..path.len() - after.len()].contains('/')
}

/// Folders in which a word that proves a recipe is looked for.
const SEARCHED: [&str; 10] = [
    "benches",
    "bpf",
    "crates",
    "docs/explanation",
    "docs/reference",
    "fuzz",
    "kernel",
    "scenarios",
    "tests",
    "tools",
];

/// Text files of the sources, by path from the root. Pages of prose may mention anything.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = SEARCHED.map(|folder| root.join(folder)).into();
    // Snapshots of hosts list what their kernels have.
    let snapshots = root.join("crates/analysis/diagnosis/tests/audit");
    while let Some(folder) = folders.pop() {
        if folder == snapshots {
            continue;
        }
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // A crate built on its own leaves its output in its folder; what a kernel printed and what random runs
                // found mentions everything.
                let others = ["target", "fixtures", "corpus"];
                if path.file_name().is_some_and(|name| !others.iter().any(|other| name == *other)) {
                    folders.push(path);
                }
            } else if let Ok(text) = fs::read_to_string(&path) {
                found.push((path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), text));
            }
        }
    }
    found
}

/// Whether `word` occurs in the text by itself, not as a part of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        // Counters carry the name of their group in front: TcpExtTCPRcvQDrop.
        let before = text[..at].trim_end_matches("TcpExt").chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(inner) && !after.is_some_and(inner)
    })
}

#[test]
fn the_files_of_every_recipe_are_there() {
    let recipes = recipes();
    assert!(recipes.len() >= 8, "only {} recipes were found", recipes.len());
    let root = root();
    let mut missing = Vec::new();
    for recipe in &recipes {
        for line in &recipe.lines {
            let path = match line {
                Line::Add { like, .. } => like,
                Line::Existing(path) => path,
                Line::Proof(_) => continue,
            };
            if !root.join(path).is_file() {
                missing.push(format!("{path} (\"{}\")", recipe.title));
            }
        }
    }
    assert!(missing.is_empty(), "CONTRIBUTING.md names files that are not there:\n{}", missing.join("\n"));
}

/// Recipes whose files an addition needs only some of, and whose names are words of everyday: a figure, an option.
const ONE_OF_MANY: [&str; 2] = ["Add a figure", "Add an option to the command line"];

#[test]
fn no_recipe_forgets_a_file() {
    let sources = sources();
    for folder in SEARCHED {
        let any = sources.iter().any(|(path, _)| path.starts_with(&format!("{folder}/")));
        assert!(any, "no file was found in {folder}, so nothing is proved of it");
    }
    let this = "crates/app/cli/tests/recipes.rs";
    for recipe in recipes() {
        let has_new_file = recipe.lines.iter().any(|line| matches!(line, Line::Add { .. }));
        let has_proof = recipe.lines.iter().any(|line| matches!(line, Line::Proof(_)));
        let only_adds = recipe.lines.len() == 1 && has_new_file;
        assert!(
            has_proof || only_adds || ONE_OF_MANY.contains(&&*recipe.title),
            "\"{}\" proves nothing",
            recipe.title
        );
        for line in &recipe.lines {
            let Line::Proof(word) = line else { continue };
            let with: BTreeSet<&str> = sources
                .iter()
                .filter(|(path, text)| path != this && has_word(text, word))
                .map(|s| s.0.as_str())
                .collect();
            assert!(!with.is_empty(), "\"{}\": `{word}` occurs nowhere; name another example", recipe.title);
            let forgotten: Vec<_> = with.into_iter().filter(|path| !recipe.covers(path)).collect();
            assert!(
                forgotten.is_empty(),
                "\"{}\": `{word}` also occurs in {}: list it, or make the addition simpler",
                recipe.title,
                forgotten.join(", ")
            );
        }
    }
}

#[test]
fn every_figure_has_its_row() {
    let folder = root().join("crates/analysis/report/src/figures");
    let registry = fs::read_to_string(folder.join("mod.rs")).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() || name == "mod" {
            continue;
        }
        assert!(registry.contains(&format!("mod {name};")), "{} is not part of the crate", path.display());
        assert!(registry.contains(&format!("&{name}::")), "{} has no row in the registry", path.display());
    }
}

#[test]
fn every_control_of_ours_can_be_named_in_a_scenario() {
    let (modules, programs) = (sources_in_c("kernel/cc", ".c"), sources_in_c("bpf", ".bpf.c"));
    for (path, text) in &modules {
        let field = text.split(".name").nth(1).and_then(|rest| rest.split('"').nth(1));
        let name = field.unwrap_or_else(|| panic!("{path} registers no .name"));
        assert!(
            congestion_control(name).is_some_and(|row| row.linux == Some(name)),
            "{path} registers {name}, but no row in crates/base/congestion/src/algorithms says linux: Some(\"{name}\")"
        );
    }
    assert!(modules.iter().any(|(path, _)| path.ends_with("tcp_prague.c")));
    // The same for a running kernel.
    let mut seen = 0;
    for (path, text) in &programs {
        let Some((_, registered)) = text.split_once("\nCONTROL(") else { continue };
        let name = registered.split(',').next().unwrap_or_default().trim();
        assert!(congestion_control(name).is_some(), "{path} registers {name}, which no scenario can name");
        seen += 1;
    }
    assert!(seen >= 11, "only {seen} of {} files in bpf register an algorithm", programs.len());
}

/// Path and text of the C files of a folder, which has to exist.
fn sources_in_c(folder: &str, end: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_end = paths.filter(|path| path.to_string_lossy().ends_with(end));
    of_end.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn every_control_of_linux_is_run_by_the_scenario_of_all() {
    let scenario = fs::read_to_string(root().join("scenarios/all-controls.toml")).unwrap();
    let names: Vec<&str> =
        congestion_controls().iter().filter(|row| !row.needs_l4s()).filter_map(|row| row.linux).collect();
    assert!(names.len() >= 17, "only {} rows were found", names.len());
    for name in names {
        assert!(scenario.contains(&format!("\"{name}\"")), "scenarios/all-controls.toml leaves {name} out");
    }
}

#[test]
fn a_pattern_matches_one_folder_only() {
    assert!(matches("scenarios/NAME.toml", "scenarios/first-look.toml"));
    assert!(!matches("scenarios/NAME.toml", "scenarios/more/first-look.toml"));
    assert!(!matches("scenarios/NAME.toml", "scenarios/.toml"));
    assert!(matches("kernel/cc/tcp_NAME.c", "kernel/cc/tcp_lola.c"));
    assert!(!matches("kernel/cc/tcp_NAME.c", "kernel/cc/lola.c"));
}

#[test]
fn a_word_is_not_found_inside_a_longer_one() {
    assert!(has_word("a (rcv_rtt_ns)", "rcv_rtt_ns"));
    assert!(!has_word("bbr_rcv_rtt_ns", "rcv_rtt_ns"));
    assert!(has_word("TcpExtTCPRcvQDrop", "TCPRcvQDrop"));
    assert!(!has_word("rehybla", "hybla"));
}
