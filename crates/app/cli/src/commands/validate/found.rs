//! What was found in a section, and the files that say so.

use crate::failure::Failure;
use std::collections::BTreeSet;
use std::path::Path;
use wirespeed_record::{SubstrateKind, replace_file};
use wirespeed_validation::compare::criteria;
use wirespeed_validation::{
    Causes, Comparison, Criterion, Page, QUANTITIES, Row, Section, data, distances, other_programs, page,
    pages, scatter, sections,
};

/// A section's rows on both sides, compared.
pub struct Found {
    pub section: &'static Section,
    /// What is compared with the kernel.
    pub other: SubstrateKind,
    kernel: Vec<Row>,
    rows: Vec<Row>,
    /// The same with trains of one packet; empty if they were not made.
    single: Vec<Row>,
    pub comparison: Comparison,
    pub without: Option<Comparison>,
    pub causes: Causes,
}

impl Found {
    /// Compares a section's rows. Causes of disagreement are in its folder below `validation`.
    pub fn new(
        section: &'static Section,
        other: SubstrateKind,
        kernel: Vec<Row>,
        rows: Vec<Row>,
        single: Vec<Row>,
        validation: &Path,
    ) -> Result<Found, Failure> {
        let comparison = Comparison::new(section, &kernel, &rows);
        let without = (!single.is_empty()).then(|| Comparison::new(section, &kernel, &single));
        let causes = Causes::read(&section.path(validation, "causes.toml"))?;
        Ok(Found { section, other, kernel, rows, single, comparison, without, causes })
    }

    /// What the files in `validation` say of a section; `None` if it has no rows of the substrate `other`.
    fn read(
        section: &'static Section,
        other: SubstrateKind,
        validation: &Path,
    ) -> Result<Option<Found>, Failure> {
        let read = |file: &str| data::read(section, &section.path(validation, file));
        let (kernel, rows) = (read("kernel.csv")?, read(&format!("{other}.csv"))?);
        let single = read(&format!("{other}-without-trains.csv"))?;
        // A cell that has been run on one side only is not of this comparison.
        let numbers = |rows: &[Row]| rows.iter().map(|row| row.cell.number).collect::<BTreeSet<u32>>();
        let there = numbers(&rows);
        let kernel: Vec<Row> = kernel.into_iter().filter(|row| there.contains(&row.cell.number)).collect();
        (!kernel.is_empty()).then(|| Found::new(section, other, kernel, rows, single, validation)).transpose()
    }

    pub fn criteria(&self) -> Vec<Criterion> {
        criteria(self.section, &self.comparison, self.without.as_ref())
    }

    pub fn agrees(&self) -> bool {
        self.criteria().iter().all(|criterion| criterion.is_met)
    }

    /// Writes the rows of the substrate, and those without trains if `with_single`.
    pub fn write_data(&self, validation: &Path, with_single: bool) -> Result<(), Failure> {
        let comment = |how: &str| {
            let option = match self.section.folder {
                "" => String::new(),
                _ => format!(" --section {}", self.section.name),
            };
            format!(
                "Substrate {} over the validation grid. Made by: wirespeed validate{option}{how}",
                self.other
            )
        };
        let path = |file: String| self.section.path(validation, &file);
        let text = data::render(self.section, &comment(""), &self.rows);
        write(&path(format!("{}.csv", self.other)), &text)?;
        if with_single {
            let text = data::render(self.section, &comment(" --trains off"), &self.single);
            write(&path(format!("{}-without-trains.csv", self.other)), &text)?;
        }
        Ok(())
    }

    /// Writes the section's page and plots; the first section's page shows the verdicts of the `others`.
    fn write_page(&self, validation: &Path, others: &[String]) -> Result<(), Failure> {
        let programs = other_programs(&self.rows, &self.single);
        if let Some(difference) = &programs {
            let file = self.section.path(validation, &format!("{}-without-trains.csv", self.other));
            eprintln!("warning: {}: {difference}", file.display());
        }
        let trains = match self.single.is_empty() {
            true => Vec::new(),
            false => distances(&self.single, &self.rows),
        };
        let builds: BTreeSet<String> = self.kernel.iter().map(|row| row.build.clone()).collect();
        let builds: Vec<String> = builds.into_iter().collect();
        let page = Page {
            other: self.other.word(),
            section: self.section,
            comparison: &self.comparison,
            without: self.without.as_ref(),
            causes: &self.causes,
            trains: &trains,
            builds: &builds,
            programs: programs.as_deref(),
            others,
        };
        for (index, quantity) in
            QUANTITIES.iter().enumerate().filter(|(index, _)| self.comparison.has(*index))
        {
            let plot = scatter::plot(&self.comparison, index, self.other.word());
            write(&self.section.path(validation, &page::plot_name(quantity)), &plot)?;
        }
        write(&self.section.path(validation, "README.md"), &page.render())
    }
}

/// Writes the pages of all sections from the files in `validation`.
pub fn write_all(validation: &Path, other: SubstrateKind) -> Result<(), Failure> {
    let mut found = Vec::new();
    for section in sections() {
        found.extend(Found::read(section, other, validation)?);
    }
    let verdict = |found: &Found| {
        let cells = found.comparison.all.cells;
        page::verdict(found.section, cells, &found.criteria())
    };
    let others: Vec<String> =
        found.iter().filter(|found| !found.section.folder.is_empty()).map(verdict).collect();
    for found in &found {
        found.write_page(validation, &others)?;
    }
    match found.first() {
        Some(first) if first.section.folder.is_empty() && other == SubstrateKind::Model => {
            write_pages(validation, first)
        }
        _ => Ok(()),
    }
}

/// Puts into the pages of the congestion controls what was found of each.
fn write_pages(validation: &Path, found: &Found) -> Result<(), Failure> {
    let Some(folder) = pages::folder(validation) else { return Ok(()) };
    for control in &found.comparison.blocks {
        let path = folder.join(format!("{}.md", control.name));
        let Ok(page) = std::fs::read_to_string(&path) else { continue };
        let section = pages::section(&control.name, found.other.word(), &found.comparison, &found.causes);
        if let Some(text) = section.and_then(|section| pages::put(&page, &section)) {
            write(&path, &text)?;
        }
    }
    Ok(())
}

/// Writes a whole file at once.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    replace_file(path, text.as_bytes())
        .map_err(|source| Failure::Output { what: path.display().to_string(), source })
}
