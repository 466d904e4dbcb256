//! Packets that left together.

use crate::long::{Expected, Pack, varint};
use crate::tcp::rate::Snapshot;
use wirespeed_units::SimTime;

/// Packets that left together and have fared the same since. One is a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub struct Segment {
    /// Number of the first packet.
    pub first: u64,
    /// How many.
    pub packets: u32,
    /// Selectively acknowledged (`TCPCB_SACKED_ACKED`).
    pub sacked: bool,
    /// Presumed lost (`TCPCB_LOST`).
    pub lost: bool,
    /// A retransmission is in flight (`TCPCB_SACKED_RETRANS`).
    pub retransmitted: bool,
    /// Was retransmitted at some time (`TCPCB_EVER_RETRANS`).
    pub ever_retransmitted: bool,
    /// When it last left.
    pub sent: SimTime,
    /// The connection's state at that time, for the delivery rate; `None` once it has been used.
    pub snapshot: Option<Snapshot>,
}

impl Segment {
    /// New data, which leaves at `sent`.
    #[inline]
    pub fn fresh(first: u64, packets: u32, sent: SimTime, snapshot: Snapshot) -> Segment {
        Segment {
            first,
            packets,
            sacked: false,
            lost: false,
            retransmitted: false,
            ever_retransmitted: false,
            sent,
            snapshot: Some(snapshot),
        }
    }

    /// Number of the first packet after it.
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.packets)
    }

    /// Retransmitted, now or before (`TCPCB_RETRANS`).
    pub fn was_retransmitted(&self) -> bool {
        self.retransmitted || self.ever_retransmitted
    }
}

/// What the segments before it let expect of one: that it is a single packet and left with the last one of its kind. Where
/// each second packet was lost, acknowledged ones and others take turns. Of what left apart, times and counts go on growing as
/// they did.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    /// Where the last one ends.
    end: u64,
    /// When the last one left that was not selectively acknowledged, and that was, in picoseconds.
    sent: [Growing; 2],
    snapshot: Expected<{ Snapshot::NUMBERS }, { Snapshot::NUMBERS }>,
}

/// A number that grows.
#[derive(Debug, Default, Clone, Copy)]
struct Growing {
    last: u64,
    step: u64,
}

impl Growing {
    /// How far `number` is from what is expected, as a number that is small if it is little.
    fn off(&self, number: u64) -> u64 {
        varint::fold(number.wrapping_sub(self.last.wrapping_add(self.step)))
    }

    /// The next number, so far off.
    fn next(&self, off: u64) -> u64 {
        self.last.wrapping_add(self.step).wrapping_add(varint::unfold(off))
    }

    fn follow(&mut self, number: u64) {
        *self = Growing { last: number, step: number.wrapping_sub(self.last) };
    }
}

/// Bits of a packed segment's first byte.
mod bit {
    pub const SACKED: u8 = 1;
    pub const LOST: u8 = 2;
    pub const RETRANSMITTED: u8 = 4;
    pub const EVER_RETRANSMITTED: u8 = 8;
    /// It is not a single packet, or does not begin where the one before ends.
    pub const NUMBERS: u8 = 16;
    /// It did not leave when the last one of its kind did.
    pub const SENT: u8 = 32;
    /// It has a snapshot.
    pub const SNAPSHOT: u8 = 64;
    /// Its snapshot is not that of the one before.
    pub const NEW_SNAPSHOT: u8 = 128;
}

impl Pack for Segment {
    // As with trains: 10 Gbit/s has so many in 10 ms if each packet is a segment.
    const FEW: usize = 8192;
    // As many packets as an initial window has.
    const FIRST: usize = 10;
    type Packer = Packer;

    fn key(&self) -> u64 {
        self.first
    }

    fn put(&self, packer: &mut Packer, bytes: &mut Vec<u8>) {
        let sent = self.sent.picoseconds() as u64;
        let expected = &mut packer.sent[usize::from(self.sacked)];
        let last = packer.snapshot.last();
        let numbers = self.snapshot.map_or(last, |snapshot| snapshot.numbers());
        let bits = [
            (self.sacked, bit::SACKED),
            (self.lost, bit::LOST),
            (self.retransmitted, bit::RETRANSMITTED),
            (self.ever_retransmitted, bit::EVER_RETRANSMITTED),
            (self.packets != 1 || self.first != packer.end, bit::NUMBERS),
            (sent != expected.last, bit::SENT),
            (self.snapshot.is_some(), bit::SNAPSHOT),
            (numbers != last, bit::NEW_SNAPSHOT),
        ];
        let head: u8 = bits.iter().map(|(is, bit)| u8::from(*is) * bit).sum();
        bytes.push(head);
        if head & bit::NUMBERS != 0 {
            let is_apart = self.first != packer.end;
            varint::put(bytes, u64::from(self.packets) << 1 | u64::from(is_apart));
            if is_apart {
                varint::put(bytes, self.first);
            }
        }
        if head & bit::SENT != 0 {
            varint::put(bytes, expected.off(sent));
            expected.follow(sent);
        }
        if head & bit::NEW_SNAPSHOT != 0 {
            packer.snapshot.put(&numbers, bytes);
        }
        packer.end = self.end();
    }

    fn take(packer: &mut Packer, bytes: &mut &[u8]) -> Segment {
        let head = varint::take_byte(bytes);
        let has = |bit| head & bit != 0;
        let (mut packets, mut first) = (1, packer.end);
        if has(bit::NUMBERS) {
            let number = varint::take(bytes);
            packets = (number >> 1) as u32;
            if number & 1 != 0 {
                first = varint::take(bytes);
            }
        }
        let sent = &mut packer.sent[usize::from(has(bit::SACKED))];
        if has(bit::SENT) {
            sent.follow(sent.next(varint::take(bytes)));
        }
        if has(bit::NEW_SNAPSHOT) {
            packer.snapshot.take(bytes);
        }
        packer.end = first + u64::from(packets);
        Segment {
            first,
            packets,
            sacked: has(bit::SACKED),
            lost: has(bit::LOST),
            retransmitted: has(bit::RETRANSMITTED),
            ever_retransmitted: has(bit::EVER_RETRANSMITTED),
            sent: SimTime::ps(sent.last as i64),
            snapshot: has(bit::SNAPSHOT).then(|| Snapshot::of_numbers(packer.snapshot.last())),
        }
    }
}

/// A retransmission: which numbers left, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    pub sent: SimTime,
    pub first: u64,
    pub end: u64,
}

impl Pack for Retransmission {
    const FEW: usize = 512;
    /// The last one, and how far it is from the one before it to its number.
    type Packer = (Option<Retransmission>, u64);

    fn key(&self) -> u64 {
        self.sent.picoseconds() as u64
    }

    fn put(&self, (last, step): &mut Self::Packer, bytes: &mut Vec<u8>) {
        let (first, sent) = last.map_or((0, 0), |last| (last.first, last.key()));
        varint::put(bytes, varint::fold(self.first.wrapping_sub(first.wrapping_add(*step))));
        varint::put(bytes, self.end.wrapping_sub(self.first));
        varint::put(bytes, varint::fold(self.key().wrapping_sub(sent)));
        (*last, *step) = (Some(*self), self.first.wrapping_sub(first));
    }

    fn take((last, step): &mut Self::Packer, bytes: &mut &[u8]) -> Retransmission {
        let (before, sent) = last.map_or((0, 0), |last| (last.first, last.key()));
        let first = before.wrapping_add(*step).wrapping_add(varint::unfold(varint::take(bytes)));
        let end = first.wrapping_add(varint::take(bytes));
        let sent = sent.wrapping_add(varint::unfold(varint::take(bytes)));
        let taken = Retransmission { sent: SimTime::ps(sent as i64), first, end };
        (*last, *step) = (Some(taken), first.wrapping_sub(before));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn snapshot() -> impl Strategy<Value = Snapshot> {
        let in_flight = (any::<u32>(), any::<bool>())
            .prop_map(|(packets, limited)| u64::from(packets) << 1 | u64::from(limited));
        ([any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()], in_flight)
            .prop_map(|([a, b, c, d], e)| Snapshot::of_numbers([a, b, c, d, e]))
    }

    fn segment() -> impl Strategy<Value = Segment> {
        let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
        let numbers = (prop_oneof![Just(0), 0..1_u64 << 40], prop_oneof![Just(1), any::<u32>()]);
        (numbers, flags, any::<i64>(), prop::option::of(snapshot())).prop_map(
            |((first, packets), (sacked, lost, retransmitted, ever_retransmitted), sent, snapshot)| Segment {
                first,
                packets,
                sacked,
                lost,
                retransmitted,
                ever_retransmitted,
                sent: SimTime::ps(sent),
                snapshot,
            },
        )
    }

    fn come_out<T: Pack + PartialEq + std::fmt::Debug>(items: &[T]) -> usize {
        let (mut packer, mut bytes) = (T::Packer::default(), Vec::new());
        items.iter().for_each(|item| item.put(&mut packer, &mut bytes));
        let (mut packer, mut left) = (T::Packer::default(), &bytes[..]);
        items.iter().for_each(|item| assert_eq!(&T::take(&mut packer, &mut left), item));
        assert!(left.is_empty());
        bytes.len()
    }

    proptest! {
        #[test]
        fn segments_come_out_as_they_went_in(
            segments in prop::collection::vec(segment(), 1..20),
            follows in prop::collection::vec(any::<bool>(), 20),
        ) {
            let mut segments = segments;
            for index in 1..segments.len() {
                if follows[index] {
                    let before = segments[index - 1];
                    segments[index] = Segment { first: before.end(), sent: before.sent, ..segments[index] };
                }
            }
            come_out(&segments);
        }

        #[test]
        fn retransmissions_come_out_as_they_went_in(
            left in prop::collection::vec((any::<i64>(), 0..1_u64 << 40, 1..100_u64), 1..20),
        ) {
            let left: Vec<_> = left
                .into_iter()
                .map(|(sent, first, packets)| Retransmission { sent: SimTime::ps(sent), first, end: first + packets })
                .collect();
            come_out(&left);
        }
    }

    #[test]
    fn packets_of_a_slow_start_take_few_bytes() {
        let numbers = |i: u64| [2 * i, 1000 + 5 * i, 3 + 5 * i, 0, (1000 + 2 * i) << 1];
        let segment = |i: u64| {
            let snapshot = Snapshot::of_numbers(numbers(i));
            Segment::fresh(1_000_000 + 4 * i, 4, SimTime::ps((1 << 50) + 4_844_801 * i as i64), snapshot)
        };
        let segments: Vec<Segment> = (0..64).map(segment).collect();
        assert!(come_out(&segments) < 5 * 64);
    }

    #[test]
    fn each_packet_takes_a_byte_if_every_second_one_is_missing() {
        let snapshot = Snapshot::of_numbers([1 << 30, 1 << 40, 1 << 40, 0, 1 << 20]);
        let whole = Segment::fresh(1 << 40, 1, SimTime::ps(1 << 50), snapshot);
        let segments: Vec<Segment> = (0..64)
            .map(|i| Segment {
                first: whole.first + i,
                sacked: i % 2 == 0,
                snapshot: (i % 2 == 1).then_some(snapshot),
                ..whole
            })
            .collect();
        assert!(come_out(&segments) < 64 + 64);
    }
}
