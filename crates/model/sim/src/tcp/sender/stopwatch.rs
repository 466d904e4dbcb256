//! How long a state has lasted, as `tcp_info` tells it (`tcpi_busy_time` and its like).

use crate::due::Due;
use wirespeed_units::SimTime;

/// Time spent in one state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stopwatch {
    /// Picoseconds, not negative.
    total: i64,
    /// When the state began that lasts; never if it does not, which is after any time that is asked for.
    since: Due,
}

impl Stopwatch {
    pub(super) fn set(&mut self, running: bool, now: SimTime) {
        if running == self.since.is_set() {
            return;
        }
        self.total += self.running(now);
        self.since = if running { Due::at(now) } else { Due::NEVER };
    }

    /// Picoseconds that the state has lasted by `now`; 0 if it does not last. Every sample asks each flow thrice.
    #[inline]
    fn running(&self, now: SimTime) -> i64 {
        (now - self.since.time()).picoseconds().max(0)
    }

    /// Nanoseconds until `now`.
    #[inline]
    pub fn nanoseconds(&self, now: SimTime) -> i64 {
        // Divided without a sign, which takes half the instructions.
        ((self.total + self.running(now)).unsigned_abs() / 1000) as i64
    }
}
