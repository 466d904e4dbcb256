//! The committed reference page is what the tables say.

use std::fs;
use std::path::Path;

#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/counters.md");
    let page = wirespeed_host::reference();
    if std::env::var_os("WIRESPEED_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference/counters.md is not what the tables say; rewrite it with\n  \
         WIRESPEED_BLESS=1 cargo test -p wirespeed-host --test reference"
    );
}
