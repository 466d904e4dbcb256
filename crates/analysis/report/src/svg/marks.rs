//! Lines, areas, bars, dots and boxes.

use super::escape::escape;
use super::scale::Mapping;
use crate::figure::{Dash, Figure, Layer, Shape};
use crate::number::significant;
use crate::palette::Palette;
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) fn draw(out: &mut String, figure: &Figure, palette: &Palette, x: &Mapping, y: &Mapping) {
    // What stacks stand on, by x.
    let mut tops: BTreeMap<u64, f64> = BTreeMap::new();
    for layer in &figure.layers {
        let swatch = palette.swatch(&layer.ink);
        let colour = swatch.name();
        match layer.shape {
            Shape::Line(dash) => path(out, layer, colour, dash, x, y),
            Shape::Band => band(out, layer, colour, x, y),
            Shape::Area => area(out, layer, colour, &mut tops, x, y),
            Shape::Bars { width } => bars(out, layer, width, colour, &mut tops, x, y),
            Shape::HorizontalBars => {
                // Dots of single runs would lie on the numbers.
                let with_numbers = !figure.layers.iter().any(|l| l.shape == Shape::Dots);
                lying_bars(out, layer, colour, with_numbers, x, y);
            }
            Shape::StackedBars => stacked_bars(out, layer, colour, &mut tops, x, y),
            Shape::Dots => dots(out, layer, colour, x, y),
            Shape::Box => box_plot(out, layer, colour, x, y),
        }
    }
    if figure.layers.iter().any(|layer| layer.shape == Shape::StackedBars) {
        for (place, sum) in tops {
            number(out, x.at(sum) + 6.0, y.at(f64::from_bits(place)) + 4.0, sum);
        }
    }
}

pub(super) fn dashes(dash: Dash) -> &'static str {
    match dash {
        Dash::Solid => "",
        Dash::Dashed => " stroke-dasharray=\"7 4\"",
        Dash::Dotted => " stroke-dasharray=\"1.5 3.5\"",
    }
}

fn path(out: &mut String, layer: &Layer, colour: &str, dash: Dash, x: &Mapping, y: &Mapping) {
    let mut d = String::new();
    let mut is_open = false;
    for (px, py) in &layer.points {
        if !py.is_finite() {
            is_open = false;
            continue;
        }
        let (px, py) = (x.at(*px), y.at(*py));
        let _ = write!(d, "{}{px:.1} {py:.1}", if is_open { 'L' } else { 'M' });
        is_open = true;
    }
    // A dotted line over thousands of points needs round ends to be seen at all.
    let _ = writeln!(
        out,
        "<path d=\"{d}\" fill=\"none\" class=\"s-{colour}\" stroke-width=\"1.6\" stroke-linejoin=\"round\" stroke-linecap=\"round\"{}/>",
        dashes(dash)
    );
}

fn band(out: &mut String, layer: &Layer, colour: &str, x: &Mapping, y: &Mapping) {
    let corners = layer.points.iter().map(|(px, py)| format!("{:.1} {:.1}", x.at(*px), y.at(*py)));
    let outline = corners.collect::<Vec<_>>().join("L");
    // If a single mean has an interval, the edge alone shows it.
    let _ = writeln!(
        out,
        "<path d=\"M{outline}Z\" class=\"f-{colour} s-{colour}\" fill-opacity=\"0.2\" stroke-opacity=\"0.35\" stroke-width=\"1\"/>"
    );
}

fn area(
    out: &mut String,
    layer: &Layer,
    colour: &str,
    tops: &mut BTreeMap<u64, f64>,
    x: &Mapping,
    y: &Mapping,
) {
    let points: Vec<_> = layer.points.iter().filter(|p| p.1.is_finite()).collect();
    let (mut upper, mut lower) = (String::new(), Vec::new());
    for (index, (px, py)) in points.into_iter().enumerate() {
        let base = tops.entry(px.to_bits()).or_insert(0.0);
        lower.push(format!("L{:.1} {:.1}", x.at(*px), y.at(*base)));
        *base += py;
        let _ = write!(upper, "{}{:.1} {:.1}", if index == 0 { 'M' } else { 'L' }, x.at(*px), y.at(*base));
    }
    lower.reverse();
    let _ = writeln!(
        out,
        "<path d=\"{upper}{}Z\" class=\"f-{colour} s-{colour}\" fill-opacity=\"0.75\" stroke-width=\"0.8\"/>",
        lower.concat()
    );
}

fn bars(
    out: &mut String,
    layer: &Layer,
    width: f64,
    colour: &str,
    tops: &mut BTreeMap<u64, f64>,
    x: &Mapping,
    y: &Mapping,
) {
    let mut d = String::new();
    for (px, py) in layer.points.iter().filter(|p| p.1.is_finite()) {
        let base = tops.entry(px.to_bits()).or_insert(0.0);
        let (from, to) = (y.at(*base), y.at(*base + py));
        *base += py;
        let (left, right) = (x.at(px - width / 2.0), x.at(px + width / 2.0));
        let (left, right) =
            if right - left > 3.0 { (left + 0.5, right - 0.5) } else { (left, right.max(left + 1.0)) };
        let _ = write!(d, "M{left:.1} {from:.1}H{right:.1}V{to:.1}H{left:.1}Z");
    }
    let _ = writeln!(out, "<path d=\"{d}\" class=\"f-{colour}\"/>");
}

fn lying_bars(out: &mut String, layer: &Layer, colour: &str, with_numbers: bool, x: &Mapping, y: &Mapping) {
    for (value, place) in layer.points.iter().filter(|p| p.0.is_finite()) {
        let (top, bottom) = (y.at(place - 0.32), y.at(place + 0.32));
        let left = x.at(0.0);
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" class=\"f-{colour}\"/>",
            (x.at(*value) - left).max(0.0),
            bottom - top
        );
        if with_numbers {
            number(out, x.at(*value) + 6.0, (top + bottom) / 2.0 + 4.0, *value);
        }
    }
}

fn number(out: &mut String, x: f64, y: f64, value: f64) {
    let _ = writeln!(out, "<text class=\"halo\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", significant(value, 3));
}

fn stacked_bars(
    out: &mut String,
    layer: &Layer,
    colour: &str,
    tops: &mut BTreeMap<u64, f64>,
    x: &Mapping,
    y: &Mapping,
) {
    for (value, place) in layer.points.iter().filter(|p| p.0.is_finite()) {
        let base = tops.entry(place.to_bits()).or_insert(0.0);
        let (left, top) = (x.at(*base), y.at(place - 0.32));
        *base += value;
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"f-{colour}\"/>",
            (x.at(*base) - left).max(0.0),
            y.at(place + 0.32) - top
        );
    }
}

fn dots(out: &mut String, layer: &Layer, colour: &str, x: &Mapping, y: &Mapping) {
    for (index, (px, py)) in layer.points.iter().enumerate() {
        if !px.is_finite() || !py.is_finite() {
            continue;
        }
        let (px, py) = (x.at(*px), y.at(*py));
        let _ = match layer.notes.get(index) {
            None => {
                writeln!(out, "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3.2\" class=\"f-{colour} dot\"/>")
            }
            Some(note) => {
                let fill = if note.label.is_some() { "ground".into() } else { format!("f-{colour}") };
                writeln!(
                    out,
                    "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3.6\" class=\"{fill} s-{colour}\" fill-opacity=\"0.75\"><title>{}</title></circle>",
                    escape(&note.hint)
                )
            }
        };
    }
}

/// The labels of dots, which may reach beyond the plot.
pub(super) fn labels(out: &mut String, figure: &Figure, palette: &Palette, x: &Mapping, y: &Mapping) {
    for layer in &figure.layers {
        let swatch = palette.swatch(&layer.ink);
        for ((px, py), note) in layer.points.iter().zip(&layer.notes) {
            let Some(label) = &note.label else { continue };
            let _ = writeln!(
                out,
                "<text class=\"f-{}\" style=\"font-size:9px\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                swatch.name(),
                x.at(*px) + 5.0,
                y.at(*py) - 3.0,
                escape(label)
            );
        }
    }
}

fn box_plot(out: &mut String, layer: &Layer, colour: &str, x: &Mapping, y: &Mapping) {
    let mut values: Vec<f64> = layer.points.iter().map(|p| p.0).filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let (Some(place), false) = (layer.points.first().map(|p| p.1), values.is_empty()) else { return };
    let [q1, q2, q3] = [0.25, 0.5, 0.75].map(|q| quantile(&values, q));
    let reach = (q3 - q1) * 1.5;
    let low = values.iter().copied().find(|v| *v >= q1 - reach).unwrap_or(q1);
    let high = values.iter().copied().rev().find(|v| *v <= q3 + reach).unwrap_or(q3);
    let (top, middle, bottom) = (y.at(place - 0.28), y.at(place), y.at(place + 0.28));
    let [x1, x2, x3] = [q1, q2, q3].map(|q| x.at(q));
    let (from, to) = (x.at(low), x.at(high));
    let _ = writeln!(
        out,
        "<path d=\"M{from:.1} {middle:.1}H{x1:.1}M{x3:.1} {middle:.1}H{to:.1}\" class=\"s-{colour}\" stroke-width=\"1.5\"/>\
         <rect x=\"{x1:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"f-{colour} s-{colour}\" fill-opacity=\"0.25\" stroke-width=\"1.5\"/>\
         <path d=\"M{x2:.1} {top:.1}V{bottom:.1}\" class=\"s-{colour}\" stroke-width=\"2.5\"/>",
        (x3 - x1).max(0.5),
        bottom - top
    );
    dots(out, layer, colour, x, y);
}

/// Quantile of sorted values, on the line between neighbours (Hyndman and Fan 1996, definition 7).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[5.0], 0.25), 5.0);
    }
}
