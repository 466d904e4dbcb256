//! Compresses plotly.js, which is in every report: as it is, it would be a fifth of the program.

use std::path::Path;
use std::{env, fs};

/// Higher levels take three times as long for 1 % less.
const LEVEL: u8 = 6;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // plotly.js alone: the crate hands it out in front of MathJax, which no report uses.
    let sources = plotly::Plot::offline_js_sources();
    let (_, script) = sources.split_once('>').expect("the sources begin with a script tag");
    let (script, _) = script.split_once("</script").expect("a script ends");
    let out = env::var("OUT_DIR").expect("set by cargo");
    let compressed = miniz_oxide::deflate::compress_to_vec(script.as_bytes(), LEVEL);
    fs::write(Path::new(&out).join("plotly.js.deflate"), compressed)
        .expect("the output folder can be written");
}
