//! The committed reference page is what the registry says.

use std::fs;
use std::path::Path;

#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/metrics.md");
    let page = wirespeed_metrics::reference();
    if std::env::var_os("WIRESPEED_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference/metrics.md is not what the registry says; rewrite it with\n  \
         WIRESPEED_BLESS=1 cargo test -p wirespeed-metrics --test reference"
    );
}
