//! What the pages of the congestion controls (`docs/models/congestion/`) say of the validation grid: between two marks, from
//! the committed data alone.

use super::causes::Causes;
use super::compare::{Compared, Comparison, QUANTITIES};
use super::page::goodput;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where a page's part begins ...
const BEGIN: &str =
    "<!-- Written by `wirespeed validate` from docs/validation. Do not edit from here ... -->\n";
/// ... and where it ends.
const END: &str = "<!-- ... to here. -->\n";

/// The folder of the pages, if the validation's `folder` is that of the project.
pub fn folder(validation: &Path) -> Option<PathBuf> {
    let pages = validation.join("../models/congestion");
    pages.is_dir().then_some(pages)
}

/// What the grid says of a control: `None` if it has no cells of it. `other` is what is compared with the kernel.
pub fn section(control: &str, other: &str, comparison: &Comparison, causes: &Causes) -> Option<String> {
    let summary = comparison.blocks.iter().find(|summary| summary.name == control)?;
    let cells: Vec<&Compared> =
        comparison.cells.iter().filter(|cell| cell.cell.values[0] == control).collect();
    let mut out = format!(
        "Over its {} cells of [the grid](../../validation/README.md), {} against kernel, by the relative error of a \
         cell's means, either way:\n\n| | median | worst | where |\n|---|--:|--:|---|\n",
        summary.cells, other
    );
    for (index, quantity) in QUANTITIES.iter().enumerate().filter(|(index, _)| comparison.has(*index)) {
        let error = |cell: &&&Compared| cell.pairs[index].and_then(|pair| pair.error()).map(f64::abs);
        let worst = cells
            .iter()
            .filter(|cell| error(cell).is_some())
            .max_by(|a, b| error(a).partial_cmp(&error(b)).unwrap());
        let percent =
            |error: Option<f64>| error.map_or("–".into(), |error| format!("{:.1} %", error * 100.0));
        let place = worst.map_or(String::new(), |cell| place(cell));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {place} |",
            quantity.title,
            percent(summary.median_errors[index]),
            percent(worst.as_ref().and_then(error)),
        );
    }
    out.push('\n');
    let outside: Vec<&Compared> =
        comparison.outside().into_iter().filter(|cell| cell.cell.values[0] == control).collect();
    if outside.is_empty() {
        out.push_str("No cell is outside the stated agreement.\n");
        return Some(out);
    }
    let _ = write!(out, "Outside the stated agreement: {} of {}.\n\n", outside.len(), summary.cells);
    for cell in outside {
        let [kernel, model, error] = goodput(cell);
        let cause = causes.of(cell.cell.number).unwrap_or("Not explained yet.").replace('\n', " ");
        let _ = writeln!(out, "- {}: {model} Mbit/s, the kernel {kernel} ({error}). {cause}", place(cell));
    }
    Some(out)
}

/// A cell's number and what sets it apart from the others of its control.
fn place(cell: &Compared) -> String {
    let title = cell.cell.title();
    let factors = title.split_once(", ").map_or(title.as_str(), |(_, factors)| factors);
    format!("cell {}: {factors}", cell.cell.number)
}

/// The page with that section between its marks; `None` if it has no marks.
pub fn put(page: &str, section: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{section}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::super::control::controls;
    use super::super::data;
    use super::super::section::sections;
    use super::super::testing::row;
    use super::*;
    use std::fs;

    #[test]
    fn the_section_names_the_worst_cell_and_the_cause_of_those_outside() {
        let kernel: Vec<_> = (1..=2).flat_map(|cell| (0..3).map(move |i| row(cell, i, 1e9))).collect();
        let model: Vec<_> = (1..=2)
            .flat_map(|cell| (0..3).map(move |i| row(cell, i, if cell == 2 { 5e8 } else { 1e9 })))
            .collect();
        let comparison = Comparison::new(&sections()[0], &kernel, &model);
        let causes: Causes = toml::from_str("[[cause]]\ncells = [2]\nexplanation = \"a\\nb\"").unwrap();
        let control = comparison.cells[1].cell.values[0].clone();
        let text = section(&control, "model", &comparison, &causes).unwrap();
        let place = place(&comparison.cells[1]);
        assert!(text.contains(&format!("| 50.0 % | {place} |")), "{text}");
        assert!(
            text.contains(&format!("- {place}: 500 ± 0 Mbit/s, the kernel 1000 ± 0 (-50.0 %). a b")),
            "{text}"
        );
        assert_eq!(section("tahoe", "model", &comparison, &causes), None);
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = format!("# a\n\n{BEGIN}old\n{END}\nmore\n");
        assert_eq!(put(&page, "new\n").unwrap(), format!("# a\n\n{BEGIN}\nnew\n\n{END}\nmore\n"));
        assert_eq!(put("# a\n", "new\n"), None);
    }

    /// `WIRESPEED_BLESS=1` writes the pages from the committed data without running anything.
    #[test]
    fn the_pages_say_what_the_committed_data_does() {
        let validation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/validation");
        let rows = |file: &str| data::read(&sections()[0], &validation.join(file)).unwrap();
        let comparison = Comparison::new(&sections()[0], &rows("kernel.csv"), &rows("model.csv"));
        let causes = Causes::read(&validation.join("causes.toml")).unwrap();
        let pages = folder(&validation).unwrap();
        for control in controls() {
            let path = pages.join(format!("{}.md", control.name));
            let page = fs::read_to_string(&path).unwrap();
            let section = section(&control.name, "model", &comparison, &causes).unwrap();
            let wanted = put(&page, &section).unwrap_or_else(|| panic!("{} has no marks", path.display()));
            if page != wanted && std::env::var_os("WIRESPEED_BLESS").is_some_and(|value| value == "1") {
                fs::write(&path, &wanted).unwrap();
                continue;
            }
            assert!(
                page == wanted,
                "{} is not what docs/validation says: WIRESPEED_BLESS=1 cargo test -p wirespeed-validation",
                path.display()
            );
        }
        // A control without cells must not seem to have some.
        for entry in fs::read_dir(&pages).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let has_marks = fs::read_to_string(&path).unwrap().contains(BEGIN);
            assert_eq!(has_marks, controls().iter().any(|control| control.name == name), "{name}");
        }
    }
}
