//! Fonts in a document: the glyphs that occur, and the characters that they stand for.

use super::compressed;
use super::shape::ResourceName;
use crate::PictureError;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Chunk, Name, Rect, Ref, Str};
use resvg::usvg::fontdb::{Database, ID};
use std::collections::BTreeMap;
use subsetter::GlyphRemapper;
use ttf_parser::{Face, GlyphId, name_id};

/// Glyph codes are two bytes.
const ENCODING: Name = Name(b"Identity-H");
const SYSTEM: SystemInfo = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// Thickness of upright strokes by weight, a guess for programs that have to replace the font.
const STEM: f32 = 0.2;

/// A font and its glyphs that occur so far.
#[derive(Debug)]
pub(super) struct Font {
    /// The font in the database of the tree.
    pub id: ID,
    name: ResourceName,
    units_per_em: f32,
    /// Advance of each glyph in units of the font.
    advances: Vec<u16>,
    codes: GlyphRemapper,
    /// Text that each glyph stands for, by code.
    texts: BTreeMap<u16, String>,
}

impl Font {
    /// The font `id`, the one after `before` others.
    pub fn load(id: ID, before: usize, database: &Database) -> Result<Font, PictureError> {
        with_face(id, database, |face, _, _| {
            let advance = |glyph| face.glyph_hor_advance(GlyphId(glyph)).unwrap_or(0);
            Ok(Font {
                id,
                name: ResourceName::new(format!("F{before}")),
                units_per_em: f32::from(face.units_per_em()),
                advances: (0..face.number_of_glyphs()).map(advance).collect(),
                codes: GlyphRemapper::new(),
                texts: BTreeMap::new(),
            })
        })
    }

    pub fn name(&self) -> &ResourceName {
        &self.name
    }

    pub fn units_per_em(&self) -> f32 {
        self.units_per_em
    }

    /// Advance of `glyph`, of a font size of 1.
    pub fn advance(&self, glyph: u16) -> f32 {
        f32::from(self.advances.get(usize::from(glyph)).copied().unwrap_or(0)) / self.units_per_em
    }

    /// The code of `glyph`, which stands for `text` and is embedded.
    pub fn code(&mut self, glyph: u16, text: &str) -> u16 {
        let code = self.codes.remap(glyph);
        self.texts.entry(code).or_insert_with(|| text.to_string());
        code
    }

    /// Writes the objects of the font; the result is the one that pages refer to.
    pub fn write(&self, chunk: &mut Chunk, next: &mut Ref, database: &Database) -> Result<Ref, PictureError> {
        with_face(self.id, database, |face, data, index| {
            let part = subsetter::subset(data, index, &self.codes)?;
            let [font, glyphs, descriptor, characters, file] = [(); 5].map(|()| next.bump());
            let name = self.part_name(face);
            let name = Name(name.as_bytes());
            chunk
                .type0_font(font)
                .base_font(name)
                .encoding_predefined(ENCODING)
                .descendant_font(glyphs)
                .to_unicode(characters);
            let mut cid = chunk.cid_font(glyphs);
            cid.subtype(CidFontType::Type2).base_font(name).system_info(SYSTEM).font_descriptor(descriptor);
            cid.cid_to_gid_map_predefined(Name(b"Identity"));
            let widths = self.codes.remapped_gids().map(|glyph| self.advance(glyph) * 1000.0);
            cid.widths().consecutive(0, widths.map(f32::round));
            drop(cid);
            self.describe(chunk, descriptor, face, name, file);
            let mut map = UnicodeCmap::new(Name(b"Text"), SYSTEM);
            for (code, text) in self.texts.iter().filter(|(_, text)| !text.is_empty()) {
                map.pair_with_multiple(*code, text.chars());
            }
            compressed(chunk, characters, &map.finish());
            compressed(chunk, file, &part);
            Ok(font)
        })
    }

    fn describe(&self, chunk: &mut Chunk, reference: Ref, face: &Face, name: Name, file: Ref) {
        let scaled = |units: i16| (f32::from(units) / self.units_per_em * 1000.0).round();
        let area = face.global_bounding_box();
        chunk
            .font_descriptor(reference)
            .name(name)
            .flags(FontFlags::SYMBOLIC)
            .bbox(Rect::new(scaled(area.x_min), scaled(area.y_min), scaled(area.x_max), scaled(area.y_max)))
            .italic_angle(0.0)
            .ascent(scaled(face.ascender()))
            .descent(scaled(face.descender()))
            .cap_height(scaled(face.capital_height().unwrap_or(face.ascender())))
            .stem_v(f32::from(face.weight().to_number()) * STEM)
            .font_file2(file);
    }

    /// The name of a part of a font, which begins with six letters that follow from its glyphs.
    fn part_name(&self, face: &Face) -> String {
        // FNV-1a, whose result is the same in every version of every library.
        let mix = |hash: u64, glyph: u16| (hash ^ u64::from(glyph)).wrapping_mul(0x0100_0000_01b3);
        let mut hash = self.codes.remapped_gids().fold(0xcbf2_9ce4_8422_2325, mix);
        let mut tag = String::new();
        for _ in 0..6 {
            tag.push(char::from(b'A' + (hash % 26) as u8));
            hash /= 26;
        }
        let names = face.names().into_iter();
        let name =
            names.filter(|name| name.name_id == name_id::POST_SCRIPT_NAME).find_map(|name| name.to_string());
        format!("{tag}+{}", name.unwrap_or_else(|| "Font".into()))
    }
}

/// The result of `use_it` for the face `id`, its file, and its index in that.
fn with_face<T>(
    id: ID,
    database: &Database,
    use_it: impl FnOnce(&Face, &[u8], u32) -> Result<T, PictureError>,
) -> Result<T, PictureError> {
    let found = database.with_face_data(id, |data, index| use_it(&Face::parse(data, index)?, data, index));
    found.unwrap_or(Err(PictureError::NoFont))
}
