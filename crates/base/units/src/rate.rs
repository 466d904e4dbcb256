use crate::quantity::{Kind, ParseError, textual};
use crate::{Bytes, Span};
use std::fmt;

const KIND: Kind = Kind {
    what: "rate",
    example: "9.5 Gbit/s",
    finest: "1 bit/s",
    largest: "18 Ebit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
    ],
};

/// A data rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// `n` bits per second.
    #[inline]
    pub const fn bps(n: u64) -> Self {
        Rate(n)
    }

    /// `n` Mbit/s.
    #[inline]
    pub const fn mbit(n: u64) -> Self {
        Rate(n * 1_000_000)
    }

    /// `n` Gbit/s.
    #[inline]
    pub const fn gbit(n: u64) -> Self {
        Rate(n * 1_000_000_000)
    }

    /// Bits per second.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whole bytes per second.
    #[inline]
    pub const fn bytes_per_second(self) -> u64 {
        self.0 / 8
    }

    /// What the rate carries in `span`, rounded down to whole bytes: the bandwidth-delay product if `span` is a
    /// round-trip time. Zero for a negative span.
    #[inline]
    pub fn volume(self, span: Span) -> Bytes {
        let bits = self.0 as u128 * span.picoseconds().max(0) as u128 / 1_000_000_000_000;
        Bytes::new((bits / 8) as u64)
    }

    /// How long `bytes` take, rounded up to the next picosecond.
    ///
    /// # Panics
    /// If the rate is zero.
    #[inline]
    pub fn serialisation(self, bytes: Bytes) -> Span {
        assert!(self.0 > 0, "a rate of zero carries nothing");
        Span::ps((bytes.bits() * 1_000_000_000_000).div_ceil(self.0 as u128) as i64)
    }

    fn parse(text: &str) -> Result<Self, ParseError> {
        KIND.parse(text, u64::MAX as u128).map(|v| Rate(v as u64))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHOICES: &[(&str, u128)] =
            &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
        f.pad(&Kind::print(self.0 as u128, CHOICES))
    }
}

textual!(
    Rate,
    Rate::parse,
    "A rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s.",
    r"^[0-9._]+ *[kMGT]?bit/s$"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bdp_is_exact_at_400_gbit_and_200_ms() {
        assert_eq!(Rate::gbit(400).volume(Span::ms(200)), Bytes::new(10_000_000_000));
    }

    #[test]
    fn a_64_byte_frame_at_800_gbit_lasts_0_64_ns() {
        assert_eq!(Rate::gbit(800).serialisation(Bytes::new(64)), Span::ps(640));
    }

    #[test]
    fn volume_and_serialisation_are_inverse_to_the_byte() {
        let rate = Rate::mbit(100);
        assert_eq!((rate.get(), rate.bytes_per_second()), (100_000_000, 12_500_000));
        assert_eq!(rate.volume(rate.serialisation(Bytes::new(1_500))), Bytes::new(1_500));
        assert_eq!(rate.volume(Span::ZERO - Span::ms(1)), Bytes::ZERO);
        // A third of a byte more does not fit.
        assert_eq!(Rate::bps(3).serialisation(Bytes::new(1)), Span::ps(2_666_666_666_667));
    }

    #[test]
    fn reads_and_prints() {
        for (text, bps) in [
            ("7 bit/s", 7),
            ("7 kbit/s", 7_000),
            ("7 Mbit/s", 7_000_000),
            ("7 Gbit/s", 7_000_000_000),
            ("7 Tbit/s", 7_000_000_000_000),
        ] {
            assert_eq!(text.parse::<Rate>().map(Rate::get), Ok(bps), "{text}");
        }
        assert_eq!("9.5 Gbit/s".parse(), Ok(Rate::bps(9_500_000_000)));
        assert_eq!(Rate::bps(9_500_000_000).to_string(), "9.5 Gbit/s");
        assert!(matches!("10 Gb/s".parse::<Rate>(), Err(ParseError::Unit { .. })));
        assert!(matches!("-1 Gbit/s".parse::<Rate>(), Err(ParseError::Negative { .. })));
    }

    proptest! {
        #[test]
        fn printing_then_reading_gives_the_same_value(n in any::<u64>()) {
            prop_assert_eq!(Rate::bps(n).to_string().parse::<Rate>(), Ok(Rate::bps(n)));
        }
    }
}
