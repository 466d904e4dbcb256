//! Congestion controls: those of the table, and those a user declares.

use std::collections::BTreeMap;
use wirespeed_scenario::run::{Congestion, FlowKind};
use wirespeed_scenario::{Factor, congestion_controls, parse};

fn text(congestion: &str, more: &str) -> String {
    format!(
        "schema = 1\nname = \"t\"\n{more}\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"1 ms\"\n[[flow]]\n\
         congestion = {congestion}\n[run]\nduration = \"1 s\"\n"
    )
}

/// The congestion control of the one flow.
fn control(congestion: &str, more: &str) -> Congestion {
    let text = text(congestion, more);
    let study = parse(&text, "t.toml", &[], None).unwrap_or_else(|e| panic!("{e:#}\n{text}"));
    let FlowKind::Tcp { congestion, .. } = &study.runs[0].flows[0].kind else { panic!("not TCP") };
    congestion.clone()
}

#[test]
fn every_control_of_the_table_can_be_named_with_every_parameter_at_its_default() {
    for row in congestion_controls() {
        let settings: String =
            row.parameters.iter().map(|p| format!(", {} = {}", p.name, p.default)).collect();
        let found = control(&format!("{{ name = \"{}\"{settings} }}", row.name), "");
        assert_eq!((found.name.as_str(), found.own), (row.name, false));
        assert_eq!(found.parameters.len(), row.parameters.len());
    }
}

#[test]
fn a_control_of_ones_own_may_have_the_name_of_one_that_linux_lacks() {
    let own = "[congestion.fast]\nsource = \"tcp_fast.c\"";
    let found = control("{ name = \"fast\", gain = 3 }", own);
    let parameters = BTreeMap::from([("gain".to_owned(), Factor::Integer(3))]);
    assert_eq!(found, Congestion { name: "fast".into(), parameters, own: true });
    assert!(!control("\"fast\"", "").own);
    let unknown = parse(&text("{ name = \"fast\", gain = 3 }", ""), "t.toml", &[], None).unwrap_err();
    assert!(unknown.to_string().contains("fast has no parameter `gain`"), "{unknown}");
}

#[test]
fn a_control_of_ones_own_is_declared_with_its_source() {
    let text = "schema = 1\nname = \"own\"\n[congestion.mine]\nsource = \"cc/tcp_mine.c\"\n[path]\nrate = \"1 Gbit/s\"\n\
                rtt = \"1 ms\"\n[[flow]]\n[run]\nduration = \"1 s\"\n[sweep]\n\"flow.congestion\" = [\"reno\", \"mine\"]\n";
    let study = parse(text, "folder/own.toml", &[], None).unwrap();
    assert_eq!(study.runs.len(), 2);
    assert_eq!(study.own_controls, [std::path::Path::new("folder/cc/tcp_mine.c")]);
    let taken = text.replace("congestion.mine", "congestion.cubic");
    let error = parse(&taken, "own.toml", &[], None).unwrap_err().to_string();
    assert!(error.starts_with("own.toml:3:"), "{error}");
    let undeclared = text.replace("\"mine\"]", "\"yours\"]");
    let error = format!("{:#}", parse(&undeclared, "own.toml", &[], None).unwrap_err());
    assert!(error.contains("yours") && error.contains("mine"), "{error}");
}
