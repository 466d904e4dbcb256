//! The reference page of the tables is generated from their definitions; here the committed page is compared.

use std::collections::BTreeSet;
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

/// The words in backquotes in the first cells of the table whose header begins with `header`.
fn first_cells(page: &str, header: &str) -> BTreeSet<String> {
    let (_, table) = page.split_once(&format!("\n{header}")).unwrap_or_else(|| panic!("no table {header}"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn results() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/results.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn page_of_results_lists_every_file_of_a_run() {
    let listed = first_cells(&results(), "| File |");
    let mut files: BTreeSet<String> = tables().iter().map(|(name, ..)| format!("{name}.parquet")).collect();
    files.extend(["run.json", "metrics.json", "SHA256SUMS", "INCOMPLETE", "raw/"].map(str::to_owned));
    assert_eq!(listed, files, "docs/reference/results.md (left) differs from crates/base/record (right)");
}

#[test]
fn page_of_results_lists_every_key_of_run_json() {
    let source = include_str!("../src/info.rs");
    let (_, fields) = source.split_once("pub struct RunInfo {\n").unwrap();
    let fields = fields.split_once("\n}").unwrap().0.lines();
    let keys =
        fields.filter_map(|line| Some(line.trim().strip_prefix("pub ")?.split_once(':')?.0.to_owned()));
    let keys: BTreeSet<String> = keys.collect();
    assert!(keys.len() > 20, "only {keys:?} were found");
    let (_, section) =
        results().split_once("\n## run.json\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let listed = first_cells(&section, "| Key |");
    assert_eq!(listed, keys, "docs/reference/results.md (left) differs from `RunInfo` (right)");
}
