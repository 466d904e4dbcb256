//! When something is to be done, if at all.

use wirespeed_units::SimTime;

/// A time that may be never. One number: the earlier of two is the least, and there is nothing to ask first. Timers are looked
/// at with each event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due(SimTime);

impl Due {
    /// Nothing is to be done.
    pub const NEVER: Due = Due(SimTime::ps(i64::MAX));

    /// At `time`.
    #[inline]
    pub const fn at(time: SimTime) -> Due {
        Due(time)
    }

    /// Whether it is time at `now`.
    #[inline]
    pub fn has_come(self, now: SimTime) -> bool {
        self.0 <= now
    }

    /// Whether it is ever to be done.
    #[inline]
    pub fn is_set(self) -> bool {
        self != Due::NEVER
    }

    /// The time, which is not to be used if it is never.
    #[inline]
    pub const fn time(self) -> SimTime {
        self.0
    }
}

impl Default for Due {
    fn default() -> Self {
        Due::NEVER
    }
}
