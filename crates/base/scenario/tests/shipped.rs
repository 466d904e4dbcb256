//! What the repository ships with: scenarios, presets, schema.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_scenario::run::FlowKind;
use wirespeed_scenario::{PresetKind, congestion_controls, json_schema, load, parse, presets};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn every_scenario_means_something() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let study = load(&path, &[], None).unwrap_or_else(|e| panic!("{e:#}"));
        assert_eq!(path.file_stem().unwrap(), study.name.as_str(), "a scenario is called as its file");
        assert!(study.about.ends_with('?'), "{}: `about` asks the question", study.name);
        assert_eq!(study.warnings, Vec::<String>::new(), "{}", study.name);
        for expectation in &study.expect {
            assert!(study.runs.iter().any(|r| expectation.applies(r)), "{}: a bound for no run", study.name);
        }
        seen += 1;
    }
    assert!(seen >= 11, "only {seen} scenarios were found");
}

#[test]
fn all_controls_are_all_controls_of_linux() {
    let study = load(&root().join("scenarios/all-controls.toml"), &[], None).unwrap();
    let swept: BTreeSet<&str> = study
        .runs
        .iter()
        .map(|run| match &run.flows[0].kind {
            FlowKind::Tcp { congestion, .. } => congestion.name.as_str(),
            FlowKind::Udp { .. } => "udp",
        })
        .collect();
    let all: BTreeSet<&str> =
        congestion_controls().iter().filter(|c| !c.needs_l4s()).filter_map(|c| c.linux).collect();
    assert_eq!(swept, all, "all that the default kernel has");
}

#[test]
fn every_preset_can_be_named() {
    for preset in presets() {
        let (path, host) = match preset.kind {
            PresetKind::Path => (format!("preset = \"{}\"", preset.name), String::new()),
            PresetKind::Host => (
                "rate = \"1 Gbit/s\", rtt = \"10 ms\"".into(),
                format!("[host.sender]\npreset = \"{}\"", preset.name),
            ),
        };
        let text = format!(
            "schema = 1\nname = \"t\"\npath = {{ {path} }}\nflow = [{{}}]\nrun = {{ duration = \"1 s\" }}\n{host}"
        );
        parse(&text, "t.toml", &[], None).unwrap_or_else(|e| panic!("preset {}: {e:#}", preset.name));
        assert!(!preset.about.is_empty() && !preset.source.is_empty());
    }
    for (i, one) in presets().iter().enumerate() {
        assert!(
            presets()[..i].iter().all(|p| (p.kind, p.name) != (one.kind, one.name)),
            "{} twice",
            one.name
        );
    }
}

/// Every block of TOML on the page, filled up to a whole scenario: lines without a table belong to `[path]`.
#[test]
fn the_examples_of_the_how_to_are_good() {
    let page = fs::read_to_string(root().join("docs/how-to/write-a-scenario.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 12, "only {} examples were found", blocks.len());
    // The files that examples name: the one that the page shows, and two traces.
    let folder = tempfile::tempdir().unwrap();
    let table =
        page.split("```text\n").find(|block| block.starts_with("time (s)")).expect("a schedule is shown");
    fs::write(folder.path().join("satellite.csv"), table.split("```").next().unwrap()).unwrap();
    for trace in ["LTE-driving.down", "LTE-driving.up"] {
        fs::write(folder.path().join(trace), "1\n3\n").unwrap();
    }
    let name = folder.path().join("t.toml").display().to_string();
    for block in blocks {
        let mut text = String::new();
        let missing = |header: &str, lines: &str| match block.lines().any(|line| line.starts_with(header)) {
            true => String::new(),
            false => format!("{header}\n{lines}\n"),
        };
        text += &missing("schema = 1", "name = \"t\"");
        text += &missing("[path]", "rate = \"1 Gbit/s\"\nrtt = \"20 ms\"");
        text += block;
        text += &missing("[[flow]]", "");
        text += &missing("[run]", "duration = \"60 s\"");
        text += &missing("[sweep]", "\"flow.congestion\" = [\"cubic\", \"bbr\"]");
        parse(&text, &name, &[], None).unwrap_or_else(|e| panic!("{e:#}\n{text}"));
    }
}

/// Names and seeds of runs that are recorded: whatever is added to the file's language, they stay.
#[test]
fn runs_keep_their_names_and_seeds() {
    let named = |file: &str| -> Vec<(String, u64)> {
        let study = load(&root().join("scenarios").join(file), &[], None).unwrap();
        study.runs.into_iter().map(|run| (run.id, run.seed)).collect()
    };
    let first_look = named("first-look.toml");
    let first_look: Vec<(&str, u64)> = first_look.iter().map(|(id, seed)| (id.as_str(), *seed)).collect();
    assert_eq!(
        first_look,
        [
            ("congestion=reno,r0", 16_293_357_811_390_026_222),
            ("congestion=cubic,r0", 228_407_233_320_109_987),
            ("congestion=bic,r0", 2_949_140_561_248_160_443)
        ]
    );
    let udp = named("udp-loss.toml");
    assert_eq!(udp, [("r0".to_owned(), 16_969_682_215_880_660_830)]);
}

/// A run that is recorded is known as the same by what is stored of it: its form must not change either.
#[test]
fn runs_keep_their_stored_form() {
    let study = load(&root().join("scenarios/first-look.toml"), &[], None).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&study.runs[2]).unwrap());
}

/// The committed schema is the one the structs give; `WIRESPEED_BLESS=1` writes it.
#[test]
fn the_committed_schema_is_current() {
    let path = root().join("docs/reference/scenario.schema.json");
    let now = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    if std::env::var_os("WIRESPEED_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &now).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == now, "{} is stale: run the tests with WIRESPEED_BLESS=1", path.display());
}

/// What a study has beside its scenarios.
const NO_SCENARIOS: [&str; 4] = ["study.toml", "claims.toml", "claims-own.toml", "recorded.toml"];

/// Every scenario of the published studies; what a study's claims need is checked where they are read.
#[test]
fn every_study_means_something() {
    let mut seen = 0;
    for folder in fs::read_dir(root().join("studies")).unwrap() {
        let folder = folder.unwrap().path();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let scenario = name.ends_with(".toml") && !NO_SCENARIOS.iter().any(|other| name == *other);
            if !scenario {
                continue;
            }
            let study = load(&path, &[], None).unwrap_or_else(|e| panic!("{e:#}"));
            assert!(study.about.ends_with('?'), "{}: `about` asks the question", path.display());
            assert_eq!(study.warnings, Vec::<String>::new(), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 27, "only {seen} scenarios were found");
}
