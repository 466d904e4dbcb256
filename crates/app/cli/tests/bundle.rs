//! Bundles from packing to the verdict, as a user has them.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{command, errors, wirespeed};

const SWEEP: &str = "schema = 1\nname = \"pair\"\nabout = \"Which is faster?\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"10 ms\"\n\
                     buffer = \"1 bdp\"\nloss = 1e-3\n[[flow]]\n[run]\nduration = \"1 s\"\n[sweep]\n\
                     \"flow.congestion\" = [\"cubic\", \"reno\"]\n";
const FILE: &str = "pair.wirespeed.tar.gz";

/// Runs the program, which has to end so; what it printed.
fn ended(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = wirespeed(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The message without the line breaks of a terminal.
fn message(output: &Output) -> String {
    errors(output).replace("\n  |", "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folder with results in `pair` and a bundle of them.
fn packed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), SWEEP).unwrap();
    ended(folder.path(), &["run", "s.toml", "--out", "pair"], 0);
    pack(folder.path(), &[], 0);
    folder
}

fn pack(folder: &Path, more: &[&str], code: i32) -> String {
    let arguments =
        [&["bundle", "pair", "--author", "Doe, Jane", "--license", "CC-BY-4.0"][..], more].concat();
    ended(folder, &arguments, code)
}

fn tar(folder: &Path, arguments: &[&str]) {
    let done = Command::new("tar").args(arguments).current_dir(folder).status().unwrap();
    assert!(done.success());
}

/// The checksums of files that were changed, as whoever forges a bundle writes them.
fn sums(folder: &Path, names: &[String]) -> String {
    let output = Command::new("sha256sum").args(names).current_dir(folder).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// A copy of the bundle after a change of its unpacked files, whose checksums and sizes are right again.
fn changed(folder: &Path, change: impl FnOnce(&Path)) -> PathBuf {
    tar(folder, &["xzf", FILE]);
    let root = folder.join("unpacked");
    // The folder of the results has the same name.
    fs::rename(folder.join("pair"), folder.join("original")).unwrap();
    tar(folder, &["xzf", FILE]);
    fs::rename(folder.join("pair"), &root).unwrap();
    change(&root);
    for run in fs::read_dir(root.join("results/runs")).unwrap() {
        let run = run.unwrap().path();
        let mut names: Vec<String> = fs::read_dir(&run)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "SHA256SUMS")
            .collect();
        names.sort();
        fs::write(run.join("SHA256SUMS"), sums(&run, &names)).unwrap();
    }
    let mut manifest: Value = serde_json::from_slice(&fs::read(root.join("bundle.json")).unwrap()).unwrap();
    let files: BTreeMap<String, u64> = serde_json::from_value(manifest["files"].clone()).unwrap();
    for name in files.keys() {
        manifest["files"][name] = fs::metadata(root.join(name)).unwrap().len().into();
    }
    fs::write(root.join("bundle.json"), manifest.to_string()).unwrap();
    let names: Vec<String> = ["bundle.json".to_owned()].into_iter().chain(files.keys().cloned()).collect();
    fs::write(root.join("SHA256SUMS"), sums(&root, &names)).unwrap();
    archive(folder)
}

/// The unpacked files as a bundle.
fn archive(folder: &Path) -> PathBuf {
    fs::rename(folder.join("unpacked"), folder.join("pair")).unwrap();
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.join("pair/bundle.json")).unwrap()).unwrap();
    let files: BTreeMap<String, u64> = serde_json::from_value(manifest["files"].clone()).unwrap();
    let mut arguments = vec!["czf".to_owned(), "forged.tar.gz".to_owned(), "--format=gnu".to_owned()];
    arguments.extend(["pair/bundle.json", "pair/SHA256SUMS"].map(String::from));
    arguments.extend(files.keys().map(|file| format!("pair/{file}")));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    tar(folder, &arguments);
    folder.join("forged.tar.gz")
}

#[test]
fn model_is_reproduced_to_the_last_bit_from_the_bundle_alone() {
    let folder = packed();
    let bytes = fs::read(folder.path().join(FILE)).unwrap();
    pack(folder.path(), &["--out", "pair/pair.wirespeed.tar.gz"], 0);
    assert!(fs::read(folder.path().join("pair").join(FILE)).unwrap() == bytes, "two packings differ");
    // Somewhere else, with nothing but the file.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join(FILE), bytes).unwrap();
    let text = ended(elsewhere.path(), &["run", FILE], 0);
    let sentence = "Reproduced: 2 runs with tables that are equal to the packed ones to the last bit";
    assert!(text.contains(sentence), "{text}");
    assert!(elsewhere.path().join("wirespeed-out/pair-repeated/report.html").exists());
    let scenario = elsewhere.path().join("wirespeed-out/pair-repeated/bundle/scenario/s.toml");
    assert_eq!(fs::read_to_string(scenario).unwrap(), SWEEP);
    // The same again resumes, and has the same verdict.
    let json: Value = serde_json::from_str(&ended(elsewhere.path(), &["run", FILE, "--json"], 0)).unwrap();
    assert_eq!(json["verdict"], "reproduced");
    assert_eq!(json["runs"][1]["verdict"], "identical");
    assert_eq!(json["notes"].as_array().unwrap().len(), 0, "{json}");
}

#[test]
fn results_without_tables_are_compared_by_their_checksums() {
    let folder = packed();
    pack(folder.path(), &["--data", "results", "--out", "small.wirespeed.tar.gz"], 0);
    let [small, whole] =
        ["small.wirespeed.tar.gz", FILE].map(|name| fs::metadata(folder.path().join(name)).unwrap().len());
    assert!(small < whole, "{small} of {whole} bytes");
    let text = ended(folder.path(), &["run", "small.wirespeed.tar.gz", "--out", "again"], 0);
    assert!(text.contains("Reproduced: 2 runs"), "{text}");
}

#[test]
fn changed_table_is_refused_and_nothing_is_unpacked() {
    let folder = packed();
    tar(folder.path(), &["xzf", FILE]);
    fs::rename(folder.path().join("pair"), folder.path().join("unpacked")).unwrap();
    let table = "results/runs/congestion=cubic,r0/flows.parquet";
    let path = folder.path().join("unpacked").join(table);
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    archive(folder.path());
    let output = wirespeed(folder.path(), &["run", "forged.tar.gz", "--out", "again"]);
    assert_eq!(output.status.code(), Some(2));
    let text = message(&output);
    assert!(text.contains(&format!("entry {table}: its checksum differs from SHA256SUMS")), "{text}");
    assert!(!folder.path().join("again/bundle").exists());
    let output = wirespeed(folder.path(), &["bundle", "--show", "forged.tar.gz"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn changed_setting_differs_with_the_metric_and_exit_code_one() {
    let folder = packed();
    changed(folder.path(), |root| {
        let path = root.join("results/runs/congestion=reno,r0/run.json");
        let mut info: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        info["scenario"]["links"][0]["forward"]["rate"] = "50 Mbit/s".into();
        fs::write(&path, info.to_string()).unwrap();
    });
    let output = wirespeed(folder.path(), &["run", "forged.tar.gz", "--out", "again"]);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Differs: 1 of 2 runs; congestion=reno,r0: goodput_bps"), "{text}");
    let json = wirespeed(folder.path(), &["run", "forged.tar.gz", "--out", "again", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["verdict"], "differs");
    let runs = json["runs"].as_array().unwrap();
    assert_eq!((&runs[0]["verdict"], &runs[1]["verdict"]), (&"identical".into(), &"differs".into()));
    let goodput = &runs[1]["metrics"][0];
    assert_eq!(goodput["metric"], "goodput_bps");
    assert!(goodput["relative"].as_f64().unwrap() < -0.1, "{goodput}");
}

#[test]
fn study_of_claims_is_packed_and_repeated_below_its_substrate() {
    let folder = packed();
    let pair = folder.path().join("pair");
    // As `wirespeed reproduce` lays it out.
    fs::create_dir(folder.path().join("study")).unwrap();
    fs::rename(&pair, folder.path().join("study/model")).unwrap();
    let arguments = ["bundle", "study", "--author", "Doe, Jane"];
    ended(folder.path(), &arguments, 0);
    let text = ended(folder.path(), &["run", "study.wirespeed.tar.gz", "--out", "again"], 0);
    assert!(text.contains("model/runs/congestion=cubic,r0") && text.contains("Reproduced: 2 runs"), "{text}");
    assert!(folder.path().join("again/model/runs/congestion=cubic,r0/run.json").exists());
}

#[test]
fn what_is_wrong_with_a_command_is_said_with_what_to_type() {
    let folder = packed();
    let refused = |arguments: &[&str], expected: &str| {
        let output = wirespeed(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = message(&output);
        assert!(text.contains(expected), "{text}");
    };
    refused(&["bundle", "pair", "--author", "Doe, Jane"], "pair.wirespeed.tar.gz exists already");
    refused(&["bundle", "pair", "--out", "b", "--author", "Your Name"], "is not the name of an author");
    refused(
        &["bundle", "pair", "--out", "b", "--author", "A, B", "--license", "CC BY"],
        "`CC BY` is not an SPDX identifier",
    );
    refused(&["run", FILE, "--set", "path.rtt=1 ms"], "--set is not for bundles");
    refused(&["run", FILE, "--out", "pair"], "pair has results already");
    let nameless = command(folder.path(), &["bundle", "pair", "--out", "b"])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder.path())
        .output()
        .unwrap();
    assert_eq!(nameless.status.code(), Some(2));
    assert!(message(&nameless).contains("no author is named"), "{}", message(&nameless));
    fs::write(folder.path().join("pair/runs/congestion=reno,r0/INCOMPLETE"), "no more memory\n").unwrap();
    refused(&["bundle", "pair", "--out", "b", "--author", "A, B"], "congestion=reno,r0 (no more memory)");
    let text = pack(folder.path(), &["--out", "part.tar.gz", "--allow-incomplete"], 0);
    assert!(text.contains("Packed 1 run into part.tar.gz"), "{text}");
    let text = ended(folder.path(), &["bundle", "--show", "part.tar.gz"], 0);
    assert!(text.contains("Incomplete results/runs/congestion=reno,r0: no more memory"), "{text}");
    assert!(!folder.path().join("b").exists());
}
