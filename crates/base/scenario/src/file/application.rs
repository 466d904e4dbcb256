//! Applications of flows: files of a data set, requests and responses.

use super::SizesTable;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use wirespeed_units::{Bytes, Span};

/// Files of a data set: `["1 GB", "20 MB"]`, or a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FilesChoice {
    /// The size of each file.
    Given(Vec<Bytes>),
    Table(FilesTable),
}

/// Files of a data set, by their number and size or from a file.
#[derive(Debug, Clone, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesTable {
    /// How many files. Needs `bytes` or `sizes`.
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<u32>,
    /// Size of each file.
    pub bytes: Option<Bytes>,
    /// Instead of `bytes`: sizes that are drawn from the run's seed.
    pub sizes: Option<SizesTable>,
    /// Instead of `count`: a text file with one size on each line, such as "10 MB", from the scenario's folder. A number without a
    /// unit counts bytes. Empty lines and lines that begin with `#` are skipped.
    pub list: Option<PathBuf>,
}

impl<'de> Deserialize<'de> for FilesChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListOrTable;
        impl<'de> Visitor<'de> for ListOrTable {
            type Value = FilesChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of sizes, or a table such as { count = 100, bytes = \"10 MB\" }")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(FilesChoice::Given)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                FilesTable::deserialize(MapAccessDeserializer::new(map)).map(FilesChoice::Table)
            }
        }
        deserializer.deserialize_any(ListOrTable)
    }
}

impl JsonSchema for FilesChoice {
    fn schema_name() -> Cow<'static, str> {
        "Files".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (sizes, table) =
            (generator.subschema_for::<Vec<Bytes>>(), generator.subschema_for::<FilesTable>());
        json_schema!({
            "description": "Files of a data set: a list of their sizes, or a table.",
            "anyOf": [sizes, table],
        })
    }
}

/// Requests of the receiver, which the sender answers. The next one follows when the response has been read.
#[derive(Debug, Clone, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestsTable {
    /// Size of a request, at least 24 B. On the model at most one packet. Default 100 B.
    pub size: Option<Bytes>,
    /// Size of each response.
    pub response: Option<Bytes>,
    /// Instead of `response`: sizes that are drawn from the run's seed.
    pub responses: Option<SizesTable>,
    /// Think time: from the end of a response to the next request. Default 0 s.
    pub think: Option<Span>,
    /// How many requests each flow has. Default: until the flow stops.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: Option<u32>,
}
