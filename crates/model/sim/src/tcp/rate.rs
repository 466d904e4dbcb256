//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation; Linux `tcp_rate.c`). Times are in microseconds, as
//! there.

use crate::tcp::clock::micros;
use wirespeed_congestion::RateSample;
use wirespeed_units::{Packets, SimTime, Span};

/// The connection's state when a segment left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Packets delivered by then.
    delivered: u64,
    /// When the last of them was.
    delivered_us: i64,
    /// When the flight began that the segment belongs to.
    first_sent_us: i64,
    /// Packets in flight, this segment included.
    in_flight: u32,
    /// Packets marked lost by then.
    lost: u64,
    /// The application had no more to send.
    app_limited: bool,
}

impl Snapshot {
    /// How many numbers it is.
    pub const NUMBERS: usize = 5;

    /// It as numbers, which advance evenly from one segment to the next.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        let in_flight = u64::from(self.in_flight) << 1 | u64::from(self.app_limited);
        [self.delivered, self.delivered_us as u64, self.first_sent_us as u64, self.lost, in_flight]
    }

    /// What such numbers were made of.
    pub fn of_numbers(numbers: [u64; Self::NUMBERS]) -> Snapshot {
        let [delivered, delivered_us, first_sent_us, lost, in_flight] = numbers;
        Snapshot {
            delivered,
            delivered_us: delivered_us as i64,
            first_sent_us: first_sent_us as i64,
            in_flight: (in_flight >> 1) as u32,
            lost,
            app_limited: in_flight & 1 != 0,
        }
    }
}

/// What the newest segment that an ACK delivered says of the rate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Newest {
    snapshot: Option<Snapshot>,
    end: u64,
    sent_us: i64,
}

impl Newest {
    /// Packets delivered when the newest segment left (`rs->prior_delivered`), 0 if nothing was delivered.
    pub fn prior_delivered(&self) -> u64 {
        self.snapshot.map_or(0, |s| s.delivered)
    }
}

/// The connection's delivery record.
#[derive(Debug, Default)]
pub struct Delivery {
    /// Packets delivered (`tp->delivered`).
    pub delivered: u64,
    /// Of these, with an ECN echo (`tp->delivered_ce`).
    pub delivered_ce: u64,
    /// Packets marked lost (`tp->lost`).
    pub lost: u64,
    delivered_us: i64,
    first_sent_us: i64,
    /// The application-limited stretch ends when so many are delivered, 0: none.
    app_limited: u64,
    last: Option<(u64, i64, bool)>,
}

impl Delivery {
    /// Before a segment leaves at `now`.
    pub fn on_send(&mut self, now: SimTime, outstanding: u64, packets: u32, in_flight: u64) -> Snapshot {
        if outstanding == 0 {
            self.first_sent_us = micros(now);
            self.delivered_us = self.first_sent_us;
        }
        Snapshot {
            // Zero is "none" in Linux' count; the SYN is the first packet delivered there.
            delivered: self.delivered,
            delivered_us: self.delivered_us,
            first_sent_us: self.first_sent_us,
            in_flight: (in_flight + u64::from(packets)).min(u64::from(u32::MAX)) as u32,
            lost: self.lost,
            app_limited: self.app_limited > 0,
        }
    }

    /// A segment is acknowledged for the first time (`tcp_rate_skb_delivered`).
    pub fn on_delivered(&mut self, snapshot: Option<Snapshot>, sent: SimTime, end: u64, newest: &mut Newest) {
        let Some(snapshot) = snapshot else { return };
        let sent_us = micros(sent);
        if newest.snapshot.is_none() || (sent_us, end) > (newest.sent_us, newest.end) {
            *newest = Newest { snapshot: Some(snapshot), end, sent_us };
            self.first_sent_us = sent_us;
        }
    }

    /// Everything an ACK says has been taken in (`tcp_rate_gen`).
    pub fn sample(
        &mut self,
        now: SimTime,
        newly: u64,
        newest: &Newest,
        min_rtt_us: i64,
    ) -> Option<RateSample> {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let now_us = micros(now);
        if newly > 0 {
            self.delivered_us = now_us;
        }
        let prior = newest.snapshot?;
        let send_us = newest.sent_us - prior.first_sent_us;
        let ack_us = now_us - prior.delivered_us;
        let interval_us = send_us.max(ack_us);
        let delivered = self.delivered - prior.delivered;
        let valid = interval_us >= min_rtt_us && interval_us > 0;
        if valid
            && (!prior.app_limited
                || self.last.is_none_or(|(best, over, _)| {
                    u128::from(delivered) * over as u128 >= u128::from(best) * interval_us as u128
                }))
        {
            self.last = Some((delivered, interval_us, prior.app_limited));
        }
        Some(RateSample {
            delivered: Packets::new(delivered),
            interval: if valid { Span::us(interval_us) } else { Span::ZERO },
            prior_delivered: Packets::new(prior.delivered),
            in_flight_at_send: Packets::new(u64::from(prior.in_flight)),
            lost: Packets::new(self.lost.saturating_sub(prior.lost)),
            app_limited: prior.app_limited,
        })
    }

    /// The application has nothing to send while the window has room (`tcp_rate_check_app_limited`).
    pub fn limited_by_application(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// The most recent sample in packets per microseconds, and whether the application limited it.
    pub fn latest(&self) -> Option<(u64, i64, bool)> {
        self.last
    }
}
