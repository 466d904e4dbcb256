//! The pages of reference that follow from this crate: the committed ones are compared. `WIRESPEED_BLESS=1` writes them.

mod presets;
mod scenario;

use std::fs;
use std::path::Path;

/// Compares a page with the committed one of that name.
fn compare(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference").join(name);
    if std::env::var_os("WIRESPEED_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference/{name} differs from crates/base/scenario; write it with\n  \
         WIRESPEED_BLESS=1 cargo test -p wirespeed-scenario --test reference"
    );
}

/// The lines below the title, the same on every page.
fn head(title: &str, about: &str) -> String {
    format!(
        "# {title}\n\n\
         <!-- Generated from crates/base/scenario by `WIRESPEED_BLESS=1 cargo test -p wirespeed-scenario`. Do not edit. -->\n\n\
         {about}\n"
    )
}
