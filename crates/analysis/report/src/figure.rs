//! A figure, independent of who draws it: the page (plotly) and the static SVG draw the same [`Figure`].

use crate::drawing::Drawing;
use crate::number::{Quantity, Scale};
use crate::thin::{Point, thin};

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// Name for anchors and files: lower case, digits and hyphens.
    pub id: String,
    pub title: String,
    /// One or two sentences on how to read it, or what it says.
    pub note: String,
    pub x: Axis,
    pub y: Axis,
    /// Empty: there is nothing to draw and the note says why (e.g. nothing was dropped).
    pub layers: Vec<Layer>,
    /// Values to compare with, e.g. the link's rate.
    pub levels: Vec<Level>,
    /// What has no axes is drawn by this, in the place of layers.
    pub drawing: Option<Drawing>,
}

/// What an axis shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// What and, in parentheses, in which unit.
    pub title: String,
    pub kind: AxisKind,
    /// From and to, in the axis' unit (not its logarithm).
    pub range: (f64, f64),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AxisKind {
    /// Time of the run; figures with such an axis zoom together.
    Time,
    Linear,
    /// `zero` is where 0 is drawn, which has no other place.
    Log {
        zero: Option<f64>,
    },
    /// Names at 0, 1, 2, ..., from the top if it is the y axis.
    Names(Vec<String>),
}

/// One line, or one set of points or bars, with an entry in the legend.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    pub name: String,
    pub ink: Ink,
    pub shape: Shape,
    pub points: Vec<Point>,
    /// Whether the legend names it.
    pub legend: bool,
    /// Text that pictures show at dots, in the order of the points; may be empty.
    pub notes: Vec<Note>,
}

/// Text at a dot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Note {
    /// The text that a pointer over the dot shows.
    pub hint: String,
    /// If there is one, it stands beside the dot, and the dot is hollow.
    pub label: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    Line(Dash),
    /// Filled, on top of the areas before it; all areas of a figure share their x values.
    Area,
    /// Upright bars on top of each other, of this width on the x axis.
    Bars {
        width: f64,
    },
    /// Lying bars; the point is (value, position on the axis of names).
    HorizontalBars,
    /// The same behind each other, with their sum at the end.
    StackedBars,
    Dots,
    /// A closed outline, filled faintly: an interval around a line.
    Band,
    /// A box over all y of the layer (quartiles, whiskers to the farthest value within 1.5 times the interquartile range)
    /// with every value beside it.
    Box,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dash {
    Solid,
    Dashed,
    Dotted,
}

/// What a colour stands for; the palette turns it into one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Ink {
    /// A flow, or all flows of one congestion control. `twin` counts the earlier ones of the same control.
    Flow { congestion: Option<String>, label: String, twin: usize },
    /// The nth of some places (queues, hosts).
    Place(usize),
    /// The sum over all.
    Total,
    /// Background to compare with.
    Muted,
}

/// A horizontal (for lying bars: vertical) line with a label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Level {
    pub at: f64,
    pub label: String,
}

impl Layer {
    pub fn line(name: impl Into<String>, ink: Ink, dash: Dash, points: Vec<Point>) -> Self {
        Layer { name: name.into(), ink, shape: Shape::Line(dash), points, legend: true, notes: Vec::new() }
    }

    pub fn shaped(name: impl Into<String>, ink: Ink, shape: Shape, points: Vec<Point>) -> Self {
        Layer { name: name.into(), ink, shape, points, legend: true, notes: Vec::new() }
    }

    pub fn unnamed(mut self) -> Self {
        self.legend = false;
        self
    }

    /// Whether there is anything to see.
    pub fn is_blank(&self) -> bool {
        self.points.iter().all(|(x, y)| !x.is_finite() || !y.is_finite())
    }

    /// Areas of one figure share their x values and bars are sums: neither may lose points on its own.
    fn can_lose_points(&self) -> bool {
        matches!(self.shape, Shape::Line(_))
    }
}

/// How the value axis of a figure is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// Bars, shares, rates: the length means something.
    Zero,
    /// The least value: only differences mean something.
    Least,
}

impl Figure {
    #[expect(clippy::too_many_arguments, reason = "each is one visible part of the figure")]
    /// Figure over time with values in base units of `quantity`: chooses the unit of the y axis, scales layers and levels,
    /// leaves blank layers out and sets the ranges. `None` if no layer has a value.
    pub fn over_time(
        id: &str,
        title: &str,
        what: &str,
        quantity: &Quantity,
        from: From,
        time: &TimeAxis,
        layers: Vec<Layer>,
        levels: Vec<Level>,
    ) -> Option<Figure> {
        let axis =
            Axis { title: format!("Time ({})", time.unit), kind: AxisKind::Time, range: (0.0, time.end) };
        Figure::of_values(id, title, axis, what, quantity, from, layers, levels)
    }

    /// As [`Figure::over_time`], over any x axis.
    #[expect(clippy::too_many_arguments, reason = "each is one visible part of the figure")]
    pub fn of_values(
        id: &str,
        title: &str,
        x: Axis,
        what: &str,
        quantity: &Quantity,
        from: From,
        mut layers: Vec<Layer>,
        mut levels: Vec<Level>,
    ) -> Option<Figure> {
        layers.retain(|layer| !layer.is_blank());
        if layers.is_empty() {
            return None;
        }
        let (mut least, mut largest) = extent(&layers);
        let data_largest = largest;
        // A level far beyond the data would flatten it; the note has to say it then.
        levels.retain(|level| level.at <= data_largest * 25.0 || from == From::Zero && data_largest == 0.0);
        for level in &levels {
            least = least.min(level.at);
            largest = largest.max(level.at);
        }
        let scale = quantity.scale(largest);
        for layer in &mut layers {
            layer.points.iter_mut().for_each(|p| p.1 /= scale.divisor);
        }
        levels.iter_mut().for_each(|level| level.at /= scale.divisor);
        let (least, largest) = (least / scale.divisor, largest / scale.divisor);
        let range = match from {
            From::Zero if largest > 0.0 => (0.0, largest * 1.08),
            From::Zero => (0.0, 1.0),
            From::Least => {
                // Noise of the last digit must not look like a mountain range.
                let room = ((largest - least) * 0.08).max((largest.abs() * 0.1 - (largest - least)) / 2.0);
                (if least >= 0.0 { (least - room).max(0.0) } else { least - room }, largest + room)
            }
        };
        let y = Axis { title: titled(what, &scale), kind: AxisKind::Linear, range };
        Some(Figure {
            id: id.into(),
            title: title.into(),
            note: String::new(),
            x,
            y,
            layers,
            levels,
            drawing: None,
        })
    }

    /// Statement in the place of a figure: the data are there, and there is nothing to draw.
    pub fn statement(id: &str, title: &str, note: &str) -> Figure {
        let axis = Axis { title: String::new(), kind: AxisKind::Linear, range: (0.0, 1.0) };
        Figure {
            id: id.into(),
            title: title.into(),
            note: note.into(),
            x: axis.clone(),
            y: axis,
            layers: Vec::new(),
            levels: Vec::new(),
            drawing: None,
        }
    }

    /// Figure without axes.
    pub fn drawn(id: &str, title: &str, drawing: Drawing) -> Figure {
        Figure { drawing: Some(drawing), ..Figure::statement(id, title, "") }
    }

    /// Whether there is anything to draw; otherwise the note says why not.
    pub fn is_drawn(&self) -> bool {
        !self.layers.is_empty() || self.drawing.is_some()
    }

    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Keeps at most about `limit` points a line.
    pub fn thinned(mut self, limit: usize) -> Self {
        for layer in &mut self.layers {
            if layer.can_lose_points() {
                layer.points = thin(std::mem::take(&mut layer.points), limit);
            }
        }
        self
    }

    /// How many points it holds, or as much as so many take.
    pub fn weight(&self) -> usize {
        let points: usize = self.layers.iter().map(|layer| layer.points.len()).sum();
        points + self.drawing.as_ref().map_or(0, Drawing::weight)
    }
}

/// `what (unit)`, or `what` alone for a plain ratio.
pub(crate) fn titled(what: &str, scale: &Scale) -> String {
    if scale.unit.is_empty() { what.into() } else { format!("{what} ({})", scale.unit) }
}

/// Least and largest value, areas and upright bars summed.
fn extent(layers: &[Layer]) -> (f64, f64) {
    let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut stacked = std::collections::BTreeMap::new();
    for layer in layers {
        for (x, y) in layer.points.iter().filter(|p| p.1.is_finite()) {
            let top = if matches!(layer.shape, Shape::Area | Shape::Bars { .. }) {
                let sum = stacked.entry(x.to_bits()).or_insert(0.0);
                *sum += y;
                *sum
            } else {
                *y
            };
            least = least.min(top);
            largest = largest.max(top);
        }
    }
    (least, largest)
}

/// The time axis of a run: one unit for all its figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeAxis {
    /// Nanoseconds to one of its unit.
    pub ns: f64,
    pub unit: String,
    /// End of the run in its unit.
    pub end: f64,
}

impl TimeAxis {
    /// For a run of `duration_ns`.
    pub fn new(duration_ns: i64) -> Self {
        let seconds = duration_ns.max(1) as f64 / 1e9;
        // A run of a second and more reads in seconds, shorter ones in ms or µs.
        let scale = Quantity::Seconds.scale(seconds);
        TimeAxis { ns: scale.divisor * 1e9, unit: scale.unit, end: seconds / scale.divisor }
    }

    pub fn at(&self, t_ns: i64) -> f64 {
        t_ns as f64 / self.ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ys: &[f64]) -> Layer {
        let points = ys.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect();
        Layer::line("a", Ink::Total, Dash::Solid, points)
    }

    fn figure(layers: Vec<Layer>, levels: Vec<Level>) -> Option<Figure> {
        let time = TimeAxis::new(60_000_000_000);
        Figure::over_time("f", "F", "Rate", &Quantity::Rate, From::Zero, &time, layers, levels)
    }

    #[test]
    fn values_and_levels_share_the_unit_of_the_axis() {
        let level = Level { at: 9.5e9, label: "link".into() };
        let figure = figure(vec![line(&[1e9, f64::NAN, 4e9])], vec![level]).expect("it has values");
        assert_eq!(figure.y.title, "Rate (Gbit/s)");
        assert_eq!(figure.layers[0].points[2], (2.0, 4.0));
        assert_eq!(figure.levels[0].at, 9.5);
        assert!(figure.y.range.1 > 9.5);
        assert_eq!(figure.x.title, "Time (s)");
    }

    #[test]
    fn missing_values_make_no_figure() {
        assert_eq!(figure(vec![line(&[f64::NAN, f64::NAN])], vec![]), None);
        assert_eq!(figure(vec![], vec![Level { at: 1.0, label: "link".into() }]), None);
    }

    #[test]
    fn stacked_layers_are_summed_for_the_range() {
        let area = |y| Layer::shaped("a", Ink::Total, Shape::Area, vec![(0.0, y), (1.0, y)]);
        let figure = figure(vec![area(2e9), area(3e9)], vec![]).expect("it has values");
        assert!((5.0..6.0).contains(&figure.y.range.1), "{:?}", figure.y.range);
    }
}
