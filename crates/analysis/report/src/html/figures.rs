//! Figures on the page: a frame each. The page's script draws into it from [`super::data`].

use super::verbatim;
use crate::drawing::{Drawing, SHEET};
use crate::figure::{AxisKind, Figure};
use crate::palette::Palette;
use maud::{Markup, html};

/// The section of figures across runs; none if there are none.
pub(crate) fn across(figures: &[Figure], palette: &Palette) -> Markup {
    let mut narrow = figures.iter().filter(|figure| is_narrow(figure)).count();
    let is_odd = narrow % 2 == 1;
    let frames = figures.iter().map(|figure| {
        narrow -= usize::from(is_narrow(figure));
        // A narrow one without a neighbour would leave half of the row empty.
        frame(figure, palette, "study", is_odd && narrow == 0)
    });
    html! {
        @if !figures.is_empty() {
            section #across {
                h2 { "Across runs" }
                div.grid { @for frame in frames { (frame) } }
            }
        }
    }
}

fn is_narrow(figure: &Figure) -> bool {
    let is_small = |drawing: &Drawing| drawing.width < SHEET;
    matches!(figure.y.kind, AxisKind::Names(_)) || figure.drawing.as_ref().is_some_and(is_small)
}

/// A figure's place. What has nothing to draw is said in words.
pub(crate) fn frame(figure: &Figure, palette: &Palette, owner: &str, alone: bool) -> Markup {
    let height = match &figure.y.kind {
        AxisKind::Names(names) => 110 + 30 * names.len().max(2),
        _ => 300,
    };
    html! {
        figure.card.wide[!is_narrow(figure) || alone] {
            figcaption { h3 { (figure.title) } p { (figure.note) } }
            @if !figure.layers.is_empty() {
                div.plot data-owner=(owner) data-figure=(figure.id) style={ "height:" (height) "px" } {}
            }
            @if let Some(drawing) = &figure.drawing {
                div.sheet {
                    svg.drawing.small[drawing.width < SHEET] viewBox={ "0 0 " (drawing.width) " " (drawing.height) } role="img"
                        aria-label=(figure.title) { (verbatim::drawing(drawing, palette)) }
                }
            }
        }
    }
}
