//! The data from which the page's script draws the figures.

use crate::digest::RunDigest;
use crate::figure::{AxisKind, Dash, Figure, Layer, Shape};
use crate::number::Column;
use crate::palette::Palette;
use crate::thin::Point;
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// All figures of a page, across runs and of each run, by their ids.
#[derive(Serialize)]
pub(crate) struct PageData<'a> {
    study: BTreeMap<&'a str, Plot<'a>>,
    runs: Vec<BTreeMap<&'a str, Plot<'a>>>,
    /// Columns of the summary that the page makes when they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    summary: Vec<SummaryColumn<'a>>,
}

/// A column of the summary: its head, and the cell of each run.
#[derive(Serialize)]
pub(crate) struct SummaryColumn<'a> {
    pub name: String,
    pub unit: String,
    /// The name of the metric.
    pub title: String,
    pub cells: SummaryCells<'a>,
}

/// The cells of a column. Each is made when it is written: all cells of many runs would take more memory than the page.
pub(crate) struct SummaryCells<'a> {
    pub runs: &'a [RunDigest],
    pub metric: String,
    pub form: Column,
}

impl Serialize for SummaryCells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.runs.iter().map(|run| self.form.cell(run.metric(&self.metric))))
    }
}

impl<'a> PageData<'a> {
    /// The data of the figures that have axes.
    pub fn new(
        across: &'a [Figure],
        runs: impl Iterator<Item = &'a [Figure]>,
        palette: &'a Palette,
    ) -> PageData<'a> {
        PageData {
            study: plots(across, palette),
            runs: runs.map(|figures| plots(figures, palette)).collect(),
            summary: Vec::new(),
        }
    }

    /// With columns of the summary that are made when they are asked for.
    pub fn with_summary(self, summary: Vec<SummaryColumn<'a>>) -> Self {
        PageData { summary, ..self }
    }
}

fn plots<'a>(figures: &'a [Figure], palette: &Palette) -> BTreeMap<&'a str, Plot<'a>> {
    let drawn = figures.iter().filter(|figure| !figure.layers.is_empty());
    drawn.map(|figure| (figure.id.as_str(), Plot::new(figure, palette))).collect()
}

#[derive(Serialize)]
struct Plot<'a> {
    x: Axis<'a>,
    y: Axis<'a>,
    levels: Vec<Level<'a>>,
    layers: Vec<Trace<'a>>,
}

impl<'a> Plot<'a> {
    fn new(figure: &'a Figure, palette: &Palette) -> Plot<'a> {
        let levels = figure.levels.iter().map(|level| Level { at: level.at, label: &level.label });
        Plot {
            x: Axis::new(&figure.x),
            y: Axis::new(&figure.y),
            levels: levels.collect(),
            layers: figure.layers.iter().map(|layer| Trace::new(layer, palette)).collect(),
        }
    }
}

#[derive(Serialize)]
struct Axis<'a> {
    title: &'a str,
    kind: &'static str,
    names: Option<&'a [String]>,
    range: [f64; 2],
    /// The place of 0 on a logarithmic axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    zero: Option<f64>,
}

impl<'a> Axis<'a> {
    fn new(axis: &'a crate::figure::Axis) -> Axis<'a> {
        let (kind, names) = match &axis.kind {
            AxisKind::Time => ("time", None),
            AxisKind::Linear => ("linear", None),
            AxisKind::Log { .. } => ("log", None),
            AxisKind::Names(names) => ("names", Some(names.as_slice())),
        };
        let zero = if let AxisKind::Log { zero } = axis.kind { zero } else { None };
        Axis { title: &axis.title, kind, names, range: [axis.range.0, axis.range.1], zero }
    }
}

#[derive(Serialize)]
struct Level<'a> {
    at: f64,
    label: &'a str,
}

/// A layer as plotly's traces need it.
#[derive(Serialize)]
struct Trace<'a> {
    name: &'a str,
    colour: String,
    shape: &'static str,
    dash: &'static str,
    width: Option<f64>,
    legend: bool,
    px: Coordinates<'a>,
    py: Coordinates<'a>,
    /// The text of each point under a pointer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<&'a str>,
}

impl<'a> Trace<'a> {
    fn new(layer: &'a Layer, palette: &Palette) -> Trace<'a> {
        let width = if let Shape::Bars { width } = layer.shape { Some(width) } else { None };
        Trace {
            name: &layer.name,
            colour: palette.swatch(&layer.ink).name().into(),
            shape: shape(layer),
            dash: dash(layer),
            width,
            legend: layer.legend,
            px: Coordinates { points: &layer.points, of: |point| point.0, digits: 7 },
            py: Coordinates { points: &layer.points, of: |point| point.1, digits: 5 },
            hints: layer.notes.iter().map(|note| note.hint.as_str()).collect(),
        }
    }
}

fn shape(layer: &Layer) -> &'static str {
    match layer.shape {
        Shape::Line(_) => "line",
        Shape::Area => "area",
        Shape::Bars { .. } => "bars",
        Shape::HorizontalBars => "lying",
        Shape::StackedBars => "stacked",
        Shape::Dots => "dots",
        Shape::Band => "band",
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

/// One coordinate of points, with no more digits than a screen shows. Values that are not finite become null.
struct Coordinates<'a> {
    points: &'a [Point],
    of: fn(&Point) -> f64,
    digits: i32,
}

impl Serialize for Coordinates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.points.iter().map(|point| rounded((self.of)(point), self.digits)))
    }
}

/// `value` with `digits` significant digits.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    if !value.is_finite() {
        return value;
    }
    let places = digits - 1 - value.abs().log10().floor() as i32;
    // Dividing by a power of ten gives the shortest decimal; multiplying by 0.001 would not.
    match 10f64.powi(places.abs()) {
        power if !power.is_finite() => value,
        power if places >= 0 => (value * power).round() / power,
        power => (value / power).round() * power,
    }
}

/// Writes JSON for a script element: no string in it can end the element or begin a comment, and whole numbers have no
/// decimals.
pub(super) struct ForScript;

impl Formatter for ForScript {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value}")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for part in fragment.split_inclusive(['<', '\u{2028}', '\u{2029}']) {
            let mut before = part.chars();
            let (text, escaped) = match before.next_back() {
                Some('<') => (before.as_str(), "\\u003c"),
                Some('\u{2028}') => (before.as_str(), "\\u2028"),
                Some('\u{2029}') => (before.as_str(), "\\u2029"),
                _ => (part, ""),
            };
            writer.write_all(text.as_bytes())?;
            writer.write_all(escaped.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &impl Serialize) -> String {
        let mut out = Vec::new();
        value
            .serialize(&mut serde_json::Serializer::with_formatter(&mut out, ForScript))
            .expect("it is JSON");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn numbers_are_short_and_missing_ones_null() {
        let points = [4.312_345_678, f64::NAN, 0.0, 1234567.0, 1e-7, 0.1 + 0.2].map(|y| (0.0, y));
        let numbers = Coordinates { points: &points, of: |point| point.1, digits: 5 };
        assert_eq!(written(&numbers), "[4.3123,null,0,1234600,0.0000001,0.3]");
    }

    #[test]
    fn data_cannot_end_the_script() {
        assert_eq!(written(&"</script><!--"), "\"\\u003c/script>\\u003c!--\"");
        assert_eq!(written(&"a\u{2028}<\"\u{2029}b"), "\"a\\u2028\\u003c\\\"\\u2029b\"");
    }
}
