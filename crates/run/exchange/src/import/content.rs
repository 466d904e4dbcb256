//! The content of a file: text, decompressed if need be, and enough of its structure to recognise the program that wrote it.

use super::ImportError;
use flate2::read::MultiGzDecoder;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;

/// The largest file that is imported, in bytes, when it is decompressed: 64 MiB. In memory it takes ten times as much.
pub const MOST_BYTES: u64 = 64 << 20;

/// First bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The deepest JSON that is looked into for names. Results of other programs are within a list or two objects of others.
const DEEPEST: usize = 3;

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Text,
    /// JSON: names of fields of the outermost objects, and of objects within these, up to where it is damaged.
    Json {
        outer: BTreeSet<String>,
        inner: BTreeSet<String>,
        error: Option<String>,
    },
}

impl Content {
    /// The content of a file of these bytes.
    ///
    /// # Errors
    /// If it is too large, a damaged gzip file, or not text.
    pub fn new(bytes: Vec<u8>) -> Result<Content, ImportError> {
        if bytes.len() as u64 > MOST_BYTES {
            return Err(ImportError::TooLarge { is_unpacked: false });
        }
        let bytes = if bytes.starts_with(&GZIP) { unpacked(&bytes)? } else { bytes };
        let text = String::from_utf8(bytes)
            .map_err(|error| ImportError::NotText { at: error.utf8_error().valid_up_to() })?;
        let kind = match text.trim_start().starts_with(['{', '[']) {
            true => names(&text),
            false => Kind::Text,
        };
        Ok(Content { text, kind })
    }

    /// The text, decompressed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is JSON, at least in its beginning.
    pub fn is_json(&self) -> bool {
        matches!(self.kind, Kind::Json { .. })
    }

    /// Whether an outermost object has a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Json { outer, .. } if outer.contains(name))
    }

    /// Whether an object within the outermost has a field of this name.
    pub fn has_inner_field(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Json { inner, .. } if inner.contains(name))
    }

    /// Why it is not JSON, if it begins as such.
    pub(super) fn not_json(&self) -> Option<String> {
        match &self.kind {
            Kind::Json { error, .. } => error.clone(),
            Kind::Text if self.text.trim().is_empty() => Some("it is empty".into()),
            Kind::Text => None,
        }
    }

    /// The JSON as a program writes it.
    pub(super) fn json<T: DeserializeOwned>(&self, format: &'static str) -> Result<T, ImportError> {
        let mut deserializer = serde_json::Deserializer::from_str(&self.text);
        let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            let inner = error.into_inner();
            match inner.is_data() {
                true => ImportError::Field { format, field: path, reason: inner.to_string() },
                false => json_error(&inner),
            }
        })?;
        deserializer.end().map_err(|error| json_error(&error))?;
        Ok(value)
    }
}

fn json_error(error: &serde_json::Error) -> ImportError {
    ImportError::Json { line: error.line(), reason: error.to_string() }
}

fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, ImportError> {
    let mut content = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes).take(MOST_BYTES + 1);
    decoder.read_to_end(&mut content).map_err(|source| ImportError::Gzip { source })?;
    if content.len() as u64 > MOST_BYTES {
        Err(ImportError::TooLarge { is_unpacked: true })
    } else {
        Ok(content)
    }
}

/// Names of the fields near the top of JSON values, without the values.
fn names(text: &str) -> Kind {
    let found = RefCell::new([BTreeSet::new(), BTreeSet::new()]);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result = Names { found: &found, depth: 0, objects: 0 }.deserialize(&mut deserializer);
    let [outer, inner] = found.into_inner();
    Kind::Json { outer, inner, error: result.err().map(|error| error.to_string()) }
}

/// Collects the names of fields. Deeper values are skipped.
#[derive(Clone, Copy)]
struct Names<'a> {
    found: &'a RefCell<[BTreeSet<String>; 2]>,
    depth: usize,
    /// How many objects it is within.
    objects: usize,
}

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = ();
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        /// More names of other programs than this are not looked at.
        const MOST: usize = 1000;
        let deeper = Names { depth: self.depth + 1, objects: self.objects + 1, ..self };
        while let Some(name) = map.next_key::<String>()? {
            let mut found = self.found.borrow_mut();
            if let Some(of_level) = found.get_mut(self.objects)
                && of_level.len() < MOST
            {
                of_level.insert(name);
            }
            drop(found);
            if deeper.objects < 2 && deeper.depth < DEEPEST {
                map.next_value_seed(deeper)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let deeper = Names { depth: self.depth + 1, ..self };
        loop {
            let more = if deeper.depth < DEEPEST {
                seq.next_element_seed(deeper)?
            } else {
                seq.next_element::<IgnoredAny>()?.map(drop)
            };
            if more.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
