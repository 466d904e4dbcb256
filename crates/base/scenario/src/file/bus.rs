//! The bus between an interface and memory as it is written: a rate, or what the rate follows from.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use wirespeed_units::Rate;

/// The bus of an interface.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BusChoice {
    /// What it carries each way, its own overhead taken off.
    Rate(Rate),
    /// Its build.
    Build(BusTable),
}

/// The build of a bus, from which its rate follows.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BusTable {
    /// `pcie`: each way by itself, lanes x transfers x encoding - 1 Gbit/s (kit-2019). `pci`: both ways together, clock
    /// x width. Needed, from the preset or here.
    pub kind: Option<BusKind>,
    /// Of PCI Express, 1 to 5: 2.5, 5, 8, 16 or 32 GT/s.
    #[schemars(range(min = 1, max = 5))]
    pub generation: Option<u32>,
    /// Of PCI Express: 1, 2, 4, 8, 12, 16 or 32.
    #[schemars(range(min = 1, max = 32))]
    pub lanes: Option<u32>,
    /// Clock of PCI and PCI-X in MHz: 33, 66, 100, 133, ...
    #[schemars(range(min = 1, max = 1066))]
    pub mhz: Option<u32>,
    /// Width of PCI and PCI-X: 32 or 64.
    #[schemars(range(min = 32, max = 64))]
    pub bits: Option<u32>,
    /// What goes out and what comes in share it. Default: true for `pci`, false for `pcie`.
    pub shared: Option<bool>,
}

/// Kinds of buses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BusKind {
    /// PCI Express.
    Pcie,
    /// PCI and PCI-X.
    Pci,
}

impl<'de> Deserialize<'de> for BusChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = BusChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as \"125 Gbit/s\" or a bus such as { kind = \"pcie\", generation = 3, lanes = 16 }")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<BusChoice, E> {
                v.parse().map(BusChoice::Rate).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BusChoice, A::Error> {
                BusTable::deserialize(MapAccessDeserializer::new(map)).map(BusChoice::Build)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for BusChoice {
    fn schema_name() -> Cow<'static, str> {
        "BusChoice".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (rate, build) = (generator.subschema_for::<Rate>(), generator.subschema_for::<BusTable>());
        json_schema!({ "anyOf": [rate, build], "description": "The bus of an interface: its rate, or its build." })
    }
}
