//! The operators of a page.

use super::font::Font;
use super::shape::{self, Opacity};
use crate::{Feature, PictureError};
use pdf_writer::types::TextRenderingMode;
use pdf_writer::{Content, Str};
use resvg::tiny_skia::{Point, Transform};
use resvg::usvg::fontdb::ID;
use resvg::usvg::layout::{PositionedGlyph, Span};
use resvg::usvg::{BlendMode, ClipPath, Fill, FillRule, Group, Node, PaintOrder, Path, Stroke, Text, Tree};
use std::collections::BTreeSet;

/// A drawn page and the resources that its operators name.
#[derive(Debug)]
pub(super) struct Page {
    pub operators: Vec<u8>,
    /// In the order in which they occur.
    pub fonts: Vec<Font>,
    pub opacities: BTreeSet<Opacity>,
}

/// Parts of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    All,
    Strokes,
}

impl Page {
    /// Draws `tree`; `to_points` leads from its pixels to the points of the page.
    pub fn draw(tree: &Tree, to_points: [f32; 6]) -> Result<Page, PictureError> {
        let mut pen = Pen { content: Content::new(), fonts: Vec::new(), opacities: BTreeSet::new() };
        pen.content.transform(to_points);
        pen.group(tree.root(), Parts::All, tree)?;
        let Pen { content, fonts, opacities } = pen;
        Ok(Page { operators: content.finish(), fonts, opacities })
    }
}

struct Pen {
    content: Content,
    fonts: Vec<Font>,
    opacities: BTreeSet<Opacity>,
}

impl Pen {
    fn group(&mut self, group: &Group, parts: Parts, tree: &Tree) -> Result<(), PictureError> {
        check(group)?;
        self.content.save_state();
        if !group.transform().is_identity() {
            self.content.transform(shape::matrix(group.transform()));
        }
        if let Some(clip) = group.clip_path() {
            self.clip(clip)?;
        }
        for node in group.children() {
            match node {
                Node::Group(inner) => self.group(inner, parts, tree)?,
                Node::Path(path) if path.is_visible() => self.path(path, parts)?,
                Node::Path(_) => {}
                Node::Text(text) => self.text(text, tree)?,
                Node::Image(_) => return Err(PictureError::Unsupported(Feature::Image)),
            }
        }
        self.content.restore_state();
        Ok(())
    }

    fn clip(&mut self, clip: &ClipPath) -> Result<(), PictureError> {
        if let Some(outer) = clip.clip_path() {
            self.clip(outer)?;
        }
        let mut is_even_odd = false;
        for node in clip.root().children() {
            let Node::Path(path) = node else { return Err(PictureError::Unsupported(Feature::Clip)) };
            let transform = clip.transform().pre_concat(path.abs_transform());
            if let Some(data) = path.data().clone().transform(transform) {
                shape::trace(&mut self.content, &data);
            }
            is_even_odd |= path.fill().is_some_and(|fill| fill.rule() == FillRule::EvenOdd);
        }
        if is_even_odd {
            self.content.clip_even_odd();
        } else {
            self.content.clip_nonzero();
        }
        self.content.end_path();
        Ok(())
    }

    /// Fill and stroke are drawn by an operator each, because the operator for both fills first.
    fn path(&mut self, path: &Path, parts: Parts) -> Result<(), PictureError> {
        let fill = path.fill().filter(|_| parts == Parts::All);
        self.content.save_state();
        self.opacity(fill, path.stroke());
        match path.paint_order() {
            PaintOrder::FillAndStroke => {
                self.fill(path, fill)?;
                self.stroke(path)?;
            }
            PaintOrder::StrokeAndFill => {
                self.stroke(path)?;
                self.fill(path, fill)?;
            }
        }
        self.content.restore_state();
        Ok(())
    }

    fn fill(&mut self, path: &Path, fill: Option<&Fill>) -> Result<(), PictureError> {
        let Some(fill) = fill else { return Ok(()) };
        shape::set_fill(&mut self.content, fill)?;
        shape::trace(&mut self.content, path.data());
        match fill.rule() {
            FillRule::NonZero => self.content.fill_nonzero(),
            FillRule::EvenOdd => self.content.fill_even_odd(),
        };
        Ok(())
    }

    fn stroke(&mut self, path: &Path) -> Result<(), PictureError> {
        let Some(stroke) = path.stroke() else { return Ok(()) };
        shape::set_stroke(&mut self.content, stroke)?;
        shape::trace(&mut self.content, path.data());
        self.content.stroke();
        Ok(())
    }

    fn opacity(&mut self, fill: Option<&Fill>, stroke: Option<&Stroke>) {
        let opacity = Opacity::new(fill.map(Fill::opacity), stroke.map(Stroke::opacity));
        if !opacity.is_full() {
            self.content.set_parameters(opacity.name().as_name());
            self.opacities.insert(opacity);
        }
    }

    /// Strokes of text are vectors and its fill is text, so that a search finds each word once.
    fn text(&mut self, text: &Text, tree: &Tree) -> Result<(), PictureError> {
        let strokes_last = text.layouted().iter().any(|span| span.paint_order == PaintOrder::FillAndStroke);
        let has_strokes = text.layouted().iter().any(|span| span.stroke.is_some());
        if has_strokes && !strokes_last {
            self.group(text.flattened(), Parts::Strokes, tree)?;
        }
        for span in text.layouted().iter().filter(|span| span.visible) {
            self.span(span, tree)?;
        }
        if has_strokes && strokes_last {
            self.group(text.flattened(), Parts::Strokes, tree)?;
        }
        Ok(())
    }

    fn span(&mut self, span: &Span, tree: &Tree) -> Result<(), PictureError> {
        self.content.save_state();
        self.opacity(span.fill.as_ref(), None);
        match &span.fill {
            Some(fill) => shape::set_fill(&mut self.content, fill)?,
            None => {
                self.content.set_text_rendering_mode(TextRenderingMode::Invisible);
            }
        }
        self.content.begin_text();
        let mut rest = span.positioned_glyphs.as_slice();
        while let Some(first) = rest.first() {
            let index = self.font(first.font, tree)?;
            let baseline = Baseline::of(first, &self.fonts[index], span.font_size.get());
            let same = rest.iter().take_while(|glyph| baseline.distance_to(glyph).is_some());
            let (run, others) = rest.split_at(same.count().max(1));
            self.run(&baseline, index, run);
            rest = others;
        }
        self.content.end_text();
        self.content.restore_state();
        Ok(())
    }

    /// The index of a font, which is added if it is new.
    fn font(&mut self, id: ID, tree: &Tree) -> Result<usize, PictureError> {
        if let Some(index) = self.fonts.iter().position(|font| font.id == id) {
            return Ok(index);
        }
        self.fonts.push(Font::load(id, self.fonts.len(), tree.fontdb())?);
        Ok(self.fonts.len() - 1)
    }

    /// Glyphs of one font on one baseline.
    fn run(&mut self, baseline: &Baseline, font: usize, glyphs: &[PositionedGlyph]) {
        let font = &mut self.fonts[font];
        self.content.set_font(font.name().as_name(), baseline.size);
        self.content.set_text_matrix(shape::matrix(baseline.matrix));
        let mut show = self.content.show_positioned();
        let mut items = show.items();
        let mut pending: Vec<u8> = Vec::new();
        let mut at = 0.0;
        for glyph in glyphs {
            let wanted = baseline.distance_to(glyph).unwrap_or(at);
            // In thousandths of the font size, to the left.
            let shift = ((at - wanted) / baseline.size * 1000.0).round();
            if shift != 0.0 {
                if !pending.is_empty() {
                    items.show(Str(&std::mem::take(&mut pending)));
                }
                items.adjust(shift);
                at -= shift / 1000.0 * baseline.size;
            }
            pending.extend(font.code(glyph.id.0, &glyph.text).to_be_bytes());
            at += font.advance(glyph.id.0) * baseline.size;
        }
        items.show(Str(&pending));
    }
}

/// The line on which a glyph stands.
struct Baseline {
    font: ID,
    units_per_em: f32,
    /// Font size in pixels of the document.
    size: f32,
    /// From pixels along and across the line to the document.
    matrix: Transform,
    inverse: Option<Transform>,
}

impl Baseline {
    fn of(glyph: &PositionedGlyph, font: &Font, size: f32) -> Baseline {
        let units_per_em = font.units_per_em();
        let matrix = placed(glyph, units_per_em, size);
        Baseline { font: font.id, units_per_em, size, matrix, inverse: matrix.invert() }
    }

    /// How far along the line `glyph` stands, in pixels; `None` if it is not on the line, or of another font.
    fn distance_to(&self, glyph: &PositionedGlyph) -> Option<f32> {
        const TOLERANCE: f32 = 1e-3;
        let placed = placed(glyph, self.units_per_em, self.size);
        let turned = [
            (placed.sx, self.matrix.sx),
            (placed.kx, self.matrix.kx),
            (placed.ky, self.matrix.ky),
            (placed.sy, self.matrix.sy),
        ];
        if glyph.font != self.font || turned.iter().any(|(a, b)| (a - b).abs() > TOLERANCE) {
            return None;
        }
        let mut origin = Point::from_xy(placed.tx, placed.ty);
        self.inverse?.map_point(&mut origin);
        (origin.y.abs() < TOLERANCE * self.size).then_some(origin.x)
    }
}

/// The place of `glyph`, whose outline is in pixels then.
fn placed(glyph: &PositionedGlyph, units_per_em: f32, size: f32) -> Transform {
    let scale = units_per_em / size;
    glyph.outline_transform().pre_scale(scale, scale)
}

/// An error for parts of SVG that this module does not translate. Figures have none of them.
fn check(group: &Group) -> Result<(), PictureError> {
    let found = if group.mask().is_some() {
        Feature::Mask
    } else if !group.filters().is_empty() {
        Feature::Filter
    } else if group.blend_mode() != BlendMode::Normal {
        Feature::BlendMode
    } else if group.opacity().get() < 1.0 {
        Feature::GroupOpacity
    } else {
        return Ok(());
    };
    Err(PictureError::Unsupported(found))
}
