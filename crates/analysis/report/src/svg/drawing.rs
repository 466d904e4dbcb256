//! Drawings: what has no axes.

use super::escape::escape;
use super::{Setting, notes, opened};
use crate::colour_scale::Shade;
use crate::drawing::{Anchor, Drawing, Face, Mark, Paint};
use crate::figure::{Figure, Ink};
use crate::palette::Palette;
use std::fmt::Write;

/// The figure of `drawing` as an SVG document.
pub(super) fn render(figure: &Figure, drawing: &Drawing, setting: Setting) -> String {
    const MARGIN: f64 = 24.0;
    let notes = notes(figure, setting, drawing.width);
    let top = 34.0 + notes.len() as f64 * 18.0 + 8.0;
    let size = (drawing.width + 2.0 * MARGIN, top + drawing.height + 20.0);
    let mut out = opened(figure, setting, &notes, size);
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {top:.1})\">");
    marks(&mut out, drawing, setting.palette);
    out.push_str("</g>\n</svg>\n");
    out
}

/// The marks alone, for a sheet that begins at 0, 0.
pub(crate) fn marks(out: &mut String, drawing: &Drawing, palette: &Palette) {
    let of = |kind: &str, ink: &Ink| format!("{kind}-{}", palette.swatch(ink).name());
    for mark in &drawing.marks {
        match mark {
            Mark::Box { x, y, width, height, paint, hint } => {
                let (class, round) = match paint {
                    Paint::Panel => ("panel".into(), 8),
                    Paint::Frame => ("frame".into(), 5),
                    Paint::Outline => ("outline".into(), 5),
                    Paint::Full(ink) => (of("f", ink), 2),
                    Paint::Tint(ink) => (format!("tint {}", of("f", ink)), 0),
                    Paint::Shade(_) => ("shade".into(), 0),
                    Paint::Plain(_) => (String::new(), 0),
                };
                let _ = write!(
                    out,
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round}\""
                );
                if let Paint::Shade(Shade { rgb: [r, g, b], .. })
                | Paint::Plain(Shade { rgb: [r, g, b], .. }) = paint
                {
                    let _ = write!(out, " fill=\"#{r:02x}{g:02x}{b:02x}\"");
                }
                let _ = if hint.is_empty() {
                    writeln!(out, "/>")
                } else {
                    writeln!(out, "><title>{}</title></rect>", escape(hint))
                };
            }
            Mark::Text { x, y, anchor, face, content } => {
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => "middle ",
                    Anchor::End => "end ",
                };
                let face = match face {
                    Face::Plain => String::new(),
                    Face::Strong => "strong".into(),
                    Face::Quiet => "quiet".into(),
                    Face::Coloured(ink) => format!("strong {}", of("f", ink)),
                    Face::OnShade(shade) => if shade.is_dark { "on-dark" } else { "on-light" }.into(),
                };
                super::text(out, *x, *y, format!("{anchor}{face}").trim_end(), content);
            }
            Mark::Spot { x, y, shade, hint } => spot(out, (*x, *y), *shade, hint),
            Mark::Arrow { from, to } => arrow(out, *from, *to),
        }
    }
}

fn spot(out: &mut String, (x, y): (f64, f64), Shade { rgb: [r, g, b], .. }: Shade, hint: &str) {
    let hint = escape(hint);
    let _ = writeln!(
        out,
        "<g class=\"spot\"><title>{hint}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\" fill=\"#000\"/>\
         <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5.5\" fill=\"#{r:02x}{g:02x}{b:02x}\" stroke=\"#fff\" stroke-width=\"1.5\"/></g>"
    );
}

fn arrow(out: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    const HEAD: f64 = 5.0;
    let length = (x2 - x1).hypot(y2 - y1).max(f64::MIN_POSITIVE);
    let (dx, dy) = ((x2 - x1) / length * HEAD, (y2 - y1) / length * HEAD);
    let _ = writeln!(
        out,
        "<path class=\"way\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}M{:.1} {:.1}L{x2:.1} {y2:.1}L{:.1} {:.1}\"/>",
        x2 - dx - dy * 0.8,
        y2 - dy + dx * 0.8,
        x2 - dx + dy * 0.8,
        y2 - dy - dx * 0.8
    );
}
