//! `wirespeed tune prove` on a path with a round-trip time, which takes a netem that this machine may lack. A proof has several
//! measurements, and the guest's processors are emulated: the test runs when it is asked for (`-- --ignored proof`).

use super::support::bed::Bed;
use super::support::errors;
use super::support::guest::{in_guest, with_a_ring_that_drops};
use serde_json::{Value, json};

fn change(setting: Value, value: &str) -> Value {
    json!([{ "setting": setting, "value": value, "rule": "a.rule", "reason": "a test of prove" }])
}

/// Runs `prove` with a change of one end.
fn proved(bed: &Bed, end: &str, changes: &Value, rest: &[&str]) -> Value {
    let file = |name: &str, changes: &Value| {
        let path = bed.folder().join(name);
        std::fs::write(&path, changes.to_string()).expect("the folder can be written");
        path.display().to_string()
    };
    let tested = file("tested.json", changes);
    let ends = [0, -1].map(|place| format!("{}={}", bed.name(place), bed.address(place)));
    let mut arguments = vec!["tune", "prove", &ends[0], &ends[1], end, &tested];
    arguments.extend(["--time", "2 s", "--omit", "500 ms", "--rounds", "3", "--json", "--out", "proof"]);
    arguments.extend(rest);
    let output = bed.wirespeed(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    println!("{:#}", found["proof"]);
    found
}

#[test]
#[ignore = "2 minutes in an emulated guest; run with --ignored"]
fn gain_of_a_receive_buffer_at_20_ms_is_proven_and_predicted() {
    in_guest("proof::gain_of_a_receive_buffer_at_20_ms_is_proven_and_predicted", || {
        let bed = with_a_ring_that_drops();
        bed.inside(bed.name(0), "tc qdisc replace dev right root netem delay 20ms limit 10000").unwrap();
        bed.inside(bed.name(-1), "sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536'").unwrap();
        let rmem = change(json!({ "kind": "sysctl", "name": "net.ipv4.tcp_rmem" }), "4096 131072 16777216");
        let found = proved(&bed, "--receiver", &rmem, &[]);
        let proof = &found["proof"];
        assert_eq!(proof["verdicts"], json!(["helps"]), "{proof:#}");
        assert_eq!(found["kept"].as_array().map(Vec::len), Some(1), "{found:#}");
        assert!(proof["predictions"][1]["effect"].as_f64() > Some(1.0), "{proof:#}");
    });
}
