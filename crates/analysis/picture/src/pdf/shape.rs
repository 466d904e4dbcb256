//! Shapes, colours and strokes as operators.

use crate::{Feature, PictureError};
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Name};
use resvg::tiny_skia::{self, PathSegment, Point, Transform};
use resvg::usvg::{Color, Fill, LineCap, LineJoin, Opacity as Share, Paint, Stroke};

/// Name of a resource, such as `F0`.
#[derive(Debug, Clone)]
pub(super) struct ResourceName(String);

impl ResourceName {
    pub fn new(text: String) -> ResourceName {
        ResourceName(text)
    }

    pub fn as_name(&self) -> Name<'_> {
        Name(self.0.as_bytes())
    }
}

/// How far fills and strokes cover the ground below them, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Opacity {
    fill: u16,
    stroke: u16,
}

impl Opacity {
    const FULL: u16 = 1000;

    /// Of a shape with these opacities; a missing part covers fully.
    pub fn new(fill: Option<Share>, stroke: Option<Share>) -> Opacity {
        let thousandths = |share: Option<Share>| {
            share.map_or(Self::FULL, |share| (share.get() * f32::from(Self::FULL)).round() as u16)
        };
        Opacity { fill: thousandths(fill), stroke: thousandths(stroke) }
    }

    pub fn is_full(self) -> bool {
        self == Opacity { fill: Self::FULL, stroke: Self::FULL }
    }

    pub fn fill(self) -> f32 {
        f32::from(self.fill) / f32::from(Self::FULL)
    }

    pub fn stroke(self) -> f32 {
        f32::from(self.stroke) / f32::from(Self::FULL)
    }

    pub fn name(self) -> ResourceName {
        ResourceName(format!("O{}-{}", self.fill, self.stroke))
    }
}

/// A transform as PDF writes it.
pub(super) fn matrix(t: Transform) -> [f32; 6] {
    [t.sx, t.ky, t.kx, t.sy, t.tx, t.ty]
}

/// Adds the lines of `path`, without painting them.
pub(super) fn trace(content: &mut Content, path: &tiny_skia::Path) {
    let mut last = Point::zero();
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(p) => {
                content.move_to(p.x, p.y);
                last = p;
            }
            PathSegment::LineTo(p) => {
                content.line_to(p.x, p.y);
                last = p;
            }
            PathSegment::QuadTo(c, p) => {
                // PDF has cubic curves only; this one is the same curve.
                let towards = |end: f32, control: f32| end + (control - end) * 2.0 / 3.0;
                content.cubic_to(
                    towards(last.x, c.x),
                    towards(last.y, c.y),
                    towards(p.x, c.x),
                    towards(p.y, c.y),
                    p.x,
                    p.y,
                );
                last = p;
            }
            PathSegment::CubicTo(c, d, p) => {
                content.cubic_to(c.x, c.y, d.x, d.y, p.x, p.y);
                last = p;
            }
            PathSegment::Close => {
                content.close_path();
            }
        }
    }
}

/// Sets the colour that fills have from here on.
pub(super) fn set_fill(content: &mut Content, fill: &Fill) -> Result<(), PictureError> {
    let [r, g, b] = rgb(colour(fill.paint())?);
    content.set_fill_rgb(r, g, b);
    Ok(())
}

/// Sets colour, width, ends, corners and dashes that strokes have from here on.
pub(super) fn set_stroke(content: &mut Content, stroke: &Stroke) -> Result<(), PictureError> {
    let [r, g, b] = rgb(colour(stroke.paint())?);
    content.set_stroke_rgb(r, g, b);
    content.set_line_width(stroke.width().get());
    content.set_line_cap(match stroke.linecap() {
        LineCap::Butt => LineCapStyle::ButtCap,
        LineCap::Round => LineCapStyle::RoundCap,
        LineCap::Square => LineCapStyle::ProjectingSquareCap,
    });
    content.set_line_join(match stroke.linejoin() {
        LineJoin::Miter | LineJoin::MiterClip => LineJoinStyle::MiterJoin,
        LineJoin::Round => LineJoinStyle::RoundJoin,
        LineJoin::Bevel => LineJoinStyle::BevelJoin,
    });
    content.set_miter_limit(stroke.miterlimit().get());
    if let Some(dashes) = stroke.dasharray() {
        content.set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
    }
    Ok(())
}

fn colour(paint: &Paint) -> Result<Color, PictureError> {
    match paint {
        Paint::Color(colour) => Ok(*colour),
        Paint::LinearGradient(_) | Paint::RadialGradient(_) | Paint::Pattern(_) => {
            Err(PictureError::Unsupported(Feature::Gradient))
        }
    }
}

fn rgb(colour: Color) -> [f32; 3] {
    // All 256 values differ in three digits.
    [colour.red, colour.green, colour.blue].map(|value| (f32::from(value) / 255.0 * 1000.0).round() / 1000.0)
}
