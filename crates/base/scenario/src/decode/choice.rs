//! One of several kinds, as a word or as a table.

use super::{DecodeError, Keys, What};
use crate::error::Complaint;
use crate::tree::{Node, Value};
use serde::de::{self, IntoDeserializer, Unexpected, Visitor};
use std::cell::RefCell;

/// One of several kinds: a word, or a table that names it under [`KIND`] beside its settings. A word stands for the
/// kind with nothing set.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    pub node: &'a Node,
    pub bare: &'a RefCell<Option<Complaint>>,
    /// The words there are.
    pub kinds: &'static [&'static str],
}

const KIND: &str = "kind";

impl<'de> de::EnumAccess<'de> for Choice<'_> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<T: de::DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), DecodeError> {
        if self.node.text().is_some() {
            return Ok((self.word(seed)?, self));
        }
        let missing = || DecodeError {
            help: Some(format!("add {KIND} = ..., one of {}", self.kinds.join(", "))),
            ..<DecodeError as de::Error>::missing_field(KIND)
        };
        let kind = self.node.get(KIND).ok_or_else(missing)?;
        let variant = Choice { node: kind, ..self }.word(seed);
        Ok((variant.map_err(|error| error.at(&kind.at).under(KIND))?, self))
    }
}

impl Choice<'_> {
    /// Decodes the word that this is.
    fn word<'de, T: de::DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DecodeError> {
        let word = self.node.text().ok_or_else(|| self.no_word(self.node))?;
        let word: de::value::StrDeserializer<'_, DecodeError> = word.into_deserializer();
        seed.deserialize(word)
    }

    /// Something else stands where a word is due.
    pub(super) fn no_word(&self, found: &Node) -> DecodeError {
        DecodeError {
            help: Some(format!("choices: {}", self.kinds.join(", "))),
            ..DecodeError::new(format!("expected a word in quotes, found {}", found.kind()))
        }
    }
}

impl<'de> de::VariantAccess<'de> for Choice<'_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        match self.node.value {
            Value::Text(_) => Ok(()),
            _ => Err(self.no_word(self.node)),
        }
    }

    fn newtype_variant_seed<T: de::DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, DecodeError> {
        Err(de::Error::invalid_type(Unexpected::NewtypeVariant, &"a word or a table"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, DecodeError> {
        Err(de::Error::invalid_type(Unexpected::TupleVariant, &"a word or a table"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let entries = self.node.entries().iter();
        let keys = Keys { entries, skip: Some(KIND), current: None, bare: self.bare };
        visitor.visit_map(keys).map_err(|error| match (self.node.text(), error.what) {
            (Some(word), What::MissingKey) => DecodeError {
                help: Some(format!("write a table with its settings: {{ {KIND} = \"{word}\", ... }}")),
                ..DecodeError::new(format!("the word `{word}` alone does not say enough: {}", error.message))
            },
            (_, what) => DecodeError { what, ..error },
        })
    }
}
