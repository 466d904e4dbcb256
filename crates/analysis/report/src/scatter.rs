//! Scatter plots of two measurements of the same things, as SVG.

use crate::figure::{Axis, AxisKind, Dash, Figure, Ink, Layer, Note, Shape};
use crate::palette::Palette;
use crate::svg;

/// A scatter plot on logarithmic axes of the same range, with the diagonal.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// Title of the picture.
    pub title: String,
    /// Sentences below the title.
    pub note: String,
    /// Title of the horizontal axis, with its unit.
    pub x: String,
    /// Title of the vertical axis, with its unit.
    pub y: String,
    /// The place of 0, if the axes count something. Marks below it are moved there, and ticks begin at 1.
    pub zero: Option<f64>,
    /// Dashed lines run beside the diagonal at this share above and below.
    pub tolerance: f64,
    /// The marks by colour. The legend has all of them, also those without marks.
    pub groups: Vec<ScatterGroup>,
}

/// Marks of one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct ScatterGroup {
    /// Name in the legend.
    pub name: String,
    /// The marks. Those without a place on the axes are left out.
    pub marks: Vec<ScatterMark>,
}

/// One of the compared things.
#[derive(Debug, Clone, PartialEq)]
pub struct ScatterMark {
    /// Its values on the horizontal and the vertical axis.
    pub at: (f64, f64),
    /// The text that a pointer over the mark shows.
    pub hint: String,
    /// If there is one, it stands beside the mark, and the mark is hollow.
    pub label: Option<String>,
}

impl Scatter {
    /// The plot as an SVG document.
    pub fn svg(&self) -> String {
        let flows = self.groups.iter().map(|group| (Some(group.name.as_str()), group.name.as_str()));
        svg::render_square(&self.figure(), &Palette::new(flows))
    }

    fn figure(&self) -> Figure {
        let mut groups: Vec<Layer> = self.groups.iter().map(|group| self.layer(group)).collect();
        let range = range(groups.iter().flat_map(|layer| &layer.points).flat_map(|(x, y)| [*x, *y]));
        let mut layers = vec![diagonal(range, 1.0, Dash::Solid)];
        layers.extend(
            [1.0 + self.tolerance, 1.0 - self.tolerance].map(|factor| diagonal(range, factor, Dash::Dashed)),
        );
        layers.append(&mut groups);
        let axis = |title: &str| Axis { title: title.into(), kind: AxisKind::Log { zero: self.zero }, range };
        let empty = Figure::statement("scatter", &self.title, &self.note);
        Figure { x: axis(&self.x), y: axis(&self.y), layers, ..empty }
    }

    fn layer(&self, group: &ScatterGroup) -> Layer {
        let shown = |value: f64| self.zero.map_or(value, |zero| value.max(zero));
        let (mut points, mut notes) = (Vec::new(), Vec::new());
        for mark in &group.marks {
            let (x, y) = (shown(mark.at.0), shown(mark.at.1));
            if x > 0.0 && y > 0.0 {
                points.push((x, y));
                notes.push(Note { hint: mark.hint.clone(), label: mark.label.clone() });
            }
        }
        let ink = Ink::Flow { congestion: Some(group.name.clone()), label: group.name.clone(), twin: 0 };
        Layer { notes, ..Layer::shaped(&group.name, ink, Shape::Dots, points) }
    }
}

/// From a little below the least to a little above the largest value.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
    let margin = 10f64.powf(((high / low).log10() * 0.04).max(0.05));
    (low / margin, high * margin)
}

/// The line on which the vertical value is `factor` times the horizontal one.
fn diagonal((low, high): (f64, f64), factor: f64, dash: Dash) -> Layer {
    Layer::line("", Ink::Muted, dash, vec![(low, low * factor), (high, high * factor)]).unnamed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter(zero: Option<f64>, marks: Vec<ScatterMark>) -> Scatter {
        let groups = vec![
            ScatterGroup { name: "delay".into(), marks },
            ScatterGroup { name: "loss".into(), marks: vec![] },
        ];
        let (title, note) = ("Goodput".into(), "One mark for each cell.".into());
        Scatter {
            title,
            note,
            x: "kernel, Mbit/s".into(),
            y: "model, Mbit/s".into(),
            zero,
            tolerance: 0.1,
            groups,
        }
    }

    fn mark(at: (f64, f64), label: Option<&str>) -> ScatterMark {
        ScatterMark { at, hint: format!("cell <{}>", at.0), label: label.map(String::from) }
    }

    #[test]
    fn marks_have_hints_and_labelled_ones_are_hollow() {
        let svg = scatter(None, vec![mark((10.0, 10.0), None), mark((10.0, 100.0), Some("7"))]).svg();
        // Two of them are in the legend.
        assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
        assert!(svg.contains("<title>cell &lt;10&gt;</title>") && svg.contains(">7</text>"), "{svg}");
        assert_eq!(svg.matches("class=\"ground s-").count(), 1, "{svg}");
    }

    #[test]
    fn zeros_have_a_place_where_things_are_counted() {
        let zeros = || vec![mark((0.0, 0.0), None), mark((0.0, 30.0), None)];
        let counts = scatter(Some(0.5), zeros()).svg();
        assert_eq!(
            (counts.matches("<circle").count(), counts.matches(">0</text>").count()),
            (4, 2),
            "{counts}"
        );
        assert_eq!(scatter(None, zeros()).svg().matches("<circle").count(), 2);
    }
}
