//! A program with the model only needs Rust and nothing else. `make lint` compiles it; here its dependencies are read.

use std::collections::BTreeSet;
use std::process::Command;

/// Crates that need Linux, or a C library.
const LINUX: [&str; 8] = [
    "landlock",
    "libbpf-rs",
    "libbpf-sys",
    "netlink-packet-core",
    "netlink-packet-route",
    "wirespeed-bpf",
    "wirespeed-host",
    "wirespeed-kernel",
];

/// Crates with which build scripts compile C or look for C libraries.
const COMPILERS: [&str; 5] = ["bindgen", "cc", "cmake", "pkg-config", "vcpkg"];

/// All dependencies of the program, those of build scripts included.
fn dependencies(features: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--package", "wirespeed", "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}"])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo built this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("names of crates are text");
    lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn program_with_the_model_only_compiles_no_c_and_needs_no_linux() {
    let found = dependencies(&["--no-default-features", "--features", "model"]);
    let forbidden = || LINUX.iter().chain(&COMPILERS).chain(&["snow"]);
    let wrong: Vec<&&str> = forbidden().filter(|name| found.contains(**name)).collect();
    assert!(wrong.is_empty(), "the model needs {wrong:?}");
    assert!(found.contains("wirespeed-sim"), "{found:?}");
}

#[test]
fn each_substrate_on_linux_brings_all_of_them() {
    let all = dependencies(&[]);
    assert!(LINUX.iter().all(|name| all.contains(*name)), "{all:?}");
    for feature in ["kernel", "netns", "hosts"] {
        assert_eq!(dependencies(&["--no-default-features", "--features", feature]), all, "{feature}");
    }
}
