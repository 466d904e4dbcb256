//! Trees as PDF: shapes as vectors, text as text.
//!
//! PDF has other terms than SVG, but the same model of shapes, strokes and transforms. [`content`] translates the tree into the
//! operators of a page, [`shape`] the shapes in it, and [`font`] embeds the glyphs that occur. Nothing depends on the order of a
//! hash table, so that a tree has the same bytes each time.

mod content;
mod font;
mod shape;

use crate::{DOCUMENT_DPI, PictureError};
use content::Page;
use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::writers::ExtGraphicsState;
use pdf_writer::{Chunk, Filter, Finish, Pdf, Rect, Ref, TextStr};
use resvg::usvg::Tree;

/// Points of PDF, of which an inch has 72, in a pixel of SVG.
const POINTS_A_PIXEL: f32 = 72.0 / DOCUMENT_DPI;
const PRODUCER: &str = "wirespeed";
/// Of 10. Larger levels take longer for few bytes.
const COMPRESSION: u8 = 6;

/// `tree` as a document of one page, without a date.
pub(crate) fn render(tree: &Tree, title: &str) -> Result<Vec<u8>, PictureError> {
    let [width, height] = [tree.size().width(), tree.size().height()].map(|side| side * POINTS_A_PIXEL);
    // SVG counts downwards from the top, PDF upwards from the bottom.
    let to_points = [POINTS_A_PIXEL, 0.0, 0.0, -POINTS_A_PIXEL, 0.0, height];
    let drawn = Page::draw(tree, to_points)?;

    let mut pdf = Pdf::new();
    let mut next = Ref::new(1);
    let [catalog, pages, page, content, info] = [(); 5].map(|()| next.bump());
    let mut root = pdf.catalog(catalog);
    root.pages(pages).lang(TextStr("en"));
    root.viewer_preferences().display_doc_title(true);
    root.finish();
    pdf.pages(pages).kids([page]).count(1);
    pdf.document_info(info).title(TextStr(title)).producer(TextStr(PRODUCER));
    compressed(&mut pdf, content, &drawn.operators);
    let fonts: Vec<Ref> = drawn
        .fonts
        .iter()
        .map(|font| font.write(&mut pdf, &mut next, tree.fontdb()))
        .collect::<Result<_, _>>()?;

    let mut sheet = pdf.page(page);
    sheet.media_box(Rect::new(0.0, 0.0, width, height)).parent(pages).contents(content);
    sheet.group().transparency().color_space().device_rgb();
    let mut resources = sheet.resources();
    let mut named = resources.fonts();
    for (font, reference) in drawn.fonts.iter().zip(fonts) {
        named.pair(font.name().as_name(), reference);
    }
    named.finish();
    let mut states = resources.ext_g_states();
    for opacity in &drawn.opacities {
        let mut state = states.insert(opacity.name().as_name()).start::<ExtGraphicsState>();
        state.non_stroking_alpha(opacity.fill()).stroking_alpha(opacity.stroke());
    }
    states.finish();
    resources.finish();
    sheet.finish();
    Ok(pdf.finish())
}

/// Writes a compressed stream of `data`.
fn compressed(chunk: &mut Chunk, reference: Ref, data: &[u8]) {
    chunk.stream(reference, &compress_to_vec_zlib(data, COMPRESSION)).filter(Filter::FlateDecode);
}
