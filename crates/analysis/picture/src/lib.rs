//! SVG documents as PNG and PDF.
//!
//! A [`Painter`] draws with the fonts of the program and no other, so that a picture does not depend on the fonts of a machine. It
//! reads no file, and gives the same bytes each time. The ground is white unless the document paints another.
//!
//! Styles for dark pages (`@media`) are ignored: pictures are for print.

mod fonts;
mod pdf;
mod png;

use resvg::usvg::{self, Group, ImageHrefResolver, Node, Tree};
use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error;

/// Resolution of PNG pictures that most publishers ask for, in pixels an inch.
pub const DEFAULT_DPI: u32 = 300;
/// Least resolution of a PNG picture, in pixels an inch. Text is unreadable below it.
pub const LEAST_DPI: u32 = 50;
/// Largest resolution of a PNG picture, in pixels an inch.
pub const LARGEST_DPI: u32 = 1200;
/// Pixels of SVG in an inch, as CSS has them.
const DOCUMENT_DPI: f32 = 96.0;
/// Most pixels of a PNG picture: 800 MB while it is drawn.
const MOST_PIXELS: u64 = 200_000_000;

/// Draws SVG documents. One painter can be used by several threads at a time.
#[derive(Debug)]
pub struct Painter {
    options: usvg::Options<'static>,
}

/// A finished picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Characters that the fonts do not have. The picture has a box in their place.
    pub missing: BTreeSet<char>,
}

/// An error in drawing a picture.
#[derive(Debug, Error)]
pub enum PictureError {
    /// The text is not an SVG document, or has no size.
    #[error("the SVG document is invalid: {0}")]
    Document(#[from] usvg::Error),
    /// The resolution is out of range.
    #[error("the resolution of {0} pixels an inch is not between {LEAST_DPI} and {LARGEST_DPI}")]
    Resolution(u32),
    /// The picture would have too many pixels.
    #[error("a picture of {width} x {height} pixels has more than {MOST_PIXELS} pixels")]
    Large {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// PNG cannot hold it.
    #[error("cannot encode the picture as PNG")]
    Png(#[from] ::png::EncodingError),
    /// The document has a part that is not translated to PDF.
    #[error("PDF files cannot contain {0}")]
    Unsupported(Feature),
    /// A font cannot be read.
    #[error("cannot read a font: {0}")]
    Font(#[from] ttf_parser::FaceParsingError),
    /// The used part of a font cannot be cut out.
    #[error("cannot embed a font: {0}")]
    Subset(#[from] subsetter::Error),
    /// A glyph has a font that does not exist.
    #[error("a glyph has no font")]
    NoFont,
}

/// A part of SVG that is not translated to PDF. PNG pictures may have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// A picture in the picture.
    Image,
    /// A mask.
    Mask,
    /// A filter, such as a blur.
    Filter,
    /// A gradient or a pattern as paint.
    Gradient,
    /// The opacity of a group; that of fills and strokes is supported.
    GroupOpacity,
    /// A way to mix colours other than to lay one over the other.
    BlendMode,
    /// A clip path with groups or text in it; shapes are supported.
    Clip,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Feature::Image => "images",
            Feature::Mask => "masks",
            Feature::Filter => "filters",
            Feature::Gradient => "gradients",
            Feature::GroupOpacity => "groups with an opacity",
            Feature::BlendMode => "blend modes",
            Feature::Clip => "clip paths with groups or text",
        })
    }
}

impl Default for Painter {
    fn default() -> Self {
        Painter::new()
    }
}

impl Painter {
    /// A painter with the fonts of the program.
    pub fn new() -> Painter {
        let (database, resolver) = fonts::load();
        // A document may name files of this machine.
        let no_images = ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        };
        let options = usvg::Options {
            fontdb: database,
            font_resolver: resolver,
            image_href_resolver: no_images,
            ..usvg::Options::default()
        };
        Painter { options }
    }

    /// `svg` as PNG, with `dpi` pixels an inch ([`LEAST_DPI`] to [`LARGEST_DPI`]) and without transparency. An inch is 96 pixels of
    /// SVG. The file states its resolution, so that programs show PNG and PDF in the same size.
    ///
    /// # Errors
    ///
    /// `svg` is invalid, or the picture is too large.
    pub fn png(&self, svg: &str, dpi: u32) -> Result<Picture, PictureError> {
        let tree = self.tree(svg)?;
        Ok(Picture { bytes: png::render(&tree, dpi)?, missing: missing(&tree) })
    }

    /// `svg` as a PDF document of one page with `title`. Lines are vectors, text is text, and the glyphs that occur are embedded. An
    /// inch is 96 pixels of SVG.
    ///
    /// # Errors
    ///
    /// `svg` is invalid, or has a [`Feature`] that is not translated.
    pub fn pdf(&self, svg: &str, title: &str) -> Result<Picture, PictureError> {
        let tree = self.tree(svg)?;
        Ok(Picture { bytes: pdf::render(&tree, title)?, missing: missing(&tree) })
    }

    fn tree(&self, svg: &str) -> Result<Tree, PictureError> {
        Ok(Tree::from_str(svg, &self.options)?)
    }
}

/// Characters of `tree` for which the fonts have no glyph.
fn missing(tree: &Tree) -> BTreeSet<char> {
    let mut found = BTreeSet::new();
    search(tree.root(), &mut found);
    found
}

fn search(group: &Group, found: &mut BTreeSet<char>) {
    for node in group.children() {
        match node {
            Node::Group(inner) => search(inner, found),
            Node::Text(text) => {
                let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
                found.extend(glyphs.filter(|glyph| glyph.id.0 == 0).flat_map(|glyph| glyph.text.chars()));
            }
            Node::Path(_) | Node::Image(_) => {}
        }
    }
}
