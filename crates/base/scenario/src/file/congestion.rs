//! How a flow names its congestion control.

use crate::run::Factor;
use crate::{CongestionControl, congestion_controls};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// `"bic"`, or `{ name = "bic", max_increment = 32 }`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CongestionChoice {
    pub name: String,
    pub parameters: BTreeMap<String, Factor>,
}

impl<'de> Deserialize<'de> for CongestionChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = CongestionChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a congestion control, or a table of its name and parameters")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(CongestionChoice { name: name.to_owned(), parameters: BTreeMap::new() })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut name, mut parameters) = (None, BTreeMap::new());
                while let Some(key) = map.next_key::<String>()? {
                    if key == "name" {
                        name = Some(map.next_value::<String>()?);
                    } else {
                        parameters.insert(key, map.next_value::<Factor>()?);
                    }
                }
                let name = name.ok_or_else(|| de::Error::missing_field("name"))?;
                Ok(CongestionChoice { name, parameters })
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for CongestionChoice {
    fn schema_name() -> Cow<'static, str> {
        "Congestion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = congestion_controls().iter().map(|c| c.name).collect();
        let tables: Vec<_> = congestion_controls().iter().map(one_control).collect();
        let mut any_of = vec![json_schema!({ "type": "string", "enum": names })];
        any_of.extend(tables);
        let own = "A control of your own, declared under [congestion.NAME].";
        any_of.push(json_schema!({ "type": "string", "description": own, "not": { "enum": names } }));
        any_of.push(json_schema!({
            "type": "object",
            "description": "A control of your own with its parameters, which pass to it as they are.",
            "properties": { "name": { "type": "string", "not": { "enum": names } } },
            "required": ["name"],
            "additionalProperties": { "type": ["boolean", "integer", "number", "string"] },
        }));
        json_schema!({
            "description": "A congestion control by its name, or a table of its name and parameters.",
            "anyOf": any_of,
        })
    }
}

fn one_control(control: &CongestionControl) -> Schema {
    let mut properties = serde_json::Map::new();
    properties.insert("name".into(), serde_json::json!({ "const": control.name }));
    for parameter in control.parameters {
        let mut names = vec![parameter.name];
        if !parameter.alias.is_empty() {
            names.push(parameter.alias);
        }
        for name in names {
            let only = if parameter.linux.is_none() { " Model only." } else { "" };
            let schema = serde_json::json!({
                "type": "integer",
                "description": format!("{}. Default {}.{only}", parameter.about, parameter.default),
                "minimum": parameter.min,
                "maximum": parameter.max,
            });
            properties.insert(name.into(), schema);
        }
    }
    let only = match control {
        control if control.linux.is_none() => ". Model only.",
        control if control.needs_l4s() => ". Model, and substrate kernel with `run.kernel = \"7.2\"`.",
        _ => "",
    };
    json_schema!({
        "type": "object",
        "description": format!("{}{only}", control.about),
        "properties": properties,
        "required": ["name"],
        "additionalProperties": false,
    })
}
