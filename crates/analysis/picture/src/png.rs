//! Trees as PNG.

use crate::{DOCUMENT_DPI, LARGEST_DPI, LEAST_DPI, MOST_PIXELS, PictureError};
use png::{BitDepth, ColorType, Compression, Encoder, PixelDimensions, Unit};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::Tree;

const METRES_AN_INCH: f32 = 0.0254;

/// `tree` on white, with `dpi` pixels an inch.
pub(crate) fn render(tree: &Tree, dpi: u32) -> Result<Vec<u8>, PictureError> {
    if !(LEAST_DPI..=LARGEST_DPI).contains(&dpi) {
        return Err(PictureError::Resolution(dpi));
    }
    let scale = dpi as f32 / DOCUMENT_DPI;
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|side| (side * scale).ceil() as u32);
    let large = PictureError::Large { width, height };
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(large);
    }
    let Some(mut pixels) = Pixmap::new(width, height) else { return Err(large) };
    pixels.fill(Color::WHITE);
    resvg::render(tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    encode(&pixels, dpi)
}

/// `pixels`, all of them opaque, `dpi` of them an inch. Some publishers refuse pictures with an alpha channel.
fn encode(pixels: &Pixmap, dpi: u32) -> Result<Vec<u8>, PictureError> {
    let rgb: Vec<u8> = pixels.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]).collect();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Default);
    let resolution = (dpi as f32 / METRES_AN_INCH).round() as u32;
    encoder.set_pixel_dims(Some(PixelDimensions { xppu: resolution, yppu: resolution, unit: Unit::Meter }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(bytes)
}
