//! The congestion window in packets with its carried remainder, and the steps all algorithms share.

use crate::control::{Control, Observer};
use wirespeed_units::{Bytes, Span};

/// Smallest slow start threshold (RFC 5681, equation 4).
pub const MINIMUM_SSTHRESH: u64 = 2;

/// Windows beyond this are not asked for: 2^40 packets are a petabyte, and products with them fit in 64 bits.
const CEILING: u64 = 1 << 40;

/// Window, threshold and the count of packets acknowledged since the window last grew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The congestion window in packets, at least one.
    pub cwnd: u64,
    /// Slow start threshold in packets; `u64::MAX`: none yet.
    pub ssthresh: u64,
    /// Packets acknowledged that have not yet made the window grow (Linux `snd_cwnd_cnt`): the exact remainder.
    pub count: u64,
    /// An ACK counts as the packets it acknowledges in [`Window::additive_increase`]. `false`: as one, as in Linux before
    /// 4.0 ("tcp: fix stretch ACK bugs in Reno", 2015), where delayed ACKs make Reno grow by half a packet a round trip.
    pub stretch_acks: bool,
    /// The same in [`Window::slow_start`]. `false`: as one, as in Linux before 3.13 (commit 9f9843a751d0), where delayed ACKs
    /// make slow start grow by half in a round trip.
    pub stretch_slow_start: bool,
    /// Largest window in packets.
    pub clamp: u64,
    /// The initial window in packets.
    pub initial: u64,
    pub(crate) mss: u64,
}

impl Window {
    /// A window of `initial` packets of `mss`, without threshold.
    ///
    /// # Panics
    /// If `mss` is zero.
    pub fn new(mss: Bytes, initial: u64) -> Self {
        assert!(mss.get() > 0, "a segment carries at least one byte");
        let initial = initial.clamp(1, CEILING);
        Window {
            cwnd: initial,
            ssthresh: u64::MAX,
            count: 0,
            stretch_acks: true,
            stretch_slow_start: true,
            clamp: CEILING,
            initial,
            mss: mss.get(),
        }
    }

    /// Payload of a full segment in bytes.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// Segments have another size from now on; counts of packets stay.
    pub fn set_mss(&mut self, mss: Bytes) {
        assert!(mss.get() > 0, "a segment carries at least one byte");
        self.mss = mss.get();
    }

    /// The window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Sets the window, kept between one packet and the clamp.
    pub fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.clamp(1, self.clamp.max(1));
    }

    /// One packet more for each acknowledged, up to the threshold; returns the packets left over.
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        if !self.stretch_slow_start {
            self.set(self.cwnd.saturating_add(acked.min(1)));
            return 0;
        }
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh).max(self.cwnd);
        let left = acked - (cwnd - self.cwnd);
        self.set(cwnd);
        left
    }

    /// One packet more for every `per_increment` acknowledged, whatever number one ACK covers; the remainder is
    /// carried. Credit that a larger `per_increment` had gathered counts for one packet only.
    pub fn additive_increase(&mut self, per_increment: u64, acked: u64) {
        let per_increment = per_increment.max(1);
        if self.count >= per_increment {
            self.count = 0;
            self.set(self.cwnd + 1);
        }
        self.count += self.counted(acked);
        if self.count >= per_increment {
            let steps = self.count / per_increment;
            self.count %= per_increment;
            self.set(self.cwnd.saturating_add(steps));
        }
    }

    /// As many of `most` ACKs of `acked` packets, each as [`Window::additive_increase`] takes it, as come before the
    /// next increment; answers how many.
    pub fn count_ahead(&mut self, per_increment: u64, acked: u64, most: u32) -> u32 {
        let each = self.counted(acked);
        // The last count that is no increment, and this one, are below it.
        let room = per_increment.saturating_sub(self.count + 1);
        let ahead = if room >= each * u64::from(most) { u64::from(most) } else { room / each.max(1) };
        self.count += ahead * each;
        ahead as u32
    }

    /// What an ACK of `acked` packets counts for in congestion avoidance.
    pub fn counted(&self, acked: u64) -> u64 {
        if self.stretch_acks { acked } else { acked.min(1) }
    }

    /// Slow start, then one packet a round trip (RFC 5681).
    pub fn reno(&mut self, acked: u64) {
        let left = if self.in_slow_start() { self.slow_start(acked) } else { acked };
        if left > 0 {
            self.additive_increase(self.cwnd, left);
        }
    }

    /// Half the window, at least two packets (RFC 5681, equation 4).
    pub fn half(&self) -> u64 {
        (self.cwnd / 2).max(MINIMUM_SSTHRESH)
    }

    /// The threshold to return to: three quarters of the window if that is more (Linux `tcp_current_ssthresh`).
    pub fn current_ssthresh(&self) -> u64 {
        self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
    }

    /// Nothing was sent for `idle`: half for each retransmission timeout of that, down to the initial window (Linux
    /// `tcp_cwnd_restart`).
    pub fn after_idle(&mut self, idle: Span, rto: Span) {
        self.ssthresh = self.current_ssthresh();
        let floor = self.initial.min(self.cwnd);
        let (rto, mut left) = (rto.picoseconds().max(1), idle.picoseconds());
        let mut cwnd = self.cwnd;
        loop {
            left = left.saturating_sub(rto);
            if left <= 0 || cwnd <= floor {
                break;
            }
            cwnd /= 2;
        }
        self.set(cwnd.max(floor));
    }

    /// At most `used` packets of it were out for a retransmission timeout: half the distance to that (Linux
    /// `tcp_cwnd_application_limited`).
    pub fn after_underuse(&mut self, used: u64) {
        let used = used.max(self.initial);
        if used < self.cwnd {
            self.ssthresh = self.current_ssthresh();
            self.set(self.cwnd.midpoint(used));
        }
    }

    /// Shows the window, and the threshold once there is one, in packets.
    pub fn observe(&self, observer: &mut dyn Observer) {
        observer.value("cwnd_packets", self.cwnd as f64);
        if self.ssthresh < u64::MAX {
            observer.value("ssthresh_packets", self.ssthresh as f64);
        }
    }

    /// The window as the socket sees it, without pacing.
    pub fn control(&self) -> Control {
        Control {
            cwnd: self.bytes(self.cwnd),
            ssthresh: (self.ssthresh < u64::MAX).then(|| self.bytes(self.ssthresh)),
            pacing_rate: None,
            send_quantum: None,
            wants_reduction: false,
            mark_app_limited: false,
        }
    }

    fn bytes(&self, packets: u64) -> Bytes {
        Bytes::new(packets.saturating_mul(self.mss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u64) -> Window {
        Window { cwnd, ssthresh: 2, ..Window::new(Bytes::new(1448), 10) }
    }

    #[test]
    fn a_stretch_ack_counts_as_its_packets_one_by_one() {
        let (mut one, mut many) = (window(10), window(10));
        one.additive_increase(10, 37);
        for _ in 0..37 {
            many.additive_increase(10, 1);
        }
        assert_eq!(one, many);
        assert_eq!((one.cwnd, one.count), (13, 7));
    }

    proptest::proptest! {
        #[test]
        fn counted_ahead_is_counted_one_by_one(
            cwnd in 1u64..200, count in 0u64..250, per in 0u64..200, acked in 1u64..9, acks in 1u32..100, stretch: bool,
        ) {
            let mut one = Window { count, stretch_acks: stretch, ..window(cwnd) };
            let mut ahead = one.clone();
            (0..acks).for_each(|_| one.additive_increase(per, acked));
            let mut left = acks;
            while left > 0 {
                let counted = ahead.count_ahead(per, acked, left);
                proptest::prop_assert!(counted == left || ahead.count + ahead.counted(acked) >= per);
                left -= counted;
                if left > 0 {
                    ahead.additive_increase(per, acked);
                    left -= 1;
                }
            }
            proptest::prop_assert_eq!(one, ahead);
        }
    }

    #[test]
    fn before_linux_4_an_ack_counted_as_one_packet() {
        let mut old = Window { stretch_acks: false, ..window(10) };
        // Ten ACKs of two packets: one packet more, where today there are two.
        (0..10).for_each(|_| old.additive_increase(10, 2));
        assert_eq!((old.cwnd, old.count), (11, 0));
        // Slow start has counted packets for longer.
        old.ssthresh = 100;
        assert_eq!((old.slow_start(2), old.cwnd), (0, 13));
        // Before 3.13 it did not.
        old.stretch_slow_start = false;
        assert_eq!((old.slow_start(2), old.cwnd), (0, 14));
    }

    #[test]
    fn credit_gathered_at_a_higher_price_buys_one_packet() {
        let mut w = window(100);
        w.additive_increase(100, 90);
        w.additive_increase(20, 1);
        assert_eq!((w.cwnd, w.count), (101, 1));
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_hands_back_the_rest() {
        let mut w = Window { ssthresh: 14, ..Window::new(Bytes::new(1448), 10) };
        assert_eq!(w.slow_start(6), 2);
        assert_eq!(w.cwnd, 14);
    }

    #[test]
    fn nothing_is_lost_at_10_gb() {
        // 10 GB of 1448-byte segments; one round trip of single-packet ACKs gives exactly one packet.
        let cwnd = 10_000_000_000 / 1448;
        let mut w = window(cwnd);
        for _ in 0..cwnd {
            w.additive_increase(cwnd, 1);
        }
        assert_eq!((w.cwnd, w.count), (cwnd + 1, 0));
    }
}
