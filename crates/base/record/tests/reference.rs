//! The reference page of the tables is generated from their definitions; here the committed page is compared.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use wirespeed_record::{FORMAT_VERSION, tables};

fn page() -> String {
    let mut out = format!(
        "# Tables\n\n\
         <!-- Generated from crates/base/record by `WIRESPEED_BLESS=1 cargo test -p wirespeed-record`. Do not edit. -->\n\n\
         The tables of a run directory, format version {FORMAT_VERSION}. [Results](results.md) says what else is in it.\n"
    );
    for (name, doc, columns) in tables() {
        let _ = write!(out, "\n## {name}.parquet\n\n{doc}\n\n| column | definition |\n| --- | --- |\n");
        for column in columns {
            let _ = writeln!(out, "| `{}` | {} |", column.name, column.doc.replace('|', "\\|"));
        }
    }
    out
}

#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/tables.md");
    if std::env::var_os("WIRESPEED_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, page()).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page(),
        "docs/reference/tables.md is not what crates/base/record says; \
         WIRESPEED_BLESS=1 cargo test -p wirespeed-record --test reference"
    );
}
