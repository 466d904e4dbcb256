//! Hosts that split connections, on every substrate that has them. Tests that need the virtual-time kernel or namespaces are
//! skipped by name without them, with the reason.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::ledger::results;
use support::{command, errors, has_kernel, skip, wirespeed};

/// Two boxes around a link that loses packets, or one around nothing.
const WIDE_AREA: &str = r#"
schema = 1
name = "wide-area"
[topology]
kind = "parking-lot"
hops = 3
[path]
rate = "100 Mbit/s"
buffer = "250 kB"
[[link]]
name = "west"
rtt = "1 ms"
[[link]]
name = "wan"
rtt = "20 ms"
[[link]]
name = "east"
rtt = "1 ms"
loss = 1e-3
[host.a]
router = 1
role = "splitter"
[host.b]
router = 2
role = "splitter"
[[flow]]
label = "bulk"
congestion = "cubic"
[[flow]]
label = "file"
bytes = "5000001 B"
congestion = "reno"
[run]
duration = "5 s"
same_seed = ["boxes"]
[variant.boxes.none]
"host.a.role" = "end"
"host.b.role" = "end"
[variant.boxes.two]
"host.a.role" = "splitter"
[sweep]
boxes = ["none", "two"]
"run.only" = ["bulk", "file"]
"#;

fn run_on(folder: &Path, substrate: &str) -> Vec<Value> {
    fs::write(folder.join("wide-area.toml"), WIDE_AREA).expect("the folder can be written");
    let output =
        wirespeed(folder, &["run", "wide-area.toml", "--json", "--on", substrate, "--out", substrate]);
    assert!(output.status.success(), "{}", errors(&output));
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    results["runs"].as_array().expect("there are runs").clone()
}

fn metric(run: &Value, name: &str) -> f64 {
    run["metrics"][name].as_f64().unwrap_or_else(|| panic!("{} has no {name}", run["id"]))
}

fn assert_balanced(run: &Value) {
    for direction in ["data", "ack"] {
        let account = &run["ledger"][direction];
        assert_eq!(account["unexplained"], 0, "{direction} of {}: {account}", run["id"]);
    }
    let told = run["warnings"].to_string();
    assert!(!told.contains("sends to both sides"), "{told}");
}

/// Of the flow with that label, its goodput in each leg from the sender on.
fn legs(run: &Value, label: &str) -> Vec<f64> {
    let flows = run["flows"].as_array().expect("there are flows");
    let of_label = |flow: &&Value| {
        let own = flow["label"].as_str().expect("it has a label");
        own == label || own.starts_with(&format!("{label}/"))
    };
    flows.iter().filter(of_label).filter_map(|flow| flow["metrics"]["goodput_bps"].as_f64()).collect()
}

#[test]
fn split_flows_of_the_model_are_those_of_the_kernel() {
    if !has_kernel("split_flows_of_the_model_are_those_of_the_kernel") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [model, kernel] = ["model", "kernel"].map(|substrate| run_on(folder.path(), substrate));
    assert_eq!((model.len(), kernel.len()), (4, 4));
    for (model, kernel) in model.iter().zip(&kernel) {
        assert_balanced(model);
        assert_balanced(kernel);
        let name = if model["factors"]["run.only"] == "bulk" { "goodput_bps" } else { "fct_median_ns" };
        let ratio = metric(model, name) / metric(kernel, name);
        // The bar of the validation.
        assert!((0.9..1.1).contains(&ratio), "{name} of {}: {ratio}", model["id"]);
    }
    // No leg delivers more than the one before it.
    let (whole, split) = (0, 2);
    for run in [&model[split], &kernel[split]] {
        let legs = legs(run, "bulk");
        assert!(legs.len() == 3 && legs.is_sorted_by(|a, b| a >= b), "{legs:?}");
        assert_eq!(metric(run, "goodput_bps"), legs[2], "the total is that of the last leg");
    }
    let gain = metric(&kernel[split], "goodput_bps") / metric(&kernel[whole], "goodput_bps");
    assert!(gain > 1.5, "boxes repair the losses of the last link: {gain}");
}

#[test]
fn splitter_of_this_machine_relays_both_ways_and_the_ledger_balances() {
    let test = "splitter_of_this_machine_relays_both_ways_and_the_ledger_balances";
    let folder = tempfile::tempdir().expect("a folder for the test");
    let survey = command(folder.path(), &["agent", "--netns-survey"]).output();
    let survey = survey.expect("the program was built for this test");
    if !survey.status.success() {
        return skip(test, &format!("no network namespaces here: {}", errors(&survey).trim()));
    }
    // Without delay and loss it needs no netem.
    let text = "schema = 1\nname = \"t\"\n[topology]\nkind = \"parking-lot\"\nhops = 2\n[path]\nrate = \"50 Mbit/s\"\n\
        rtt = \"0 ms\"\nbuffer = \"100 kB\"\n[host.box]\nrouter = 1\nrole = \"splitter\"\n\
        [[flow]]\nlabel = \"bulk\"\n[[flow]]\nlabel = \"file\"\nfrom = \"receiver\"\nto = \"sender\"\nbytes = \"1000001 B\"\n\
        [run]\nduration = \"3 s\"\n";
    fs::write(folder.path().join("t.toml"), text).expect("the folder can be written");
    let arguments = ["run", "t.toml", "--on", "netns", "--self-check", "off", "--json", "--out", "out"];
    let run =
        results(&command(folder.path(), &arguments).output().expect("the program was built for this test"));
    assert_balanced(&run);
    let goodput = metric(&run, "goodput_bps");
    assert!((2e6..=5e7).contains(&goodput), "{goodput}");
    let recording =
        wirespeed_record::read(&folder.path().join("out/runs").join(run["id"].as_str().unwrap())).unwrap();
    let read = |flow: u32| {
        recording.flows.iter().filter(|row| row.flow == flow).filter_map(|row| row.read_bytes).max()
    };
    // The file in both of its legs, to the last byte.
    assert_eq!((read(2), read(3)), (Some(1_000_001), Some(1_000_001)));
}

#[test]
fn real_hosts_refuse_a_splitter_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("wide-area.toml"), WIDE_AREA).unwrap();
    let output = wirespeed(
        folder.path(),
        &["run", "wide-area.toml", "--set", "boxes=two", "--on", "hosts", "--out", "out"],
    );
    assert!(!output.status.success());
    let told = errors(&output);
    assert!(told.contains("host a: role = \"splitter\" is not available on substrate hosts"), "{told}");
}
