//! Forward error correction on every substrate that has it. Tests that need the virtual-time kernel or namespaces are skipped by
//! name without them, with the reason.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::ledger::{entry, results};
use support::{command, errors, has_kernel, skip, wirespeed};

/// A link that loses packets, without correction and with three layers.
const LOSSY: &str = r#"
schema = 1
name = "lossy"
[path]
rate = "100 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = 1e-2
[[flow]]
congestion = "cubic"
[run]
duration = "5 s"
same_seed = ["correction"]
[variant.correction.none]
[variant.correction.late]
"path.fec" = { data = 8, interleave = [1, 20, 40] }
[variant.correction.in-order]
"path.fec" = { data = 8, interleave = [1, 20, 40], hold = "20 ms" }
[variant.correction.both-ways]
"path.reverse.loss" = 1e-2
"path.fec" = { data = 8, interleave = [1, 20, 40] }
"path.reverse.fec" = { data = 4, interleave = [1] }
[sweep]
correction = ["none", "late", "in-order", "both-ways"]
"#;

fn run_on(folder: &Path, substrate: &str) -> Vec<Value> {
    fs::write(folder.join("lossy.toml"), LOSSY).expect("the folder can be written");
    let output = wirespeed(folder, &["run", "lossy.toml", "--json", "--on", substrate, "--out", substrate]);
    assert!(output.status.success(), "{}", errors(&output));
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    results["runs"].as_array().expect("there are runs").clone()
}

fn goodput(run: &Value) -> f64 {
    run["metrics"]["goodput_bps"].as_f64().unwrap_or_else(|| panic!("{} has no goodput", run["id"]))
}

/// Packets of an entry that only runs with correction have, over all places.
fn packets(run: &Value, direction: &str, name: &str) -> i64 {
    let rows = run["ledger"][direction][name].as_array().into_iter().flatten();
    rows.map(|row| row["packets"].as_i64().expect("a row has packets")).sum()
}

fn assert_balanced(run: &Value) {
    for direction in ["data", "ack"] {
        assert_eq!(
            entry(run, direction, "unexplained"),
            0,
            "{direction} of {}: {}",
            run["id"],
            run["ledger"]
        );
    }
}

#[test]
fn corrected_losses_of_the_model_are_those_of_the_kernel() {
    if !has_kernel("corrected_losses_of_the_model_are_those_of_the_kernel") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [model, kernel] = ["model", "kernel"].map(|substrate| run_on(folder.path(), substrate));
    assert_eq!((model.len(), kernel.len()), (4, 4));
    for (model, kernel) in model.iter().zip(&kernel) {
        assert_balanced(model);
        assert_balanced(kernel);
        let id = &model["id"];
        let is_protected = model["factors"]["correction"] != "none";
        // The bar of the validation. Without correction both draw the same losses, but other packets meet them.
        let ratio = goodput(model) / goodput(kernel);
        let bar = if is_protected { 0.9..1.1 } else { 0.7..1.4 };
        assert!(bar.contains(&ratio), "goodput of {id}: {ratio}");
        // Few packets are recovered, and many of these found the queue full.
        for (name, bar) in [("repair", 0.9..1.1), ("decoded", 0.9..1.1), ("recovered", 0.5..2.0)] {
            let [model, kernel] = [model, kernel].map(|run| packets(run, "data", name) as f64);
            assert_eq!((model > 0.0, kernel > 0.0), (is_protected, is_protected), "{name} of {id}");
            let ratio = if is_protected { model / kernel } else { 1.0 };
            assert!(bar.contains(&ratio), "{name} of {id}: {model} and {kernel}");
        }
        if is_protected {
            let [repair, decoded] = ["repair", "decoded"].map(|name| packets(kernel, "data", name));
            assert!(decoded < repair, "repair packets are lost, too: {decoded} of {repair}");
        }
    }
    let gain = goodput(&kernel[1]) / goodput(&kernel[0]);
    assert!(gain > 4.0, "the correction repairs the losses: {gain}");
    assert!(packets(&kernel[3], "ack", "recovered") > 0, "{}", kernel[3]["ledger"]);
    assert_eq!(packets(&kernel[1], "ack", "repair"), 0);
}

#[test]
fn namespaces_correct_losses_and_the_ledger_balances() {
    let test = "namespaces_correct_losses_and_the_ledger_balances";
    let folder = tempfile::tempdir().expect("a folder for the test");
    let survey = command(folder.path(), &["agent", "--netns-survey"]).output();
    let survey = survey.expect("the program was built for this test");
    if !survey.status.success() {
        return skip(test, &format!("no network namespaces here: {}", errors(&survey).trim()));
    }
    let found: Value = serde_json::from_slice(&survey.stdout).expect("the survey prints JSON");
    let has = |name: &str| found["found"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    if !has("fec") {
        return skip(test, "no TUN device, or not root");
    }
    // Without netem the link loses only what finds its queue full: the decoder recovers that as well.
    let (rtt, loss) = if has("netem") { ("10 ms", "1e-2") } else { ("0 ms", "0") };
    let text = format!(
        "schema = 1\nname = \"t\"\n[path]\nrate = \"20 Mbit/s\"\nrtt = \"{rtt}\"\nloss = {loss}\nbuffer = \"60 kB\"\n\
         fec = {{ data = 4, interleave = [1, 20], hold = \"5 ms\" }}\n[[flow]]\n[run]\nduration = \"3 s\"\n"
    );
    fs::write(folder.path().join("t.toml"), text).expect("the folder can be written");
    let arguments = ["run", "t.toml", "--on", "netns", "--self-check", "off", "--json", "--out", "out"];
    let run =
        results(&command(folder.path(), &arguments).output().expect("the program was built for this test"));
    assert_balanced(&run);
    assert!((1e6..=2e7).contains(&goodput(&run)), "{}", goodput(&run));
    for name in ["repair", "decoded", "recovered"] {
        assert!(packets(&run, "data", name) > 0, "{name}: {}", run["ledger"]);
    }
}
