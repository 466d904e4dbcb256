//! The receiver's own estimate of the round-trip time, by which it tunes its buffer (`tcp_rcv_rtt_measure`).

use super::buffer::Buffer;
use crate::tcp::clock;
use wirespeed_units::{SimTime, Span};

impl Buffer {
    /// The receiver's own estimate: how long until a whole window has arrived (`tcp_rcv_rtt_measure`).
    pub(super) fn measure_round_trip(&mut self, now: SimTime, next: u64) {
        let position = self.position(next);
        if let Some(since) = self.rtt_at {
            if position < self.rtt_from {
                return;
            }
            let sample = (clock::micros(now) - clock::micros(since)).max(1) << 3;
            if self.rtt8 == 0 || sample < self.rtt8 {
                self.rtt8 = sample;
            }
        }
        self.rtt_from = position + self.window;
        self.rtt_at = Some(now);
    }

    /// The same for packets of which the first, at `at`, is followed by `next`, and each further one comes `gap` later:
    /// the packet that completes the window is found, however many come together.
    pub(super) fn measure_round_trips(&mut self, at: SimTime, gap: Span, next: u64, packets: u32) {
        let mut taken = 0;
        loop {
            // How many packets on is the one that makes the window whole.
            let missing = match self.rtt_at {
                Some(_) => self.rtt_from.saturating_sub(self.position(next + taken)).div_ceil(self.mss),
                None => 0,
            };
            taken += missing;
            if taken >= u64::from(packets) {
                return;
            }
            self.measure_round_trip(at + gap * taken as i64, next + taken);
            taken += 1;
        }
    }

    /// The same by time stamps, in milliseconds and smoothed (`tcp_rcv_rtt_measure_ts`).
    pub(super) fn measure_by_stamp(&mut self, now: u32, echo: u32) {
        if echo == self.last_echo || echo == 0 {
            return;
        }
        self.last_echo = echo;
        let sample = i64::from(now.saturating_sub(echo)) * 1000;
        if sample > 0 {
            let scaled = sample << 3;
            self.rtt8 = if self.rtt8 == 0 || scaled < self.rtt8 {
                scaled
            } else {
                self.rtt8 - (self.rtt8 >> 3) + sample
            };
        }
    }

    /// Round-trip time in microseconds as the receiver sees it, 0 if unknown.
    pub(super) fn round_trip_us(&self) -> i64 {
        self.rtt8 >> 3
    }
}
