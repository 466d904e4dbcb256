//! The fonts of the program: see `fonts/README.md`.

use resvg::usvg::FontResolver;
use resvg::usvg::fontdb::{Database, Source};
use std::sync::Arc;

const REGULAR: &[u8] = include_bytes!("../fonts/Roboto-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../fonts/Roboto-Bold.ttf");

/// Weight from which text is bold, on CSS's scale from 1 to 1000.
const FROM_BOLD: u16 = 550;

/// The fonts, and their choice by weight alone, whatever family a document names.
pub(crate) fn load() -> (Arc<Database>, FontResolver<'static>) {
    let mut database = Database::new();
    let mut face = |bytes: &'static [u8]| database.load_font_source(Source::Binary(Arc::new(bytes)))[0];
    let (regular, bold) = (face(REGULAR), face(BOLD));
    let resolver = FontResolver {
        select_font: Box::new(move |font, _| Some(if font.weight() >= FROM_BOLD { bold } else { regular })),
        // Both have the same characters.
        select_fallback: Box::new(|_, _, _| None),
    };
    (Arc::new(database), resolver)
}
