//! `wirespeed plan`: its answer, its page, and that each number can be repeated.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{errors, wirespeed};

/// A path of which the answer is known: Reno needs few losses, and BBR does not mind them.
const PATH: [&str; 13] = [
    "plan",
    "--rate",
    "200 Mbit/s",
    "--rtt",
    "20 ms",
    "--mtu",
    "1500 B",
    "--congestion",
    "reno,bbr",
    "--flows",
    "1,4",
    "--effort",
    "low",
];

fn plan(folder: &Path, more: &[&str]) -> std::process::Output {
    wirespeed(folder, &[&PATH[..], more].concat())
}

/// The goodput of a rate of the answer in bit/s.
fn goodput(answer: &Value, congestion: &str, flows: u64) -> f64 {
    let rates = answer["rates"].as_array().unwrap();
    let point = |rate: &&Value| {
        let point = &rate["measured"]["point"];
        point["congestion"] == congestion && point["flows"] == flows
    };
    rates.iter().find(point).and_then(|rate| rate["measured"]["goodput_bps"].as_f64()).unwrap()
}

#[test]
fn plan_has_rates_budgets_and_a_page_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let output = plan(folder.path(), &["--json", "--bytes", "10 GB"]);
    assert!(output.status.success(), "{}", errors(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    for (congestion, flows) in [("reno", 4), ("bbr", 1)] {
        let goodput = goodput(&answer, congestion, flows);
        assert!((120e6..200e6).contains(&goodput), "{congestion}, {flows}: {goodput}");
    }
    let budget = |congestion: &str| {
        let budgets = answer["budgets"].as_array().unwrap();
        let of = |b: &&Value| {
            b["congestion"] == congestion && b["axis"] == "loss" && b["flows"] == 1 && b["left"] == 0.2
        };
        budgets.iter().find(of).map(|budget| budget["crossing"].clone()).unwrap()
    };
    // 1.22 packets over the root of the loss rate in a round trip (Mathis et al. 1997): 40 Mbit/s at 3e-4. A delayed ACK for
    // two packets makes it half of that.
    let reno = &budget("reno");
    assert_eq!(reno["kind"], "at", "{reno}");
    let (low, high) = (reno["low"].as_f64().unwrap(), reno["high"].as_f64().unwrap());
    assert!(low < 3.4e-4 && high > 1e-4 && low < high, "{reno}");
    assert_eq!(budget("bbr")["kind"], "beyond", "BBR keeps a fifth of the rate at every loss that is tried");

    let page = fs::read_to_string(folder.path().join("wirespeed-out/plan/plan.html")).unwrap();
    assert!(page.contains("What the path will give") && page.contains("wirespeed plan --rate"));
    assert!(page.contains("default-src 'none'"), "the browser loads nothing for it");

    // Existing runs are read, and give the same answer.
    let again = plan(folder.path(), &["--json", "--bytes", "10 GB"]);
    assert_eq!(output.stdout, again.stdout);

    // Its scenario repeats a number.
    let planned = goodput(&answer, "reno", 4);
    let scenarios = folder.path().join("wirespeed-out/plan/scenarios");
    let of_point = |name: &str| name.starts_with("reno-4-loss0e0-rtt20000us") && name.ends_with("-r0.toml");
    let name = fs::read_dir(&scenarios)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| of_point(name) && name.contains("buffer125000-"))
        .expect("the scenario of the rate");
    let file = scenarios.join(name).display().to_string();
    let output = wirespeed(folder.path(), &["run", &file, "--json", "--out", "again"]);
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let measured = results["runs"][0]["metrics"]["goodput_bps"].as_f64().unwrap();
    assert!((measured / planned - 1.0).abs() < 0.1, "{measured} against {planned}");
}

#[test]
fn questions_without_an_answer_name_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    for (more, words) in [
        (&["--loss", "2"][..], "is not a probability"),
        (&["--buffer", "0 B"], "the buffer has to be more than zero"),
        (&["--host", "nobody"], "wirespeed list presets"),
    ] {
        let output = plan(folder.path(), more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(errors(&output).contains(words), "{more:?}: {}", errors(&output));
    }
    let args = ["plan", "--rate", "1 Gbit/s", "--rtt", "1 ms", "--congestion", "nobody"];
    let output = wirespeed(folder.path(), &args);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("wirespeed list cc"), "{}", errors(&output));
    assert!(!folder.path().join("wirespeed-out").exists(), "nothing is made for a question that is refused");
}
