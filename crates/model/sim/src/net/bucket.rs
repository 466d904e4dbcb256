//! A token bucket that drops: the policer before a queue, and the port behind it.

use super::join::join;
use super::train::Train;
use super::transmitter::Transmitter;
use wirespeed_units::{Bytes, Rate, Span};

/// Tokens as a time: the bucket will be full again when a transmitter of its rate would be free. A packet conforms
/// if afterwards the bucket is at most its whole content behind (the virtual scheduling form of ITU-T I.371).
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    full: Transmitter,
    /// How long the bucket takes to fill, picoseconds.
    depth: i64,
}

impl Bucket {
    pub(crate) fn new(rate: Rate, burst: Bytes) -> Bucket {
        Bucket { full: Transmitter::new(rate), depth: rate.serialisation(burst).picoseconds() }
    }

    /// Splits `train` at its times into what passes, appended to `passing`, and what does not: `drop` learns the
    /// number and the count of packets.
    pub(crate) fn filter(
        &mut self,
        train: Train,
        limit: u32,
        passing: &mut Vec<Train>,
        mut drop: impl FnMut(&Train, u32, u32),
    ) {
        let service = self.full.service(train.frame);
        let at = train.at.picoseconds();
        // When packet i has passed, the bucket is behind by the most either with the first or with the last, for
        // both lines (what it is behind by, and what has come) are straight. One more picosecond: rounding.
        let all = (service.whole + 1) * i64::from(train.packets);
        let worst = (self.full.free() - at).max(0) + service.whole + 1;
        let lasting = (train.last_at() - train.at).picoseconds();
        if worst <= self.depth && worst - service.whole - 1 + all - lasting <= self.depth {
            if self.full.free() <= at {
                self.full.start(at);
            }
            self.full.occupy(service, train.packets);
            self.full.hold(service, at + lasting);
            passing.push(train);
            return;
        }
        let base = passing.len();
        for i in 0..train.packets {
            let at = train.at.picoseconds() + train.gap.picoseconds() * i64::from(i);
            if self.full.free().max(at) + service.whole - at > self.depth {
                drop(&train, i, 1);
                continue;
            }
            if self.full.free() <= at {
                self.full.start(at);
            }
            self.full.occupy(service, 1);
            let mut packet = train.part(i, 1);
            packet.gap = Span::ZERO;
            push(passing, base, packet, limit);
        }
    }
}

/// Appends `next`, put together with the train before it if that is not before `base`.
pub(crate) fn push(trains: &mut Vec<Train>, base: usize, next: Train, limit: u32) {
    if trains.len() > base
        && let Some(last) = trains.last_mut()
        && join(last, last.last_at(), &next, next.arrival(), limit)
    {
        return;
    }
    trains.push(next);
}

/// Puts a train that was appended after the first `before` together with the one before it, as [`push`] does.
pub(crate) fn push_again(trains: &mut Vec<Train>, base: usize, before: usize, limit: u32) {
    if trains.len() > before
        && let Some(last) = trains.pop()
    {
        push(trains, base, last, limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::tests::reference::{data, packets};
    use proptest::prelude::*;

    fn conforming(bucket: &mut Bucket, train: Train) -> Vec<(u32, u64, i64)> {
        let mut passing = Vec::new();
        bucket.filter(train, 64, &mut passing, |_, _, _| {});
        packets(&passing)
    }

    #[test]
    fn a_full_bucket_lets_its_burst_pass_and_then_its_rate() {
        // 10 frames of 1000 bytes; then one per 8 us at 1 Gbit/s.
        let mut bucket = Bucket::new(Rate::gbit(1), Bytes::new(10_000));
        assert_eq!(conforming(&mut bucket, data(0, 0, 20, 1000, 0, 0)).len(), 10);
        assert_eq!(conforming(&mut bucket, data(0, 20, 8, 1000, 8_000_000, 4_000_000)).len(), 4);
        // After 80 us it is full, and no fuller after 800.
        assert_eq!(conforming(&mut bucket, data(0, 28, 20, 1000, 800_000_000, 0)).len(), 10);
    }

    #[test]
    fn packet_larger_than_the_bucket_never_passes() {
        let mut bucket = Bucket::new(Rate::gbit(1), Bytes::new(1000));
        assert!(conforming(&mut bucket, data(0, 0, 3, 1500, 0, 100_000_000)).is_empty());
    }

    proptest! {
        /// Against the textbook form: tokens as a number that grows up to the burst.
        #[test]
        fn equals_a_bucket_of_tokens(
            offers in prop::collection::vec((1..40_u32, 0..20_000_000_i64, 0..300_000_000_i64), 1..30),
        ) {
            // 8 ns per byte, so that all is exact in integers.
            let (burst, mut tokens, mut filled) = (12_000_000_i64 * 8, 12_000_000_i64 * 8, 0_i64);
            let mut bucket = Bucket::new(Rate::gbit(1), Bytes::new(12_000));
            let mut now = 0;
            for (n, gap, pause) in offers {
                let mut expected = Vec::new();
                for i in 0..i64::from(n) {
                    let at = now + i * gap;
                    tokens = burst.min(tokens + at - filled);
                    filled = at;
                    if tokens >= 8_000_000 {
                        tokens -= 8_000_000;
                        expected.push((0, i as u64, at));
                    }
                }
                let passed = conforming(&mut bucket, data(0, 0, n, 1000, now, gap));
                prop_assert_eq!(passed, expected);
                now += gap * i64::from(n) + pause;
            }
        }
    }
}
