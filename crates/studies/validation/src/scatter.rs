//! Scatter plots: the other against the kernel.

use super::compare::{Compared, Comparison, QUANTITIES, TOLERANCE};
use super::control::{controls, families};
use wirespeed_report::{Scatter, ScatterGroup, ScatterMark};

/// Where 0 is drawn on an axis of whole counts, which has no place for it.
const ZERO: f64 = 0.5;

/// The group of cells whose algorithm has no family.
const OTHERS: &str = "others";

/// The plot of one of [`QUANTITIES`].
pub fn plot(comparison: &Comparison, index: usize, other: &str) -> String {
    let quantity = QUANTITIES[index];
    let zero = (quantity.unit == "packets").then_some(ZERO);
    let mark = |cell: &Compared| {
        let pair = cell.pairs[index]?;
        let (kernel, model) = (pair.kernel.mean / quantity.scale, pair.other.mean / quantity.scale);
        let hint = format!(
            "cell {}: {}: kernel {}, {other} {} {}",
            cell.cell.number,
            cell.cell.title(),
            significant(kernel),
            significant(model),
            quantity.unit
        );
        let label = (!cell.agrees()).then(|| cell.cell.number.to_string());
        Some(ScatterMark { at: (kernel, model), hint, label })
    };
    let marks = |of: Option<&str>| {
        let cells = comparison.cells.iter().filter(|cell| family(&cell.cell.values[0]) == of);
        cells.filter_map(mark).collect::<Vec<_>>()
    };
    let named =
        families().into_iter().map(|name| ScatterGroup { name: name.into(), marks: marks(Some(name)) });
    // Cells with several algorithms have no family.
    let others = ScatterGroup { name: OTHERS.into(), marks: marks(None) };
    let note = format!(
        "One mark for each cell. Dashed lines: ±{:.0} %. Hollow marks with the number of the cell: goodput disagrees.",
        TOLERANCE * 100.0
    );
    let scatter = Scatter {
        title: format!("{}: {other} against kernel", quantity.title),
        note,
        x: format!("kernel, {}", quantity.unit),
        y: format!("{other}, {}", quantity.unit),
        zero,
        tolerance: TOLERANCE,
        groups: named.chain((!others.marks.is_empty()).then_some(others)).collect(),
    };
    scatter.svg()
}

/// The family of a congestion control algorithm, which decides its colour.
fn family(control: &str) -> Option<&'static str> {
    controls().iter().find(|c| c.name == control).map(|c| c.family.as_str())
}

/// Three significant digits, without an exponent between a thousandth and ten million.
pub(super) fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let power = value.abs().log10().floor();
    if !(-3.0..7.0).contains(&power) {
        return format!("{value:.2e}");
    }
    let decimals = (2.0 - power).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::section::sections;
    use super::super::testing::row;
    use super::*;

    #[test]
    fn a_family_has_a_colour_of_its_own() {
        // The palette has eight accents.
        assert!(families().len() < 8);
        assert_eq!(family("vegas"), family("nv"));
        assert_ne!(family("vegas"), family("reno"));
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.2, 6.2, 24.21, 1514.4, 123_456.0, 9.49e9, 1e-5].map(significant);
        assert_eq!(shown, ["0", "0.2", "6.2", "24.2", "1514", "123456", "9.49e9", "1.00e-5"]);
    }

    #[test]
    fn a_mark_lies_where_its_values_are() {
        let comparison = Comparison::new(
            &sections()[0],
            &[row(1, 0, 1e9), row(2, 0, 1e8)],
            &[row(1, 0, 1e9), row(2, 0, 2e8)],
        );
        let svg = plot(&comparison, 0, "model");
        assert_eq!(svg.matches("<circle").count(), families().len() + 2);
        let title = format!("cell 2: {}: kernel 100, model 200 Mbit/s", comparison.cells[1].cell.title());
        assert!(svg.contains(&title), "{svg}");
        assert!(svg.contains("stroke-dasharray=\"7 4\""));
        // A cell whose algorithm has no family has a mark, and its group an entry of the legend.
        let mut other = row(1, 0, 1e9);
        other.cell.values[0] = "none of the list".into();
        let svg = plot(&Comparison::new(&sections()[0], &[other.clone()], &[other]), 0, "model");
        assert_eq!(svg.matches("<circle").count(), families().len() + 2);
        assert!(svg.contains(OTHERS));
        // Nothing was sent again on either side: no place on the axis, but the plot is whole.
        let mut zero = row(1, 0, 1e9);
        zero.values[3] = Some(0.0);
        let svg = plot(&Comparison::new(&sections()[0], &[zero.clone()], &[zero]), 3, "model");
        assert!(svg.ends_with("</svg>\n") && svg.matches("<circle").count() == families().len() + 1);
    }
}
