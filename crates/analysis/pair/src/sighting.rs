//! A packet on the wire at one capture point.

use crate::alignment::Preserved;
use crate::pieces::Piece;
use crate::sample::hash;
use wirespeed_capture::{Ecn, Flags, Segment};

/// A packet at one capture point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting {
    /// Hash of its sequence numbers. If it occupies none, also of the acknowledgment number and of the fields that both captures have
    /// alike.
    pub key: u64,
    /// Time of the capture.
    pub t_ns: i64,
    /// Number of the captured packet in its file.
    pub packet: u64,
    /// First sequence number, in 64 bits of its capture.
    pub seq64: i64,
    /// Sequence numbers that it occupies; 0 for an acknowledgment alone.
    pub length: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// Acknowledgment number as at the first capture.
    ack: u32,
    /// Timestamp value.
    pub value: Option<u32>,
    /// Identification of IPv4.
    pub ip_id: Option<u16>,
    /// Hash of other fields that the path leaves as they are.
    other: u16,
    /// Window field.
    pub window: u16,
    /// Time to live.
    pub ttl: u8,
    /// Differentiated services code point.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
}

/// Fields that both captures have alike for the packets of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alike {
    /// By the packets of all connections.
    pub preserved: Preserved,
    /// SACK blocks. A device that shifts sequence numbers may leave the blocks as they are.
    pub sack: bool,
}

/// Flags that distinguish packets with the same sequence numbers.
const FLAGS: u16 = Flags::SYN.bits() | Flags::FIN.bits() | Flags::RST.bits();

impl Sighting {
    /// `shifts`: what the capture's sequence numbers of this direction and of the reverse one are above those of the first capture.
    pub(crate) fn new(piece: &Piece, t_ns: i64, packet: u64, shifts: [u32; 2], alike: Alike) -> Sighting {
        let segment = &piece.segment;
        let length = segment.sequence_length();
        let seq = segment.seq.wrapping_sub(shifts[0]);
        let has_ack = segment.flags.contains(Flags::ACK);
        let ack = if has_ack { segment.ack.wrapping_sub(shifts[1]) } else { 0 };
        let value = segment.options.timestamps.map(|timestamps| timestamps.value);
        let flags = u64::from(segment.flags.bits() & FLAGS);
        let numbers = hash(&[u64::from(seq) << 32 | u64::from(length), flags]);
        // A loss can cause thousands of acknowledgments with one number. Copies of data are few, and share a key.
        let key = if length > 0 {
            numbers
        } else {
            let value = value.filter(|_| alike.preserved.value);
            let ip_id = segment.ip_id.filter(|_| alike.preserved.ip_id);
            let sack = if alike.sack { sack(segment) } else { 0 };
            hash(&[
                numbers,
                u64::from(ack) << 32 | u64::from(value.unwrap_or(0)),
                u64::from(ip_id.unwrap_or(0)),
                sack,
            ])
        };
        Sighting {
            key,
            t_ns,
            packet,
            seq64: piece.seq64,
            length,
            payload: segment.payload_bytes,
            ack,
            value,
            ip_id: segment.ip_id,
            other: other(segment),
            window: segment.window,
            ttl: segment.ttl,
            dscp: segment.dscp,
            ecn: segment.ecn,
        }
    }

    /// Whether both can be one packet, by the fields that the path preserves. Their keys are the same.
    pub(crate) fn may_be(&self, other: &Sighting, preserved: Preserved) -> bool {
        fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.is_some() && other.is_some() && one != other
        }
        let differ = self.ack != other.ack
            || preserved.value && differ(self.value, other.value)
            || preserved.ip_id && differ(self.ip_id, other.ip_id);
        !differ
    }

    /// Whether other fields differ, such as SACK blocks, which few devices change.
    pub(crate) fn differs(&self, other: &Sighting) -> bool {
        self.other != other.other
    }

    /// Whether both are one packet that a capture has twice: a retransmission has another identification.
    pub(crate) fn is_copy_of(&self, other: &Sighting) -> bool {
        let is_identified = self.ip_id.is_some_and(|id| id != 0) && self.value.is_some();
        self.length > 0
            && is_identified
            && (self.ip_id, self.value, self.ack, self.other)
                == (other.ip_id, other.value, other.ack, other.other)
    }
}

fn other(segment: &Segment) -> u16 {
    let echo = segment.options.timestamps.map_or(0, |timestamps| u64::from(timestamps.echo));
    hash(&[u64::from(segment.window), echo, sack(segment)]) as u16
}

/// A hash of the SACK blocks, which does not depend on the initial sequence number.
fn sack(segment: &Segment) -> u64 {
    let ends = segment.options.sack.iter().map(|block| u64::from(block.right.wrapping_sub(segment.ack)));
    ends.fold(0, |sum, right| hash(&[sum, right]))
}
