//! Names the program that computes results, so that two files of results can be told to be of one program or of two.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Crates whose code decides what a run of the model gives.
const CRATES: [&str; 4] = ["base/congestion", "base/scenario", "model/sim", "base/units"];

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../..");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in CRATES {
        let folder = root.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        for (path, code) in sources(&folder) {
            for byte in path.bytes().chain(code.bytes()) {
                // FNV-1a.
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    println!("cargo::rustc-env=WIRESPEED_PROGRAM={hash:016x}");
}

/// The sources below a folder in the order of their names: path from there, and code.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let entries = fs::read_dir(&next).expect("the repository has the crate's sources");
        for path in entries.map(|entry| entry.expect("a folder of sources can be listed").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source is text");
                let inner = path.strip_prefix(folder).expect("it is below");
                found.push((inner.to_string_lossy().replace('\\', "/"), code(&text)));
            }
        }
    }
    // Files of tests change no result.
    found.retain(|(path, _)| !path.split('/').any(|part| part == "tests" || part == "tests.rs"));
    found.sort();
    found
}

/// What of a source is compiled into the program: no comments of their own lines, no empty lines, no tests at its end.
fn code(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines =
        lines.take_while(|line| *line != "#[cfg(test)]" || !text.contains("\n#[cfg(test)]\nmod tests {"));
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}
