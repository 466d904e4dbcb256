//! Is what is measured of a path before a run the path? In virtual time, where links are exact. It needs a kernel
//! (`wirespeed kernel build`); without it the test is skipped by name, with the reason.

mod support;

use serde_json::Value;
use std::fs;
use support::{errors, has_kernel, wirespeed};

/// What was measured of these links: quantity, link, measured.
fn measured(links: &str) -> Vec<(String, String, Option<f64>)> {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let text = format!(
        "schema = 1\nname = \"test\"\n[topology]\nkind = \"parking-lot\"\n{links}[[flow]]\ncongestion = \"cubic\"\n\
         [run]\nduration = \"0.5 s\"\n"
    );
    fs::write(folder.path().join("scenario.toml"), text).expect("the folder can be written");
    let arguments =
        ["run", "scenario.toml", "--on", "kernel", "--self-check", "on", "--json", "--out", "out"];
    let output = wirespeed(folder.path(), &arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let checks = results["runs"][0]["path_checks"].as_array().expect("the path was measured").clone();
    let of = |check: &Value| {
        let word = |name: &str| check[name].as_str().expect("a word").to_owned();
        (word("quantity"), word("link"), check["measured"].as_f64())
    };
    checks.iter().map(of).collect()
}

fn link(rate: &str, rtt: &str) -> String {
    format!("[[link]]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"100 kB\"\n")
}

#[test]
fn links_in_a_row_are_measured_as_the_path_they_make() {
    let test = "links_in_a_row_are_measured_as_the_path_they_make";
    if !has_kernel(test) {
        return;
    }
    let near = |found: &(String, String, Option<f64>), quantity: &str, link: &str, value: f64, off: f64| {
        assert_eq!((found.0.as_str(), found.1.as_str()), (quantity, link));
        let measured = found.2.unwrap_or_else(|| panic!("{quantity} was not measured"));
        assert!((measured - value).abs() <= off, "{quantity}: {measured}, not {value}");
    };
    let slow_in_the_middle =
        [link("400 Mbit/s", "8 ms"), link("100 Mbit/s", "6 ms"), link("200 Mbit/s", "4 ms")].concat();
    let found = measured(&slow_in_the_middle);
    // Whole nanoseconds for each frame on each link; two frames in the queue.
    near(&found[0], "rtt", "link1 to link3", 18e6, 100.0);
    near(&found[1], "rate", "link2", 1e8, 1e4);
    near(&found[2], "queue", "link2", 1e5, 3028.0);
    // A first link that takes less than a flood has a queue as well: they cannot be told apart.
    let two_queues = [link("110 Mbit/s", "8 ms"), link("100 Mbit/s", "6 ms")].concat();
    let found = measured(&two_queues);
    near(&found[1], "rate", "link2", 1e8, 1e4);
    assert_eq!(found[2].2, None);
}
