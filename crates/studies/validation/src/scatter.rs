//! Scatter plots: the other against the kernel, both axes logarithmic, as SVG for a white page.

use super::compare::{Compared, Comparison, QUANTITIES, TOLERANCE};
use super::control::{controls, families};
use std::fmt::Write;

/// Colours of the families, after Okabe and Ito, "Color Universal Design" (2008), for a white page.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#bb5f94", "#00916a", "#db8f00", "#4ca8db", "#55555f"];

const SIZE: f64 = 520.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 74.0;
const PLOT: f64 = SIZE - LEFT - 24.0;
const HEIGHT: f64 = TOP + PLOT + 56.0;
/// Where 0 is drawn on an axis of whole counts, which has no place for it.
const ZERO: f64 = 0.5;

/// The plot of one of [`QUANTITIES`].
pub fn plot(comparison: &Comparison, index: usize, other: &str) -> String {
    let quantity = QUANTITIES[index];
    let counts = quantity.unit == "packets";
    let shown = |value: f64| if counts { (value / quantity.scale).max(ZERO) } else { value / quantity.scale };
    let points: Vec<(f64, f64, &Compared)> = comparison
        .cells
        .iter()
        .filter_map(|cell| cell.pairs[index].map(|p| (shown(p.kernel.mean), shown(p.other.mean), cell)))
        .filter(|(x, y, _)| *x > 0.0 && *y > 0.0)
        .collect();
    let ends = points.iter().flat_map(|p| [p.0, p.1]);
    let (low, high) = ends.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    let axis = if points.is_empty() { Axis::new(1.0, 10.0) } else { Axis::new(low, high) };

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {HEIGHT}\" width=\"{SIZE}\" height=\"{HEIGHT}\" \
         role=\"img\" aria-label=\"{} of the {other} against the kernel\" font-family=\"system-ui,sans-serif\" \
         font-size=\"12\" fill=\"#1c2026\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        quantity.title
    );
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"24\" font-size=\"16\" font-weight=\"600\">{}</text>",
        quantity.title
    );
    legend(&mut out);
    grid(&mut out, &axis, counts);
    for (factor, dash) in [(1.0, ""), (1.0 + TOLERANCE, "4 4"), (1.0 - TOLERANCE, "4 4")] {
        diagonal(&mut out, &axis, factor, dash);
    }
    for (kernel, model, cell) in &points {
        let (x, y) = (axis.right(*kernel), axis.up(*model));
        let colour = colour(&cell.cell.values[0]);
        // What disagrees in goodput is hollow and numbered.
        let fill = if cell.agrees() { colour } else { "#fff" };
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\" fill=\"{fill}\" fill-opacity=\"0.75\" stroke=\"{colour}\">\
             <title>cell {}: {}: kernel {}, {other} {} {}</title></circle>",
            cell.cell.number,
            cell.cell.title(),
            significant(*kernel),
            significant(*model),
            quantity.unit
        );
        if !cell.agrees() {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"9\" fill=\"{colour}\">{}</text>",
                x + 5.0,
                y - 3.0,
                cell.cell.number
            );
        }
    }
    let middle = TOP + PLOT / 2.0;
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">kernel, {unit}</text>\n\
         <text transform=\"translate(18 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{other}, {unit}</text>\n</svg>",
        LEFT + PLOT / 2.0,
        TOP + PLOT + 42.0,
        unit = quantity.unit
    );
    out
}

/// The colour of a congestion control's family.
fn colour(control: &str) -> &'static str {
    let family = controls().iter().find(|c| c.name == control).map(|c| c.family.as_str());
    let place = families().iter().position(|name| Some(*name) == family);
    COLOURS[place.unwrap_or(COLOURS.len() - 1) % COLOURS.len()]
}

/// One axis, used both ways.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// From a little below `low` to a little above `high`.
    fn new(low: f64, high: f64) -> Axis {
        let margin = ((high / low).log10() * 0.04).max(0.05);
        Axis { low: low.log10() - margin, high: high.log10() + margin }
    }

    fn share(&self, value: f64) -> f64 {
        (value.log10() - self.low) / (self.high - self.low)
    }

    fn right(&self, value: f64) -> f64 {
        LEFT + self.share(value) * PLOT
    }

    fn up(&self, value: f64) -> f64 {
        TOP + PLOT - self.share(value) * PLOT
    }

    /// Powers of ten within it; with 2 and 5 if there are few.
    fn ticks(&self) -> Vec<f64> {
        let factors: &[f64] = if self.high - self.low < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
        all.filter(|at| (self.low..=self.high).contains(&at.log10())).collect()
    }
}

fn legend(out: &mut String) {
    let mut x = LEFT;
    for (name, colour) in families().into_iter().zip(COLOURS.into_iter().cycle()) {
        let _ = writeln!(out, "<circle cx=\"{:.1}\" cy=\"44\" r=\"4\" fill=\"{colour}\"/>", x + 4.0);
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"48\" font-size=\"10.5\">{name}</text>", x + 12.0);
        x += 26.0 + name.len() as f64 * 5.0;
    }
    let tolerance = TOLERANCE * 100.0;
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"64\" font-size=\"10.5\" fill=\"#666\">one mark a cell; dashed: ±{tolerance:.0} %; hollow \
         with the cell's number: goodput disagrees</text>"
    );
}

fn grid(out: &mut String, axis: &Axis, counts: bool) {
    let (right, bottom) = (LEFT + PLOT, TOP + PLOT);
    let mut ticks: Vec<(f64, String)> = axis.ticks().into_iter().map(|at| (at, significant(at))).collect();
    if counts {
        ticks.retain(|tick| tick.0 >= 1.0);
        if axis.share(ZERO) >= 0.0 {
            ticks.push((ZERO, "0".into()));
        }
    }
    for (at, label) in ticks {
        let (x, y) = (axis.right(at), axis.up(at));
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {TOP}V{bottom}M{LEFT} {y:.1}H{right}\" stroke=\"#e6e6ea\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            bottom + 18.0,
            LEFT - 7.0,
            y + 4.0
        );
    }
    let _ = writeln!(
        out,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{PLOT}\" height=\"{PLOT}\" fill=\"none\" stroke=\"#888\"/>"
    );
}

/// The line on which the other is `factor` times the kernel.
fn diagonal(out: &mut String, axis: &Axis, factor: f64, dash: &str) {
    let shift = factor.log10();
    let from = axis.low.max(axis.low - shift);
    let to = axis.high.min(axis.high - shift);
    let [(x1, y1), (x2, y2)] =
        [from, to].map(|x| (axis.right(10f64.powf(x)), axis.up(10f64.powf(x + shift))));
    let _ = writeln!(
        out,
        "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"#888\" stroke-dasharray=\"{dash}\"/>"
    );
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
        assert!(families().len() < COLOURS.len());
        assert_eq!(colour("vegas"), colour("nv"));
        assert_ne!(colour("vegas"), colour("reno"));
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
        assert!(svg.contains("stroke-dasharray=\"4 4\""));
        // Nothing was sent again on either side: no place on the axis, but the plot is whole.
        let mut zero = row(1, 0, 1e9);
        zero.values[3] = Some(0.0);
        let svg = plot(&Comparison::new(&sections()[0], &[zero.clone()], &[zero]), 3, "model");
        assert!(svg.ends_with("</svg>\n") && svg.matches("<circle").count() == families().len() + 1);
    }

    #[test]
    fn an_axis_counts_in_tens_or_finer() {
        assert_eq!(Axis::new(1.0, 1e4).ticks(), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(Axis::new(10.0, 100.0).ticks(), [10.0, 20.0, 50.0, 100.0]);
    }
}
