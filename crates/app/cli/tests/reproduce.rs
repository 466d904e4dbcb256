//! Studies from folder to verdict, on the model.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use support::{errors, wirespeed};

const STUDY: &str = r#"schema = 1
name = "tiny"
title = "A tiny study"
assumptions = ["Nothing is known of the buffer."]
[names]
flows = "flow.count"
[quick]
"run.duration" = "1 s"
[claim.too-much]
explanation = "No link carries more than its rate."
[[conclusion]]
text = "Loss costs rate, and large transfers fill the path."
rests_on = ["falls", "too-much"]
[[figure]]
id = "1"
scenario = "path.toml"
title = "goodput against loss"
text = "It falls."
draw = "lines"
metric = "goodput_bps"
x = "path.loss"
by = "flow.congestion"
[[figure]]
id = "2"
scenario = "path.toml"
title = "the window over time"
text = "A saw tooth."
draw = "over-time"
metric = ["cwnd", "rtt"]
"#;

const SCENARIO: &str = r#"schema = 1
name = "tiny-path"
[path]
rate = "50 Mbit/s"
rtt = "10 ms"
buffer = "1 bdp"
[[flow]]
congestion = "cubic"
[run]
duration = "4 s"
sample = "100 ms"
[sweep]
"flow.congestion" = ["cubic", "reno"]
"path.loss" = [0, 0.05]
"#;

const CLAIMS: &str = r#"[[claim]]
id = "fills"
study = "tiny"
figure = "1"
finding = "Without loss both fill the path."
setup = { "path.loss" = 0 }
metric = "link_utilisation"
expect = { min = 0.8 }
[[claim]]
id = "too-much"
study = "tiny"
figure = "1"
finding = "Two flows get a gigabit."
setup = { flows = 2, "path.loss" = 0, "flow.congestion" = "reno" }
metric = "goodput_bps"
expect = { value = "1 Gbit/s", rtol = 0.1 }
[[claim]]
id = "falls"
study = "tiny"
figure = "1"
finding = "Loss costs rate."
setup = { "flow.congestion" = "reno" }
metric = "goodput_bps"
expect = { order = "0 > 0.05", over = "path.loss" }
[[claim]]
id = "shape"
study = "tiny"
figure = "1"
finding = "It falls."
metric = "goodput_bps"
expect = { shape = "falls" }
[[claim]]
id = "unknown"
study = "tiny"
figure = "1"
finding = "Something else."
metric = "coffee_bytes"
expect = { min = 1 }
"#;

fn study(folder: &Path) {
    let study = folder.join("tiny");
    fs::create_dir(&study).unwrap();
    for (name, text) in [("study.toml", STUDY), ("claims.toml", CLAIMS), ("path.toml", SCENARIO)] {
        fs::write(study.join(name), text).unwrap();
    }
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", errors(output));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

fn verdicts(results: &Value) -> Vec<(String, String)> {
    let claims = results["claims"].as_array().unwrap().iter();
    let verdict = |claim: &Value| claim["results"]["model"]["verdict"].as_str().unwrap_or("-").to_owned();
    claims.map(|claim| (claim["id"].as_str().unwrap().to_owned(), verdict(claim))).collect()
}

#[test]
fn a_study_runs_once_and_its_claims_have_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    study(folder.path());
    let results = json(&wirespeed(folder.path(), &["reproduce", "tiny", "--out", "out", "--json"]));
    let expected = [
        ("fills", "agrees"),
        ("too-much", "differs"),
        ("falls", "agrees"),
        ("shape", "drawn"),
        ("unknown", "missing"),
    ];
    assert_eq!(verdicts(&results), expected.map(|(id, verdict)| (id.to_owned(), verdict.to_owned())));
    // Four of the figure, and one with two flows; what claims and figure share ran once.
    let carried = &results["carried_out"]["model"];
    assert_eq!((carried["runs"].as_u64(), carried["now"].as_u64()), (Some(5), Some(5)));
    assert!(carried["packets"].as_u64().unwrap() > 10_000);
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    for part in [
        "No link carries more than its rate.",
        "holds in part on model (1 of 2 claims agree)",
        "figure-1-model",
        "Nothing is known of the buffer.",
        "figure-2-model--reno--0-05-cwnd",
        "figure-2-model--cubic--0-rtt",
        "Figure 2: the window over time (model, reno, 0.05)",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Complete runs are kept; another figure than those that are there is named.
    let again = json(&wirespeed(folder.path(), &["reproduce", "tiny", "--out", "out", "--json"]));
    assert_eq!(again["carried_out"]["model"]["now"], 0);
    let wrong = wirespeed(folder.path(), &["reproduce", "tiny", "--out", "out", "--figure", "7"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(errors(&wrong).contains("no claim or figure matches `7`"), "{}", errors(&wrong));
    assert!(errors(&wrong).contains("choose from: 1, 2"), "{}", errors(&wrong));
}

#[test]
fn metric_without_a_time_series_is_refused_with_those_that_have_one() {
    let folder = tempfile::tempdir().unwrap();
    study(folder.path());
    let path = folder.path().join("tiny/study.toml");
    let text = fs::read_to_string(&path).unwrap().replace(r#"["cwnd", "rtt"]"#, r#"["cwnd", "coffee"]"#);
    fs::write(path, text).unwrap();
    let refused = wirespeed(folder.path(), &["reproduce", "tiny", "--out", "out"]);
    assert_eq!(refused.status.code(), Some(2));
    for part in [
        "figure 2: `coffee` is not shown over time",
        "of a run: throughput, stacked, cwnd, rtt, queue, drops,",
    ] {
        assert!(errors(&refused).contains(part), "{}", errors(&refused));
    }
}

#[test]
fn quick_runs_say_so_and_leave_whole_ones_alone() {
    let folder = tempfile::tempdir().unwrap();
    study(folder.path());
    let output = wirespeed(folder.path(), &["reproduce", "tiny", "--quick", "--out", "out"]);
    assert!(output.status.success(), "{}", errors(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("quick") && table.contains("Report: out/report.html"), "{table}");
    assert!(fs::read_to_string(folder.path().join("out/report.html")).unwrap().contains("not the study"));
    let whole = json(&wirespeed(folder.path(), &["reproduce", "tiny", "--out", "out", "--json"]));
    assert_eq!(whole["carried_out"]["model"]["now"], 5);
}

/// What is recorded with a study stands beside what is run, is judged by the claim as it is now, and gives way to a
/// run of its own.
#[test]
fn recorded_numbers_stand_beside_a_run() {
    let folder = tempfile::tempdir().unwrap();
    study(folder.path());
    let run = |arguments: &[&str]| {
        wirespeed(folder.path(), &[["reproduce", "tiny"].as_slice(), arguments].concat())
    };
    let file = "tiny/recorded.toml";
    let first = ["--quick", "--claim", "too-much", "--record", file, "--out", "first", "--json"];
    json(&run(&first));
    let second = ["--claim", "falls", "--record", file, "--out", "second", "--json"];
    json(&run(&second));
    let path = folder.path().join(file);
    // As if a kernel had given it.
    let text =
        fs::read_to_string(&path).unwrap().replace("[model.", "[kernel.").replace("[[model.", "[[kernel.");
    fs::write(&path, &text).unwrap();
    let results = json(&run(&["--claim", "too-much", "--out", "third", "--json"]));
    let kernel = |id: usize| &results["claims"][id]["results"]["kernel"];
    assert_eq!(
        (kernel(1)["verdict"].as_str(), kernel(1)["recorded"].as_bool()),
        (Some("differs"), Some(true))
    );
    assert!(kernel(1)["mode"].as_str().unwrap().contains("quick"), "{}", kernel(1));
    assert_eq!(kernel(2)["verdict"], "agrees");
    assert_eq!(results["summary"]["model"]["refuted_by_kernel"], 1);
    let table = String::from_utf8(run(&["--claim", "too-much", "--out", "third"]).stdout).unwrap();
    assert!(table.split_whitespace().collect::<Vec<_>>().join(" ").contains("(recorded"), "{table}");

    let claims = folder.path().join("tiny/claims.toml");
    fs::write(&claims, CLAIMS.replace("0 > 0.05", "0.05 > 0")).unwrap();
    let results = json(&run(&["--claim", "too-much", "--out", "third", "--json"]));
    assert_eq!(results["claims"][2]["results"]["kernel"]["verdict"], "differs", "judged again");

    fs::write(&path, text.replace("cells", "shells")).unwrap();
    let wrong = run(&["--out", "third"]);
    assert!(!wrong.status.success() && errors(&wrong).contains("recorded.toml"), "{}", errors(&wrong));
}

#[test]
fn settings_for_one_claim_need_not_suit_other_scenarios() {
    let folder = tempfile::tempdir().unwrap();
    study(folder.path());
    let late = SCENARIO.replace("tiny-path", "late").replace(
        "congestion = \"cubic\"\n[run]",
        "congestion = \"cubic\"\ncount = 2\nstagger = \"2 s\"\n[run]",
    );
    assert_ne!(late.find("stagger"), None);
    fs::write(folder.path().join("tiny/late.toml"), late).unwrap();
    let figure = "[[figure]]\nid = \"2\"\nscenario = \"late.toml\"\ntitle = \"a second flow\"\ntext = \"\"\n\
                  draw = \"lines\"\nmetric = \"goodput_bps\"\nx = \"path.loss\"\nby = \"flow.congestion\"\n";
    fs::write(folder.path().join("tiny/study.toml"), format!("{STUDY}{figure}")).unwrap();
    let shorter = ["--set", "run.duration=1 s", "--out", "out", "--json"];
    let one = json(&wirespeed(
        folder.path(),
        &[["reproduce", "tiny", "--claim", "fills"].as_slice(), &shorter].concat(),
    ));
    assert_eq!(verdicts(&one)[0], ("fills".to_owned(), "agrees".to_owned()));
    let all = wirespeed(folder.path(), &[["reproduce", "tiny"].as_slice(), &shorter].concat());
    assert!(errors(&all).contains("would start after the run's end"), "{}", errors(&all));
}

#[test]
fn strict_fails_for_what_nobody_explains() {
    let folder = tempfile::tempdir().unwrap();
    study(folder.path());
    let run = |id: &str| {
        wirespeed(folder.path(), &["reproduce", "tiny", "--strict", "--claim", id, "--out", id]).status.code()
    };
    assert_eq!(run("too-much"), Some(0), "it is explained");
    assert_eq!(run("unknown"), Some(1));
}

#[test]
fn claims_of_ones_own_change_a_scenario() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("path.toml"), SCENARIO).unwrap();
    let claims = "[[claim]]\nid = \"a\"\nstudy = \"path.toml\"\nfinding = \"A wider path is filled too.\"\n\
                  setup = { \"path.rate\" = [\"20 Mbit/s\", \"80 Mbit/s\"], \"path.loss\" = 0 }\n\
                  metric = \"link_utilisation\"\nexpect = { min = 0.8 }\n";
    fs::write(folder.path().join("mine.toml"), claims).unwrap();
    let results = json(&wirespeed(folder.path(), &["reproduce", "--claims", "mine.toml", "--json"]));
    assert_eq!(verdicts(&results), [("a".to_owned(), "agrees".to_owned())]);
    assert_eq!(results["carried_out"]["model"]["runs"], 4);
    assert!(folder.path().join("wirespeed-out/mine/claims.json").is_file());
}

const OWN: &str = r#"[[claim]]
id = "own"
study = "tiny"
scenario = "path.toml"
finding = "Three flows fill the path as well."
setup = { flows = 3, "path.loss" = 0, "flow.congestion" = "reno" }
metric = "link_utilisation"
expect = { min = 0.8 }
"#;

/// A study of two scenarios, one of which has its flows fixed, and a file of claims of one's own.
fn study_and_own_claims(folder: &Path, claims: &str) -> Output {
    study(folder);
    fs::write(folder.join("tiny/other.toml"), SCENARIO.replace("tiny-path", "other")).unwrap();
    let given = format!("{STUDY}[scenario.\"path.toml\"]\ngiven = {{ flows = 1 }}\n");
    fs::write(folder.join("tiny/study.toml"), given).unwrap();
    fs::write(folder.join("mine.toml"), claims).unwrap();
    wirespeed(folder, &["reproduce", "tiny", "--claims", "mine.toml", "--json"])
}

#[test]
fn a_claim_of_ones_own_sets_what_the_study_has_fixed() {
    let folder = tempfile::tempdir().unwrap();
    let results = json(&study_and_own_claims(folder.path(), OWN));
    assert_eq!(verdicts(&results), [("own".to_owned(), "agrees".to_owned())]);
    let runs = folder.path().join("wirespeed-out/mine/model/runs");
    let run = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path().join("run.json");
    let run: Value = serde_json::from_str(&fs::read_to_string(run).unwrap()).unwrap();
    assert_eq!(run["flows"].as_array().unwrap().len(), 3);
}

#[test]
fn setting_that_an_own_claim_cannot_have_is_refused_by_name() {
    let refused = |from: &str, to: &str, parts: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        assert!(OWN.contains(from), "{from}");
        let output = study_and_own_claims(folder.path(), &OWN.replace(from, to));
        assert_eq!(output.status.code(), Some(2), "{to}");
        let printed = errors(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(printed.contains(part), "{part} is not in: {printed}");
        }
    };
    refused("flows = 3", "colour = 3", &["claim own", "`colour`", "path.toml", "can be set there", "flows"]);
    refused("flows = 3", "flows = \"many\"", &["claim own", "`flows`"]);
    let there = "there are: other.toml, path.toml";
    refused("scenario = \"path.toml\"\n", "", &["claim own", "neither a figure nor a scenario", there]);
    refused("path.toml", "road.toml", &["claim own", "no scenario road.toml", there]);
    refused("scenario = \"path.toml\"", "figure = \"7\"", &["no scenario for figure 7", "figures: 1, 2"]);
}

#[test]
fn a_shape_that_no_figure_shows_is_not_called_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let shape = OWN.replace("{ min = 0.8 }", "{ shape = \"level\" }");
    let results = json(&study_and_own_claims(folder.path(), &shape));
    assert_eq!(verdicts(&results), [("own".to_owned(), "not-judged".to_owned())]);
}

#[test]
fn a_shape_that_the_study_reads_in_numbers_is_judged_by_them() {
    let folder = tempfile::tempdir().unwrap();
    study(folder.path());
    let reading = |shape: &str| format!("{STUDY}[claim.shape]\nshape = {shape}\n");
    let path = folder.path().join("tiny/study.toml");
    let judged = |shape: &str| {
        fs::write(&path, reading(shape)).unwrap();
        let output =
            wirespeed(folder.path(), &["reproduce", "tiny", "--claim", "shape", "--out", "out", "--json"]);
        json(&output)["claims"][3].clone()
    };
    let falls = judged("{ falls = [\"0\", \"0.05\"], over = \"path.loss\" }");
    assert_eq!(falls["results"]["model"]["verdict"], "agrees");
    assert_eq!(falls["published"], "falls; read as: falls over 0, 0.05");
    let rises = judged("{ rises = [\"0\", \"0.05\"], over = \"path.loss\" }");
    assert_eq!(rises["results"]["model"]["verdict"], "differs");
    fs::write(&path, format!("{STUDY}[claim.fills]\nshape = {{ min = 3 }}\n")).unwrap();
    let refused = wirespeed(folder.path(), &["reproduce", "tiny"]);
    assert!(errors(&refused).contains("claim fills has numbers of its own"), "{}", errors(&refused));
}

#[test]
fn a_mistake_in_the_claims_is_shown_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    study(folder.path());
    let path = folder.path().join("tiny/claims.toml");
    fs::write(&path, CLAIMS.replace("expect = { min = 0.8 }", "expect = { minimum = 0.8 }")).unwrap();
    let output = wirespeed(folder.path(), &["reproduce", "tiny"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(errors(&output));
}

#[test]
fn studies_are_inside_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let output = wirespeed(folder.path(), &["list", "studies"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("ulm-2016"));
    let output = wirespeed(folder.path(), &["reproduce", "ulm-2017"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("studies: ulm-2016") || errors(&output).contains("ulm-2016"),
        "{}",
        errors(&output)
    );
}
