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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::algorithms;
    use crate::control::Observer;
    use crate::event::Phase;
    use crate::testing::{Flow, MSS};

    /// The sample after the even ones: the 50th packet is the first one that is not acknowledged.
    fn next() -> AckSample {
        AckSample {
            now: SimTime::ps(1_000_000_000_000),
            phase: Phase::Open,
            newly_acked: Packets::new(9),
            newly_delivered: Packets::new(9),
            may_grow: true,
            cwnd_limited: true,
            rtt: Some(Span::ms(1)),
            snd_una: 50 * MSS,
            in_flight: Packets::new(190),
            delivered: Packets::new(100),
            ..AckSample::default()
        }
    }

    #[test]
    fn samples_lie_evenly_before_the_next_one() {
        let next = next();
        let at = |us: i64| SimTime::ps(us * 1_000_000);
        let sent = [(44, at(900_000)), (47, at(950_000)), (60, at(970_000))];
        let acks = EvenAcks {
            count: 3,
            gap: Span::us(10),
            stride: 2,
            first_predicted: false,
            mss: MSS,
            sent: &sent,
            next: &next,
            next_una: 50,
        };
        let mut seen = Vec::new();
        acks.each(|ack| {
            assert_eq!((ack.newly_acked.get(), ack.newly_delivered.get(), ack.rate), (2, 2, None));
            let counts = [ack.prior_in_flight, ack.in_flight, ack.delivered].map(Packets::get);
            seen.push((ack.now, ack.rtt, ack.predicted, ack.snd_una, counts));
        });
        assert_eq!(
            seen,
            [
                (at(999_970), Some(Span::us(99_970)), false, 44 * MSS, [198, 196, 94]),
                (at(999_980), Some(Span::us(49_980)), true, 46 * MSS, [196, 194, 96]),
                (at(999_990), Some(Span::us(29_990)), true, 48 * MSS, [194, 192, 98]),
            ]
        );
        let mut predicted = Vec::new();
        EvenAcks { first_predicted: true, ..acks }.each(|ack| predicted.push(ack.predicted));
        assert_eq!(predicted, [true; 3]);
    }

    /// Everything that an algorithm reports.
    fn state(flow: &Flow) -> (String, Vec<(&'static str, f64)>) {
        struct Values(Vec<(&'static str, f64)>);
        impl Observer for Values {
            fn value(&mut self, name: &'static str, value: f64) {
                self.0.push((name, value));
            }
        }
        let mut values = Values(Vec::new());
        flow.control.observe(&mut values);
        (format!("{:?}", flow.output()), values.0)
    }

    #[test]
    fn algorithms_take_even_acknowledgements_as_they_take_each() {
        for row in algorithms() {
            let avoiding = |window| Flow::new(row.name).at(window);
            for (start, is_used) in [
                (&(|| Flow::new(row.name)) as &dyn Fn() -> Flow, true),
                (&|| avoiding(40), true),
                (&|| avoiding(200), true),
                (&|| avoiding(200), false),
            ] {
                let [mut singly, mut together] = [start(), start()];
                let window = singly.cwnd();
                for round in 1..=40 {
                    let una = 1_000 * round;
                    let now = SimTime::ps(1_000_000_000 * 20 * una as i64 / 1_000);
                    let next = AckSample {
                        now,
                        cwnd_limited: is_used,
                        snd_una: una * MSS,
                        snd_nxt: (una + window) * MSS,
                        delivered: Packets::new(una),
                        in_flight: Packets::new(window),
                        ..next()
                    };
                    let sent = [(una, SimTime::ps(now.picoseconds() - Span::ms(9).picoseconds()))];
                    let acks = EvenAcks {
                        count: 7 + round as u32 % 30,
                        gap: Span::us(5),
                        stride: 1 + round % 3,
                        first_predicted: round % 2 == 0,
                        mss: MSS,
                        sent: &sent,
                        next: &next,
                        next_una: una,
                    };
                    acks.each(|ack| singly.control.on_ack(ack));
                    together.control.on_even_acks(&acks);
                    assert_eq!(state(&singly), state(&together), "{}, {window}, round {round}", row.name);
                }
            }
        }
    }
}
