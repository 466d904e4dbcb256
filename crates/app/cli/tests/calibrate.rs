//! `wirespeed calibrate`: a preset of this host, from a short measurement. Where namespaces cannot be made each test is skipped by name,
//! with the reason.

mod support;

use support::{errors, skip, wirespeed};

/// A scenario on the model whose receiver is what was measured.
const SCENARIO: &str = "\
schema = 1
name = \"calibrated\"
about = \"A flow to a measured host\"
[path]
rate = \"100 Gbit/s\"
rtt = \"1 ms\"
[host.sender]
[host.receiver]
preset = \"cal/preset.toml\"
[[flow]]
congestion = \"cubic\"
[run]
duration = \"200 ms\"
";

#[test]
fn measured_costs_are_a_preset_for_the_model() {
    let test = "measured_costs_are_a_preset_for_the_model";
    let folder = tempfile::tempdir().unwrap();
    let short = ["calibrate", "--out", "cal", "--duration", "100 ms", "--repeat", "1"];
    let first = wirespeed(folder.path(), &short);
    let said = errors(&first);
    if said.contains("it needs namespaces") || said.contains("needs two cores") {
        skip(test, said.lines().last().unwrap_or_default());
        return;
    }
    assert!(first.status.success(), "{said}");
    let printed = String::from_utf8_lossy(&first.stdout);
    assert!(printed.contains("receive a packet or GSO packet"), "{printed}");
    let measured = std::fs::read_to_string(folder.path().join("cal/observations.json")).unwrap();
    let observations: serde_json::Value = serde_json::from_str(&measured).unwrap();
    let observations = observations.as_array().expect("a list").clone();
    assert_eq!(observations.len(), 24);
    for observation in &observations {
        assert!(observation["read_bytes"].as_u64().unwrap() > 0, "{observation}");
        // A paced sender is busy for less than the 10 ms in which the kernel reports idle time.
        let is_paced = !observation["setting"]["rate"].is_null();
        assert!(is_paced || observation["work"][0]["busy_ns"].as_u64().unwrap() > 0, "{observation}");
    }
    // Existing measurements are kept.
    let again = wirespeed(folder.path(), &short);
    assert!(again.status.success() && !errors(&again).contains("1/"), "{}", errors(&again));
    assert_eq!(std::fs::read_to_string(folder.path().join("cal/observations.json")).unwrap(), measured);
    let joined =
        wirespeed(folder.path(), &["calibrate", "--from", "cal", "cal", "--out", "joined", "--json"]);
    assert!(joined.status.success(), "{}", errors(&joined));
    assert!(serde_json::from_slice::<serde_json::Value>(&joined.stdout).unwrap()["estimates"].is_array());
    // On a loaded machine the costs may be anything, but the model takes them.
    std::fs::write(folder.path().join("s.toml"), SCENARIO).unwrap();
    let run = wirespeed(folder.path(), &["run", "s.toml", "--on", "model", "--json"]);
    assert!(run.status.success(), "{}", errors(&run));
    let results: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let goodput = results["runs"][0]["metrics"]["goodput_bps"].as_f64().unwrap();
    assert!(goodput > 1e7, "{goodput}");
}

#[test]
fn folder_without_measurements_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = wirespeed(folder.path(), &["calibrate", "--from", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    let said = errors(&output);
    assert!(said.contains("nothing/observations.json") && said.contains("wirespeed calibrate"), "{said}");
}

#[test]
fn preset_file_is_read_from_the_folder_of_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("s.toml", &SCENARIO.replace("cal/preset.toml", "mine.toml"));
    let run = || wirespeed(folder.path(), &["run", "s.toml", "--on", "model", "--json"]);
    let missing = run();
    assert_eq!(missing.status.code(), Some(2));
    assert!(errors(&missing).contains("mine.toml: No such file"), "{}", errors(&missing));
    // The lines of a file lie over the built-in preset that it names.
    write("mine.toml", "preset = \"xeon-2023-100g\"\nnic_rate = \"5 Gbit/s\"\n");
    let good = run();
    assert!(good.status.success(), "{}", errors(&good));
    write("mine.toml", "preset = \"other.toml\"\n");
    let nested = run();
    assert_eq!(nested.status.code(), Some(2));
    assert!(errors(&nested).contains("cannot be another file"), "{}", errors(&nested));
    write("mine.toml", "mtuu = \"1500 B\"\n");
    let wrong = run();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(errors(&wrong).contains("mine.toml") && errors(&wrong).contains("mtuu"), "{}", errors(&wrong));
}
