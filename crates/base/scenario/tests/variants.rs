//! Factors of one's own: levels that set several things together.

use wirespeed_scenario::{Study, parse};
use wirespeed_units::Span;

const FILE: &str = r#"schema = 1
name = "t"
[path]
rate = "1 Gbit/s"
rtt = "10 ms"
[[flow]]
congestion = "cubic"
[run]
duration = "10 s"
[variant."path.ring".near]
"path.rtt" = "0.2 ms"
"path.loss" = 0
[variant."path.ring".far]
"path.rtt" = "24.2 ms"
"path.loss" = 2.2e-8
[variant.streams.1]
"flow.count" = 1
[variant.streams.4]
"flow" = [{ congestion = "reno" }, { congestion = "cubic", count = 3 }]
"#;

fn read(more: &str, sets: &[(&str, &str)]) -> Result<Study, String> {
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    parse(&format!("{FILE}{more}\n"), "t.toml", &sets, None).map_err(|error| format!("{error:#}"))
}

#[test]
fn a_swept_level_makes_all_its_settings() {
    let study = read("[sweep]\n\"path.ring\" = [\"near\", \"far\"]\nstreams = [1, 4]", &[]).unwrap();
    let found: Vec<_> = study
        .runs
        .iter()
        .map(|run| {
            let link = &run.links[0].forward;
            (run.id.as_str(), run.base_rtt(&run.flows[0]), link.loss, run.flows.len())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("ring=near,streams=1,r0", Span::us(200), 0.0, 1),
            ("ring=near,streams=4,r0", Span::us(200), 0.0, 4),
            ("ring=far,streams=1,r0", Span::us(24_200), 2.2e-8, 1),
            ("ring=far,streams=4,r0", Span::us(24_200), 2.2e-8, 4),
        ]
    );
}

#[test]
fn a_level_can_be_set_and_single_settings_lie_over_it() {
    let study = read("", &[("path.loss", "1e-5"), ("path.ring", "far")]).unwrap();
    let [run] = &study.runs[..] else { panic!("one run") };
    assert_eq!((run.base_rtt(&run.flows[0]), run.links[0].forward.loss), (Span::us(24_200), 1e-5));
    assert!(run.factors.is_empty());
}

#[test]
fn a_swept_variant_narrows_to_a_level_and_keeps_its_runs() {
    let sweep = "[sweep]\n\"path.ring\" = [\"near\", \"far\"]";
    let all = read(sweep, &[]).unwrap();
    let one = read(sweep, &[("path.ring", "far")]).unwrap();
    assert_eq!(one.runs, [all.runs[1].clone()]);
}

#[test]
fn factors_lie_over_flows_that_a_level_lays_out() {
    let study = read("[sweep]\n\"flow.1.congestion\" = [\"bic\"]\nstreams = [4]", &[]).unwrap();
    assert_eq!(study.runs[0].flows.len(), 4);
}

#[test]
fn mistakes_name_what_is_known() {
    let all: Vec<String> = [
        ("[sweep]\n\"path.ring\" = [\"nea\"]", &[][..]),
        ("", &[("streams", "2")]),
        ("[sweep]\n\"path.ring\" = [\"near\"]\n\"path.loss\" = [0, 1e-5]", &[]),
        ("[sweep]\n\"path.ring\" = [\"near\"]", &[("path.loss", "1e-5")]),
        ("[variant.x]", &[]),
        ("[variant.x.y]\npath = { rtt = \"1 ms\" }", &[]),
        ("[variant.x.y]\n\"run.repeat\" = 3", &[]),
        ("[variant.x]\ny = 3", &[]),
    ]
    .iter()
    .map(|(more, sets)| read(more, sets).expect_err(more))
    .collect();
    insta::assert_snapshot!(all.join("\n\n"));
}
