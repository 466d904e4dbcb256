//! Folders of results and bundles of them.

use std::path::{Path, PathBuf};
use wirespeed_bundle::{Data, Packing};
use wirespeed_record::{Event, EventKind, Recording, RunDirectory, RunInfo, ToolInfo};

/// Writes a complete run of two events.
pub fn write_run(directory: &Path, id: &str) {
    let event = |t_ns| Event {
        t_ns,
        kind: EventKind::FlowStart,
        flow: Some(0),
        host: Some("sender".into()),
        detail: String::new(),
        burst_packet: None,
    };
    let info = RunInfo {
        id: id.into(),
        study: "pair".into(),
        about: "Does it hold?".into(),
        factors: [("flow.congestion".into(), "cubic".into())].into(),
        tool: ToolInfo { version: "0.1.0".into(), git: "abc".into(), program: None },
        ..Default::default()
    };
    let run = RunDirectory::create(directory).unwrap();
    std::fs::write(run.raw().join("console.log"), "booted\n").unwrap();
    run.finish(&Recording { info, events: vec![event(0), event(1)], ..Default::default() }).unwrap();
}

/// A folder of results with two runs.
pub fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("out");
    for id in ["a=1,r0", "a=2,r0"] {
        write_run(&results.join("runs").join(id), id);
    }
    std::fs::write(results.join("means.csv"), "metric\n").unwrap();
    folder
}

/// How the tests pack.
pub fn packing(folder: &Path) -> Packing<'_> {
    Packing {
        folder,
        name: "pair".into(),
        data: Data::Tables,
        with_addresses: false,
        allow_incomplete: false,
        authors: vec!["Doe, Jane".parse().unwrap()],
        license: Some("CC-BY-4.0".parse().unwrap()),
        inputs: Vec::new(),
        inputs_folder: "campaign/scenario",
        kernels: Vec::new(),
        tool: ToolInfo::default(),
    }
}

/// A bundle of [`results`] in its folder.
#[allow(dead_code, reason = "not every test needs a bundle that is written already")]
pub fn bundle(folder: &Path) -> PathBuf {
    let out = folder.join("pair.wirespeed.tar.gz");
    packing(&folder.join("out")).write(&out).unwrap();
    out
}
