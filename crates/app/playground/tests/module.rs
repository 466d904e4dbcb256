//! The module in WebAssembly, in Node and in a browser: it returns the same bytes as this program, and the page draws them.
//!
//! `make playground` compiles the module. Without it, or without Node or Chromium, these tests print that they are skipped.

use std::fmt::Write as _;
use std::fs;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use wirespeed_playground::{answer, choices, tables};
use wirespeed_units::Span;

/// Runs of shipped scenarios end after this time, in milliseconds.
const LONGEST_MS: i64 = 200;

/// Node 20 has web sockets only with it; later versions accept it.
const WEB_SOCKET: &str = "--experimental-websocket";

/// Each test keeps the machine busy, and one of them counts frames.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Prints a line past the capture of the test harness, for tools/test-summary.
fn say(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

fn works(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A file that `make playground` makes, or why `test` is skipped.
fn made(test: &str, name: &str) -> Option<PathBuf> {
    let path = root().join("target/playground").join(name);
    let reason = if !path.exists() {
        format!("target/playground/{name} does not exist; type `make playground`")
    } else if !works("node") {
        "node is not installed; type `apt-get install nodejs`".to_owned()
    } else if !Command::new("node").args([WEB_SOCKET, "--version"]).output().is_ok_and(|o| o.status.success())
    {
        "node is older than 20, and has no web sockets".to_owned()
    } else {
        return Some(path);
    };
    say(&format!("{test} skipped: {reason}"));
    None
}

fn node(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("node").args(arguments).output().unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {errors}{}", printed.lines().last().unwrap_or_default());
    output.stdout
}

/// A module of the sources of this program, for `test`.
fn module(test: &str) -> Option<String> {
    let module = made(test, "playground.wasm")?.to_str()?.to_owned();
    let offered = node(&[script("module.mjs").to_str()?, &module, "choices"]);
    assert_eq!(
        String::from_utf8_lossy(&offered),
        choices(),
        "{module} is of other sources than this program; type `make playground`"
    );
    Some(module)
}

/// Where two texts begin to differ, for a message.
fn difference(ours: &[u8], theirs: &[u8]) -> String {
    let at = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let shown = |bytes: &[u8]| {
        let (from, to) = (at.saturating_sub(80).min(bytes.len()), (at + 80).min(bytes.len()));
        String::from_utf8_lossy(&bytes[from..to]).into_owned()
    };
    format!(
        "from byte {at} of {} and {}: `{}` and `{}`",
        ours.len(),
        theirs.len(),
        shown(ours),
        shown(theirs)
    )
}

#[test]
fn module_records_the_same_bytes_as_the_native_model() {
    let _alone = ONE_AT_A_TIME.lock();
    let Some(module) = module("module_records_the_same_bytes_as_the_native_model") else { return };
    let driver = script("module.mjs");
    let recorded = |scenario: &Path, longest: i64| {
        let (scenario, longest) = (scenario.to_str().unwrap(), longest.to_string());
        node(&[driver.to_str().unwrap(), &module, "tables", scenario, &longest])
    };
    let mut scenarios: Vec<PathBuf> =
        fs::read_dir(root().join("scenarios")).unwrap().map(|entry| entry.unwrap().path()).collect();
    scenarios.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    scenarios.sort();
    let (mut runs, mut different) = (0, String::new());
    for scenario in &scenarios {
        let ours = tables(&fs::read_to_string(scenario).unwrap(), Span::ms(LONGEST_MS)).into_bytes();
        let carried_out = String::from_utf8_lossy(&ours).matches(" Ok(Outcome {").count();
        let name = scenario.file_name().unwrap().to_string_lossy();
        let message = String::from_utf8_lossy(&ours[..ours.len().min(300)]).into_owned();
        assert!(carried_out > 0, "{name}: the model executes no run: {message}");
        runs += carried_out;
        let theirs = recorded(scenario, LONGEST_MS);
        if ours != theirs {
            writeln!(different, "{name} {}", difference(&ours, &theirs)).unwrap();
        }
    }
    assert!(different.is_empty(), "{different}");
    say(&format!("{} scenarios, {runs} runs: the same bytes", scenarios.len()));

    // That one differs if only its duration does.
    let first = &scenarios[0];
    let ours = tables(&fs::read_to_string(first).unwrap(), Span::ms(LONGEST_MS)).into_bytes();
    assert_ne!(ours, recorded(first, LONGEST_MS + 1));
}

#[test]
fn module_answers_the_page_with_the_same_bytes() {
    let _alone = ONE_AT_A_TIME.lock();
    let Some(module) = module("module_answers_the_page_with_the_same_bytes") else { return };
    let (driver, scenario) = (script("module.mjs"), script("page.toml"));
    let ours = answer(&fs::read_to_string(&scenario).unwrap(), &mut |_| true).into_bytes();
    assert!(ours.starts_with(b"{\"runs\":"), "{}", String::from_utf8_lossy(&ours));
    let theirs = node(&[driver.to_str().unwrap(), &module, "answer", scenario.to_str().unwrap()]);
    assert!(ours == theirs, "{}", difference(&ours, &theirs));
}

#[test]
fn every_choice_of_the_page_runs() {
    let text = fs::read_to_string(script("page.toml")).unwrap().replace("2 s", "50 ms");
    let offered: serde_json::Value = serde_json::from_str(&choices()).unwrap();
    let names = |list: &str| -> Vec<String> {
        let rows = offered[list].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    let (algorithms, hosts) = (names("algorithms"), names("hosts"));
    assert!(algorithms.len() > 10 && hosts.len() > 5);
    let of_algorithms = algorithms.iter().map(|name| text.replace("\"bbr\"", &format!("\"{name}\"")));
    let of_hosts = hosts.iter().map(|name| text.replace("xeon-2015-10g", name));
    for scenario in of_algorithms.chain(of_hosts) {
        let answered = answer(&scenario, &mut |_| true);
        assert!(answered.starts_with("{\"runs\":"), "{scenario}\n{answered}");
    }
}

#[test]
fn page_draws_while_a_slider_moves() {
    let _alone = ONE_AT_A_TIME.lock();
    let test = "page_draws_while_a_slider_moves";
    let Some(page) = made(test, "playground.html") else { return };
    let Some(browser) =
        ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| works(name))
    else {
        say(&format!("{test} skipped: no Chromium was found; type `apt-get install chromium`"));
        return;
    };
    let driver = script("browser.mjs");
    let arguments = [WEB_SOCKET, driver.to_str().unwrap(), browser, page.to_str().unwrap()];
    let measured: serde_json::Value = serde_json::from_slice(&node(&arguments)).unwrap();
    // Frames depend on the other work of the machine: they are printed, and not judged.
    say(&format!("{measured}"));
    for count in ["frames_per_s", "pictures_per_s"] {
        assert!(measured[count].as_f64().unwrap() > 0.0, "{measured}");
    }

    // The copied scenario is one that runs.
    let copied = measured["scenario"].as_str().unwrap();
    let answered = answer(copied, &mut |_| true);
    assert!(answered.starts_with("{\"runs\":"), "{copied}\n{answered}");
}
