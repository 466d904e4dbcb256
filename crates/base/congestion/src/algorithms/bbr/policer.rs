//! BBR's long-term estimate of the rate: two intervals with much loss and the same rate mean a token-bucket policer.

use wirespeed_units::SimTime;

use super::{BANDWIDTH_SHIFT, UNIT};
use crate::tick::ticks;

/// Shortest interval, round trips; four times as long is too long.
const SHORTEST_ROUNDS: u64 = 4;
/// An interval is lossy if lost/delivered reaches 50/256.
const LOSSY: u64 = 50;
/// Rates that differ by an eighth or less, or by this many bytes a second, are the same.
const SAME_SHARE: u64 = UNIT / 8;
const SAME_BYTES_PER_SECOND: u64 = 4_000 / 8;
/// The rate is believed for this many round trips.
const BELIEVED_ROUNDS: u64 = 48;

/// What the policer's estimate needs of an ACK.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub now: SimTime,
    pub delivered: u64,
    pub lost: u64,
    /// The ACK showed losses.
    pub losses: bool,
    pub round_start: bool,
    pub app_limited: bool,
    pub probes_bandwidth: bool,
    pub mss: u64,
}

/// What followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    Nothing,
    /// A policer is there: its rate is in use from now on.
    Policed,
    /// The rate has been used long enough: probe anew.
    Expired,
}

#[derive(Debug, Clone, Default)]
pub struct Policer {
    /// Rate of the last interval, or the policer's.
    bandwidth: u64,
    pub in_use: bool,
    sampling: bool,
    rounds: u64,
    since_tick: u64,
    since_delivered: u64,
    since_lost: u64,
}

impl Policer {
    /// The policer's rate in packets per microsecond, shifted, if one was found.
    pub fn rate(&self) -> Option<u64> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Forgets everything.
    pub fn reset(&mut self, look: &Look) {
        self.bandwidth = 0;
        self.in_use = false;
        self.sampling = false;
        self.begin(look);
    }

    fn begin(&mut self, look: &Look) {
        self.since_tick = ticks(look.now);
        self.since_delivered = look.delivered;
        self.since_lost = look.lost;
        self.rounds = 0;
    }

    /// Takes in an ACK.
    pub fn look(&mut self, look: &Look) -> Finding {
        if self.in_use {
            if look.probes_bandwidth && look.round_start {
                self.rounds += 1;
                if self.rounds >= BELIEVED_ROUNDS {
                    self.reset(look);
                    return Finding::Expired;
                }
            }
            return Finding::Nothing;
        }
        if !self.sampling {
            // The bucket's tokens must be used up first: wait for a loss.
            if !look.losses {
                return Finding::Nothing;
            }
            self.begin(look);
            self.sampling = true;
        }
        if look.app_limited {
            self.reset(look);
            return Finding::Nothing;
        }
        if look.round_start {
            self.rounds += 1;
        }
        if self.rounds < SHORTEST_ROUNDS {
            return Finding::Nothing;
        }
        if self.rounds > 4 * SHORTEST_ROUNDS {
            self.reset(look);
            return Finding::Nothing;
        }
        if !look.losses {
            return Finding::Nothing;
        }
        let lost = look.lost.saturating_sub(self.since_lost);
        let delivered = look.delivered.saturating_sub(self.since_delivered);
        let elapsed_us = (ticks(look.now) - self.since_tick) * 1_000;
        if delivered == 0 || lost * UNIT < LOSSY * delivered || elapsed_us == 0 {
            return Finding::Nothing;
        }
        let rate = ((u128::from(delivered) << BANDWIDTH_SHIFT) / u128::from(elapsed_us)) as u64;
        self.end_interval(rate, look)
    }

    fn end_interval(&mut self, rate: u64, look: &Look) -> Finding {
        if self.bandwidth > 0 {
            let difference = rate.abs_diff(self.bandwidth);
            let bytes_per_second =
                (u128::from(difference) * u128::from(look.mss) * 1_000_000) >> BANDWIDTH_SHIFT;
            if difference * UNIT <= SAME_SHARE * self.bandwidth
                || bytes_per_second <= u128::from(SAME_BYTES_PER_SECOND)
            {
                self.bandwidth = rate.midpoint(self.bandwidth);
                self.in_use = true;
                self.rounds = 0;
                return Finding::Policed;
            }
        }
        self.bandwidth = rate;
        self.begin(look);
        Finding::Nothing
    }
}
