//! `wirespeed tune prove` on a path with a round-trip time, which takes a netem that this machine may lack. A proof has several
//! measurements, and the guest's processors are emulated: the test runs when it is asked for (`-- --ignored proof`).

use super::support::errors;
use super::support::guest::{in_guest, with_a_ring_that_drops};
use serde_json::{Value, json};

#[test]
#[ignore = "2 minutes in an emulated guest; run with --ignored"]
fn gain_of_a_receive_buffer_at_20_ms_is_proven_and_predicted() {
    in_guest("proof::gain_of_a_receive_buffer_at_20_ms_is_proven_and_predicted", || {
        let bed = with_a_ring_that_drops();
        bed.inside(bed.name(0), "tc qdisc replace dev right root netem delay 20ms limit 10000").unwrap();
        bed.inside(bed.name(-1), "sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536'").unwrap();
        let change = json!([{
            "setting": { "kind": "sysctl", "name": "net.ipv4.tcp_rmem" }, "value": "4096 131072 16777216",
            "rule": "a.rule", "reason": "a test of prove",
        }]);
        std::fs::write(bed.folder().join("change.json"), change.to_string()).unwrap();
        let ends = [0, -1].map(|place| format!("{}={}", bed.name(place), bed.address(place)));
        let mut arguments = vec!["tune", "prove", &ends[0], &ends[1], "--receiver", "change.json", "--json"];
        arguments.extend(["--time", "2 s", "--omit", "500 ms", "--rounds", "3", "--out", "proof"]);
        let output = bed.wirespeed(&arguments);
        assert!(output.status.success(), "{}", errors(&output));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let proof = &found["proof"];
        println!("{proof:#}");
        assert_eq!(proof["verdicts"], json!(["helps"]), "{proof:#}");
        assert_eq!(found["kept"].as_array().map(Vec::len), Some(1), "{found:#}");
        assert!(proof["predictions"][1]["effect"].as_f64() > Some(1.0), "{proof:#}");
    });
}
