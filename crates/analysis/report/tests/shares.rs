//! Reports on groups of flows that compete.

#[allow(dead_code, reason = "other tests draw queues")]
mod recordings;

use recordings::{flow, one_run, study};
use wirespeed_record::{FlowClass, FlowGroup, Recording};
use wirespeed_report::{Builder, GroupResult, MetricValue, Report, RunResult};

fn metric(name: &str, unit: &str, value: f64) -> MetricValue {
    MetricValue { name: name.into(), unit: unit.into(), value, headline: name == "goodput_bps" }
}

fn group(label: &str, flow: u32, share: f64) -> GroupResult {
    GroupResult {
        group: FlowGroup { label: label.into(), class: FlowClass::Endless, flows: vec![flow] },
        metrics: vec![metric("goodput_bps", "bit/s", share * 1e9), metric("goodput_share", "", share)],
    }
}

/// CUBIC beside BBR: the share of BBR by buffer, one value for each repeat.
fn report(rows: &[(&str, &[f64])], mice: Option<f64>) -> Report {
    let mut builder = Builder::new(study());
    for (buffer, shares) in rows {
        for (repeat, share) in shares.iter().enumerate() {
            let mut recording =
                Recording { flows: vec![], queues: vec![], ..one_run("cubic", repeat as u32) };
            let info = &mut recording.info;
            info.flows = vec![flow("cubic", "cubic"), flow("bbr", "bbr"), flow("mice", "cubic")];
            info.id = format!("buffer={buffer},r{repeat}").replace(' ', "");
            info.factors = [("path.buffer".to_owned(), (*buffer).into())].into();
            info.depends_on_seed = Some(true);
            let mut per_group = vec![group("cubic", 0, 1.0 - share), group("bbr", 1, *share)];
            per_group.extend(mice.map(|time| GroupResult {
                group: FlowGroup { label: "mice".into(), class: FlowClass::Finite, flows: vec![2] },
                metrics: vec![metric("goodput_share", "", 0.001), metric("fct_median_ns", "ns", time)],
            }));
            builder
                .add(RunResult {
                    metrics: vec![metric("goodput_bps", "bit/s", 1e9)],
                    per_group,
                    ..RunResult::of(&recording)
                })
                .unwrap();
        }
    }
    builder.finish()
}

const COEXISTENCE: &[(&str, &[f64])] = &[
    ("0.25 bdp", &[0.96, 0.97, 0.98]),
    ("2 bdp", &[0.55, 0.56, 0.57]),
    ("3 bdp", &[0.40, 0.50, 0.60]),
    ("4 bdp", &[0.29, 0.30, 0.31]),
];

#[test]
fn the_answer_says_who_won_and_where_the_shares_cross() {
    let answer = report(COEXISTENCE, None).answer().join(" ");
    let wanted = "Beside cubic, bbr has 97 % [95, 99] of the goodput at buffer 0.25 bdp and 30 % [28, 32] at buffer 4 \
                  bdp; the shares cross between buffer 2 bdp and buffer 4 bdp.";
    assert!(answer.contains(wanted), "{answer}");
}

#[test]
fn a_single_setting_ranks_the_groups() {
    let answer = report(&[("1 bdp", &[0.72])], None).answer().join(" ");
    assert!(answer.contains("bbr has 72 % of the goodput, cubic 28 %."), "{answer}");
}

#[test]
fn flows_with_a_size_do_not_compete_and_have_their_times() {
    let answer = report(&[("1 bdp", &[0.72])], Some(268e6)).answer().join(" ");
    assert!(answer.contains("bbr has 72 % of the goodput, cubic 28 %."), "{answer}");
    assert!(answer.contains("Half of the flows of mice end within 268 ms."), "{answer}");
}

#[test]
fn the_table_has_a_row_for_each_group_of_each_setting() {
    let report = report(COEXISTENCE, None);
    let text = report.terminal(110, false);
    let rows =
        |label: &str| text.lines().filter(|line| line.split_whitespace().any(|word| word == label)).count();
    assert!(text.contains("By group of flows"), "{text}");
    assert!(text.contains("0.970 ±"), "{text}");
    assert!(rows("bbr") >= 4 && rows("cubic") >= 4, "{text}");
    let page = report.html();
    assert!(page.contains("Groups of flows"));
}

#[test]
fn shares_have_a_figure_and_rows_in_the_means() {
    let report = report(COEXISTENCE, None);
    let names: Vec<String> = report.svgs().into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().any(|name| name == "study-share.svg"), "{names:?}");
    let csv = report.means_csv();
    assert_eq!(csv.lines().filter(|line| line.contains("group.bbr.goodput_share")).count(), 4, "{csv}");
}

#[test]
fn one_group_has_no_share() {
    let recording = one_run("cubic", 0);
    let mut builder = Builder::new(study());
    let (metrics, per_group) = (vec![metric("goodput_bps", "bit/s", 1e9)], vec![group("cubic", 0, 1.0)]);
    let result = RunResult { metrics, per_group, ..RunResult::of(&recording) };
    builder.add(result).unwrap();
    let text = builder.finish().terminal(110, false);
    assert!(!text.contains("By group of flows") && !text.contains("of the goodput,"), "{text}");
}

/// CUBIC and BBR beside each other and each alone, by buffer: goodputs of (cubic, bbr) beside, in Gbit/s; 0.9 alone.
fn report_with_alone(rows: &[(&str, [f64; 2])]) -> Report {
    let mut builder = Builder::new(study());
    for (buffer, beside) in rows {
        for repeat in 0..2 {
            // The second repetition has slightly more of everything, so that pairing leaves no scatter.
            let scale = 1.0 + 0.1 * f64::from(repeat);
            for only in ["all", "cubic", "bbr"] {
                let mut recording = Recording { flows: vec![], queues: vec![], ..one_run("cubic", repeat) };
                let info = &mut recording.info;
                info.id = format!("buffer={buffer},only={only},r{repeat}").replace(' ', "");
                let factors = [("path.buffer", *buffer), ("run.only", only)];
                info.factors = factors.map(|(key, value)| (key.to_owned(), value.into())).into();
                info.depends_on_seed = Some(true);
                let (cubic, bbr) = (flow("cubic", "cubic"), flow("bbr", "bbr"));
                let (flows, per_group, total) = match only {
                    "all" => {
                        let groups =
                            vec![group("cubic", 0, beside[0] * scale), group("bbr", 1, beside[1] * scale)];
                        (vec![cubic, bbr], groups, (beside[0] + beside[1]) * scale)
                    }
                    alone => {
                        let kept = if alone == "cubic" { cubic } else { bbr };
                        (vec![kept], vec![group(alone, 0, 0.9 * scale)], 0.9 * scale)
                    }
                };
                info.flows = flows;
                builder
                    .add(RunResult {
                        metrics: vec![metric("goodput_bps", "bit/s", total * 1e9)],
                        per_group,
                        ..RunResult::of(&recording)
                    })
                    .unwrap();
            }
        }
    }
    builder.finish()
}

#[test]
fn harm_is_what_a_group_loses_beside_the_others() {
    let report = report_with_alone(&[("1 bdp", [0.09, 0.81]), ("8 bdp", [0.72, 0.09])]);
    let harm = report.harm();
    let of = |group: &str, buffer: &str| {
        let is_it = |harm: &&wirespeed_report::Harm| {
            (harm.group.as_str(), harm.metric) == (group, "goodput_harm")
                && harm.factors["path.buffer"] == buffer
        };
        harm.iter().find(is_it).map(|harm| ((harm.mean * 1e6).round() / 1e6, harm.n)).unwrap()
    };
    assert_eq!([of("cubic", "1 bdp"), of("cubic", "8 bdp")], [(0.9, 2), (0.2, 2)]);
    assert_eq!([of("bbr", "1 bdp"), of("bbr", "8 bdp")], [(0.1, 2), (0.9, 2)]);
    assert_eq!(harm.len(), 4, "only settings with all groups have harm: {harm:?}");
    let answer = report.answer().join(" ");
    let wanted = "Harm to cubic: 90 % [90, 90] of the goodput alone is lost beside other flows at buffer 1 bdp, and 20 % \
                  [20, 20] at buffer 8 bdp.";
    assert!(answer.contains(wanted), "{answer}");
    assert!(!answer.contains("only cubic"), "groups alone do not compete: {answer}");
    let names: Vec<String> = report.svgs().into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().any(|name| name == "study-harm.svg"), "{names:?}");
    assert!(report.comparisons().iter().all(|comparison| comparison.factor != "run.only"));
    let text = report.terminal(140, false);
    assert!(text.contains("goodput harm"), "{text}");
}
