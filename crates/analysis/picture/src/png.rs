//! Trees as PNG.

use crate::{LARGEST_WIDTH, LEAST_WIDTH, MOST_PIXELS, PictureError};
use png::{BitDepth, ColorType, Compression, Encoder, PixelDimensions, Unit};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::Tree;

/// Pixels of CSS in a metre: 96 in an inch.
const CSS_PIXELS_A_METRE: f32 = 96.0 / 0.0254;

/// `tree` on white, `width` pixels wide.
pub(crate) fn render(tree: &Tree, width: u32) -> Result<Vec<u8>, PictureError> {
    if !(LEAST_WIDTH..=LARGEST_WIDTH).contains(&width) {
        return Err(PictureError::Width(width));
    }
    let scale = width as f32 / tree.size().width();
    let height = (tree.size().height() * scale).ceil() as u32;
    let large = PictureError::Large { width, height };
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(large);
    }
    let Some(mut pixels) = Pixmap::new(width, height) else { return Err(large) };
    pixels.fill(Color::WHITE);
    resvg::render(tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    encode(&pixels, scale)
}

/// `pixels`, all of them opaque, `scale` to a pixel of CSS. Some publishers refuse pictures with an alpha channel.
fn encode(pixels: &Pixmap, scale: f32) -> Result<Vec<u8>, PictureError> {
    let rgb: Vec<u8> = pixels.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]).collect();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Default);
    let resolution = (CSS_PIXELS_A_METRE * scale).round() as u32;
    encoder.set_pixel_dims(Some(PixelDimensions { xppu: resolution, yppu: resolution, unit: Unit::Meter }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(bytes)
}
