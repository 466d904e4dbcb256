//! A drawing: boxes, words and arrows on a sheet, for what has no axes. Page and SVG file draw the same marks.

use crate::colour_scale::{Shade, shade};
use crate::figure::Ink;

/// Width of every sheet.
pub(crate) const SHEET: f64 = 872.0;

/// Marks on a sheet; later ones lie over earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawing {
    pub width: f64,
    pub height: f64,
    pub marks: Vec<Mark>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mark {
    Box {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        paint: Paint,
        /// What a pointer over it is told; empty: nothing.
        hint: String,
    },
    Text {
        x: f64,
        y: f64,
        anchor: Anchor,
        face: Face,
        content: String,
    },
    /// A measured value at a place. Its black and white rim is seen on every shade.
    Spot {
        x: f64,
        y: f64,
        shade: Shade,
        /// Text for a pointer over it.
        hint: String,
    },
    /// A line to `to`, where its head is.
    Arrow {
        from: (f64, f64),
        to: (f64, f64),
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Paint {
    /// A ground for other boxes.
    Panel,
    /// A box with a border.
    Frame,
    /// A border alone.
    Outline,
    Full(Ink),
    /// Words can be read on it.
    Tint(Ink),
    /// A value of a scale, with an edge.
    Shade(Shade),
    /// The same without an edge.
    Plain(Shade),
}

/// Which end of a text stands where it is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Face {
    Plain,
    Strong,
    Quiet,
    Coloured(Ink),
    /// To be read on that shade.
    OnShade(Shade),
}

impl Drawing {
    pub fn new() -> Self {
        Drawing { width: SHEET, height: 0.0, marks: Vec::new() }
    }

    pub fn place(&mut self, [x, y, width, height]: [f64; 4], paint: Paint) {
        self.place_with_hint([x, y, width, height], paint, String::new());
    }

    pub fn place_with_hint(&mut self, [x, y, width, height]: [f64; 4], paint: Paint, hint: String) {
        self.marks.push(Mark::Box { x, y, width, height, paint, hint });
    }

    pub fn spot(&mut self, (x, y): (f64, f64), shade: Shade, hint: String) {
        self.marks.push(Mark::Spot { x, y, shade, hint });
    }

    pub fn write(&mut self, x: f64, y: f64, anchor: Anchor, face: Face, content: impl Into<String>) {
        self.marks.push(Mark::Text { x, y, anchor, face, content: content.into() });
    }

    /// The scale of colours, from the least value on the left.
    pub fn scale_of_colours(&mut self, left: f64, top: f64, width: f64) {
        const STEPS: u32 = 40;
        let step = width / f64::from(STEPS);
        for index in 0..STEPS {
            let share = (f64::from(index) + 0.5) / f64::from(STEPS);
            // Each reaches below the next, so that no line shows between them.
            self.place([left + f64::from(index) * step, top, step + 0.6, 10.0], Paint::Plain(shade(share)));
        }
    }

    pub fn point(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.marks.push(Mark::Arrow { from, to });
    }

    /// The inks in it, so that their colours are declared.
    pub fn inks(&self) -> impl Iterator<Item = &Ink> {
        self.marks.iter().filter_map(|mark| match mark {
            Mark::Box { paint: Paint::Full(ink) | Paint::Tint(ink), .. } => Some(ink),
            Mark::Text { face: Face::Coloured(ink), .. } => Some(ink),
            _ => None,
        })
    }

    /// About as many points of lines take as much of a page.
    pub fn weight(&self) -> usize {
        self.marks.len() * 8
    }
}
