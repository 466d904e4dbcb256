//! A bundle has what the folder has, the same bytes each time, and only results as they were recorded.

mod support;

use serde_json::json;
use std::fs;
use std::path::Path;
use support::{bundle, packing, results, write_run};
use wirespeed_bundle::{BundleError, Data, Input, Packing, RunFacts, compare, unpack, verify};
use wirespeed_record::{HostInfo, Recording, RunDirectory, RunInfo, read_info};

#[test]
fn the_same_folder_gives_the_same_bytes() {
    let folder = results();
    let [first, second] = ["1.tar.gz", "2.tar.gz"].map(|name| {
        let out = folder.path().join(name);
        packing(&folder.path().join("out")).write(&out).unwrap();
        fs::read(out).unwrap()
    });
    assert!(first == second);
}

#[test]
fn unpacked_runs_are_those_of_the_folder() {
    let folder = results();
    let (file, target) = (bundle(folder.path()), folder.path().join("unpacked"));
    let manifest = unpack(&file, &target).unwrap();
    assert_eq!(manifest, verify(&file).unwrap());
    assert_eq!((manifest.runs.len(), manifest.studies.as_slice()), (2, &["pair".to_owned()][..]));
    for run in &manifest.runs {
        let facts = RunFacts::read(&target.join(&run.folder)).unwrap();
        assert!(compare(run, Ok(&facts)).verdict.is_same());
        assert!(!target.join(&run.folder).join("raw").exists(), "raw/ is for --data all");
    }
    assert_eq!(fs::read(target.join("results/means.csv")).unwrap(), b"metric\n");
    let page = fs::read_to_string(target.join("README.md")).unwrap();
    assert!(page.contains("wirespeed run pair.wirespeed.tar.gz") && page.contains("CC-BY-4.0"), "{page}");
    let left: Vec<_> = manifest.left_out.iter().map(|left| left.what.as_str()).collect();
    assert_eq!(left, ["the scenario file", "console logs and captures (raw/)"]);
}

#[test]
fn data_of_runs_are_whole_tables_or_results() {
    let folder = results();
    for (data, has_raw, has_table, has_sums) in [
        (Data::All, true, true, true),
        (Data::Tables, false, true, true),
        (Data::Results, false, false, false),
    ] {
        let out = folder.path().join(data.word());
        let source = folder.path().join("out");
        let packed = Packing { data, ..packing(&source) }.write(&out).unwrap();
        let has = |name: &str| packed.manifest.files.contains_key(&format!("results/runs/a=1,r0/{name}"));
        let found = (has("raw/console.log"), has("events.parquet"), has("SHA256SUMS"));
        assert_eq!(found, (has_raw, has_table, has_sums), "{}", data.word());
        assert!(has("run.json"));
        assert!(packed.manifest.runs[0].tables.contains_key("events.parquet"), "the sum is always there");
        verify(&out).unwrap();
    }
}

#[test]
fn nothing_is_overwritten_and_nothing_stays_of_a_bundle_that_failed() {
    let folder = results();
    let out = folder.path().join("there");
    fs::write(&out, "mine").unwrap();
    let error = packing(&folder.path().join("out")).write(&out).unwrap_err();
    assert!(matches!(error, BundleError::Occupied(_)), "{error}");
    assert_eq!(fs::read(&out).unwrap(), b"mine");
    let file = bundle(folder.path());
    fs::create_dir(folder.path().join("taken")).unwrap();
    assert!(matches!(unpack(&file, &folder.path().join("taken")), Err(BundleError::Occupied(_))));
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("partial")));
}

#[test]
fn changed_run_is_refused_by_name() {
    let folder = results();
    let table = folder.path().join("out/runs/a=2,r0/events.parquet");
    let mut bytes = fs::read(&table).unwrap();
    bytes[10] ^= 1;
    fs::write(&table, bytes).unwrap();
    let error = packing(&folder.path().join("out")).write(&folder.path().join("b")).unwrap_err().to_string();
    assert!(
        error.contains("a=2,r0/events.parquet") && error.contains("has changed since the run"),
        "{error}"
    );
    assert!(!folder.path().join("b").exists());
}

#[test]
fn incomplete_runs_are_refused_by_name_or_packed_as_their_reason() {
    let folder = results();
    let source = folder.path().join("out");
    RunDirectory::create(&source.join("runs/a=3,r0")).unwrap().mark("no more memory").unwrap();
    let error = packing(&source).write(&folder.path().join("b")).unwrap_err().to_string();
    assert_eq!(error, "1 of 3 runs are incomplete: a=3,r0 (no more memory)");
    let packed =
        Packing { allow_incomplete: true, ..packing(&source) }.write(&folder.path().join("b")).unwrap();
    assert_eq!(packed.manifest.runs.len(), 2);
    assert_eq!(packed.manifest.incomplete[0].reason, "no more memory");
    assert!(packed.manifest.files.contains_key("results/runs/a=3,r0/INCOMPLETE"));
}

#[test]
fn runs_of_a_study_that_was_reproduced_keep_their_folders() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("ulm");
    write_run(&source.join("model/runs/x,r0"), "x,r0");
    write_run(&source.join("model/runs-shortened/y,r0"), "y,r0");
    write_run(&source.join("kernel/runs/x,r0"), "x,r0");
    fs::write(source.join("claims.json"), "{}").unwrap();
    let packed = packing(&source).write(&folder.path().join("b")).unwrap();
    let folders: Vec<_> = packed.manifest.runs.iter().map(|run| run.folder.as_str()).collect();
    assert_eq!(
        folders,
        ["results/kernel/runs/x,r0", "results/model/runs-shortened/y,r0", "results/model/runs/x,r0"]
    );
    assert!(packed.manifest.files.contains_key("results/claims.json"));
}

#[test]
fn scenario_of_the_folder_and_of_the_user_are_packed() {
    let folder = results();
    let source = folder.path().join("out");
    fs::create_dir_all(source.join("campaign/scenario/cc")).unwrap();
    fs::write(source.join("campaign/scenario/pair.toml"), "schema = 1\n").unwrap();
    fs::write(source.join("campaign/scenario/cc/own.c"), "int x;\n").unwrap();
    let inputs = vec![Input { name: "other.toml".into(), content: b"schema = 1\n".to_vec() }];
    let packed = Packing { inputs, ..packing(&source) }.write(&folder.path().join("b")).unwrap();
    assert_eq!(packed.manifest.inputs, ["scenario/cc/own.c", "scenario/other.toml", "scenario/pair.toml"]);
}

#[test]
fn names_of_real_hosts_stay_only_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("out");
    let info = RunInfo {
        id: "r0".into(),
        study: "real".into(),
        hosts: vec![HostInfo { name: "sender".into(), ..Default::default() }],
        scenario: json!({ "hosts": [{ "name": "sender", "reach": { "ssh": "dtn1.example.org" } }] }),
        command: "wirespeed probe dtn1.example.org x".into(),
        ..Default::default()
    };
    let run = RunDirectory::create(&source.join("runs/r0")).unwrap();
    fs::write(run.raw().join("sender.pcap"), "10.0.0.1").unwrap();
    run.finish(&Recording { info, ..Default::default() }).unwrap();
    fs::write(source.join("report.html"), "dtn1.example.org").unwrap();
    for with_addresses in [false, true] {
        let (out, target) = (
            folder.path().join(format!("{with_addresses}")),
            folder.path().join(format!("u{with_addresses}")),
        );
        Packing { with_addresses, data: Data::All, ..packing(&source) }.write(&out).unwrap();
        let manifest = unpack(&out, &target).unwrap();
        let mentions = manifest.files.keys().any(|file| mentions(&target.join(file), "dtn1"));
        assert_eq!(mentions, with_addresses);
        assert_eq!(manifest.files.contains_key("results/runs/r0/raw/sender.pcap"), with_addresses);
        let is_said = manifest.left_out.iter().any(|left| left.why.contains("--with-addresses"));
        assert_eq!(is_said, !with_addresses);
        // Its own checksums hold, whatever was removed.
        wirespeed_record::read(&target.join("results/runs/r0")).unwrap();
        assert_eq!(read_info(&target.join("results/runs/r0")).unwrap().hosts[0].name, "sender");
    }
}

fn mentions(file: &Path, word: &str) -> bool {
    String::from_utf8_lossy(&fs::read(file).unwrap()).contains(word)
}

#[test]
fn link_among_the_results_is_refused() {
    let folder = results();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("out/runs/a=1,r0/passwd")).unwrap();
    let error = packing(&folder.path().join("out")).write(&folder.path().join("b")).unwrap_err();
    assert!(matches!(&error, BundleError::NotRegular(path) if path.ends_with("passwd")), "{error}");
}

#[test]
fn path_that_is_longer_than_a_header_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let id = format!("a={},r0", "x".repeat(200));
    write_run(&folder.path().join("out/runs").join(&id), &id);
    let file = bundle(folder.path());
    assert_eq!(verify(&file).unwrap().runs[0].id, id);
}
