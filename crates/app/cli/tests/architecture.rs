//! The page on the architecture says which crate depends on which: in a list, a table and a drawing. All three are
//! compared with the `Cargo.toml` files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/explanation/architecture.md";

/// The crates that each crate depends on, by the names of their folders.
type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

fn page() -> String {
    fs::read_to_string(root().join(PAGE)).unwrap_or_else(|error| panic!("{PAGE}: {error}"))
}

/// The arrows of `crates/*/*/Cargo.toml`, without those of tests and build scripts.
fn from_manifests() -> Arrows {
    let arrows: Arrows =
        manifests().into_iter().map(|(_, name, manifest)| (name, dependencies(&manifest))).collect();
    assert!(arrows.len() > 10, "only {} crates were found", arrows.len());
    arrows
}

/// Room, name and `Cargo.toml` of every crate: `crates/ROOM/NAME/Cargo.toml`.
fn manifests() -> Vec<(String, String, String)> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let below =
        |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let rooms = below(&root().join("crates")).into_iter().filter(|path| path.is_dir());
    let crates = rooms.flat_map(|room| below(&room).into_iter().map(move |path| (name(&room), path)));
    let read = |(room, path): (String, PathBuf)| {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).ok()?;
        Some((room, name(&path), manifest))
    };
    crates.filter_map(read).collect()
}

/// Crates of this workspace that a `Cargo.toml` names as dependencies, whether of all platforms or of some.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    /// Packages are named after their folders with this before them.
    const PREFIX: &str = "wirespeed-";
    let mut found = BTreeSet::new();
    let mut is_inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            let header = line.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
            is_inside = header == "dependencies"
                || header.starts_with("target.") && header.ends_with(".dependencies");
            // A table for one dependency: `[dependencies.wirespeed-units]`.
            let own_table = header.strip_prefix("dependencies.").and_then(|name| name.strip_prefix(PREFIX));
            found.extend(own_table.map(str::to_owned));
        } else if is_inside && let Some(rest) = line.strip_prefix(PREFIX) {
            let name = rest.split(['.', '=', ' ']).next().unwrap_or_default();
            found.insert(name.to_owned());
        }
    }
    found
}

/// The content of a fenced block of that kind.
fn fenced<'a>(page: &'a str, kind: &str) -> &'a str {
    let opening = format!("\n```{kind}\n");
    let Some((_, rest)) = page.split_once(opening.as_str()) else { panic!("{PAGE} has no block `{kind}`") };
    let Some((block, _)) = rest.split_once("\n```") else {
        panic!("{PAGE}: the block `{kind}` does not end")
    };
    block
}

/// The block of arrows, with lines such as `report -> metrics record units`.
fn from_block(page: &str) -> Arrows {
    let arrow = |line: &str| {
        let Some((from, to)) = line.split_once("->") else {
            panic!("{PAGE}: `{line}` is not `CRATE -> CRATES`")
        };
        let to: BTreeSet<String> = to.split_whitespace().map(str::to_owned).collect();
        (from.trim().to_owned(), to)
    };
    fenced(page, "arrows").lines().filter(|line| !line.trim().is_empty()).map(arrow).collect()
}

/// The rows of the table whose first heading is this one, in their order: the name in the first column, and those in the
/// last one, each in backquotes.
fn table(page: &str, heading: &str) -> Vec<(String, BTreeSet<String>)> {
    let Some((_, rest)) = page.split_once(&format!("\n| {heading} |")) else {
        panic!("{PAGE} has no table with the heading {heading}")
    };
    let quoted =
        |cell: &str| -> BTreeSet<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let (first, last) = (cells.first()?, cells.last()?);
        Some((quoted(first).pop_first()?, quoted(last)))
    };
    rest.lines().skip(1).take_while(|line| line.starts_with('|')).filter_map(row).collect()
}

/// The drawing, with lines such as `campaign --> lab & report`.
fn from_drawing(page: &str) -> Arrows {
    let lines = fenced(page, "mermaid").lines().filter_map(|line| line.split_once("-->"));
    let arrow = |(from, to): (&str, &str)| {
        let to: BTreeSet<String> = to.split('&').map(|name| name.trim().to_owned()).collect();
        (from.trim().to_owned(), to)
    };
    lines.map(arrow).collect()
}

/// For each crate, all crates that it depends on, directly or by others.
fn reach(arrows: &Arrows) -> Arrows {
    let of = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&String> = arrows.get(from).into_iter().flatten().collect();
        while let Some(name) = open.pop() {
            if reached.insert(name.clone()) {
                open.extend(arrows.get(name).into_iter().flatten());
            }
        }
        reached
    };
    arrows.keys().map(|from| (from.clone(), of(from))).collect()
}

/// Crates that depend on themselves.
fn in_a_cycle(arrows: &Arrows) -> Vec<String> {
    let reached = reach(arrows);
    reached.iter().filter(|(from, to)| to.contains(*from)).map(|(from, _)| from.clone()).collect()
}

fn pairs(arrows: &Arrows) -> BTreeSet<(String, String)> {
    arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| (from.clone(), to.clone()))).collect()
}

/// What a part of the page lacks, and what it has too much.
fn differences(part: &str, manifests: &Arrows, found: &Arrows) -> Vec<String> {
    let (wanted, named) = (pairs(manifests), pairs(found));
    let missing = wanted.difference(&named).map(|(from, to)| format!("{part}: {from} -> {to} is missing"));
    let superfluous =
        named.difference(&wanted).map(|(from, to)| format!("{part}: {from} -> {to} is in no Cargo.toml"));
    missing.chain(superfluous).collect()
}

/// Crates that only one of both has.
fn other_crates(part: &str, manifests: &Arrows, found: &Arrows) -> Vec<String> {
    let missing = manifests.keys().filter(|name| !found.contains_key(*name));
    let missing = missing.map(|name| format!("{part}: crate {name} is missing"));
    let unknown = found.keys().filter(|name| !manifests.contains_key(*name));
    missing.chain(unknown.map(|name| format!("{part}: there is no crate {name}"))).collect()
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{PAGE} differs from the Cargo.toml files:\n{}", wrong.join("\n"));
}

#[test]
fn list_and_table_of_arrows_equal_the_manifests() {
    let (page, manifests) = (page(), from_manifests());
    let mut wrong = Vec::new();
    for (part, found) in [("list", from_block(&page)), ("table", table(&page, "Crate").into_iter().collect())]
    {
        wrong.extend(other_crates(part, &manifests, &found));
        wrong.extend(differences(part, &manifests, &found));
    }
    assert_none(&wrong);
}

#[test]
fn drawing_has_arrows_of_the_manifests_and_implies_all_of_them() {
    let (drawing, manifests) = (from_drawing(&page()), from_manifests());
    let (drawn, wanted) = (pairs(&drawing), pairs(&manifests));
    let superfluous = drawn.difference(&wanted);
    let mut wrong: Vec<String> =
        superfluous.map(|(from, to)| format!("drawing: {from} -> {to} is in no Cargo.toml")).collect();
    let implied = pairs(&reach(&drawing));
    let missing = wanted.difference(&implied);
    wrong.extend(missing.map(|(from, to)| format!("drawing: {from} -> {to} is missing")));
    assert_none(&wrong);
}

/// Arrows from a crate to one of a later room.
fn upward(rooms: &[(String, BTreeSet<String>)], arrows: &Arrows) -> Vec<String> {
    let room = |name: &String| rooms.iter().position(|(_, crates)| crates.contains(name));
    pairs(arrows)
        .into_iter()
        .filter(|(from, to)| room(from) < room(to))
        .map(|(from, to)| format!("{from} -> {to} goes to a later room"))
        .collect()
}

#[test]
fn table_of_rooms_equals_the_folders_and_no_arrow_goes_to_a_later_room() {
    let rooms = table(&page(), "Room");
    let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (room, name, _) in manifests() {
        folders.entry(room).or_default().insert(name);
    }
    assert_eq!(rooms.iter().cloned().collect::<BTreeMap<_, _>>(), folders, "{PAGE}, table of rooms");
    assert_none(&upward(&rooms, &from_manifests()));
}

#[test]
fn arrow_to_a_later_room_is_found() {
    let rooms: Vec<(String, BTreeSet<String>)> =
        [("base", "a"), ("app", "b")].map(|(room, name)| (room.to_owned(), [name.to_owned()].into())).into();
    let arrows = arrows(&[("a", &["b"]), ("b", &["a"])]);
    assert_eq!(upward(&rooms, &arrows), ["a -> b goes to a later room"]);
}

#[test]
fn crates_form_no_cycle() {
    let cycle = in_a_cycle(&from_manifests());
    assert!(cycle.is_empty(), "crates that depend on themselves: {}", cycle.join(", "));
}

fn arrows(lines: &[(&str, &[&str])]) -> Arrows {
    let arrow = |(from, to): &(&str, &[&str])| {
        let to: BTreeSet<String> = to.iter().map(|name| (*name).to_owned()).collect();
        ((*from).to_owned(), to)
    };
    lines.iter().map(arrow).collect()
}

#[test]
fn cycle_of_three_crates_is_found() {
    let tower = arrows(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
    assert_eq!(in_a_cycle(&tower), [""; 0]);
    let circle = arrows(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])]);
    assert_eq!(in_a_cycle(&circle), ["a", "b", "c"]);
}

#[test]
fn differences_name_missing_and_superfluous_arrows() {
    let (manifests, found) = (arrows(&[("a", &["b", "c"])]), arrows(&[("a", &["b", "d"])]));
    let expected = ["list: a -> c is missing", "list: a -> d is in no Cargo.toml"];
    assert_eq!(differences("list", &manifests, &found), expected);
}

#[test]
fn optional_dependencies_are_arrows_and_those_of_tests_and_build_scripts_are_not() {
    let manifest = "[package]\nname = \"wirespeed-x\"\n\n[dependencies]\nserde.workspace = true\n\
                    # wirespeed-a is a comment\nwirespeed-b.workspace = true\nwirespeed-c = { path = \"../c\" }\n\n\
                    [dependencies.wirespeed-d]\npath = \"../d\"\n\n[target.'cfg(unix)'.dependencies]\n\
                    wirespeed-e = { workspace = true, optional = true }\n\n[build-dependencies]\nwirespeed-f.workspace = true\n\n\
                    [dev-dependencies]\nwirespeed-g.workspace = true\n\n[lints]\nworkspace = true\n";
    let found: Vec<String> = dependencies(manifest).into_iter().collect();
    assert_eq!(found, ["b", "c", "d", "e"]);
}
