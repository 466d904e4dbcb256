//! Exact reading and printing of "number unit" strings.

use thiserror::Error;

/// Why a quantity could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The text is not `number unit`.
    #[error("`{text}` is not a {what}: write a number and a unit, for example `{example}`")]
    Form {
        /// The text as given.
        text: String,
        /// What was expected, e.g. "rate".
        what: &'static str,
        /// A value that would be accepted.
        example: &'static str,
    },
    /// The number is there, the unit is not.
    #[error("`{text}` has no unit: write a {what} with one of {allowed}")]
    NoUnit {
        /// The text as given.
        text: String,
        /// What was expected.
        what: &'static str,
        /// The accepted units, comma separated.
        allowed: String,
    },
    /// The unit is not one of this quantity.
    #[error("`{unit}` is not a unit of a {what}: use one of {allowed}")]
    Unit {
        /// The unit as given.
        unit: String,
        /// What was expected.
        what: &'static str,
        /// The accepted units, comma separated.
        allowed: String,
    },
    /// A quantity below zero where none can be.
    #[error("`{text}` is negative: a {what} is zero or more")]
    Negative {
        /// The text as given.
        text: String,
        /// What was expected.
        what: &'static str,
    },
    /// The value does not fit, or is finer than the type resolves.
    #[error("`{text}` cannot be held exactly: the finest {what} is {finest}, the largest {largest}")]
    Range {
        /// The text as given.
        text: String,
        /// What was expected.
        what: &'static str,
        /// The resolution.
        finest: &'static str,
        /// The largest value.
        largest: &'static str,
    },
}

/// One kind of quantity: its units, the first of which that divides a value without remainder prints it.
pub(crate) struct Kind {
    pub what: &'static str,
    pub example: &'static str,
    pub finest: &'static str,
    pub largest: &'static str,
    /// (spelling, how many base units it is), in the order in which errors list them.
    pub units: &'static [(&'static str, u128)],
}

impl Kind {
    fn allowed(&self) -> String {
        self.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// Reads `text` into base units; `max` is the largest value the caller's integer holds.
    pub(crate) fn parse(&self, text: &str, max: u128) -> Result<u128, ParseError> {
        let trimmed = text.trim();
        if let Some(rest) = trimmed.strip_prefix('-')
            && rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            return Err(ParseError::Negative { text: text.into(), what: self.what });
        }
        let end =
            trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
        let (number, unit) = (&trimmed[..end], trimmed[end..].trim());
        let form = || ParseError::Form { text: text.into(), what: self.what, example: self.example };
        let number = number.replace('_', "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(form());
        }
        if unit.is_empty() {
            // Zero is zero in every unit.
            if whole.chars().chain(fraction.chars()).all(|c| c == '0') {
                return Ok(0);
            }
            return Err(ParseError::NoUnit { text: text.into(), what: self.what, allowed: self.allowed() });
        }
        let Some((_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(ParseError::Unit { unit: unit.into(), what: self.what, allowed: self.allowed() });
        };
        let range = || ParseError::Range {
            text: text.into(),
            what: self.what,
            finest: self.finest,
            largest: self.largest,
        };
        let fraction = fraction.trim_end_matches('0');
        let digits: u128 = format!("0{whole}{fraction}").parse().map_err(|_| range())?;
        let divisor = 10u128.checked_pow(fraction.len() as u32).ok_or_else(range)?;
        let scaled = digits.checked_mul(*scale).ok_or_else(range)?;
        if scaled % divisor != 0 || scaled / divisor > max {
            return Err(range());
        }
        Ok(scaled / divisor)
    }

    /// Prints `value` in the largest of `choices` (largest first) that it reaches, exactly.
    pub(crate) fn print(value: u128, choices: &[(&str, u128)]) -> String {
        let (name, scale) =
            choices.iter().find(|(_, scale)| value >= *scale).or(choices.last()).expect("a kind has units");
        let (whole, mut rest) = (value / scale, value % scale);
        let mut out = whole.to_string();
        if rest != 0 {
            out.push('.');
            // Every scale here divides a power of ten or of two, so this ends.
            while rest != 0 {
                rest *= 10;
                out.push((b'0' + (rest / scale) as u8) as char);
                rest %= scale;
            }
        }
        format!("{out} {name}")
    }
}

/// Serde, schema and `FromStr` for a newtype that reads and prints through its `Kind`.
macro_rules! textual {
    ($type:ident, $parse:path, $schema_doc:literal, $pattern:literal) => {
        impl std::str::FromStr for $type {
            type Err = $crate::ParseError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $parse(text)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "description": $schema_doc, "pattern": $pattern })
            }
        }
    };
}
pub(crate) use textual;
