//! Linux' clocks: a tick of 1 ms (HZ = 1000, as the kernels this model is compared with) and microseconds.

use wirespeed_units::{SimTime, Span};

/// Ticks in a second.
pub const HZ: u64 = 1000;

/// The tick that contains `now`.
pub fn ticks(now: SimTime) -> u64 {
    micros_at(now) / 1_000
}

/// Microseconds since the start of the run, rounded down.
pub fn micros_at(now: SimTime) -> u64 {
    (now.picoseconds().max(0) / 1_000_000) as u64
}

/// Microseconds of a measured span, rounded down; at least one microsecond, as Linux never reports zero.
pub fn micros(span: Span) -> u64 {
    (span.picoseconds() / 1_000_000).max(1) as u64
}

/// Ticks that cover a span, rounded up (Linux `usecs_to_jiffies`).
pub fn ticks_of(span: Span) -> u64 {
    micros(span).div_ceil(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_round_down_and_spans_up() {
        assert_eq!(ticks(SimTime::ps(1_999_999_999)), 1);
        assert_eq!(ticks_of(Span::us(200)), 1);
        assert_eq!(ticks_of(Span::us(6_200)), 7);
        assert_eq!(micros(Span::ps(1)), 1);
    }
}
