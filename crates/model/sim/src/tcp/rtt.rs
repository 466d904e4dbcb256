//! Round-trip time: smoothing, timeout and windowed minimum (RFC 6298; Linux `tcp_rtt_estimator`, `win_minmax`).

use wirespeed_units::SimTime;

/// Linux' least retransmission timeout, TCP_RTO_MIN, in microseconds.
pub const RTO_MIN_US: i64 = 200_000;
/// Linux' largest, TCP_RTO_MAX, in ticks.
pub const RTO_MAX_TICKS: i64 = 120_000;
/// Before the first measurement, TCP_TIMEOUT_INIT, in ticks.
pub const RTO_INITIAL_TICKS: i64 = 1_000;
/// `tcp_min_rtt_wlen` in ticks: how long a minimum is believed.
const MINIMUM_WINDOW_TICKS: i64 = 300_000;

/// Picoseconds in a microsecond.
const MICROSECOND: u64 = 1_000_000;

/// The estimator. Times in microseconds; the scaling by 8 and 4 is Linux', its rounding included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rtt {
    srtt8: i64,
    mdev4: i64,
    mdev_max: i64,
    var: i64,
    /// The window of data whose end renews `var`.
    renew: u64,
    /// Minimum in the window: the best, second and third best with their times (Kathleen Nichols' filter).
    best: [(i64, i64); 3],
    /// Retransmission timeout in ticks, back-off included (`icsk_rto`).
    pub rto: i64,
    /// Timeouts in a row (`icsk_backoff`).
    pub backoff: u32,
}

/// Acknowledgements at an even distance that measure the same segment.
#[derive(Debug, Clone, Copy)]
pub struct Even {
    /// Arrival of the first, and from one to the next, in picoseconds.
    pub first: i64,
    /// See `first`.
    pub gap: i64,
    /// How many, at least one.
    pub count: u32,
    /// What the first acknowledges, and how much more each further one.
    pub una: u64,
    /// See `una`.
    pub stride: u64,
}

impl Default for Rtt {
    fn default() -> Self {
        Rtt {
            srtt8: 0,
            mdev4: RTO_INITIAL_TICKS * 1000,
            mdev_max: 0,
            var: 0,
            renew: 0,
            best: [(0, i64::MAX); 3],
            rto: RTO_INITIAL_TICKS,
            backoff: 0,
        }
    }
}

impl Rtt {
    /// A measurement (`tcp_rtt_estimator`, `tcp_set_rto`).
    pub fn measure(&mut self, rtt_us: i64, una: u64, nxt: u64) {
        self.smooth(rtt_us, una, nxt);
        self.set_timeout();
    }

    /// The timeout that follows from the measurements (`tcp_set_rto`).
    pub fn set_timeout(&mut self) {
        self.rto = (super::clock::ticks_of((self.srtt8 >> 3) + self.var)).min(RTO_MAX_TICKS);
        self.backoff = 0;
    }

    fn smooth(&mut self, rtt_us: i64, una: u64, nxt: u64) {
        if self.srtt8 == 0 {
            self.srtt8 = rtt_us << 3;
            self.mdev4 = rtt_us << 1;
            self.var = self.mdev4.max(RTO_MIN_US);
            self.mdev_max = self.var;
            self.renew = nxt;
        } else {
            self.step(rtt_us);
            if una > self.renew {
                self.renew_variance(nxt);
            }
        }
        self.srtt8 = self.srtt8.max(1);
    }

    /// The moving averages.
    #[inline(always)]
    fn step(&mut self, rtt_us: i64) {
        let m = rtt_us - (self.srtt8 >> 3);
        self.srtt8 += m;
        let deviation = m.abs() - (self.mdev4 >> 2);
        // A sudden decrease is not taken for variance. Without branches: the sign is a matter of chance.
        let shift = 3 * u32::from((m < 0) & (deviation > 0));
        self.mdev4 += deviation >> shift;
        if self.mdev4 > self.mdev_max {
            self.mdev_max = self.mdev4;
            self.var = self.var.max(self.mdev_max);
        }
    }

    fn renew_variance(&mut self, nxt: u64) {
        if self.mdev_max < self.var {
            self.var -= (self.var - self.mdev_max) >> 2;
        }
        self.renew = nxt;
        self.mdev_max = RTO_MIN_US;
    }

    /// The measurements of several acknowledgements, minimum and average, the same as one by one;
    /// [`Rtt::set_timeout`] follows the last.
    pub fn measure_each(&mut self, acks: &Even, sent_us: i64, nxt: u64) {
        let micros = |at: i64| (at as u64 / MICROSECOND) as i64;
        let last = micros(acks.first + acks.gap * i64::from(acks.count - 1));
        let settled = self.srtt8 > 0
            && acks.first >= 0
            && acks.una + acks.stride * u64::from(acks.count - 1) <= self.renew
            && self.keeps_minimum(last / 1000);
        let (mut at, mut taken) = (acks.first, 0);
        if settled {
            // Nothing but the averages changes, unless a time is among the least. Each is at least the one before.
            while taken < acks.count {
                let now = micros(at);
                let rtt = (now - sent_us).max(0);
                if rtt > self.best[2].1 {
                    self.average(at, acks.gap, acks.count - taken, sent_us);
                    return;
                }
                if rtt == 0 || rtt > self.best[0].1 {
                    break;
                }
                self.best = [(now / 1000, rtt); 3];
                self.step(rtt);
                self.srtt8 = self.srtt8.max(1);
                at += acks.gap;
                taken += 1;
            }
        }
        for taken in taken..acks.count {
            let now = SimTime::ps(at);
            let rtt = (super::clock::micros(now) - sent_us).max(0);
            self.observe_minimum(rtt, super::clock::ticks(now), false);
            self.smooth(rtt, acks.una + acks.stride * u64::from(taken), nxt);
            at += acks.gap;
        }
    }

    /// The moving averages over `count` measurements of what left at `sent_us`, the first at `at` and each further one `gap`
    /// later; none is 0. The same as [`Rtt::step`] for each: a large part of what a long train of acknowledgements costs.
    fn average(&mut self, mut at: i64, gap: i64, count: u32, sent_us: i64) {
        let (mut srtt8, mut mdev4, mut largest) = (self.srtt8, self.mdev4, self.mdev_max);
        for _ in 0..count {
            let m = (at as u64 / MICROSECOND) as i64 - sent_us - (srtt8 >> 3);
            srtt8 += m;
            let deviation = m.abs() - (mdev4 >> 2);
            // 3 if `m` is negative and the deviation positive, as in `step`; all bits are the sign's.
            mdev4 += deviation >> (3 & (m >> 63) & (-deviation >> 63));
            largest = largest.max(mdev4);
            at += gap;
        }
        self.srtt8 = srtt8;
        self.mdev4 = mdev4;
        if largest > self.mdev_max {
            self.mdev_max = largest;
            self.var = self.var.max(largest);
        }
    }

    /// At no tick up to `now_ticks` is a minimum forgotten or replaced for its age.
    fn keeps_minimum(&self, now_ticks: i64) -> bool {
        let best = &self.best;
        let age = now_ticks - best[0].0;
        best[0].1 < i64::MAX
            && now_ticks - best[2].0 <= MINIMUM_WINDOW_TICKS
            && age <= MINIMUM_WINDOW_TICKS
            && !(best[1].0 == best[0].0 && age > MINIMUM_WINDOW_TICKS / 4)
            && !(best[2].0 == best[1].0 && age > MINIMUM_WINDOW_TICKS / 2)
    }

    /// A timeout: twice as long next time.
    pub fn back_off(&mut self) {
        self.backoff += 1;
        self.rto = (self.rto * 2).min(RTO_MAX_TICKS);
    }

    /// Takes a measurement into the minimum; `maybe_delayed` ones do not raise it.
    #[inline]
    pub fn observe_minimum(&mut self, rtt_us: i64, now_ticks: i64, maybe_delayed: bool) {
        if maybe_delayed && rtt_us > self.minimum() {
            return;
        }
        // Linux takes 0 for a tick.
        let value = (now_ticks, if rtt_us == 0 { 1000 } else { rtt_us });
        let best = &mut self.best;
        if best[0].1 == i64::MAX || value.1 <= best[0].1 || value.0 - best[2].0 > MINIMUM_WINDOW_TICKS {
            *best = [value; 3];
            return;
        }
        if value.1 <= best[1].1 {
            best[1] = value;
            best[2] = value;
        } else if value.1 <= best[2].1 {
            best[2] = value;
        }
        let age = value.0 - best[0].0;
        if age > MINIMUM_WINDOW_TICKS {
            *best = [best[1], best[2], value];
            if value.0 - best[0].0 > MINIMUM_WINDOW_TICKS {
                *best = [best[1], best[2], value];
            }
        } else if best[1].0 == best[0].0 && age > MINIMUM_WINDOW_TICKS / 4 {
            best[1] = value;
            best[2] = value;
        } else if best[2].0 == best[1].0 && age > MINIMUM_WINDOW_TICKS / 2 {
            best[2] = value;
        }
    }

    /// The minimum of the last five minutes; very large if there is none.
    pub fn minimum(&self) -> i64 {
        self.best[0].1
    }

    /// Smoothed round-trip time in microseconds, 0 if unknown.
    pub fn smoothed(&self) -> i64 {
        self.srtt8 >> 3
    }

    /// The same times eight, as Linux keeps it (`srtt_us`).
    pub fn smoothed8(&self) -> i64 {
        self.srtt8
    }

    /// Mean deviation in microseconds (`tcpi_rttvar`).
    pub fn deviation(&self) -> i64 {
        self.mdev4 >> 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_round_trip_gives_itself_and_the_least_timeout_beyond_it() {
        let mut rtt = Rtt::default();
        for i in 0..1000 {
            rtt.measure(12_200, i, i + 10);
        }
        assert_eq!(rtt.smoothed(), 12_200);
        assert_eq!(rtt.rto, 213, "200 ms beyond the round trip (RFC 6298 with Linux' least variance)");
    }

    #[test]
    fn many_measurements_at_once_are_as_many_one_by_one() {
        // Around an average of 20 ms: below the least, among the least, beyond them; times that are the same; a sudden decrease.
        for (first_us, gap_ps) in [
            (19_000, 12_000_000),
            (19_999, 1_000_000),
            (20_000, 0),
            (20_400, 24_224_000),
            (0, 0),
            (90_000, 300_000),
        ] {
            for count in [1, 2, 7, 300] {
                let mut rtt = Rtt::default();
                for i in 0..50 {
                    rtt.observe_minimum(20_000 + i % 3, 100, false);
                    rtt.measure(20_000 + i % 3, i as u64, 1000);
                }
                let (mut one, sent_us) = (rtt.clone(), 1_000_000);
                let first = (sent_us + first_us) * MICROSECOND as i64;
                let acks = Even { first, gap: gap_ps, count, una: 60, stride: 2 };
                rtt.measure_each(&acks, sent_us, 1000);
                for i in 0..i64::from(count) {
                    let now = SimTime::ps(first + gap_ps * i);
                    let elapsed = crate::tcp::clock::micros(now) - sent_us;
                    one.observe_minimum(elapsed, crate::tcp::clock::ticks(now), false);
                    one.smooth(elapsed, acks.una + 2 * i as u64, 1000);
                }
                assert_eq!(rtt, one, "{count} from {first_us} us every {gap_ps} ps");
            }
        }
    }

    #[test]
    fn the_minimum_is_forgotten_after_five_minutes() {
        let mut rtt = Rtt::default();
        rtt.observe_minimum(100, 0, false);
        for second in 1..=310 {
            rtt.observe_minimum(200, second * 1000, false);
        }
        assert_eq!(rtt.minimum(), 200);
        rtt.observe_minimum(300, 311_000, true);
        assert_eq!(rtt.minimum(), 200, "a delayed ACK does not raise it");
    }
}
