//! Reads text as the history of a mesh: whatever it says, that ends in a summary or in a mistake with a line.

use std::path::Path;
use wirespeed_mesh::{History, prometheus, summarise};

/// Takes it as far as it goes.
pub fn read(text: &str) {
    let Ok(all) = History::parse(text, Path::new("mesh.jsonl")) else { return };
    let page = prometheus(&all);
    // Whatever a host is called, it does not begin a line of its own.
    assert!(page.lines().all(|line| line.starts_with('#') || line.starts_with("wirespeed_")), "{page}");
    if let Some(summary) = summarise(&all) {
        serde_json::to_string(&summary).expect("a summary is plain data");
    }
}
