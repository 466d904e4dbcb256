//! Folders beside each other as a reader gets them.

#[allow(dead_code, reason = "the report's tests use the rest")]
mod recordings;

use recordings::{flow, one_run};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use wirespeed_record::{Direction, Entry, FlowSample, LedgerRow, Recording, Stage, SubstrateKind};
use wirespeed_report::{Comparer, Comparison, MetricValue, RunResult};

fn metric(name: &str, unit: &str, value: f64, headline: bool) -> MetricValue {
    MetricValue { name: name.into(), unit: unit.into(), value, headline }
}

fn run(control: &str, repeat: u32, substrate: &str) -> Recording {
    let mut recording = one_run(control, repeat);
    recording.info.substrate = substrate.parse().unwrap();
    recording.info.study = "first-look".into();
    recording.info.seed = u64::from(repeat) + 7;
    recording.info.scenario = json!({
        "id": recording.info.id, "seed": 7, "duration": "10 s",
        "links": [{ "name": "bottleneck", "forward": { "loss": 1e-5 } }],
    });
    let row = |entry: Entry, stage, packets| LedgerRow {
        direction: Direction::Data,
        entry,
        stage,
        place: "bottleneck".into(),
        cause: None,
        packets,
        source: "counter".into(),
    };
    let lost = 10 + i64::from(repeat);
    recording.ledger = vec![
        row(Entry::Sent, None, 1000),
        row(Entry::Delivered, None, 1000 - lost),
        row(Entry::Lost, Some(Stage::Network), lost),
        row(Entry::Unexplained, None, 0),
    ];
    recording
}

fn add(comparer: &mut Comparer, recording: &Recording, goodput: f64) {
    let metrics = vec![
        metric("goodput_bps", "bit/s", goodput, true),
        metric("retransmissions_packets", "packets", (goodput / 1e7).round(), true),
        metric("cwnd_mean_bytes", "bytes", goodput / 800.0, false),
        metric("rto_count", "", 0.0, false),
    ];
    let result = RunResult { metrics, ..RunResult::of(recording) };
    comparer.add(result, format!("out/runs/{}", recording.info.id)).unwrap();
}

/// Three repeats of each control in each folder; the model is 3 % below the kernel for reno, 40 % above for bic.
fn comparer() -> Comparer {
    let mut comparer = Comparer::new("a test", "wirespeed compare out/a out/b");
    for (folder, substrate, factors) in [
        ("out/a", "kernel", [("reno", 1.0), ("bic", 1.0)]),
        ("out/b", "model", [("bic", 1.4), ("reno", 0.97)]),
    ] {
        comparer.folder(folder);
        for (control, factor) in factors {
            for repeat in 0..3 {
                let goodput = 1e9 * factor * (1.0 + 0.05 * f64::from(repeat));
                add(&mut comparer, &run(control, repeat, substrate), goodput);
            }
        }
    }
    comparer
}

fn comparison() -> Comparison {
    comparer().finish(&[])
}

/// The numbers of single runs of one control in two folders.
fn pair(first: &Recording, other: &Recording) -> Comparison {
    let mut comparer = Comparer::new("a test", "wirespeed compare a b");
    for (folder, recording, goodput) in [("a", first, 1e9), ("b", other, 0.9e9)] {
        comparer.folder(folder);
        add(&mut comparer, recording, goodput);
    }
    comparer.finish(&[])
}

/// The text on one line, so that wrapping does not matter.
fn words(comparison: &Comparison) -> String {
    comparison.terminal(100, false).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_text_begins_with_the_answer() {
    insta::assert_snapshot!(comparison().terminal(110, false));
}

#[test]
fn one_setting_has_one_row_for_each_metric() {
    insta::assert_snapshot!(pair(&run("cubic", 0, "kernel"), &run("cubic", 0, "model")).terminal(80, false));
}

#[test]
fn the_data_hold_what_the_text_says() {
    let data = comparison().json();
    assert_eq!(data["folders"][1]["substrate"], "model");
    let bic = &data["cells"][0];
    assert_eq!((&bic["name"], &bic["matched"]), (&json!("bic"), &json!(true)));
    let goodput = &bic["metrics"]["goodput_bps"];
    assert_eq!(
        goodput["folders"][0],
        json!({ "mean": 1.05e9, "min": 1e9, "max": 1.1e9, "values": [1e9, 1.05e9, 1.1e9] })
    );
    assert_eq!(goodput["differences"][0], Value::Null, "the first does not differ from itself");
    assert!((goodput["differences"][1]["relative"].as_f64().unwrap() - 0.4).abs() < 1e-9);
    assert_eq!(goodput["differences"][1]["beyond_repeats"], true);
    assert_eq!(data["cells"][1]["metrics"]["goodput_bps"]["differences"][1]["beyond_repeats"], false);
    assert_eq!(bic["metrics"]["rto_count"]["unit"], "", "metrics that the table leaves out are here");
    assert_eq!(
        bic["ledger"]["data"][2],
        json!({ "entry": Entry::Lost, "stage": "network", "packets": [11.0, 11.0] })
    );
    let matches = bic["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 3);
    assert_eq!(matches[2]["folders"][1]["directory"], "out/runs/run-bic-2");
    let series = &matches[0]["folders"][0]["series"];
    assert_eq!(series["cwnd_bytes"]["t_ns"][1], 1e8);
    assert_eq!(series["rtt_s"]["value"][0], 0.012);
    assert!(series["goodput_bps"]["value"].as_array().unwrap().len() > 10);
    assert_eq!(
        data["cells"][0]["matches"][2]["ledger"]["data"][2]["packets"],
        json!([12.0, 12.0]),
        "of this run alone"
    );
}

/// Three repeats of each of two folders, with these goodputs, of which this is recorded.
fn repeats(depends_on_seed: Option<bool>, first: [f64; 3], other: [f64; 3]) -> Comparison {
    let mut comparer = Comparer::new("a test", "");
    for (folder, goodputs) in [("a", first), ("b", other)] {
        comparer.folder(folder);
        for (repeat, goodput) in (0..3).zip(goodputs) {
            let mut recording = run("cubic", repeat, "model");
            recording.info.depends_on_seed = depends_on_seed;
            add(&mut comparer, &recording, goodput);
        }
    }
    comparer.finish(&["goodput_bps".to_string()])
}

#[test]
fn repeats_that_cannot_differ_are_one_observation_and_no_test() {
    for depends_on_seed in [Some(false), None] {
        let comparison = repeats(depends_on_seed, [1e9; 3], [0.9e9; 3]);
        let cell = &comparison.json()["cells"][0];
        assert_eq!(cell["runs"], json!([3, 3]));
        assert_eq!(cell["observations"], json!([1, 1]));
        let difference = &cell["metrics"]["goodput_bps"]["differences"][1];
        assert_eq!(difference["verdict"], "not tested");
        assert_eq!(difference["beyond_repeats"], Value::Null);
        assert_eq!(difference["detectable"], Value::Null);
        let text = words(&comparison);
        assert!(
            text.contains("There is no test of the difference: the repeats of a setting cannot differ"),
            "{text}"
        );
        assert!(text.contains("a, b: the 3 repeats cannot differ: counted as one."), "{text}");
        assert!(!text.contains('≠') && !text.contains("than the repeats explain"), "{text}");
        assert!(comparison.html().contains("a, b: the 3 repeats cannot differ: counted as one."));
    }
}

#[test]
fn repeats_that_chance_left_equal_are_no_test_either() {
    let comparison = repeats(Some(true), [1e9; 3], [0.9e9; 3]);
    assert_eq!(comparison.json()["cells"][0]["observations"], json!([3, 3]));
    let text = words(&comparison);
    assert!(text.contains("all repeats of a setting came out the same"), "{text}");
    assert!(!text.contains('≠'), "{text}");
}

#[test]
fn smallest_visible_difference_is_beside_the_difference() {
    let wide = repeats(Some(true), [0.8e9, 1e9, 1.2e9], [0.7e9, 0.9e9, 1.1e9]);
    let difference = wide.json()["cells"][0]["metrics"]["goodput_bps"]["differences"][1].clone();
    assert_eq!(
        (&difference["verdict"], &difference["equivalent_within"]),
        (&json!("not shown"), &Value::Null)
    );
    // Standard error 0.16330e9, 4 degrees of freedom: (2.77645 + 0.94096) of them.
    let detectable = difference["detectable_relative"].as_f64().unwrap();
    assert!((detectable - 0.60705).abs() < 1e-4, "{detectable}");
    let text = words(&wide);
    assert!(text.contains("no difference is shown; the repeats could have shown one above 61 %."), "{text}");
    assert!(text.contains("detectable") && text.contains("-10 % 61 %"), "{text}");
    assert!(wide.html().contains("<td class=\"number\">61 %</td>"));

    let close = repeats(Some(true), [0.999e9, 1e9, 1.001e9], [1e9, 1.001e9, 1.002e9]);
    let difference = close.json()["cells"][0]["metrics"]["goodput_bps"]["differences"][1].clone();
    assert_eq!(difference["verdict"], "equivalent");
    let text = words(&close);
    assert!(text.contains("Here results are equivalent within 0.27 %."), "{text}");
    assert!(text.contains("≈ +0.1 %"), "{text}");
    assert!(!text.contains("no difference is shown"), "{text}");
}

#[test]
fn runs_of_one_folder_alone_are_named_and_not_compared() {
    let mut comparer = comparer();
    add(&mut comparer, &run("bbr", 0, "model"), 2e9);
    comparer.add_incomplete("run-cubic-0", "the kernel panicked");
    let comparison = comparer.finish(&[]);
    let text = words(&comparison);
    assert!(text.contains("Only in b: bbr"), "{text}");
    assert!(
        text.contains("out/b: run-cubic-0: incomplete, the kernel panicked; run the same command again"),
        "{text}"
    );
    assert!(text.starts_with("Goodput of model against kernel: bic +40 %"), "{text}");
    let html = comparison.html();
    assert!(html.contains("Not compared") && html.contains("the kernel panicked"));
    assert_eq!(comparison.json()["cells"][0]["matched"], false);
}

#[test]
fn nothing_in_common_says_what_each_folder_has() {
    let mut other = run("bic", 0, "kernel");
    other.info.factors = [("path.rtt".to_string(), json!("10 ms"))].into();
    let comparison = pair(&run("reno", 0, "kernel"), &other);
    let reason = comparison.mismatch().expect("nothing matches");
    assert!(reason.contains("a has flow.congestion = reno; b has path.rtt = 10 ms"), "{reason}");
    // The forms are there all the same; nobody has to guard against calling them.
    assert!(words(&comparison).contains("nothing to compare"));
    assert!(comparison.html().contains("nothing to compare"));
    assert!(comparison.warnings().is_empty());
}

#[test]
fn the_same_quantity_matches_however_it_is_written() {
    let with = |rtt: &str| {
        let mut recording = run("reno", 0, "kernel");
        recording.info.factors.insert("path.rtt".into(), json!(rtt));
        recording
    };
    assert_eq!(pair(&with("10 ms"), &with("0.01 s")).mismatch(), None);
}

#[test]
fn runs_of_other_repetitions_still_lie_over_each_other() {
    let comparison = pair(&run("reno", 0, "kernel"), &run("reno", 3, "kernel"));
    assert_eq!(comparison.json()["cells"][0]["matches"].as_array().unwrap().len(), 1);
}

#[test]
fn other_studies_and_other_settings_are_told() {
    let mut other = run("reno", 0, "kernel");
    other.info.study = "second-look".into();
    other.info.scenario["duration"] = json!("3 s");
    other.info.scenario["links"][0]["forward"]["loss"] = json!(0.0001);
    let comparison = pair(&run("reno", 0, "kernel"), &other);
    let warnings = comparison.warnings().join("; ");
    assert!(warnings.contains("different studies: a of first-look, b of second-look"), "{warnings}");
    assert!(warnings.contains("the runs differ in duration: 10 s in a, 3 s in b"), "{warnings}");
    let text = words(&comparison);
    assert!(text.contains("Set differently: links.bottleneck.forward.loss: 1e-5 in a, 1e-4 in b"), "{text}");
    assert!(comparison.html().contains("<td class=\"wrap\">links.bottleneck.forward.loss</td>"));
    assert!(pair(&run("reno", 0, "kernel"), &run("reno", 0, "model")).warnings().is_empty());
}

#[test]
fn a_metric_that_is_asked_for_comes_first() {
    let names = ["rto_count", "goodput_bps"].map(String::from);
    let comparison = comparer().finish(&names);
    let text = words(&comparison);
    assert!(text.starts_with("The rto count of model is that of kernel in all 2 settings."), "{text}");
    assert!(!text.contains("retransmissions"), "{text}");
}

#[test]
fn many_settings_are_summed_up() {
    let mut comparer = Comparer::new("a test", "");
    for (folder, shift) in [("a", 0.0), ("b", 1.0)] {
        comparer.folder(folder);
        for index in 0..9 {
            let mut recording = run("reno", 0, "kernel");
            recording.info.factors.insert("path.rtt".into(), json!(format!("{} ms", index + 4)));
            add(&mut comparer, &recording, 1e9 * (1.0 + shift * 0.01 * f64::from(index - 2)));
        }
    }
    let text = words(&comparer.finish(&[]));
    let answer = "Goodput of b against a over 9 settings: from -2.0 % (reno · rtt 4 ms) to +6.0 % (reno · rtt 12 ms), \
                  half of them within 2 %.";
    assert!(text.starts_with(answer), "{text}");
}

#[test]
fn several_flows_are_one_line() {
    let mut recording = run("reno", 0, "kernel");
    recording.info.flows.push(flow("b", "bic"));
    let second: Vec<_> =
        recording.flows.iter().map(|sample| FlowSample { flow: 1, ..sample.clone() }).collect();
    recording.flows.extend(second);
    let comparison = pair(&recording, &recording);
    let series = &comparison.json()["cells"][0]["matches"][0]["folders"][0]["series"];
    let alone = pair(&run("reno", 0, "kernel"), &recording).json();
    let alone = &alone["cells"][0]["matches"][0]["folders"][0]["series"];
    let at = |series: &Value, name: &str| series[name]["value"][5].as_f64().unwrap();
    assert!((at(series, "goodput_bps") - 2.0 * at(alone, "goodput_bps")).abs() < 1.0, "the sum");
    assert_eq!(at(series, "cwnd_bytes"), 2.0 * at(alone, "cwnd_bytes"), "the sum");
    assert_eq!(at(series, "rtt_s"), at(alone, "rtt_s"), "the mean");
    assert!(comparison.html().contains("all flows together"));
}

#[test]
fn the_page_overlays_every_matched_run() {
    let html = comparison().html();
    assert_eq!(html.matches("data-figure=\"cwnd\"").count(), 6, "two controls, three repeats");
    assert!(html.contains("data-figure=\"settings\""));
    assert!(html.contains("a (kernel)") && html.contains("b (model)"));
    assert!(html.contains("≠ +40 %"));
    // The data, plotly.js, and the page's own.
    assert_eq!(html.matches("<script").count(), 3);
    assert_eq!(html.matches("</script>").count(), 3);
}

#[test]
fn hostile_text_stays_text() {
    const EVIL: &str = "</script><script>x</script>\"'><img src=y onerror=z>&";
    let mut recording = run("reno", 0, "kernel");
    recording.info.id = EVIL.into();
    recording.info.study = EVIL.into();
    recording.info.about = EVIL.into();
    recording.info.factors = [(EVIL.to_string(), json!(EVIL))].into();
    let mut other = recording.clone();
    other.info.scenario = json!({ EVIL: EVIL });
    other.info.substrate = SubstrateKind::Model;
    let mut comparer = Comparer::new(EVIL, EVIL);
    for (folder, recording) in [(EVIL, &recording), ("b", &other)] {
        comparer.folder(folder);
        add(&mut comparer, recording, 1e9);
        comparer.add_incomplete(EVIL, EVIL);
    }
    let comparison = comparer.finish(&[]);
    let html = comparison.html();
    assert_eq!(html.matches("<script").count(), 3);
    let markup = &html[..html.find("<script").expect("scripts come last")];
    assert!(!markup.contains("<img") && markup.contains("&lt;img"));
}

#[test]
fn the_text_fits_whatever_the_names() {
    let mut comparer = Comparer::new("a test", "");
    for folder in ["x".repeat(60), "y".repeat(60), "z".repeat(60)] {
        comparer.folder(folder);
        let mut recording = run(&"control".repeat(12), 0, "kernel");
        recording.info.factors.insert("path.a-very-long-factor-indeed".into(), json!("v".repeat(90)));
        add(&mut comparer, &recording, 1e9);
    }
    let comparison = comparer.finish(&[]);
    for width in [40, 80, 100, 132] {
        for line in comparison.terminal(width, false).lines() {
            assert!(line.chars().count() <= width, "at {width}: {line}");
        }
    }
    assert!(!comparison.terminal(100, false).contains('\x1b'));
}

#[test]
fn figure_files_are_those_of_the_page_with_names_of_their_own() {
    let comparison = comparer().finish(&[]);
    let files = comparison.figure_files();
    let names: BTreeSet<&str> = files.iter().map(|file| file.name()).collect();
    assert_eq!(names.len(), files.len());
    assert!(names.contains("compare-settings") && names.contains("compare-bic-r2-cwnd"), "{names:?}");
    let cwnd = files.iter().find(|file| file.name() == "compare-bic-r2-cwnd").unwrap().print_svg();
    assert!(cwnd.contains("first-look · ") && cwnd.contains("kernel"), "{cwnd}");
}
