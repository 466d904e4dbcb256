//! `wirespeed tune prove` between two hosts: a change that helps stays, one without effect does not.

mod support;

use serde_json::{Value, json};
use std::fs;
use support::bed::Bed;
use support::errors;

/// The largest receive buffer of the receiver in bytes: one that limits the flow, and one that does not.
const SMALL: &str = "4096 4608 4608";
const LARGE: &str = "4096 131072 67108864";
const RMEM: &str = "net.ipv4.tcp_rmem";
/// A setting that no flow of these tests depends on.
const USELESS: &str = "net.ipv4.tcp_fin_timeout";

fn write_changes(bed: &Bed, file: &str, name: &str, value: &str) -> String {
    let change = json!([{
        "setting": { "kind": "sysctl", "name": name }, "value": value, "rule": "test", "reason": "a test of prove",
    }]);
    let path = bed.folder().join(file);
    fs::write(&path, change.to_string()).expect("the folder can be written");
    path.display().to_string()
}

fn sysctl(bed: &Bed, place: isize, name: &str) -> String {
    let text = bed.read(bed.name(place), &format!("sysctl -n {name}"));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs `prove` with a helpful and a useless change; returns its JSON.
fn proved(bed: &Bed, rest: &[&str]) -> Value {
    bed.inside(bed.name(-1), &format!("sysctl -qw {RMEM}='{SMALL}'")).unwrap();
    let [helpful, useless] = [("helpful.json", RMEM, LARGE), ("useless.json", USELESS, "30")]
        .map(|(f, n, v)| write_changes(bed, f, n, v));
    let ends = [0, -1].map(|place| format!("{}={}", bed.name(place), bed.address(place)));
    let mut arguments =
        vec!["tune", "prove", &ends[0], &ends[1], "--receiver", &helpful, "--sender", &useless];
    arguments.extend(["--time", "500 ms", "--omit", "100 ms", "--rounds", "3", "--json", "--out", "proof"]);
    arguments.extend(rest);
    let output = bed.wirespeed(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn change_that_helps_stays_and_one_without_effect_is_put_back() {
    let Some(bed) = Bed::new("change_that_helps_stays_and_one_without_effect_is_put_back", 0) else { return };
    let before = sysctl(&bed, 0, USELESS);
    let state = bed.folder().join("state").display().to_string();
    let found = proved(&bed, &["--state", &state]);
    let proof = &found["proof"];
    assert_eq!(proof["verdicts"][1], "helps", "{proof:#}");
    assert!(proof["effects"][1]["low"].as_f64().unwrap() > 0.0, "{proof:#}");
    assert_ne!(proof["verdicts"][0], "helps", "{proof:#}");
    assert_eq!(found["kept"].as_array().unwrap().len(), 1, "{found:#}");
    let [as_they_are, useless, helpful] = &proof["predictions"].as_array().unwrap()[..] else {
        panic!("{proof:#}");
    };
    assert!(as_they_are["goodput_bps"].as_f64() > Some(0.0), "{as_they_are:#}");
    assert!(useless["reason"].as_str().unwrap().contains(USELESS), "{proof:#}");
    assert!(helpful["effect"].as_f64() > Some(0.5), "{helpful:#}");
    assert_eq!(sysctl(&bed, -1, RMEM), LARGE);
    assert_eq!(sysctl(&bed, 0, USELESS), before);
    assert!(fs::read_to_string(bed.folder().join("proof/tornado.svg")).unwrap().contains("tcp_rmem"));
}

#[test]
fn nothing_stays_with_revert_and_an_old_proof_is_not_overwritten() {
    let Some(bed) = Bed::new("nothing_stays_with_revert_and_an_old_proof_is_not_overwritten", 0) else {
        return;
    };
    let found = proved(&bed, &["--revert"]);
    assert_eq!(found["kept"], json!([]), "{found:#}");
    assert_eq!(sysctl(&bed, -1, RMEM), SMALL);
    let ends = [0, -1].map(|place| format!("{}={}", bed.name(place), bed.address(place)));
    let changes = bed.folder().join("helpful.json").display().to_string();
    let again =
        bed.wirespeed(&["tune", "prove", &ends[0], &ends[1], "--receiver", &changes, "--out", "proof"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(errors(&again).contains("has a proof already"), "{}", errors(&again));
}
