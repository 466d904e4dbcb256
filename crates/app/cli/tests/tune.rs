//! `wirespeed tune` in a network namespace: applied, read back, killed between any two steps, and reverted, so that
//! nothing that can be read differs.

mod support;

#[path = "tune/namespace.rs"]
mod namespace;

use namespace::Namespace;
use serde_json::{Value, json};
use std::fs;
use std::process::{Output, Stdio};
use std::time::Duration;
use support::settings::differences;
use support::{errors, skip, until};

fn change(setting: Value, value: &str) -> Value {
    json!({ "setting": setting, "value": value, "rule": "a.rule", "reason": "the path needs it" })
}

/// Changes of every kind that a veth has.
fn changes() -> Value {
    json!([
        change(json!({ "kind": "mtu", "interface": "va" }), "9000"),
        change(json!({ "kind": "sysctl", "name": "net.ipv4.tcp_rmem" }), "4096 131072 99999999"),
        change(json!({ "kind": "sysctl", "name": "net.ipv4.tcp_sack" }), "0"),
        change(json!({ "kind": "tx_queue_length", "interface": "va" }), "777"),
        change(json!({ "kind": "feature", "interface": "va", "name": "tx-tcp-segmentation" }), "off"),
        change(json!({ "kind": "rps", "interface": "va", "queue": 0 }), "0"),
        change(json!({ "kind": "qdisc", "interface": "va" }), "pfifo"),
    ])
}

/// Points of a transaction with seven changes: the journal, three for each, and two files.
const POINTS: usize = 1 + 7 * 3 + 2;

fn namespace(test: &str) -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => {
            fs::write(namespace.folder().join("changes.json"), changes().to_string()).unwrap();
            Some(namespace)
        }
        Err(why) => {
            skip(test, &format!("no network namespaces here: {why}"));
            None
        }
    }
}

fn code(output: &Output, expected: i32) {
    assert_eq!(output.status.code(), Some(expected), "{}", errors(output));
}

#[test]
fn changes_are_planned_applied_and_reverted_with_an_empty_diff() {
    let Some(ns) = namespace("changes_are_planned_applied_and_reverted_with_an_empty_diff") else { return };
    let before = ns.dump();
    let plan = ns.tune(&["plan", "--changes", "changes.json"]);
    code(&plan, 0);
    let text = String::from_utf8(plan.stdout).unwrap();
    assert!(text.contains("va: MTU\n  - 1500\n  + 9000\n    a.rule: the path needs it"), "{text}");
    assert!(text.contains("7 to change"), "{text}");
    assert!(differences(&before, &ns.dump()).is_empty(), "a plan changes nothing");
    code(&ns.tune(&["apply", "--changes", "changes.json", "--persist", "--root", "root"]), 0);
    let after = differences(&before, &ns.dump());
    assert!(after.len() >= 7, "{after:?}");
    let persistent = fs::read_to_string(ns.folder().join("root/etc/sysctl.d/90-wirespeed.conf")).unwrap();
    assert!(persistent.starts_with("# Written by wirespeed"), "{persistent}");
    assert!(persistent.contains("net.ipv4.tcp_rmem = 4096 131072 99999999"), "{persistent}");
    let status = ns.tune(&["status", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let steps = status["transactions"][0]["steps"].as_array().unwrap();
    assert!(steps.len() == 7 && steps.iter().all(|step| step["is_in_effect"] == true), "{status}");
    code(&ns.tune(&["revert"]), 0);
    assert_eq!(differences(&before, &ns.dump()), Vec::<String>::new());
    assert!(!ns.folder().join("root/etc/sysctl.d/90-wirespeed.conf").exists());
}

#[test]
fn a_process_killed_between_any_two_steps_leaves_a_host_that_is_reverted_or_resumed() {
    let test = "a_process_killed_between_any_two_steps_leaves_a_host_that_is_reverted_or_resumed";
    let Some(ns) = namespace(test) else { return };
    let before = ns.dump();
    let apply = ["apply", "--changes", "changes.json", "--persist", "--root", "root"];
    for point in 0..POINTS {
        let point_text = point.to_string();
        let killed = ns.tune(&[&apply[..], &["--kill-at", &point_text]].concat());
        assert_eq!(killed.status.code(), None, "it is killed at point {point}: {}", errors(&killed));
        let refused = ns.tune(&apply);
        code(&refused, 3);
        assert!(errors(&refused).contains("tune apply --resume"), "{}", errors(&refused));
        if point % 3 == 0 {
            code(&ns.tune(&["apply", "--resume"]), 0);
            assert!(differences(&before, &ns.dump()).len() >= 7);
        }
        if point % 2 == 0 {
            // The reversion is killed as well.
            let killed = ns.tune(&["revert", "--kill-at", "2"]);
            assert!(matches!(killed.status.code(), None | Some(0)), "{}", errors(&killed));
        }
        code(&ns.tune(&["revert"]), 0);
        assert_eq!(differences(&before, &ns.dump()), Vec::<String>::new(), "killed at point {point}");
        assert!(!ns.folder().join("root/etc/sysctl.d/90-wirespeed.conf").exists());
    }
    code(&ns.tune(&[&apply[..], &["--kill-at", &POINTS.to_string()]].concat()), 0);
    code(&ns.tune(&["revert"]), 0);
}

#[test]
fn a_failing_change_puts_everything_back() {
    let Some(ns) = namespace("a_failing_change_puts_everything_back") else { return };
    let before = ns.dump();
    let mut all = changes();
    let mut first = all.as_array().unwrap().clone();
    // The kernel reads this value back as another one, or rejects it, only when it is written.
    first.push(change(json!({ "kind": "mtu", "interface": "vb" }), "99999999"));
    all = Value::Array(first);
    fs::write(ns.folder().join("wrong.json"), all.to_string()).unwrap();
    let failed = ns.tune(&["apply", "--changes", "wrong.json"]);
    code(&failed, 3);
    assert!(errors(&failed).contains("are put back"), "{}", errors(&failed));
    assert_eq!(differences(&before, &ns.dump()), Vec::<String>::new());
}

#[test]
fn without_a_confirmation_the_timer_puts_everything_back_after_the_session_has_ended() {
    let test = "without_a_confirmation_the_timer_puts_everything_back_after_the_session_has_ended";
    let Some(ns) = namespace(test) else { return };
    let before = ns.dump();
    let apply = ["apply", "--changes", "changes.json", "--confirm-within"];
    // The session of this command ends with it, and so does everything else in it.
    let mut session = ns.command(&[&apply[..], &["4 s"]].concat());
    code(&session.stdin(Stdio::null()).output().unwrap(), 0);
    assert!(differences(&before, &ns.dump()).len() >= 7);
    until(Duration::from_secs(60), "everything is put back", || differences(&before, &ns.dump()).is_empty());
    until(Duration::from_secs(10), "the journal is closed", || {
        String::from_utf8_lossy(&ns.tune(&["status"]).stdout).contains(": reverted")
    });
    let late = ns.tune(&["confirm"]);
    code(&late, 3);
    assert!(errors(&late).contains("too late"), "{}", errors(&late));
    code(&ns.tune(&[&apply[..], &["60 s"]].concat()), 0);
    code(&ns.tune(&["confirm"]), 0);
    assert!(differences(&before, &ns.dump()).len() >= 7);
    code(&ns.tune(&["revert"]), 0);
    assert_eq!(differences(&before, &ns.dump()), Vec::<String>::new());
}

#[test]
fn mistakes_are_rejected_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| support::wirespeed(folder.path(), &[&["tune"], arguments].concat());
    fs::write(folder.path().join("bad.json"), "[{\"setting\": 1}]").unwrap();
    for (arguments, expected, word) in [
        (&["plan", "--changes", "missing.json"][..], 2, "missing.json"),
        (&["plan", "--changes", "bad.json"][..], 2, "line 1"),
        (&["apply"][..], 2, "--changes"),
        (&["apply", "--changes", "bad.json", "--confirm-within", "1 ms"][..], 2, "at least 1 s"),
    ] {
        let output = run(arguments);
        code(&output, expected);
        assert!(errors(&output).contains(word), "{}", errors(&output));
    }
    let status = run(&["status", "--state", "none"]);
    code(&status, 0);
    assert_eq!(String::from_utf8_lossy(&status.stdout), "no transactions\n");
}
