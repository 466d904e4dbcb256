//! The committed pages are what rules and formulas give.

use std::fs;
use std::path::Path;

fn compare(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference").join(name);
    if std::env::var_os("WIRESPEED_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference/{name} differs from the code; write it with\n  \
         WIRESPEED_BLESS=1 cargo test -p wirespeed-diagnosis --test reference"
    );
}

#[test]
fn page_of_rules_is_up_to_date() {
    compare("rules.md", &wirespeed_diagnosis::audit::reference());
}

#[test]
fn page_of_wanted_values_is_up_to_date() {
    compare("wanted-values.md", &wirespeed_diagnosis::audit::wanted_values());
}
