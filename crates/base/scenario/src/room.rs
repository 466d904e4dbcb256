//! Amounts of data that may depend on the path: "1 bdp", "64 MiB", "1000 packets".

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use std::borrow::Cow;
use std::str::FromStr;
use wirespeed_units::Bytes;

/// An amount of data, absolute or relative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// That many millionths of the bandwidth-delay product.
    Bdp(u64),
    Packets(u64),
    Bytes(Bytes),
}

const MILLION: u64 = 1_000_000;

impl Room {
    /// In bytes, rounded down; `None` if it does not fit.
    pub fn bytes(self, bdp: Bytes, packet: Bytes) -> Option<Bytes> {
        match self {
            Room::Bdp(millionths) => {
                let bytes = bdp.get() as u128 * millionths as u128 / MILLION as u128;
                u64::try_from(bytes).ok().map(Bytes::new)
            }
            Room::Packets(count) => count.checked_mul(packet.get()).map(Bytes::new),
            Room::Bytes(bytes) => Some(bytes),
        }
    }
}

impl FromStr for Room {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_' && c != '-');
        let (number, unit) = trimmed.split_at(end.unwrap_or(trimmed.len()));
        let number = number.replace('_', "");
        let fault = |what: &str| Err(format!("`{text}` is not a size: {what}"));
        match unit.trim() {
            "bdp" | "packets" | "packet" if number.starts_with('-') => fault("a size is zero or more"),
            "bdp" => match millionths(&number) {
                Some(v) => Ok(Room::Bdp(v)),
                None => fault("write for example `0.5 bdp`, with six decimals at most"),
            },
            "packets" | "packet" => match number.parse() {
                Ok(v) => Ok(Room::Packets(v)),
                Err(_) => fault("packets are counted whole, for example `1000 packets`"),
            },
            "" => match number.parse::<f64>() {
                Ok(_) => Err(format!("`{text}` has no unit: write a size with one of {UNITS}")),
                Err(_) => fault(&format!("write a number and one of {UNITS}")),
            },
            unit => match trimmed.parse() {
                Ok(bytes) => Ok(Room::Bytes(bytes)),
                Err(wirespeed_units::ParseError::Unit { .. }) => {
                    Err(format!("`{unit}` is not a unit of a size: use one of {UNITS}"))
                }
                Err(other) => Err(other.to_string()),
            },
        }
    }
}

const UNITS: &str = "bdp, packets, B, kB, MB, GB, KiB, MiB, GiB";

fn millionths(number: &str) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > 6 || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let digits: u64 = format!("0{whole}{fraction}").parse().ok()?;
    digits.checked_mul(10u64.pow(6 - fraction.len() as u32))
}

impl<'de> Deserialize<'de> for Room {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Room {
    fn schema_name() -> Cow<'static, str> {
        "Room".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A size: bytes (B, kB, MB, GB, KiB, MiB, GiB), a multiple of the bandwidth-delay product (bdp), or whole packets.",
            "pattern": r"^[0-9._]+ *([kKMGT]?i?B|bdp|packets?)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_kind() {
        assert_eq!("0.5 bdp".parse(), Ok(Room::Bdp(500_000)));
        assert_eq!("1bdp".parse(), Ok(Room::Bdp(1_000_000)));
        assert_eq!("64 MiB".parse(), Ok(Room::Bytes(Bytes::mib(64))));
        assert_eq!("1_000 packets".parse(), Ok(Room::Packets(1000)));
        for wrong in ["1.5 packets", "-1 bdp", "bdp", ". bdp", "1.0.0 bdp", "12", "5 ms", "", "0.0000001 bdp"]
        {
            assert!(wrong.parse::<Room>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn resolves_exactly_at_400_gbit_and_200_ms() {
        let (bdp, packet) = (Bytes::new(10_000_000_000), Bytes::new(1514));
        assert_eq!(Room::Bdp(1_500_000).bytes(bdp, packet), Some(Bytes::new(15_000_000_000)));
        assert_eq!(Room::Packets(1000).bytes(bdp, packet), Some(Bytes::new(1_514_000)));
        assert_eq!(Room::Packets(u64::MAX).bytes(bdp, packet), None);
    }
}
