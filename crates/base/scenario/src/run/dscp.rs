//! Differentiated services code points, as numbers or by their names.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A differentiated services code point (RFC 2474): the upper six bits of an IPv4 packet's TOS, and of an IPv6 packet's traffic
/// class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Dscp(u8);

/// Names and numbers of the registry (IANA, Differentiated Services Field Codepoints): RFC 2474, RFC 2597, RFC 3246, RFC 5865 and
/// RFC 8622.
const NAMES: [(&str, u8); 24] = [
    ("default", 0),
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("ef", 46),
    ("voice-admit", 44),
    ("le", 1),
];

/// The largest number of six bits.
const MOST: u8 = 63;

/// What is written.
const FORM: &str =
    "write a number from 0 to 63 or a name: ef, voice-admit, le, default, cs0 to cs7, af11 to af43";

impl Dscp {
    /// A code point by its number; `None` if it is more than six bits.
    pub fn new(number: u8) -> Option<Dscp> {
        (number <= MOST).then_some(Dscp(number))
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The byte of a packet's header that has it, without marks of congestion (RFC 3168).
    pub fn byte(self) -> u8 {
        self.0 << 2
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // Of the two names for zero the one that iperf3 has as well.
        match NAMES.iter().rfind(|(_, number)| *number == self.0) {
            Some((name, _)) => write!(f, "{} ({name})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Dscp, String> {
        let plain = text.trim().to_ascii_lowercase();
        let named = NAMES.iter().find(|(name, _)| *name == plain).map(|(_, number)| *number);
        let number = match plain.strip_prefix("0x") {
            Some(digits) => u8::from_str_radix(digits, 16).ok(),
            None => plain.parse().ok(),
        };
        named.or(number).and_then(Dscp::new).ok_or_else(|| format!("`{text}` is not a valid DSCP; {FORM}"))
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Dscp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0 to 63, or a name such as \"ef\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Dscp, E> {
                let found = u8::try_from(number).ok().and_then(Dscp::new);
                found.ok_or_else(|| E::custom(format!("{number} is not a valid DSCP; {FORM}")))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Dscp, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Dscp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Dscp {
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["integer", "string"], "minimum": 0, "maximum": MOST,
            "description": "A DSCP: a number from 0 to 63, or its name, such as \"ef\", \"af11\", \"cs1\"."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_of_the_registry_are_read() {
        for (text, number) in
            [("0", 0), ("63", 63), ("ef", 46), ("EF", 46), ("af11", 10), ("cs7", 56), ("0x2e", 46)]
        {
            assert_eq!(text.parse::<Dscp>().unwrap().number(), number, "{text}");
        }
        for wrong in ["64", "-1", "af44", "", "0x40", "ef "] {
            assert_eq!(wrong.parse::<Dscp>().is_ok(), wrong == "ef ", "{wrong}");
        }
        let told = "af44".parse::<Dscp>().unwrap_err();
        assert!(told.contains("0 to 63") && told.contains("af11 to af43"), "{told}");
    }

    #[test]
    fn assured_forwarding_is_eight_times_the_class_and_twice_the_precedence() {
        for (name, number) in NAMES.iter().filter(|(name, _)| name.starts_with("af")) {
            let digit = |place: usize| name.as_bytes()[place] - b'0';
            assert_eq!(*number, 8 * digit(2) + 2 * digit(3), "{name}");
        }
    }

    #[test]
    fn a_code_point_is_stored_as_its_number_and_shown_with_its_name() {
        let ef: Dscp = "ef".parse().unwrap();
        assert_eq!(
            (serde_json::to_string(&ef).unwrap(), ef.to_string(), ef.byte()),
            ("46".into(), "46 (ef)".into(), 0xb8)
        );
        assert_eq!(serde_json::from_str::<Dscp>("46").unwrap(), ef);
        assert_eq!(serde_json::from_str::<Dscp>("\"ef\"").unwrap(), ef);
        assert!(serde_json::from_str::<Dscp>("64").is_err());
        assert_eq!([0, 3].map(|number| Dscp::new(number).unwrap().to_string()), ["0 (cs0)", "3"]);
    }
}
