//! Other programs open what is exported: flent and the package iperf3 of PyPI, in a Python environment that has them.
//!
//! The environment is `WIRESPEED_LOADERS` (`make test` sets it to the one of `tools/python-environment`), or that of `python3`.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{exported, run};

/// A Python that can import a module; `None`, with a report that the test is skipped, if there is none.
fn python(test: &str, module: &str) -> Option<PathBuf> {
    let own = std::env::var_os("WIRESPEED_LOADERS").map(|folder| Path::new(&folder).join("bin/python"));
    let found = own.unwrap_or_else(|| "python3".into());
    let imports = Command::new(&found).args(["-c", &format!("import {module}")]).output();
    if imports.is_ok_and(|output| output.status.success()) {
        return Some(found);
    }
    let reason = format!(
        "{} cannot import {module}; type `make setup`, or set WIRESPEED_LOADERS to a Python environment with flent, matplotlib and iperf3",
        found.display()
    );
    wirespeed_testbed::skip(test, &reason);
    None
}

/// What a program reads of a file of the recording of the other tests.
fn loaded(python: &Path, program: &str, number: usize) -> Value {
    let (name, bytes) = exported(&run(), program).swap_remove(number);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, bytes).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loaders.py");
    let mut command = Command::new(python);
    // Nothing of the user's own settings, and no screen.
    command.env("HOME", folder.path()).env("MPLBACKEND", "Agg");
    let output = command.arg(script).arg(program).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn flent_loads_and_plots_what_is_exported() {
    let Some(python) = python("flent_loads_and_plots_what_is_exported", "flent.plotters, matplotlib") else {
        return;
    };
    let read = loaded(&python, "flent", 0);
    assert_eq!(
        (&read["name"], &read["step"], &read["length"]),
        (&"tcp_nup".into(), &0.05.into(), &13.0.into())
    );
    let means = [
        ("TCP upload::1", 100.0),
        ("TCP upload::2", 50.0),
        ("TCP upload sum", 150.0),
        ("UDP upload::1", 16.0),
    ];
    for (series, mean) in means {
        let found = read["series"][series]["mean"].as_f64().unwrap();
        assert!((found - mean).abs() < 1e-9, "{series}: {found}");
    }
    let rtt = &read["first_rtt"]["TCP upload::1"];
    assert_eq!(rtt[1], 10.001, "milliseconds");
    assert!((rtt[0].as_f64().unwrap() - 4.05).abs() < 1e-6, "{rtt}: seconds since the start");
    assert_eq!(read["csv_lines"], 262, "a header, 4 s without values before the run, and 5 s after it");
    let drawn = read["drawn"].as_array().unwrap();
    let listed = read["plots"].as_array().unwrap();
    assert!(drawn.len() >= 8 && drawn.iter().all(|plot| listed.contains(plot)), "{drawn:?} of {listed:?}");
    assert!(read["stats"].as_str().unwrap().contains("TCP upload::1"));
}

#[test]
fn iperf3_package_reads_what_is_exported() {
    let Some(python) = python("iperf3_package_reads_what_is_exported", "iperf3") else { return };
    let tcp = loaded(&python, "iperf3", 0);
    assert_eq!(
        (&tcp["type"], &tcp["reverse"], &tcp["error"]),
        (&"client".into(), &false.into(), &Value::Null)
    );
    assert_eq!((&tcp["received_bytes"], &tcp["received_Mbps"]), (&56_250_000.into(), &150.0.into()));
    assert_eq!((&tcp["num_streams"], &tcp["retransmits"]), (&2.into(), &120.into()));
    assert_eq!((&tcp["local_host"], &tcp["remote_host"]), (&"a".into(), &"b".into()));
    let udp = loaded(&python, "iperf3", 1);
    assert_eq!(
        (&udp["protocol"], &udp["packets"], &udp["lost_packets"]),
        (&"UDP".into(), &6666.into(), &666.into())
    );
}
