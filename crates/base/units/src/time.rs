use crate::quantity::{Kind, ParseError, textual};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

const KIND: Kind = Kind {
    what: "duration",
    example: "6.2 ms",
    finest: "1 ps",
    largest: "106 days",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
};

/// A length of time in picoseconds; differences may be negative, values in files may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i64);

impl Span {
    /// No time.
    pub const ZERO: Span = Span(0);

    /// `n` picoseconds.
    #[inline]
    pub const fn ps(n: i64) -> Self {
        Span(n)
    }

    /// `n` nanoseconds.
    #[inline]
    pub const fn ns(n: i64) -> Self {
        Span(n * 1_000)
    }

    /// `n` microseconds.
    #[inline]
    pub const fn us(n: i64) -> Self {
        Span(n * 1_000_000)
    }

    /// `n` milliseconds.
    #[inline]
    pub const fn ms(n: i64) -> Self {
        Span(n * 1_000_000_000)
    }

    /// `n` seconds.
    #[inline]
    pub const fn secs(n: i64) -> Self {
        Span(n * 1_000_000_000_000)
    }

    /// The count of picoseconds.
    #[inline]
    pub const fn picoseconds(self) -> i64 {
        self.0
    }

    /// The count of nanoseconds, rounded towards zero.
    #[inline]
    pub const fn nanoseconds(self) -> i64 {
        self.0 / 1_000
    }

    /// Seconds as a float, for printing and statistics only.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    fn parse(text: &str) -> Result<Self, ParseError> {
        KIND.parse(text, i64::MAX as u128).map(|v| Span(v as i64))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHOICES: &[(&str, u128)] =
            &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
        let sign = if self.0 < 0 { "-" } else { "" };
        let text =
            if self.0 == 0 { "0 s".into() } else { Kind::print(self.0.unsigned_abs() as u128, CHOICES) };
        f.pad(&format!("{sign}{text}"))
    }
}

textual!(
    Span,
    Span::parse,
    "A duration with its unit: ps, ns, us, ms, s, min, h.",
    r"^[0-9._]+ *(ps|ns|us|µs|ms|s|min|h)$|^0$"
);

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Span(self.0.checked_add(other.0).expect("a sum of spans stays within 106 days"))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Span(self.0.checked_sub(other.0).expect("a difference of spans stays within 106 days"))
    }
}

impl Mul<i64> for Span {
    type Output = Self;
    #[inline]
    fn mul(self, factor: i64) -> Self {
        Span(self.0.checked_mul(factor).expect("a multiple of a span stays within 106 days"))
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Span::ZERO, Add::add)
    }
}

/// An instant: picoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimTime(i64);

impl SimTime {
    /// The start of the run.
    pub const START: SimTime = SimTime(0);

    /// `n` picoseconds after the start.
    #[inline]
    pub const fn ps(n: i64) -> Self {
        SimTime(n)
    }

    /// Picoseconds since the start.
    #[inline]
    pub const fn picoseconds(self) -> i64 {
        self.0
    }

    /// Nanoseconds since the start, rounded towards zero.
    #[inline]
    pub const fn nanoseconds(self) -> i64 {
        self.0 / 1_000
    }
}

impl Add<Span> for SimTime {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        SimTime(self.0.checked_add(span.0).expect("a run ends within 106 days"))
    }
}

impl Sub for SimTime {
    type Output = Span;
    #[inline]
    fn sub(self, other: Self) -> Span {
        Span(self.0 - other.0)
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_exactly() {
        assert_eq!("6.2 ms".parse(), Ok(Span::us(6_200)));
        assert_eq!("0.64 ns".parse(), Ok(Span::ps(640)));
        assert_eq!("15 min".parse(), Ok(Span::secs(900)));
        assert!(matches!("0.1 ps".parse::<Span>(), Err(ParseError::Range { .. })));
        assert!("200 h".parse::<Span>().is_ok());
        assert!(matches!("9000 h".parse::<Span>(), Err(ParseError::Range { .. })));
    }

    #[test]
    fn reads_every_unit() {
        for (text, span) in [
            ("7 ps", Span::ps(7)),
            ("7 ns", Span::ps(7_000)),
            ("7 us", Span::ns(7_000)),
            ("7 µs", Span::ns(7_000)),
            ("7 ms", Span::us(7_000)),
            ("7 s", Span::ms(7_000)),
            ("7 min", Span::secs(420)),
            ("7 h", Span::secs(25_200)),
        ] {
            assert_eq!(text.parse(), Ok(span), "{text}");
        }
    }

    #[test]
    fn sums_differences_and_multiples_are_exact() {
        let (five, three) = (Span::ms(5), Span::ms(3));
        assert_eq!((five + three, three - five, five * 3), (Span::ms(8), Span::ms(-2), Span::ms(15)));
        assert_eq!([five, three, three].into_iter().sum::<Span>(), Span::ms(11));
        let mut sum = five;
        sum += three;
        assert_eq!(sum, Span::ms(8));
        assert_eq!((Span::ps(7_999).nanoseconds(), Span::ps(-7_999).nanoseconds()), (7, -7));
        assert_eq!(Span::ms(-1_500).as_secs_f64(), -1.5);
    }

    #[test]
    fn instants_are_apart_by_spans() {
        let later = SimTime::ps(2_500) + Span::ns(4);
        assert_eq!((later.picoseconds(), later.nanoseconds()), (6_500, 6));
        assert_eq!((later - SimTime::START, SimTime::START - later), (Span::ps(6_500), Span::ps(-6_500)));
        assert_eq!(later.to_string(), "6.5 ns");
    }

    #[test]
    fn prints_with_the_unit_it_reaches() {
        assert_eq!(Span::us(12_200).to_string(), "12.2 ms");
        assert_eq!((Span::ZERO - Span::ms(3)).to_string(), "-3 ms");
        assert_eq!(Span::ZERO.to_string(), "0 s");
    }

    proptest! {
        #[test]
        fn printing_then_reading_gives_the_same_value(n in 0..i64::MAX) {
            prop_assert_eq!(Span::ps(n).to_string().parse::<Span>(), Ok(Span::ps(n)));
        }

        #[test]
        fn serde_round_trips(n in 0..i64::MAX) {
            let json = serde_json::to_string(&Span::ps(n)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Span>(&json).unwrap(), Span::ps(n));
        }
    }
}
