//! A surface: rectangles on two logarithmic axes, coloured by the rate.

use super::{Rectangle, SurfaceAxis, SurfaceFigure};
use crate::colour_scale::shade;
use crate::drawing::{Anchor, Drawing, Face, Paint, SHEET};
use crate::figure::Figure;
use crate::number::with_unit;
use crate::plan::slug;
use crate::svg::text_width;

/// Sizes in the units of a sheet.
const LEFT: f64 = 96.0;
const TOP: f64 = 26.0;
const HEIGHT: f64 = 330.0;
const TEXT: f64 = 12.5;
const LEGEND: f64 = 220.0;
/// The scale of colours begins at this share of the path's rate.
const LEAST_SHARE: f64 = 1e-3;

/// One axis of the sheet.
struct Scale {
    from: f64,
    to: f64,
    start: f64,
    length: f64,
}

impl Scale {
    fn new(ends: impl Iterator<Item = (f64, f64)>, start: f64, length: f64) -> Scale {
        let (from, to) =
            ends.fold((f64::INFINITY, 0.0_f64), |(least, most), (a, b)| (least.min(a), most.max(b)));
        Scale { from: from.ln(), to: to.ln(), start, length }
    }

    fn place(&self, value: f64) -> f64 {
        self.start + (value.ln() - self.from) / (self.to - self.from) * self.length
    }

    /// The marked values, else powers of ten within the axis, or 1, 2 and 5 times them on a short one.
    fn ticks(&self, axis: &SurfaceAxis) -> Vec<f64> {
        if !axis.marked.is_empty() {
            return axis.marked.clone();
        }
        let decades = (self.to - self.from) / std::f64::consts::LN_10;
        let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (from, to) = (self.from.exp(), self.to.exp());
        let powers = (from.log10().floor() as i32)..=(to.log10().ceil() as i32);
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        all.filter(|tick| *tick >= from * 0.999 && *tick <= to * 1.001).collect()
    }
}

fn number(value: f64) -> String {
    if (1e-3..1e5).contains(&value) { format!("{value}") } else { format!("{value:e}") }
}

pub(super) fn draw(surface: &SurfaceFigure) -> Figure {
    let x = Scale::new(surface.rectangles.iter().map(|part| part.x), LEFT, SHEET - LEFT - 12.0);
    let y = Scale::new(surface.rectangles.iter().map(|part| part.y), TOP + HEIGHT, -HEIGHT);
    let mut drawing = Drawing::new();
    drawing.write(LEFT - 10.0, 14.0, Anchor::End, Face::Quiet, format!("{} ↓", surface.y.title));
    surface.rectangles.iter().for_each(|part| place(&mut drawing, surface, part, &x, &y));
    for spot in &surface.spots {
        let shade = shade(share(surface, spot.goodput_bps));
        drawing.spot((x.place(spot.x), y.place(spot.y)), shade, spot.hint.clone());
    }
    for tick in y.ticks(&surface.y) {
        drawing.write(LEFT - 10.0, y.place(tick) + 4.5, Anchor::End, Face::Plain, number(tick));
    }
    let below = TOP + HEIGHT;
    for tick in x.ticks(&surface.x) {
        drawing.write(x.place(tick), below + 17.0, Anchor::Middle, Face::Plain, number(tick));
    }
    drawing.write(LEFT + x.length / 2.0, below + 36.0, Anchor::Middle, Face::Quiet, surface.x.title.clone());
    legend(&mut drawing, surface, below + 54.0);
    drawing.height = below + 90.0;
    Figure::drawn(&slug(&surface.title), &surface.title, drawing).with_note(&surface.note)
}

/// The share of the scale of colours, from 0 to 1.
fn share(surface: &SurfaceFigure, bps: f64) -> f64 {
    let share = (bps / surface.rate_bps).max(LEAST_SHARE);
    1.0 - share.log10() / LEAST_SHARE.log10()
}

fn place(drawing: &mut Drawing, surface: &SurfaceFigure, part: &Rectangle, x: &Scale, y: &Scale) {
    let (left, right) = (x.place(part.x.0), x.place(part.x.1));
    let (top, bottom) = (y.place(part.y.1), y.place(part.y.0));
    let colour = shade(share(surface, part.goodput_bps));
    drawing.place_with_hint([left, top, right - left, bottom - top], Paint::Shade(colour), part.hint.clone());
    let words = with_unit(part.goodput_bps, "bps");
    if text_width(&words, TEXT) + 6.0 <= right - left && bottom - top >= TEXT + 4.0 {
        let middle = (left + right) / 2.0;
        drawing.write(middle, (top + bottom) / 2.0 + 4.5, Anchor::Middle, Face::OnShade(colour), words);
    }
}

fn legend(drawing: &mut Drawing, surface: &SurfaceFigure, top: f64) {
    drawing.scale_of_colours(LEFT, top, LEGEND);
    let least = with_unit(surface.rate_bps * LEAST_SHARE, "bps");
    drawing.write(LEFT, top + 26.0, Anchor::Start, Face::Quiet, format!("{least} or less"));
    let most = with_unit(surface.rate_bps, "bps");
    drawing.write(LEFT + LEGEND, top + 26.0, Anchor::End, Face::Quiet, most);
    drawing.write(LEFT + LEGEND + 14.0, top + 9.5, Anchor::Start, Face::Quiet, "Goodput");
}

#[cfg(test)]
mod tests {
    use super::super::Spot;
    use super::*;
    use crate::drawing::Mark;

    #[test]
    fn rectangles_are_where_the_axes_have_them() {
        let part = |x, y, bps| Rectangle { x, y, goodput_bps: bps, hint: String::new() };
        let surface = SurfaceFigure {
            title: "t".into(),
            x: SurfaceAxis { title: "Loss rate".into(), marked: Vec::new() },
            y: SurfaceAxis { title: "RTT (ms)".into(), marked: vec![3.0] },
            rate_bps: 1e9,
            rectangles: vec![part((1e-4, 1e-3), (1.0, 10.0), 1e9), part((1e-3, 1e-2), (1.0, 10.0), 1e6)],
            spots: vec![Spot { x: 1e-3, y: 10.0, goodput_bps: 1e6, hint: "a run".into() }],
            note: String::new(),
        };
        let x = Scale::new(surface.rectangles.iter().map(|part| part.x), 0.0, 100.0);
        assert!((x.place(1e-3) - 50.0).abs() < 1e-9);
        assert_eq!(x.ticks(&surface.x).len(), 7, "1, 2 and 5 of two decades, and the end");
        assert_eq!([share(&surface, 1e9), share(&surface, 1e6), share(&surface, 1.0)], [1.0, 0.0, 0.0]);
        assert_eq!(x.ticks(&surface.y), [3.0]);
        let drawing = draw(&surface).drawing.unwrap();
        assert!(drawing.height > HEIGHT);
        let spot = drawing.marks.iter().find_map(|mark| match mark {
            Mark::Spot { x, y, shade, hint } => Some((*x, *y, *shade, hint.as_str())),
            _ => None,
        });
        let (x, y, colour, hint) = spot.expect("the measured rate is on the sheet");
        assert!((x - LEFT - (SHEET - LEFT - 12.0) / 2.0).abs() < 1e-6 && (y - TOP).abs() < 1e-6, "{x}, {y}");
        assert_eq!((colour, hint), (shade(0.0), "a run"));
    }
}
