//! From the tree to the structs of [`crate::file`], by serde, with every error at its place.

mod choice;

use crate::error::Complaint;
use crate::suggest;
use crate::tree::{Entry, Node, Place, Value};
use choice::Choice;
use serde::de::{
    self, DeserializeOwned, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use std::cell::RefCell;
use std::fmt;

/// Decodes a table called `name` in messages (empty for the whole file).
pub(crate) fn decode<T: DeserializeOwned>(node: &Node, name: &str) -> Result<T, Complaint> {
    let bare = RefCell::new(None);
    let decoded = T::deserialize(Decoder { node, bare: &bare }).map_err(|e| e.into_complaint(node, name))?;
    match bare.into_inner() {
        None => Ok(decoded),
        Some(complaint) => Err(complaint),
    }
}

/// An error on its way out to where the place is known.
#[derive(Debug)]
pub(crate) struct DecodeError {
    message: String,
    help: Option<String>,
    label: &'static str,
    what: What,
    at: Option<Place>,
    /// Keys from the outside to the place.
    path: Vec<String>,
}

#[derive(Debug, PartialEq)]
enum What {
    UnknownKey,
    MissingKey,
    BadValue,
}

impl DecodeError {
    fn new(message: String) -> Self {
        DecodeError {
            message,
            help: None,
            label: "this value",
            what: What::BadValue,
            at: None,
            path: Vec::new(),
        }
    }

    fn at(mut self, place: &Place) -> Self {
        self.at.get_or_insert_with(|| place.clone());
        self
    }

    fn under(mut self, key: &str) -> Self {
        self.path.insert(0, key.to_owned());
        self
    }

    fn into_complaint(self, root: &Node, name: &str) -> Complaint {
        let at = self.at.unwrap_or_else(|| root.at.clone());
        let mut path = self.path;
        if !name.is_empty() {
            path.insert(0, name.to_owned());
        }
        let place = path.join(".");
        let message = match self.what {
            What::BadValue if place.is_empty() => self.message,
            What::BadValue => format!("{place}: {}", self.message),
            What::UnknownKey | What::MissingKey if place.is_empty() => {
                format!("{} at the top level", self.message)
            }
            What::UnknownKey | What::MissingKey => match place.as_str() {
                "flow" | "link" | "capture" | "figure" => format!("{} in [[{place}]]", self.message),
                _ => format!("{} in [{place}]", self.message),
            },
        };
        let complaint = Complaint::at(&at, message).label(self.label);
        match self.help {
            Some(help) => complaint.help(help),
            None => complaint,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        // The units' messages are "what is wrong: how to put it right".
        let message = message.to_string();
        match message.split_once(": ") {
            Some((wrong, remedy)) => {
                DecodeError { help: Some(remedy.to_owned()), ..DecodeError::new(wrong.to_owned()) }
            }
            None => DecodeError::new(message),
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        DecodeError {
            help: Some(suggest::choices(field, "keys here", expected)),
            label: "not a key here",
            what: What::UnknownKey,
            ..DecodeError::new(format!("unknown key `{field}`"))
        }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        DecodeError {
            help: Some(suggest::choices(variant, "choices", expected)),
            label: "not a choice",
            ..DecodeError::new(format!("`{variant}` is not one of the choices"))
        }
    }

    fn missing_field(field: &'static str) -> Self {
        DecodeError {
            help: Some(format!("add `{field} = ...`")),
            label: "in this table",
            what: What::MissingKey,
            ..DecodeError::new(format!("`{field}` is missing"))
        }
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        DecodeError::new(format!("expected {}, found {}", wanted(expected), plain(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        DecodeError::new(format!("expected {}, found {}", wanted(expected), plain(unexpected)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        DecodeError::new(format!("expected {}, found {length} values", wanted(expected)))
    }
}

/// Serde's names of types, as a person would say them.
fn wanted(expected: &dyn Expected) -> String {
    let expected = expected.to_string();
    match expected.as_str() {
        "f64" => "a number".into(),
        "u8" | "u32" | "u64" | "usize" => "a whole number, zero or more".into(),
        "i64" => "a whole number".into(),
        "a boolean" => "true or false".into(),
        "a map" => "a table".into(),
        "a sequence" => "a list".into(),
        "an array of length 3" => "a list of three".into(),
        "a tuple of size 2" => "a list of two".into(),
        other if other.starts_with("struct ") => "a table".into(),
        _ => expected,
    }
}

fn plain(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(v) => format!("`{v}`"),
        Unexpected::Signed(v) => format!("`{v}`"),
        Unexpected::Unsigned(v) => format!("`{v}`"),
        Unexpected::Float(v) => format!("`{v}`"),
        Unexpected::Str(v) => format!("the string \"{v}\""),
        Unexpected::Map => "a table".into(),
        Unexpected::Seq => "a list".into(),
        other => other.to_string(),
    }
}

#[derive(Clone, Copy)]
struct Decoder<'a> {
    node: &'a Node,
    /// The first number that stands where a string is due. It is handed on as text, so that a quantity's own
    /// parser can say which units it takes; if that parser does not mind, this complaint still stands.
    bare: &'a RefCell<Option<Complaint>>,
}

impl Decoder<'_> {
    fn bare_number<'de, V: Visitor<'de>>(self, number: String, visitor: V) -> Result<V::Value, DecodeError> {
        self.bare.borrow_mut().get_or_insert_with(|| {
            Complaint::at(&self.node.at, format!("expected a string, found `{number}`"))
                .label("not in quotes")
                .help(format!("write it in quotes: \"{number}\""))
        });
        visitor.visit_str(&number).map_err(|e: DecodeError| e.at(&self.node.at))
    }
}

impl<'de> de::Deserializer<'de> for Decoder<'_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Bool(v) => visitor.visit_bool(*v),
            Value::Integer(v) => visitor.visit_i64(*v),
            Value::Float(v) => visitor.visit_f64(*v),
            Value::Text(v) => visitor.visit_str(v),
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter(), bare: self.bare }),
            Value::Table(entries) => visitor.visit_map(Keys {
                entries: entries.iter(),
                skip: None,
                current: None,
                bare: self.bare,
            }),
        }
        .map_err(|e: DecodeError| e.at(&self.node.at))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Integer(v) => self.bare_number(v.to_string(), visitor),
            Value::Float(v) => self.bare_number(v.to_string(), visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        kinds: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let choice = Choice { node: self.node, bare: self.bare, kinds };
        match &self.node.value {
            Value::Text(_) | Value::Table(_) => visitor.visit_enum(choice),
            _ => Err(choice.no_word(self.node)),
        }
        .map_err(|e: DecodeError| e.at(&self.node.at))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    /// Checks the length here: serde's own visitors do not ask whether anything is left.
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Array(items) if items.len() != length => {
                Err(de::Error::invalid_length(items.len(), &visitor))
                    .map_err(|e: DecodeError| e.at(&self.node.at))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq
        tuple_struct map struct identifier ignored_any
    }
}

struct Items<'a> {
    items: std::slice::Iter<'a, Node>,
    bare: &'a RefCell<Option<Complaint>>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = DecodeError;

    fn next_element_seed<T: de::DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        self.items.next().map(|node| seed.deserialize(Decoder { node, bare: self.bare })).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Keys<'a> {
    entries: std::slice::Iter<'a, Entry>,
    /// A key that has been read already.
    skip: Option<&'static str>,
    current: Option<&'a Entry>,
    bare: &'a RefCell<Option<Complaint>>,
}

impl<'de> MapAccess<'de> for Keys<'_> {
    type Error = DecodeError;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        self.current = self.entries.find(|entry| Some(entry.key.as_str()) != self.skip);
        let Some(entry) = self.current else { return Ok(None) };
        let key: de::value::StrDeserializer<'_, DecodeError> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|e| e.at(&entry.at))
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let entry = self.current.expect("serde asks for a value after its key");
        seed.deserialize(Decoder { node: &entry.node, bare: self.bare })
            .map_err(|e| e.at(&entry.node.at).under(&entry.key))
    }
}
