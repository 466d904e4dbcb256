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
fn recorded_runs_are_beside_the_surfaces_or_have_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "schema = 1\nname = \"t\"\n[path]\nrate = \"200 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"125 kB\"\n\
                    [host.sender]\nmtu = \"1500 B\"\n[host.receiver]\nmtu = \"1500 B\"\n[[flow]]\ncongestion = \"reno\"\n\
                    [run]\nduration = \"60 s\"\nomit = \"10 s\"\n[sweep]\n\"path.loss\" = [0.0, 1e-3]\n";
    fs::write(folder.path().join("t.toml"), scenario).unwrap();
    let ran = wirespeed(folder.path(), &["run", "t.toml", "--out", "results"]);
    assert!(ran.status.success(), "{}", errors(&ran));
    let damaged = folder.path().join("results/runs/loss=1e-2,r0");
    fs::create_dir(&damaged).unwrap();
    fs::write(damaged.join("run.json"), "{}").unwrap();
    let question =
        ["plan", "--rate", "200 Mbit/s", "--rtt", "20 ms", "--mtu", "1500 B", "--congestion", "reno"];
    let more = ["--flows", "1", "--effort", "low", "--measured", "results"];
    let arguments = [&question[..], &more].concat();
    let output = wirespeed(folder.path(), &[&arguments[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let beside = &answer["beside"];
    let compared = beside["compared"].as_array().unwrap();
    let axes: Vec<_> =
        compared.iter().map(|of| (of["x"].as_str().unwrap(), of["y"].as_str().unwrap())).collect();
    assert_eq!(axes, [("loss", "rtt"), ("loss", "buffer")]);
    for of in compared {
        let (measured, predicted) =
            (of["run"]["goodput_bps"].as_f64().unwrap(), of["predicted_bps"].as_f64().unwrap());
        assert!((0.6..1.7).contains(&(measured / predicted)), "{measured} and {predicted}");
        assert_eq!((&of["run"]["substrate"], &of["run"]["name"]), (&"model".into(), &"loss=0.001,r0".into()));
    }
    let reasons: Vec<_> =
        beside["apart"].as_array().unwrap().iter().map(|apart| apart["reason"].clone()).collect();
    assert!(reasons.contains(&"loss".into()) && reasons.contains(&"unreadable".into()), "{reasons:?}");
    assert_eq!((reasons.len(), beside["runs"].as_u64()), (2, Some(3)));

    // The same as text, and the page. The runs of the plan are there already.
    let output = wirespeed(folder.path(), &arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    for words in ["Measured beside predicted:", "loss=0.001,r0", "2 of 3 runs fit no surface: "] {
        assert!(text.contains(words), "`{words}` is missing in\n{text}");
    }
    let page = fs::read_to_string(folder.path().join("wirespeed-out/plan/plan.html")).unwrap();
    assert_eq!(page.matches("class=\"spot\"").count(), 2, "a circle on each surface");
    for words in ["Measured beside predicted", "--measured results", "Circles are recorded runs."] {
        assert!(page.contains(words), "`{words}` is missing on the page");
    }
}

#[test]
fn hosts_with_a_machine_have_a_surface_over_mtu_and_cores() {
    let folder = tempfile::tempdir().unwrap();
    let question = ["plan", "--rate", "100 Gbit/s", "--rtt", "200 us", "--congestion", "bbr", "--flows", "8"];
    let more = ["--host", "kit-2019-tuned", "--effort", "low", "--json"];
    let output = wirespeed(folder.path(), &[&question[..], &more].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let surfaces = answer["surfaces"].as_array().unwrap();
    let surface =
        surfaces.iter().find(|surface| surface["y"] == "cores").expect("there is a surface over cores");
    assert_eq!((&surface["x"], surface["flows"].as_u64()), (&"mtu".into(), Some(8)));
    let rate = |mtu: &str, cores: u64| {
        let tiles = surface["tiles"].as_array().unwrap();
        let points = tiles.iter().map(|tile| &tile["measured"]);
        let mut here = points.filter(|m| m["point"]["mtu"] == mtu && m["point"]["cores"] == cores);
        here.next().and_then(|m| m["goodput_bps"].as_f64()).unwrap()
    };
    // A core carries more with large packets, and four cores carry more than one.
    assert!(rate("9 kB", 1) > 1.2 * rate("1.5 kB", 1), "{surface}");
    assert!(rate("1.5 kB", 4) > 2.0 * rate("1.5 kB", 1), "{surface}");
    let page = fs::read_to_string(folder.path().join("wirespeed-out/plan/plan.html")).unwrap();
    assert!(page.contains("Goodput of bbr, 8 flows, over MTU and cores") && page.contains("MTU (bytes)"));
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
    fs::create_dir(folder.path().join("empty")).unwrap();
    let output = plan(folder.path(), &["--measured", "empty"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("empty has no runs"), "{}", errors(&output));
    let args = ["plan", "--rate", "1 Gbit/s", "--rtt", "1 ms", "--congestion", "nobody"];
    let output = wirespeed(folder.path(), &args);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("wirespeed list cc"), "{}", errors(&output));
    assert!(!folder.path().join("wirespeed-out").exists(), "nothing is made for a question that is refused");
}
