//! The studies that come with wirespeed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_campaign::reproduce::{Form, Plan, StudyFiles, Wanted};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

fn plan(name: &str, wanted: &Wanted) -> Plan {
    let study = StudyFiles::load(&folder().join(name)).unwrap_or_else(|e| panic!("{e:#}"));
    let mut plan = Plan::default();
    plan.add(&study, wanted).unwrap_or_else(|e| panic!("{name}: {e:#}"));
    plan
}

/// Settings, claims and scenarios can be read; every figure has its file, every explanation its claim.
#[test]
fn every_study_is_whole() {
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if !path.join("study.toml").is_file() {
            continue;
        }
        let study = StudyFiles::load(&path).unwrap_or_else(|e| panic!("{e:#}"));
        assert_eq!(
            path.file_name().unwrap(),
            study.settings.name.as_str(),
            "a study is called as its folder"
        );
        for figure in &study.settings.figures {
            assert!(study.scenarios.contains_key(&figure.scenario), "{}: {}", figure.id, figure.scenario);
            // What a figure over time shows is seen to when its row is read.
            let draw = figure.draw.iter().filter(|draw| draw.form != Form::OverTime);
            for metric in draw.flat_map(|draw| draw.metrics.iter().chain(&draw.spread)) {
                assert!(wirespeed_metrics::find(metric).is_some(), "figure {}: {metric}", figure.id);
            }
        }
        for id in study.settings.claims.keys() {
            assert!(study.claims.iter().any(|claim| claim.id == *id), "no claim is called {id}");
        }
    }
}

/// 840 runs of one flow, 220 of two started together, 220 of one that joins; the claims need no others.
#[test]
fn ulm_2016_has_its_1280_tests() {
    let plan = plan("ulm-2016", &Wanted::default());
    let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
    for run in &plan.runs {
        *by_file.entry(run.id.split(',').next().unwrap()).or_default() += 1;
        assert_eq!(run.duration.as_secs_f64(), 900.0);
    }
    assert_eq!(plan.runs.len(), 1280, "{by_file:?}");
    let count =
        |stem: &str| by_file.iter().filter(|(name, _)| name.starts_with(stem)).map(|(_, n)| n).sum::<usize>();
    assert_eq!((count("single"), count("pairs"), count("convergence")), (840, 220, 220));
    for claim in &plan.claims {
        let cells = claim.cells.as_ref().unwrap_or_else(|why| panic!("{}: {why}", claim.claim.id));
        assert!(cells.iter().all(|cell| cell.runs.len() == 5), "{}", claim.claim.id);
    }
}

#[test]
fn the_claims_alone_need_a_part_of_it() {
    let all = plan("ulm-2016", &Wanted::default()).runs.len();
    let claims = plan("ulm-2016", &Wanted { only_claims: true, ..Wanted::default() });
    assert!(claims.runs.len() < all, "{}", claims.runs.len());
    let figure = plan("ulm-2016", &Wanted { figure: Some("8b".into()), ..Wanted::default() });
    assert_eq!((figure.runs.len(), figure.claims.len()), (100, 1));
    let one = plan("ulm-2016", &Wanted { claims: vec!["ulm-6a-cubic-htcp".into()], ..Wanted::default() });
    assert_eq!((one.runs.len(), one.claims.len()), (10, 1), "two levels, five times");
}

#[test]
fn quick_runs_are_short() {
    let plan = plan("ulm-2016", &Wanted { quick: true, ..Wanted::default() });
    assert!(plan.runs.iter().all(|run| run.duration.as_secs_f64() < 60.0));
}
