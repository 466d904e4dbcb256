//! Linux' clocks as TCP uses them: microseconds for round trips, a tick of 1 ms for timers (HZ = 1000).

use wirespeed_units::SimTime;

/// Picoseconds in a microsecond.
const MICROSECOND: u64 = 1_000_000;
/// Picoseconds in a tick.
const TICK: u64 = 1_000_000_000;
/// By how much a stamp may be behind the last one before it is an old packet's (TCP_PAWS_WINDOW), in ticks.
pub const PAWS_WINDOW: i64 = 1;

/// Microseconds since the start, rounded down (`tcp_mstamp`).
#[inline]
pub fn micros(time: SimTime) -> i64 {
    (since_start(time) / MICROSECOND) as i64
}

/// Ticks since the start (`jiffies`).
#[inline]
pub fn ticks(time: SimTime) -> i64 {
    (since_start(time) / TICK) as i64
}

/// Picoseconds since the start, before which no clock runs: divided without a sign, which takes half the instructions.
#[inline]
fn since_start(time: SimTime) -> u64 {
    debug_assert!(time >= SimTime::START, "no clock runs before the start");
    time.picoseconds() as u64
}

/// The millisecond clock of RFC 7323 time stamps. Never zero, which Linux takes for "none".
pub fn stamp(time: SimTime) -> u32 {
    (ticks(time) + 1) as u32
}

/// When the next tick after `time` begins.
pub fn next_tick(time: SimTime) -> SimTime {
    SimTime::ps((ticks(time) + 1) * TICK as i64)
}

/// Ticks that cover so many microseconds (`usecs_to_jiffies`).
#[inline]
pub fn ticks_of(micros: i64) -> i64 {
    micros.max(0).unsigned_abs().div_ceil(1000) as i64
}

/// When a timer that is set at `now` for `ticks` fires: the timer wheel never fires early, and rounds up to the
/// granularity of the level the timer is put in (kernel/time/timer.c, `calc_index`).
pub fn wheel(now: SimTime, ticks_ahead: i64) -> SimTime {
    let expires = ticks(now) + ticks_ahead.max(0);
    let mut shift = 0;
    // A level has 64 slots and eight times the granularity of the one below.
    while ticks_ahead >= 63 << shift && shift < 24 {
        shift += 3;
    }
    SimTime::ps((((expires >> shift) + 1) << shift) * TICK as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_units::Span;

    #[test]
    fn a_timer_never_fires_early_and_is_late_by_less_than_its_level_allows() {
        for (ticks, late) in [(1, 1), (40, 1), (62, 1), (200, 8), (503, 8), (3000, 64)] {
            for start in 0..100 {
                let now = SimTime::START + Span::us(1000 * start + 300);
                let due = now + Span::ms(ticks);
                let fires = wheel(now, ticks);
                assert!(fires >= due, "{ticks} ticks from {now}: {fires}");
                assert!(fires - due <= Span::ms(late), "{ticks} ticks from {now}: {fires}");
            }
        }
    }
}
