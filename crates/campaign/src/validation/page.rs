//! The page `docs/validation/README.md`.

use super::causes::Causes;
use super::compare::{Compared, Comparison, Pair, QUANTITIES, Quantity, Summary};
use super::difference::Distance;
use super::scatter::significant;
use std::fmt::Write;

/// What the page shows.
pub struct Page<'a> {
    /// What is compared with the kernel: a substrate's name.
    pub other: &'a str,
    /// The comparison.
    pub comparison: &'a Comparison,
    /// What is known of cells outside.
    pub causes: &'a Causes,
    /// How far trains change the results; empty if that was not run.
    pub trains: &'a [Distance],
    /// The kernel's builds.
    pub builds: &'a [String],
    /// What is to be said if the runs without trains are of another program ([`super::other_programs`]).
    pub programs: Option<&'a str>,
}

/// File name of the plot of a quantity.
pub fn plot_name(quantity: &Quantity) -> String {
    format!("{}.svg", quantity.metric)
}

impl Page<'_> {
    /// As Markdown.
    pub fn render(&self) -> String {
        let other = self.other;
        let mut out = format!(
            "# Validation: {other} against the kernel\n\n\
             <!-- Written by `wirespeed validate`. Do not edit; causes of disagreement are in causes.toml. -->\n\n\
             The {other} and the real Linux stack (kernel build {}) carry out the same {} cells with the same seeds. \
             `make validate` does it again and fails when this agreement is lost:\n\n",
            self.builds.iter().map(|build| format!("`{:.12}`", build)).collect::<Vec<_>>().join(", "),
            self.comparison.all.cells
        );
        out.push_str("| Asked | Found | |\n|---|---|---|\n");
        for criterion in self.comparison.criteria() {
            let verdict = if criterion.is_met { "met" } else { "**not met**" };
            let _ = writeln!(out, "| {} | {} | {verdict} |", criterion.asked, criterion.found);
        }
        out.push('\n');
        for quantity in QUANTITIES {
            let _ = writeln!(out, "![{}: {other} against kernel]({})", quantity.title, plot_name(&quantity));
        }
        self.summaries(&mut out, "By congestion control", "congestion control", &self.comparison.controls);
        self.summaries(&mut out, "By level of the other factors", "level", &self.comparison.levels);
        self.outside(&mut out);
        self.differences(&mut out);
        out.push('\n');
        out.push_str(include_str!("method.md"));
        self.everything(&mut out);
        out
    }

    fn summaries(&self, out: &mut String, title: &str, first: &str, summaries: &[Summary]) {
        let _ = write!(
            out,
            "\n## {title}\n\nErrors are medians over the cells of the relative error, either way.\n\n"
        );
        let titles = QUANTITIES.map(|q| format!("error of {}", q.title.to_lowercase())).join(" | ");
        let _ = writeln!(out, "| {first} | cells | outside | {titles} |\n|---|--:|--:|--:|--:|--:|--:|");
        for summary in summaries.iter().chain([&self.comparison.all]) {
            let errors =
                summary.median_errors.map(|e| e.map_or("–".into(), |e| format!("{:.1} %", e * 100.0)));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                summary.name,
                summary.cells,
                summary.outside,
                errors.join(" | ")
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
        let _ = write!(
            out,
            "\n## All cells\n\nMeans over the runs of a cell, ± half the 95 % confidence interval; kernel first, then {other}.\n\n\
             | cell | | error | {} |\n|--:|---|--:|{}\n",
            QUANTITIES.map(|q| format!("{}, {} | {other}", q.title.to_lowercase(), q.unit)).join(" | "),
            "--:|--:|".repeat(QUANTITIES.len())
        );
        for cell in &self.comparison.cells {
            let pairs: Vec<String> =
                QUANTITIES.iter().zip(cell.pairs).map(|(quantity, pair)| both(quantity, pair)).collect();
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
    format!(
        "{} ± {} | {} ± {}",
        show(kernel.mean),
        show(kernel.half_width),
        show(other.mean),
        show(other.half_width)
    )
}

#[cfg(test)]
mod tests {
    use super::super::difference::distances;
    use super::super::testing::row;
    use super::*;

    #[test]
    fn the_page_says_what_disagrees_and_why() {
        let kernel: Vec<_> = (1..=2).flat_map(|cell| (0..3).map(move |i| row(cell, i, 1e9))).collect();
        let model: Vec<_> = (1..=2)
            .flat_map(|cell| (0..3).map(move |i| row(cell, i, if cell == 2 { 5e8 } else { 1e9 })))
            .collect();
        let comparison = Comparison::new(&kernel, &model);
        let causes: Causes = toml::from_str("[[cause]]\ncells = [2]\nexplanation = \"a | b\"").unwrap();
        let trains = distances(&model, &model);
        let page = Page {
            other: "model",
            comparison: &comparison,
            causes: &causes,
            trains: &trains,
            builds: &["0123456789abcdef".into()],
            programs: Some("made by another program"),
        };
        let text = page.render();
        let title = comparison.cells[1].cell.title();
        for wanted in [
            "kernel build `0123456789ab`) carry out the same 2 cells",
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
