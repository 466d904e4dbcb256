use crate::quantity::{Kind, ParseError, textual};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

const KIND: Kind = Kind {
    what: "size",
    example: "8 MiB",
    finest: "1 B",
    largest: "18 EB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

/// An amount of data in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// No data.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }

    /// `n` KiB (1,024 bytes each).
    #[inline]
    pub const fn kib(n: u64) -> Self {
        Bytes(n << 10)
    }

    /// `n` MiB (1,048,576 bytes each).
    #[inline]
    pub const fn mib(n: u64) -> Self {
        Bytes(n << 20)
    }

    /// The count of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The count of bits, which may exceed `u64` from 2 EiB on.
    #[inline]
    pub const fn bits(self) -> u128 {
        self.0 as u128 * 8
    }

    /// The difference, or zero if `other` is larger.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Bytes(self.0.saturating_sub(other.0))
    }

    fn parse(text: &str) -> Result<Self, ParseError> {
        KIND.parse(text, u64::MAX as u128).map(|v| Bytes(v as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BINARY: &[(&str, u128)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        const DECIMAL: &[(&str, u128)] = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
        let value = self.0 as u128;
        // Whole binary multiples print as such (8 MiB, not 8.388608 MB); everything else is decimal.
        let text = match BINARY.iter().find(|(_, scale)| value != 0 && value.is_multiple_of(*scale)) {
            Some(unit) => Kind::print(value, std::slice::from_ref(unit)),
            None => Kind::print(value, DECIMAL),
        };
        f.pad(&text)
    }
}

impl Add for Bytes {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Bytes(self.0.checked_add(other.0).expect("a sum of sizes fits in 64 bits"))
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Bytes(self.0.checked_sub(other.0).expect("a difference of sizes is not negative"))
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u64) -> Self {
        Bytes(self.0.checked_mul(factor).expect("a multiple of a size fits in 64 bits"))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

textual!(
    Bytes,
    Bytes::parse,
    "A size with its unit: B, kB, MB, GB, KiB, MiB, GiB.",
    r"^[0-9._]+ *[kKMGT]?i?B$|^0$"
);

/// A count of packets.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Packets(u64);

impl Packets {
    /// `n` packets.
    #[inline]
    pub const fn new(n: u64) -> Self {
        Packets(n)
    }

    /// The count.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} packets", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_decimal_and_binary_units() {
        assert_eq!("8 MiB".parse(), Ok(Bytes::mib(8)));
        assert_eq!("1.25 GB".parse(), Ok(Bytes::new(1_250_000_000)));
        assert_eq!("64KiB".parse(), Ok(Bytes::kib(64)));
        assert_eq!("0".parse(), Ok(Bytes::ZERO));
        for (unit, bytes) in [
            ("B", 1),
            ("kB", 1_000),
            ("KB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
            ("KiB", 1_024),
            ("MiB", 1_048_576),
            ("GiB", 1_073_741_824),
            ("TiB", 1_099_511_627_776),
        ] {
            assert_eq!(format!("3 {unit}").parse::<Bytes>().map(Bytes::get), Ok(3 * bytes), "{unit}");
        }
    }

    #[test]
    fn largest_size_is_read_and_a_larger_one_is_not() {
        assert_eq!("18446744073709551615 B".parse(), Ok(Bytes::new(u64::MAX)));
        assert!(matches!("18446744073709551616 B".parse::<Bytes>(), Err(ParseError::Range { .. })));
    }

    #[test]
    fn messages_list_the_units() {
        let message = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        let units = "B, kB, KB, MB, GB, TB, KiB, MiB, GiB, TiB";
        assert_eq!(message("9000"), format!("`9000` has no unit: write a size with one of {units}"));
        assert_eq!(message("9 ms"), format!("`ms` is not a unit of a size: use one of {units}"));
    }

    #[test]
    fn sums_differences_and_multiples_are_exact() {
        let (five, three) = (Bytes::new(5), Bytes::new(3));
        assert_eq!((five + three, five - three, five * 3), (Bytes::new(8), Bytes::new(2), Bytes::new(15)));
        assert_eq!([five, three, three].into_iter().sum::<Bytes>(), Bytes::new(11));
        let mut sum = five;
        sum += three;
        assert_eq!(sum, Bytes::new(8));
        assert_eq!((three.saturating_sub(five), five.saturating_sub(three)), (Bytes::ZERO, Bytes::new(2)));
        assert_eq!(Bytes::new(u64::MAX).bits(), 8 * u128::from(u64::MAX));
    }

    #[test]
    fn packets_print_with_their_unit() {
        assert_eq!((Packets::new(7).get(), Packets::new(7).to_string().as_str()), (7, "7 packets"));
    }

    #[test]
    fn refuses_what_it_cannot_hold() {
        assert!(matches!("1.5 B".parse::<Bytes>(), Err(ParseError::Range { .. })));
        assert!(matches!("9000".parse::<Bytes>(), Err(ParseError::NoUnit { .. })));
        assert!(matches!("9 ms".parse::<Bytes>(), Err(ParseError::Unit { .. })));
        for negative in ["-9 B", "-.5 kB"] {
            assert!(matches!(negative.parse::<Bytes>(), Err(ParseError::Negative { .. })), "{negative}");
        }
        assert!(matches!("-B".parse::<Bytes>(), Err(ParseError::Form { .. })));
        assert!(matches!("much".parse::<Bytes>(), Err(ParseError::Form { .. })));
    }

    #[test]
    fn whole_binary_multiples_print_in_binary_units() {
        for text in ["8 KiB", "8 MiB", "8 GiB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!(Bytes::ZERO.to_string(), "0 B");
        assert_eq!(Bytes::new(6_225_000).to_string(), "6.225 MB");
    }

    proptest! {
        #[test]
        fn printing_then_reading_gives_the_same_value(n in any::<u64>()) {
            prop_assert_eq!(Bytes::new(n).to_string().parse::<Bytes>(), Ok(Bytes::new(n)));
        }
    }
}
