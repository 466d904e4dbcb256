//! A plan for a path: tables, the rate over the loss, and surfaces of the rate.

mod page;
mod surface;

pub use page::page;

use crate::figure::{Axis, AxisKind, Dash, Figure, From, Ink, Layer};
use crate::number::Quantity;

/// Everything on the page; plain data.
#[derive(Debug, Clone, Default)]
pub struct PlanPage {
    /// The path in a few words.
    pub title: String,
    /// Its settings.
    pub facts: Vec<String>,
    /// The answer in sentences.
    pub answer: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Rates over the loss rate.
    pub curves: Vec<Curve>,
    /// Rates over two factors.
    pub surfaces: Vec<SurfaceFigure>,
    /// The command that repeats it.
    pub command: String,
    /// Program and version.
    pub generated_by: String,
}

/// A table of words.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Name of the section in links.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// A note for the reader.
    pub note: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Cells by row.
    pub rows: Vec<Vec<String>>,
}

/// The rate of an algorithm over the loss rate.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Congestion control, which has a colour.
    pub congestion: String,
    /// Name in the legend.
    pub label: String,
    /// Loss rate, goodput in bit/s, and the ends of its interval.
    pub points: Vec<(f64, f64, f64, f64)>,
}

/// The rate over two factors.
#[derive(Debug, Clone, Default)]
pub struct SurfaceFigure {
    /// The heading.
    pub title: String,
    /// The x axis, logarithmic.
    pub x: SurfaceAxis,
    /// The y axis, logarithmic.
    pub y: SurfaceAxis,
    /// The rate of the path in bit/s, the end of the scale of colours.
    pub rate_bps: f64,
    /// Parts that cover it.
    pub rectangles: Vec<Rectangle>,
    /// Measured rates over it.
    pub spots: Vec<Spot>,
    /// A note for the reader.
    pub note: String,
}

/// An axis of a surface.
#[derive(Debug, Clone, Default)]
pub struct SurfaceAxis {
    /// Title with the unit.
    pub title: String,
    /// The values that are marked. Without any, powers of ten are marked.
    pub marked: Vec<f64>,
}

/// A part of a surface.
#[derive(Debug, Clone, Default)]
pub struct Rectangle {
    /// From and to on the x axis.
    pub x: (f64, f64),
    /// From and to on the y axis.
    pub y: (f64, f64),
    /// Goodput in bit/s.
    pub goodput_bps: f64,
    /// Text for a pointer over it.
    pub hint: String,
}

/// A measured rate on a surface.
#[derive(Debug, Clone, Default)]
pub struct Spot {
    /// Place on the x axis, in its unit.
    pub x: f64,
    /// Place on the y axis, in its unit.
    pub y: f64,
    /// Goodput in bit/s.
    pub goodput_bps: f64,
    /// Text for a pointer over it.
    pub hint: String,
}

/// The curves in one figure, with their intervals as bands.
fn over_loss(curves: &[Curve]) -> Option<Figure> {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let least = all().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let most = all().map(|point| point.0).fold(0.0, f64::max);
    let mut layers = Vec::new();
    let mut twins: Vec<&str> = Vec::new();
    for curve in curves {
        let twin = twins.iter().filter(|name| **name == curve.congestion).count();
        twins.push(&curve.congestion);
        let ink = Ink::Flow { congestion: Some(curve.congestion.clone()), label: curve.label.clone(), twin };
        let dash = if twin == 0 { Dash::Solid } else { Dash::Dashed };
        let points: Vec<(f64, f64)> = curve.points.iter().map(|(loss, bps, ..)| (*loss, *bps)).collect();
        let upper = curve.points.iter().map(|(loss, _, _, high)| (*loss, *high));
        let lower = curve.points.iter().rev().map(|(loss, _, low, _)| (*loss, *low));
        let band = upper.chain(lower).filter(|(_, bps)| bps.is_finite()).collect();
        layers.push(
            Layer::shaped(curve.label.clone(), ink.clone(), crate::figure::Shape::Band, band).unnamed(),
        );
        layers.push(Layer::line(curve.label.clone(), ink, dash, points));
    }
    let x = Axis {
        title: "Loss rate".into(),
        kind: AxisKind::Log { zero: None },
        range: (least / 1.2, most * 1.2),
    };
    let rate = Quantity::Rate;
    let figure = Figure::of_values(
        "rate-over-loss",
        "Rate over loss",
        x,
        "Goodput",
        &rate,
        From::Zero,
        layers,
        vec![],
    )?;
    Some(figure.with_note("Lines join simulated points. Bands are intervals of 95 %."))
}
