//! `wirespeed doctor` on snapshots of hosts: findings, exit codes and the forms for programs.

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use support::{errors, wirespeed};

fn snapshot(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../analysis/diagnosis/tests/audit");
    let path: PathBuf = folder.join(format!("{name}.json"));
    path.canonicalize().unwrap().display().to_string()
}

/// The path of kit-2019.
const KIT: [&str; 10] =
    ["--rate", "100 Gbit/s", "--rtt", "20 ms", "--mtu", "9000", "--flows", "4", "--profile", "measurement"];

fn doctor(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = wirespeed(Path::new("."), &[&["doctor"], arguments].concat());
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap(), errors(&output))
}

#[test]
fn findings_are_printed_with_formula_command_and_next_step() {
    let (code, text, error) = doctor(&[&["--from", &snapshot("kit-2019-before")][..], &KIT].concat());
    assert_eq!(code, Some(1), "{error}");
    for words in [
        "sender eth2: 100 Gbit/s, 20 ms, MTU 9000 bytes, 4 flows, profile measurement\n",
        "WARNING  tcp.rmem",
        "  wanted  4096 87380 250000000 bytes\n",
        "  do      sysctl -w net.ipv4.tcp_rmem='4096 87380 250000000'\n",
        "  do      ethtool -G eth2 rx 8192\n",
        "  guide   TuneD network-throughput: 4096 131072 16777216\n",
        "  limit    125.03 Gbit/s: PCI Express of eth2\n",
    ] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
    assert!(text.lines().last().unwrap().contains("Next: "), "{text}");
    assert!(error.contains("findings of severity warning or higher"), "{error}");
}

#[test]
fn tuned_host_is_good_and_a_wrong_interface_is_a_usage_error() {
    let good = snapshot("kit-2019-after");
    let (code, text, error) = doctor(&[&["--from", &good][..], &KIT].concat());
    assert_eq!(code, Some(0), "{error}");
    assert!(text.contains("INFO     placement.socket-link"), "{text}");
    let (code, _, error) = doctor(&["--from", &good, "--interface", "eth9"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("has no interface `eth9`"), "{error}");
    let (code, _, error) = doctor(&["--from", &snapshot("cloud-ena")]);
    assert_eq!(code, Some(2));
    assert!(error.contains("--rate"), "{error}");
}

#[test]
fn assumptions_are_printed() {
    let (code, text, error) = doctor(&["--from", &snapshot("laptop-e1000e"), "--profile", "lan"]);
    assert_eq!(code, Some(0), "{error}");
    for words in ["rate 1 Gbit/s, the speed of enp0s31f6 (--rate)", "RTT 1 ms", "MTU 1500 bytes", "flows 1"] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
    assert!(text.contains("Not read: enp0s31f6: channels"), "{text}");
    assert!(text.ends_with("No findings. Next: measure the path with `wirespeed probe`.\n"), "{text}");
}

#[test]
fn forms_for_programs_have_every_finding() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (junit, prometheus, files) = (file("a.xml"), file("a.prom"), file("files"));
    let options = ["--json", "--junit", &junit, "--prometheus", &prometheus, "--files", &files];
    let before = snapshot("kit-2019-before");
    let (code, text, error) = doctor(&[&["--from", &before][..], &KIT, &options].concat());
    assert_eq!(code, Some(1), "{error}");
    let value: Value = serde_json::from_str(&text).unwrap();
    let findings = value["hosts"][0]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 14);
    let (junit, prometheus) = (fs::read_to_string(junit).unwrap(), fs::read_to_string(prometheus).unwrap());
    for finding in findings {
        let rule = finding["rule"].as_str().unwrap();
        assert!(!finding["commands"].as_array().unwrap().is_empty(), "{rule}");
        assert!(prometheus.contains(&format!("rule=\"{rule}\"")), "{rule}");
        assert!(junit.contains(&format!("name=\"{rule}\"")), "{rule}");
    }
    let warnings = findings.iter().filter(|finding| finding["severity"] == "warning").count();
    assert_eq!(junit.matches("<failure").count(), warnings);
    assert!(prometheus.contains(&format!("severity=\"warning\"}} {warnings}\n")), "{prometheus}");
    let sysctls = fs::read_to_string(Path::new(&files).join("90-wirespeed.conf")).unwrap();
    assert!(sysctls.contains("\nnet.ipv4.tcp_rmem = 4096 87380 250000000\n"), "{sysctls}");
    let (_, script, _) = doctor(&[&["--from", &before, "--shell"][..], &KIT].concat());
    assert!(script.starts_with("#!/bin/sh\n") && script.contains("\nethtool -G eth2 rx 8192\n"), "{script}");
}

#[test]
fn several_hosts_are_compared_and_outliers_marked() {
    let (good, bad) = (snapshot("kit-2019-after"), snapshot("kit-2019-before"));
    let (code, text, error) = doctor(&[&["--from", &good, &good, &bad][..], &KIT].concat());
    assert_eq!(code, Some(1), "{error}");
    let line = text.lines().find(|line| line.starts_with("link.mtu")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["link.mtu", "good", "good", "*", "1500"]);
}

#[test]
fn changes_since_a_baseline_are_printed() {
    let (before, after) = (snapshot("kit-2019-before"), snapshot("kit-2019-after"));
    let (code, text, error) = doctor(&[&["--from", &after, "--baseline", &before][..], &KIT].concat());
    assert_eq!(code, Some(0), "{error}");
    assert!(text.contains("  interfaces.eth2.mtu_bytes: 9000, was 1500\n"), "{text}");
    let (_, text, _) = doctor(&[&["--from", &after, "--baseline", &after][..], &KIT].concat());
    assert!(text.contains("Nothing changed since the baseline."), "{text}");
}

#[test]
fn rules_are_listed_and_explained() {
    let output = |arguments: &[&str]| String::from_utf8(wirespeed(Path::new("."), arguments).stdout).unwrap();
    let list = output(&["list", "rules"]);
    assert_eq!(list.lines().count(), wirespeed_diagnosis::audit::rules().len());
    for rule in wirespeed_diagnosis::audit::rules() {
        assert!(
            list.lines().any(|line| line.starts_with(rule.id) && line.contains(rule.title)),
            "{}",
            rule.id
        );
    }
    let text = output(&["explain", "tcp.rmem"]);
    assert!(text.contains("at most 2^31-1 (bytes)") && text.contains("fasterdata"), "{text}");
}
