//! Sequence numbers of one direction in 64 bits.

use crate::segment::{Flags, Segment};

/// Sequence numbers of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sequence {
    /// The number on the wire that is 0 in 64 bits: that of the SYN, or the one before the first that was captured.
    pub base: Option<u32>,
    /// Number after the highest that was sent or acknowledged.
    pub highest: i64,
    /// Highest number that the other end acknowledged.
    pub acknowledged: i64,
    /// Number after the FIN.
    pub finished_at: Option<i64>,
}

impl Sequence {
    /// `number` in 64 bits, as near to the highest as can be.
    #[inline]
    pub(super) fn unwrap(&self, base: u32, number: u32) -> i64 {
        let highest_on_wire = base.wrapping_add(self.highest as u32);
        self.highest + i64::from(number.wrapping_sub(highest_on_wire) as i32)
    }

    /// Sequence number of a segment of this direction.
    ///
    /// A RST may have any number (a refused connection has 0), so that none is learned from it.
    #[inline]
    pub(super) fn place(&mut self, segment: &Segment, is_reset: bool) -> i64 {
        let base = match self.base {
            Some(base) => base,
            None if is_reset => return 0,
            None => {
                let is_syn = segment.flags.contains(Flags::SYN);
                let base = if is_syn { segment.seq } else { segment.seq.wrapping_sub(1) };
                self.highest = if is_syn { 0 } else { 1 };
                self.acknowledged = 0;
                *self.base.insert(base)
            }
        };
        let seq64 = self.unwrap(base, segment.seq);
        if !is_reset {
            self.highest = self.highest.max(seq64 + i64::from(segment.sequence_length()));
        }
        seq64
    }

    /// Acknowledgment of this direction by a segment of the other.
    #[inline]
    pub(super) fn acknowledge(&mut self, number: u32, is_reset: bool) -> i64 {
        let base = match self.base {
            Some(base) => base,
            None if is_reset => return 0,
            None => {
                self.highest = 1;
                *self.base.insert(number.wrapping_sub(1))
            }
        };
        let ack64 = self.unwrap(base, number);
        if !is_reset {
            // Acknowledged bytes were sent, even if the capture does not have them.
            self.highest = self.highest.max(ack64);
            self.acknowledged = self.acknowledged.max(ack64);
        }
        ack64
    }

    /// Whether a FIN was sent and acknowledged.
    pub(super) fn is_finished(&self) -> bool {
        self.finished_at.is_some_and(|end| self.acknowledged >= end)
    }
}

/// Largest payload of one packet on the wire, of a direction whose MSS is unknown, after one more `payload`. 0: unknown.
///
/// Up to 1460 bytes fit into a packet on any Ethernet. Larger payloads are those of jumbo frames or super-packets. Those of
/// super-packets are multiples of the usual MSS: for 1500 or 9000 bytes, IPv4 or IPv6, with or without timestamps.
pub(super) fn largest_on_the_wire(largest: u32, payload: u32) -> u32 {
    const ETHERNET: u32 = 1460;
    const USUAL: [u32; 8] = [1448, 1460, 1428, 1440, 8948, 8960, 8928, 8940];
    if payload <= ETHERNET {
        return if largest <= ETHERNET { largest.max(payload) } else { largest };
    }
    if USUAL.contains(&largest) {
        return largest;
    }
    USUAL.into_iter().find(|usual| payload.is_multiple_of(*usual)).unwrap_or(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u32, payload_bytes: u32) -> Segment {
        Segment { seq, payload_bytes, flags: Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn numbers_go_on_over_many_wraps() {
        let mut sequence = Sequence::default();
        let syn = Segment { seq: u32::MAX - 5, flags: Flags::SYN, ..Segment::default() };
        assert_eq!(sequence.place(&syn, false), 0);
        let mut expected = 1i64;
        let mut seq = syn.seq.wrapping_add(1);
        for _ in 0..20 {
            assert_eq!(sequence.place(&data(seq, 1 << 30), false), expected);
            expected += 1 << 30;
            seq = seq.wrapping_add(1 << 30);
        }
        assert_eq!(expected, (20 << 30) + 1);
        // A retransmission of what is one GiB back.
        assert_eq!(sequence.place(&data(seq.wrapping_sub(1 << 30), 1448), false), expected - (1 << 30));
        assert_eq!(sequence.acknowledge(seq, false), expected);
    }

    #[test]
    fn first_captured_byte_is_1_without_a_syn() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.place(&data(5_000, 10), false), 1);
        assert_eq!(sequence.place(&data(4_990, 10), false), -9);
        let mut acknowledged_first = Sequence::default();
        assert_eq!(acknowledged_first.acknowledge(5_000, false), 1);
        assert_eq!(acknowledged_first.place(&data(5_000, 10), false), 1);
    }

    #[test]
    fn reset_teaches_no_number() {
        let mut sequence = Sequence::default();
        let reset = Segment { flags: Flags::RST | Flags::ACK, ..Segment::default() };
        assert_eq!(sequence.place(&reset, true), 0);
        assert_eq!(sequence.base, None);
        sequence.place(&data(7, 1), false);
        let far = Segment { seq: 1 << 30, flags: Flags::RST, ..Segment::default() };
        sequence.place(&far, true);
        assert_eq!(sequence.highest, 2);
    }

    #[test]
    fn super_packets_of_an_unknown_mss_are_multiples() {
        let after = |payloads: &[u32]| {
            payloads.iter().fold(0, |largest, payload| largest_on_the_wire(largest, *payload))
        };
        assert_eq!(after(&[100, 1448, 64_000]), 1448);
        assert_eq!(after(&[20 * 1448, 100]), 1448);
        assert_eq!(after(&[8948]), 8948);
        assert_eq!(after(&[5_000]), 0);
        assert_eq!(after(&[8948 * 7, 1448]), 8948);
    }
}
