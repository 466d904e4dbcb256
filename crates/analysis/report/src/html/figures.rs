//! Figures on the page: a frame each, and the data from which the page's script draws.

use super::escape;
use crate::figure::{Axis, AxisKind, Dash, Figure, Layer, Shape};
use crate::palette::Palette;
use serde_json::{Value, json};
use std::fmt::Write;

/// The section of figures across runs; none if there are none.
pub(crate) fn across(out: &mut String, figures: &[Figure], palette: &Palette) {
    if figures.is_empty() {
        return;
    }
    out.push_str("<section id=\"across\"><h2>Across runs</h2><div class=\"grid\">");
    let mut narrow = figures.iter().filter(|figure| is_narrow(figure)).count();
    let is_odd = narrow % 2 == 1;
    for figure in figures {
        narrow -= usize::from(is_narrow(figure));
        // A narrow one without a neighbour would leave half of the row empty.
        frame(out, figure, palette, "study", is_odd && narrow == 0);
    }
    out.push_str("</div></section>\n");
}

fn is_narrow(figure: &Figure) -> bool {
    matches!(figure.y.kind, AxisKind::Names(_))
}

/// A figure's place. What has nothing to draw is said in words.
pub(crate) fn frame(out: &mut String, figure: &Figure, palette: &Palette, owner: &str, alone: bool) {
    let (title, note) = (escape(&figure.title), escape(&figure.note));
    let wide = if is_narrow(figure) && !alone { "" } else { " wide" };
    let _ =
        write!(out, "<figure class=\"card{wide}\"><figcaption><h3>{title}</h3><p>{note}</p></figcaption>");
    if !figure.layers.is_empty() {
        let height = match &figure.y.kind {
            AxisKind::Names(names) => 110 + 30 * names.len().max(2),
            _ => 300,
        };
        let _ = write!(
            out,
            "<div class=\"plot\" data-owner=\"{owner}\" data-figure=\"{}\" style=\"height:{height}px\"></div>",
            escape(&figure.id)
        );
    }
    if let Some(drawing) = &figure.drawing {
        let (width, height) = (drawing.width, drawing.height);
        let _ = write!(
            out,
            "<div class=\"sheet\"><svg class=\"drawing\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">"
        );
        crate::svg::drawing::marks(out, drawing, palette);
        out.push_str("</svg></div>");
    }
    out.push_str("</figure>\n");
}

/// All figures, across runs and of each run, as JSON that is safe inside a script element.
pub(crate) fn data<'a>(
    across: &[Figure],
    runs: impl Iterator<Item = &'a [Figure]>,
    palette: &Palette,
) -> String {
    let mut out = String::from("{\"study\":");
    list(&mut out, across, palette);
    out.push_str(",\"runs\":[");
    for (index, figures) in runs.enumerate() {
        if index > 0 {
            out.push(',');
        }
        list(&mut out, figures, palette);
    }
    out.push_str("]}");
    out
}

fn list(out: &mut String, figures: &[Figure], palette: &Palette) {
    out.push('{');
    for (index, figure) in figures.iter().filter(|figure| !figure.layers.is_empty()).enumerate() {
        if index > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}:", safe(&json!(figure.id)));
        one(out, figure, palette);
    }
    out.push('}');
}

fn one(out: &mut String, figure: &Figure, palette: &Palette) {
    let levels: Vec<Value> = figure.levels.iter().map(|l| json!({"at": l.at, "label": l.label})).collect();
    let _ = write!(
        out,
        "{{\"x\":{},\"y\":{},\"levels\":{},\"layers\":[",
        safe(&axis(&figure.x)),
        safe(&axis(&figure.y)),
        safe(&json!(levels))
    );
    for (index, layer) in figure.layers.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let head = safe(&json!({
            "name": layer.name,
            "colour": palette.swatch(&layer.ink).name(),
            "shape": shape(layer),
            "dash": dash(layer),
            "width": if let Shape::Bars { width } = layer.shape { Some(width) } else { None },
            "legend": layer.legend,
        }));
        out.push_str(head.trim_end_matches('}'));
        out.push_str(",\"px\":[");
        numbers(out, layer.points.iter().map(|p| p.0), 7);
        out.push_str("],\"py\":[");
        numbers(out, layer.points.iter().map(|p| p.1), 5);
        out.push_str("]}");
    }
    out.push_str("]}");
}

fn axis(axis: &Axis) -> Value {
    let (kind, names) = match &axis.kind {
        AxisKind::Time => ("time", None),
        AxisKind::Linear => ("linear", None),
        AxisKind::Log => ("log", None),
        AxisKind::Names(names) => ("names", Some(names)),
    };
    json!({"title": axis.title, "kind": kind, "names": names, "range": [axis.range.0, axis.range.1]})
}

fn shape(layer: &Layer) -> &'static str {
    match layer.shape {
        Shape::Line(_) => "line",
        Shape::Area => "area",
        Shape::Bars { .. } => "bars",
        Shape::HorizontalBars => "lying",
        Shape::StackedBars => "stacked",
        Shape::Dots => "dots",
        Shape::Box => "box",
    }
}

fn dash(layer: &Layer) -> &'static str {
    match layer.shape {
        Shape::Line(Dash::Dashed) => "dash",
        Shape::Line(Dash::Dotted) => "dot",
        _ => "solid",
    }
}

/// Numbers with no more digits than a screen shows; what is not finite is null.
fn numbers(out: &mut String, values: impl Iterator<Item = f64>, digits: i32) {
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(',');
        }
        if value.is_finite() {
            let _ = write!(out, "{}", rounded(value, digits));
        } else {
            out.push_str("null");
        }
    }
}

/// `value` with `digits` significant digits.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let places = digits - 1 - value.abs().log10().floor() as i32;
    // Dividing by a power of ten gives the shortest decimal; multiplying by 0.001 would not.
    match 10f64.powi(places.abs()) {
        power if !power.is_finite() => value,
        power if places >= 0 => (value * power).round() / power,
        power => (value / power).round() * power,
    }
}

/// JSON that cannot end a script element, nor begin a comment in one.
fn safe(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_missing_ones_null() {
        let mut out = String::new();
        numbers(&mut out, [4.312_345_678, f64::NAN, 0.0, 1234567.0, 1e-7, 0.1 + 0.2].into_iter(), 5);
        assert_eq!(out, "4.3123,null,0,1234600,0.0000001,0.3");
    }

    #[test]
    fn data_cannot_end_the_script() {
        assert_eq!(safe(&json!("</script><!--")), "\"\\u003c/script>\\u003c!--\"");
    }
}
