//! The studies that come with wirespeed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_record::SubstrateKind;
use wirespeed_reproduce::{Form, Plan, StudyFiles, Wanted};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../studies")
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

/// "Drawn" is no excuse: whoever reads it finds the figure, with every setting the claim speaks of.
#[test]
fn every_claim_that_is_drawn_has_its_figure() {
    let mut drawn = 0;
    for name in ["cornell-2010", "kit-2019", "onl-wiki", "slac-sc03", "ulm-2016"] {
        for wanted in [Wanted::default(), Wanted { only_claims: true, ..Wanted::default() }] {
            let plan = plan(name, &wanted);
            let shapes = plan.claims.iter().filter(|claim| !claim.claim.expect.is_by_number());
            for claim in shapes {
                let id =
                    claim.drawn_in.as_ref().unwrap_or_else(|| panic!("{} has no figure", claim.claim.id));
                let figure = plan.figures.iter().find(|figure| figure.figure.id == *id).unwrap();
                assert!(figure.figure.draw.is_some() && !figure.cells.is_empty(), "{}", claim.claim.id);
                drawn += 1;
            }
        }
    }
    assert!(drawn > 0, "else this test has nothing to look at");
}

/// What is decided inside a host is no business of substrates whose hosts are free; what is not, is.
#[test]
fn free_hosts_judge_what_does_not_happen_in_hosts() {
    let of = |study: &str| plan(study, &Wanted { only_claims: true, ..Wanted::default() });
    let kit = of("kit-2019");
    for claim in &kit.claims {
        let is_free =
            ["kit-13a-cubic-rtt", "kit-15-bbr-lan", "kit-15-bbr-wan"].contains(&claim.claim.id.as_str());
        assert_eq!(claim.lacks(SubstrateKind::Kernel).is_none(), is_free, "{}", claim.claim.id);
        assert_eq!(claim.lacks(SubstrateKind::Model), None);
        for run in claim.cells.iter().flatten().flat_map(|cell| &cell.runs) {
            assert_eq!(kit.lacks(*run, SubstrateKind::Kernel).is_none(), is_free, "{}", kit.runs[*run].id);
            assert_eq!(kit.lacks(*run, SubstrateKind::Model), None);
        }
    }
    let cornell = of("cornell-2010");
    let livelock = cornell.claims.iter().find(|claim| claim.claim.id == "cornell-6-livelock").unwrap();
    let why = livelock.lacks(SubstrateKind::Kernel).unwrap();
    assert!(why.contains("interrupts") && why.contains("receiver"), "{why}");
    assert!(of("ulm-2016").claims.iter().all(|claim| claim.lacks(SubstrateKind::Kernel).is_none()));
}
