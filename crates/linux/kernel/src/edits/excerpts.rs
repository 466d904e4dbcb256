//! Whether the edits apply to versions of Linux whose sources are not at hand: `kernel/excerpts/VERSION.toml` has the lines
//! that they change, with some around them. `WIRESPEED_BLESS=1` records those of the sources that are installed.

use super::*;
use crate::source::{FOLDER, Source};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// Files by path, and the lines of each that matter.
type Excerpts = BTreeMap<String, String>;

/// Lines kept on each side of what an edit replaces.
const AROUND: usize = 3;
/// Stands for lines that are left out.
const GAP: &str = "...\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../kernel/excerpts")
}

/// The recorded versions.
fn recorded() -> Vec<(KernelVersion, Excerpts)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder()).unwrap().flatten() {
        let path = entry.path();
        let version = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        found.push((version, toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()));
    }
    found
}

fn edits_for(version: KernelVersion) -> Vec<Edit> {
    let mut edits = parse(crate::assets::EDITS).unwrap();
    edits.retain(|edit| edit.kernels.contain(version));
    edits
}

/// Applies all edits of a version to texts by file.
fn edited(version: KernelVersion, mut texts: Excerpts) -> Result<Excerpts, KernelError> {
    for edit in edits_for(version) {
        let text = texts.get_mut(&edit.file).unwrap_or_else(|| panic!("{} is not recorded", edit.file));
        *text = edit.edited(text, version)?;
    }
    Ok(texts)
}

#[test]
fn edits_apply_to_every_recorded_version() {
    if std::env::var_os("WIRESPEED_BLESS").is_some() {
        record();
    }
    let recorded = recorded();
    let lines: Vec<KernelVersion> = recorded.iter().map(|(version, _)| version.line()).collect();
    for wanted in [KernelVersion::new(6, 1, 0), KernelVersion::TODAY, KernelVersion::L4S] {
        assert!(lines.contains(&wanted), "no excerpts of Linux {wanted}");
    }
    for (version, excerpts) in recorded {
        let after = edited(version, excerpts.clone()).unwrap_or_else(|error| panic!("{error}"));
        for (file, text) in &excerpts {
            assert_ne!(text, &after[file], "no edit of {file} for {}", version.in_full());
        }
    }
}

/// Writes the excerpts of the sources that are installed, those of other versions stay.
fn record() {
    let lines: Vec<KernelVersion> = recorded().iter().map(|(version, _)| version.line()).collect();
    for line in
        lines.into_iter().chain([KernelVersion::new(6, 1, 0), KernelVersion::TODAY, KernelVersion::L4S])
    {
        let Ok(source) = Source::locate(None, line, Path::new(FOLDER)) else { continue };
        let version = source.version().unwrap();
        let edits = edits_for(version);
        let mut files: Vec<&str> = edits.iter().map(|edit| edit.file.as_str()).collect();
        files.dedup();
        let whole = files.iter().map(|file| ((*file).to_owned(), whole(&source, file))).collect::<Excerpts>();
        // A text that is unique in the file is unique in the excerpt; the reverse does not hold.
        edited(version, whole.clone()).unwrap();
        let mut text = format!(
            "# Excerpts of Linux {} (GPL-2.0-only): the lines that kernel/edits.toml changes, and some around them.\n",
            version.in_full()
        );
        for (file, whole) in &whole {
            text.push_str(&format!("\n\"{file}\" = '''\n{}'''\n", excerpt(whole, file, &edits)));
        }
        for (older, _) in recorded().iter().filter(|(older, _)| older.line() == line) {
            fs::remove_file(folder().join(format!("{}.toml", older.in_full()))).unwrap();
        }
        fs::write(folder().join(format!("{}.toml", version.in_full())), text).unwrap();
    }
}

/// A file of a tarball.
fn whole(source: &Source, file: &str) -> String {
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--to-stdout", "--occurrence=1", "--wildcards", "--file"]);
    let output = tar.arg(source.path()).arg(format!("*/{file}")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The lines that edits change, and those around them.
fn excerpt(whole: &str, file: &str, edits: &[Edit]) -> String {
    let lines: Vec<&str> = whole.lines().collect();
    let mut kept = vec![false; lines.len()];
    for edit in edits.iter().filter(|edit| edit.file == file) {
        let at = whole.find(&edit.find).unwrap();
        let first = whole[..at].matches('\n').count();
        let last = first + edit.find.trim_end_matches('\n').matches('\n').count();
        kept[first.saturating_sub(AROUND)..(last + AROUND + 1).min(lines.len())].fill(true);
    }
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        if kept[index] {
            text.push_str(&format!("{line}\n"));
        } else if index > 0 && kept[index - 1] {
            text.push_str(GAP);
        }
    }
    text
}
