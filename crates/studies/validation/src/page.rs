//! The pages of the sections; the first one's is `docs/validation/README.md`, which shows the verdicts of all.

use super::bar::Criterion;
use super::causes::Causes;
use super::compare::{Compared, Comparison, Pair, QUANTITIES, Quantity, Summary, criteria};
use super::difference::Distance;
use super::scatter::significant;
use super::section::Section;
use super::statistics::Estimate;
use std::fmt::Write;

/// What a section's page shows.
pub struct Page<'a> {
    /// What is compared with the kernel: a substrate's name.
    pub other: &'a str,
    /// The section.
    pub section: &'static Section,
    /// The comparison.
    pub comparison: &'a Comparison,
    /// The same for the runs with trains of one packet, if they were made.
    pub without: Option<&'a Comparison>,
    /// What is known of cells outside.
    pub causes: &'a Causes,
    /// How far trains change the results; empty if that was not run.
    pub trains: &'a [Distance],
    /// The kernel's builds.
    pub builds: &'a [String],
    /// What is to be said if the runs without trains are of another program ([`super::other_programs`]).
    pub programs: Option<&'a str>,
    /// The verdicts of the other sections, for the page that shows all ([`verdict`]).
    pub others: &'a [String],
}

/// File name of the plot of a quantity.
pub fn plot_name(quantity: &Quantity) -> String {
    format!("{}.svg", quantity.metric)
}

/// A section's verdict for the page that shows all: heading, table.
pub fn verdict(section: &Section, cells: usize, criteria: &[Criterion]) -> String {
    let page = match section.folder {
        "" => String::new(),
        folder => format!(" [Its page]({folder}/README.md)."),
    };
    format!("## Section {}\n\n{} {cells} cells.{page}\n\n{}", section.name, section.about, table(criteria))
}

fn table(criteria: &[Criterion]) -> String {
    let mut out = String::from("| Asked | Found | |\n|---|---|---|\n");
    for criterion in criteria {
        let verdict = if criterion.is_met { "met" } else { "**not met**" };
        let _ = writeln!(out, "| {} | {} | {verdict} |", criterion.asked, criterion.found);
    }
    out
}

impl Page<'_> {
    /// As Markdown.
    pub fn render(&self) -> String {
        let other = self.other;
        let builds = self.builds.iter().map(|build| format!("`{build:.12}`")).collect::<Vec<_>>().join(", ");
        let criteria = criteria(self.section, self.comparison, self.without);
        let cells = self.comparison.all.cells;
        let title = match self.section.folder {
            "" => format!("# Validation: {other} against the kernel"),
            _ => format!("# Validation, section {}: {other} against the kernel", self.section.name),
        };
        let mut out = format!(
            "{title}\n\n<!-- Written by `wirespeed validate`. Do not edit; causes of disagreement are in causes.toml. -->\n\n"
        );
        if self.section.folder.is_empty() {
            let _ = write!(
                out,
                "The {other} and the real Linux stack (kernel build {builds}) carry out the same cells with the same \
                 seeds. The grid has {} sections. `make validate` runs them again and fails when a bar is not met.\n\n",
                1 + self.others.len()
            );
            out.push_str(&verdict(self.section, cells, &criteria));
            self.others.iter().for_each(|other| out.push_str(&format!("\n{other}")));
            let _ = write!(out, "\n## Section {} in plots\n\n", self.section.name);
        } else {
            let _ = write!(
                out,
                "{} The {other} and the real Linux stack (kernel build {builds}) carry out the same {cells} cells with \
                 the same seeds. [All sections](../README.md).\n\n{}\n",
                self.section.about,
                table(&criteria)
            );
        }
        for (_, quantity) in self.quantities() {
            let _ = writeln!(out, "![{}: {other} against kernel]({})", quantity.title, plot_name(quantity));
        }
        let (title, first) = match self.section.block() {
            "beside" => ("By algorithm beside BBR", "algorithm"),
            _ => ("By congestion control", "congestion control"),
        };
        self.summaries(&mut out, title, first, &self.comparison.blocks);
        self.summaries(&mut out, "By level of the other factors", "level", &self.comparison.levels);
        self.outside(&mut out);
        self.failing(&mut out);
        self.differences(&mut out);
        out.push('\n');
        out.push_str(self.section.method);
        self.everything(&mut out);
        out
    }

    /// The quantities that the section has.
    fn quantities(&self) -> impl Iterator<Item = (usize, &'static Quantity)> {
        QUANTITIES.iter().enumerate().filter(|(index, _)| self.comparison.has(*index))
    }

    fn summaries(&self, out: &mut String, title: &str, first: &str, summaries: &[Summary]) {
        let _ = write!(
            out,
            "\n## {title}\n\nErrors are medians over the cells of the relative error, either way.\n\n"
        );
        let titles = self.quantities().map(|(_, q)| format!("error of {}", q.title.to_lowercase()));
        let titles: Vec<String> = titles.collect();
        let _ = writeln!(
            out,
            "| {first} | cells | outside | {} |\n|---|--:|--:|{}",
            titles.join(" | "),
            "--:|".repeat(titles.len())
        );
        for summary in summaries.iter().chain([&self.comparison.all]) {
            let errors = self.quantities().map(|(index, _)| {
                summary.median_errors[index].map_or("–".into(), |e| format!("{:.1} %", e * 100.0))
            });
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                summary.name,
                summary.cells,
                summary.outside,
                errors.collect::<Vec<_>>().join(" | ")
            );
        }
    }

    fn outside(&self, out: &mut String) {
        let outside = self.comparison.outside();
        let _ = write!(out, "\n## Cells outside\n\n");
        if outside.is_empty() {
            out.push_str("None.\n");
            return;
        }
        let _ = writeln!(
            out,
            "| cell | | kernel, Mbit/s | {}, Mbit/s | error | cause |\n|--:|---|--:|--:|--:|---|",
            self.other
        );
        for cell in outside {
            let [kernel, other, error] = goodput(cell);
            let cause = self.causes.of(cell.cell.number).unwrap_or("not explained yet").replace('\n', " ");
            let _ = writeln!(
                out,
                "| {} | {} | {kernel} | {other} | {error} | {} |",
                cell.cell.number,
                cell.cell.title(),
                cause.replace('|', "\\|")
            );
        }
    }

    /// Cells that fail a bar of another quantity than goodput.
    fn failing(&self, out: &mut String) {
        let bars = self.section.bars.iter().filter(|bar| bar.quantity() != 0);
        let failing = bars.flat_map(|bar| {
            let of = if bar.is_without_trains { self.without } else { Some(self.comparison) };
            of.map(|comparison| comparison.failing(bar))
                .unwrap_or_default()
                .into_iter()
                .map(move |cell| (bar, cell))
        });
        let rows: Vec<_> = failing.collect();
        if rows.is_empty() {
            return;
        }
        let _ = write!(
            out,
            "\n## Cells outside by other quantities\n\n| quantity | cell | | kernel | {} | cause |\n|---|--:|---|--:|--:|---|\n",
            self.other
        );
        for (bar, cell) in rows {
            let quantity = &QUANTITIES[bar.quantity()];
            let trains = if bar.is_without_trains { ", without trains" } else { "" };
            let cause = self.causes.of(cell.cell.number).unwrap_or("not explained yet").replace('\n', " ");
            let _ = writeln!(
                out,
                "| {}, {}{trains} | {} | {} | {} | {} |",
                quantity.title.to_lowercase(),
                quantity.unit,
                cell.cell.number,
                cell.cell.title(),
                both(quantity, cell.pairs[bar.quantity()]),
                cause.replace('|', "\\|")
            );
        }
    }

    fn differences(&self, out: &mut String) {
        if self.trains.is_empty() {
            return;
        }
        out.push_str(
            "\n## With and without trains\n\n\
             The same runs with trains of one packet (`run.trains = false`), the reference: relative differences of \
             single runs, either way.\n\n",
        );
        if let Some(difference) = self.programs {
            let _ = write!(
                out,
                "**Not comparable as it stands:** `model-without-trains.csv` was {difference}.\n\n"
            );
        }
        out.push_str("| | | runs | the same | median | 95 % | largest |\n|---|---|--:|--:|--:|--:|--:|\n");
        for distance in self.trains {
            let quantiles = distance.quantiles.map(|q| format!("{:.2} %", q * 100.0)).join(" | ");
            let title = QUANTITIES[distance.quantity].title.to_lowercase();
            let _ = writeln!(
                out,
                "| {} | {title} | {} | {} | {quantiles} |",
                distance.of, distance.runs, distance.same
            );
        }
    }

    fn everything(&self, out: &mut String) {
        let other = self.other;
        let titles: Vec<String> = self
            .quantities()
            .map(|(_, q)| format!("{}, {} | {other}", q.title.to_lowercase(), q.unit))
            .collect();
        let _ = write!(
            out,
            "\n## All cells\n\nMeans over the runs of a cell, ± half the 95 % confidence interval; kernel first, then {other}. \
             A single run has no interval.\n\n| cell | | error | {} |\n|--:|---|--:|{}\n",
            titles.join(" | "),
            "--:|--:|".repeat(titles.len())
        );
        for cell in &self.comparison.cells {
            let pairs: Vec<String> =
                self.quantities().map(|(index, quantity)| both(quantity, cell.pairs[index])).collect();
            let [_, _, error] = goodput(cell);
            let error = if cell.agrees() { error } else { format!("**{error}**") };
            let _ = writeln!(
                out,
                "| {} | {} | {error} | {} |",
                cell.cell.number,
                cell.cell.title(),
                pairs.join(" | ")
            );
        }
    }
}

/// Kernel with its interval, other, relative error of goodput.
pub(super) fn goodput(cell: &Compared) -> [String; 3] {
    let error = cell.pairs[0].and_then(|pair| pair.error());
    let error = error.map_or("no result".into(), |error| format!("{:+.1} %", error * 100.0));
    let both = both(&QUANTITIES[0], cell.pairs[0]);
    let (kernel, other) = both.split_once(" | ").unwrap_or((&both, "–"));
    [kernel.into(), other.into(), error]
}

fn both(quantity: &Quantity, pair: Option<Pair>) -> String {
    let Some(Pair { kernel, other }) = pair else { return "– | –".into() };
    let show = |value: f64| significant(value / quantity.scale);
    let side = |e: Estimate| match e.runs {
        1 => show(e.mean),
        _ => format!("{} ± {}", show(e.mean), show(e.half_width)),
    };
    format!("{} | {}", side(kernel), side(other))
}

#[cfg(test)]
mod tests {
    use super::super::difference::distances;
    use super::super::section::sections;
    use super::super::testing::row;
    use super::*;

    #[test]
    fn the_page_says_what_disagrees_and_why() {
        let kernel: Vec<_> = (1..=2).flat_map(|cell| (0..3).map(move |i| row(cell, i, 1e9))).collect();
        let model: Vec<_> = (1..=2)
            .flat_map(|cell| (0..3).map(move |i| row(cell, i, if cell == 2 { 5e8 } else { 1e9 })))
            .collect();
        let comparison = Comparison::new(&sections()[0], &kernel, &model);
        let causes: Causes = toml::from_str("[[cause]]\ncells = [2]\nexplanation = \"a | b\"").unwrap();
        let trains = distances(&model, &model);
        let page = Page {
            other: "model",
            section: &sections()[0],
            without: None,
            others: &["## Section fast\n".into()],
            comparison: &comparison,
            causes: &causes,
            trains: &trains,
            builds: &["0123456789abcdef".into()],
            programs: Some("made by another program"),
        };
        let text = page.render();
        let title = comparison.cells[1].cell.title();
        for wanted in [
            "kernel build `0123456789ab`) carry out the same cells",
            "## Section fast\n",
            "| 1 of 2 cells: 50.0 % | **not met** |",
            &format!("| 2 | {title} | 1000 ± 0 | 500 ± 0 | -50.0 % | a \\| b |"),
            &format!("| 2 | {title} | **-50.0 %** | 1000 ± 0 | 500 ± 0 |"),
            "![Goodput: model against kernel](goodput_bps.svg)",
            "| 1 flow | goodput | 3 | 3 | 0.00 % | 0.00 % | 0.00 % |",
            "`model-without-trains.csv` was made by another program.",
            "## How it is measured",
        ] {
            assert!(text.contains(wanted), "{wanted}\n---\n{text}");
        }
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        for table in text.split("\n\n").filter(|block| block.starts_with('|')) {
            let first = columns(table.lines().next().unwrap());
            assert!(table.lines().all(|line| columns(line) == first), "{table}");
        }
    }
}
