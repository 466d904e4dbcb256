//! The page docs/reference/counters.md, made from the tables.

use crate::drivers::{Driver, GENERIC, drivers};
use crate::reading::Row;
use crate::source::sources;
use crate::sources::qdisc_rows;
use std::fmt::Write;

/// The page.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    out.push_str("\n## Sources\n\n| source | what | needs | documented in |\n| --- | --- | --- | --- |\n");
    for source in sources() {
        let cells = [source.about(), source.needs(), source.documented()].map(cell);
        let _ = writeln!(out, "| `{}` | {} |", source.name(), cells.join(" | "));
    }
    for source in sources().iter().filter(|source| source.name() != "ethtool") {
        let _ = write!(out, "\n## Source {}\n\n{HEADER}", source.name());
        source.rows().iter().for_each(|row| line(&mut out, row));
        if source.name() == "qdisc" {
            let fields = qdisc_rows::KINDS.iter().flat_map(|(_, fields)| fields.iter());
            fields.for_each(|field| line(&mut out, &field.row));
        }
    }
    out.push_str("\n## Source ethtool\n\nA table per driver. A counter that its table leaves out has no known meaning.\n");
    for driver in drivers().iter().copied().chain([&GENERIC]) {
        table(&mut out, driver);
    }
    out
}

const INTRODUCTION: &str = "# Counters\n\n\
    <!-- Generated from crates/linux/host by `WIRESPEED_BLESS=1 cargo test -p wirespeed-host`. Do not edit. -->\n\n\
    What a Linux host counts, and what it means. Stages are those of the [ledger](../explanation/ledger.md). In a pattern `{queue}` \
    is the number of a queue, `{n}` any other number, `*` anything.\n\n\
    A *loss* with a stage is counted there, unless another counter that is read has the same packets (column \"repeats\"): then that \
    one is. *buffers* are socket buffers; with segmentation or merging in use one holds several packets, so that the packets lost \
    are at least as many. *events* say nothing about packets.\n";

const HEADER: &str = "| counter | stage | way | meaning | unit | counted by | repeats | what |\n\
    | --- | --- | --- | --- | --- | --- | --- | --- |\n";

fn table(out: &mut String, driver: &Driver) {
    let _ = write!(
        out,
        "\n### {}\n\n{}. Read in {}.\n\n{HEADER}",
        if driver.name == "*" { "Other drivers" } else { driver.name },
        cell(driver.about),
        cell(driver.documented)
    );
    driver.rows.iter().for_each(|row| line(out, row));
    if !driver.link.is_empty() {
        let _ = write!(out, "\nSource link with this driver:\n\n{HEADER}");
        driver.link.iter().for_each(|row| line(out, row));
    }
}

fn line(out: &mut String, row: &Row) {
    let sense = row.sense;
    let duplicates: Vec<String> = row.duplicate_of.iter().map(|name| format!("`{}`", cell(name))).collect();
    let _ = writeln!(
        out,
        "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
        cell(row.pattern),
        sense.stage.map_or("", |stage| stage.word()),
        sense.way.map_or("", |way| way.word()),
        sense.meaning,
        sense.unit,
        sense.origin,
        duplicates.join(", "),
        cell(row.about),
    );
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
