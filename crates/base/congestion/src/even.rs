//! Acknowledgements at an even distance that a socket took together. Algorithms count acknowledgements, so each is
//! told of each; but what stays the same need not be looked at again for every one.

use crate::event::AckSample;
use crate::tick::micros_at;
use wirespeed_units::{Packets, SimTime, Span};

/// Acknowledgements that only advanced, in the open phase, at an even distance.
#[derive(Debug, Clone, Copy)]
pub struct EvenAcks<'a> {
    /// How many, at least one.
    pub count: u32,
    /// From one to the next.
    pub gap: Span,
    /// Packets that each acknowledged.
    pub stride: u64,
    /// Whether header prediction takes the first as it does the others ([`AckSample::predicted`]).
    pub first_predicted: bool,
    /// Bytes of a packet.
    pub mss: u64,
    /// When what they acknowledged had left: (number after it, time), ascending.
    pub sent: &'a [(u64, SimTime)],
    /// One more follows them, `gap` after the last, and is told by itself: its sample.
    pub next: &'a AckSample,
    /// The packet that the receiver waits for after that one.
    pub next_una: u64,
}

impl EvenAcks<'_> {
    /// Tells `tell` of each.
    #[inline]
    pub fn each(&self, mut tell: impl FnMut(&AckSample)) {
        let mut sample = AckSample {
            newly_acked: Packets::new(self.stride),
            newly_delivered: Packets::new(self.stride),
            rate: None,
            ..*self.next
        };
        let (in_flight, delivered) = (self.next.in_flight.get(), self.next.delivered.get());
        let (now, gap) = (self.next.now.picoseconds(), self.gap.picoseconds());
        let mut segments = self.sent.iter();
        let mut segment = segments.next().map(|(end, sent)| (*end, micros_at(*sent) as i64));
        for back in (1..=self.count).rev() {
            let behind = u64::from(back) * self.stride;
            let una = self.next_una - behind;
            while segment.is_some_and(|(end, _)| end < una) {
                segment = segments.next().map(|(end, sent)| (*end, micros_at(*sent) as i64));
            }
            sample.now = SimTime::ps(now - gap * i64::from(back));
            sample.rtt = segment.map(|(_, sent_us)| Span::us(micros_at(sample.now) as i64 - sent_us));
            sample.predicted = back < self.count || self.first_predicted;
            sample.snd_una = una.saturating_mul(self.mss);
            sample.prior_in_flight = Packets::new(in_flight + behind + self.stride);
            sample.in_flight = Packets::new(in_flight + behind);
            sample.delivered = Packets::new(delivered - behind);
            tell(&sample);
        }
    }
}
