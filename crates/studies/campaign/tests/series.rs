//! Numbers and findings of a run do not depend on how much of its series is kept, and a folder resumes with any choice.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use wirespeed_campaign::{Campaign, Judged, Observer, Order, Outcome, StudyReport, Threads, judge_run};
use wirespeed_record::{KeptSeries, ToolInfo, read_info};
use wirespeed_report::StudyInfo;
use wirespeed_scenario::Run;
use wirespeed_substrates::{Model, Progress};

struct Silent;

impl Observer for Silent {
    fn started(&self, _: usize) {}
    fn progressed(&self, _: usize, _: Progress) {}
    fn ended(&self, _: usize, _: &Outcome) {}
}

/// Two algorithms, one of which is repeated and copied as it draws nothing; a flow of UDP; a host with cores.
fn runs(series: &str) -> Vec<Run> {
    let text = format!(
        "schema = 1\nname = \"t\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n\
         [[flow]]\n[[flow]]\nkind = \"udp\"\nrate = \"2 Mbit/s\"\n[host.receiver]\npreset = \"cornell-2010\"\n\
         [run]\nduration = \"3 s\"\nomit = \"500 ms\"\nrepeat = 2\n{series}\n\
         [sweep]\n\"flow.0.congestion\" = [\"reno\", \"cubic\"]\n"
    );
    wirespeed_scenario::parse(&text, "t.toml", &[], None).unwrap().runs
}

const ALL: &str = "";
const THIN: &str = "series = \"thin\"\nseries_every = \"500 ms\"";
const COARSE: &str = "series = \"thin\"\nseries_every = \"1 s\"";
const NONE: &str = "series = \"none\"";

fn carry_out(runs: &[Run], folder: &Path) -> Vec<Outcome> {
    let threads = Threads::new(&Model, 2, ToolInfo::default());
    let campaign = Campaign {
        runs,
        substrate: &Model,
        executor: &threads,
        folder,
        fresh: false,
        order: Order::Study,
        command: &|_| String::new(),
    };
    campaign.carry_out(&AtomicBool::new(false), &Silent)
}

fn judged(runs: &[Run], folder: &Path) -> Vec<Judged> {
    runs.iter().map(|run| judge_run(&folder.join(&run.id)).unwrap()).collect()
}

fn assert_equal(judged: &[Judged], expected: &[Judged]) {
    assert_eq!(judged.len(), expected.len());
    for (found, expected) in judged.iter().zip(expected) {
        assert!(!expected.metrics.is_empty() && !expected.per_flow[0].is_empty());
        let bits = |judged: &Judged| -> Vec<(String, u64)> {
            let of_flows = judged.per_flow.iter().flatten();
            let of_groups = judged.per_group.iter().flat_map(|group| &group.metrics);
            let all = judged.metrics.iter().chain(of_flows).chain(of_groups);
            all.map(|metric| (metric.name.clone(), metric.value.to_bits())).collect()
        };
        assert_eq!(bits(found), bits(expected));
        assert_eq!(found.analysis, expected.analysis);
        assert_eq!(found.recording.ledger, expected.recording.ledger);
        assert_eq!(found.recording.events, expected.recording.events);
    }
}

fn kept(runs: &[Run], folder: &Path) -> Vec<KeptSeries> {
    runs.iter().map(|run| read_info(&folder.join(&run.id)).unwrap().series).collect()
}

fn is_done(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Done(_))
}

fn is_kept(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Kept(_))
}

#[test]
fn numbers_and_findings_do_not_depend_on_the_series_that_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).join("runs");
    let all = runs(ALL);
    assert!(carry_out(&all, &place("all")).iter().all(is_done));
    let expected = judged(&all, &place("all"));
    assert!(expected.iter().any(|judged| judged.analysis.diagnosis.sentence().is_some()));
    for (name, series) in [("thin", THIN), ("none", NONE)] {
        let runs = runs(series);
        assert!(carry_out(&runs, &place(name)).iter().all(is_done));
        assert_equal(&judged(&runs, &place(name)), &expected);
        assert!(kept(&runs, &place(name)).iter().all(|kept| !kept.is_all()));
    }
    // The text of the reports is the same, but for the sentence on the series.
    let answer = |name: &str| {
        let mut report = StudyReport::new(StudyInfo::default());
        judged(&all, &place(name)).into_iter().for_each(|judged| report.add(judged).unwrap());
        report.finish().0.answer()
    };
    let (whole, mut none) = (answer("all"), answer("none"));
    let sentence = none.iter().position(|sentence| sentence.contains("are not kept")).unwrap();
    none.remove(sentence);
    assert_eq!(none, whole);
}

#[test]
fn folder_resumes_with_as_many_rows_as_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("runs");
    carry_out(&runs(ALL), &place);
    let expected = judged(&runs(ALL), &place);
    // Fewer rows need no execution, step by step.
    for series in [THIN, COARSE, NONE] {
        let runs = runs(series);
        for _ in 0..2 {
            assert!(carry_out(&runs, &place).iter().all(is_kept), "{series}");
            assert_equal(&judged(&runs, &place), &expected);
        }
    }
    assert!(kept(&runs(NONE), &place).iter().all(|kept| *kept == KeptSeries::None));
    assert!(!folder.path().join("reducing").exists());
    // More rows do.
    assert!(carry_out(&runs(COARSE), &place).iter().all(is_done));
    assert!(carry_out(&runs(THIN), &place).iter().all(is_done));
    assert!(carry_out(&runs(ALL), &place).iter().all(is_done));
    assert!(kept(&runs(ALL), &place).iter().all(KeptSeries::is_all));
    assert_equal(&judged(&runs(ALL), &place), &expected);
}

/// A process may end between any two files that it writes.
#[test]
fn run_whose_reduction_was_interrupted_is_whole_or_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("runs");
    let (all, none) = (&runs(ALL)[..1], &runs(NONE)[..1]);
    carry_out(all, &place);
    let expected = judged(all, &place);
    let run = place.join(&all[0].id);
    // While a complete run is reduced, its directory is as it was, and the new one lies elsewhere.
    let scratch = folder.path().join("reducing").join(&all[0].id);
    fs::create_dir_all(&scratch).unwrap();
    fs::copy(run.join("run.json"), scratch.join("run.json")).unwrap();
    assert_equal(&judged(all, &place), &expected);
    assert!(carry_out(none, &place).iter().all(is_kept));
    assert_equal(&judged(none, &place), &expected);
    // The rest of the old directory is removed later.
    fs::create_dir_all(&scratch).unwrap();
    fs::write(scratch.join("run.json"), "{}").unwrap();
    assert!(carry_out(none, &place).iter().all(is_kept));
    assert!(!scratch.parent().unwrap().exists());
    // While a run is executed, its directory is marked.
    fs::write(run.join("INCOMPLETE"), "killed\n").unwrap();
    assert!(judge_run(&run).is_err());
    assert!(carry_out(none, &place).iter().all(is_done));
    assert_equal(&judged(none, &place), &expected);
}
