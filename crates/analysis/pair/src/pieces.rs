//! Captured packets as the packets that they were on the wire.

use wirespeed_capture::{Captured, Flags, Segment};

/// A packet on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// Its segment.
    pub segment: Segment,
    /// Its sequence number in 64 bits.
    pub seq64: i64,
}

/// The packets of at most `most` bytes of payload that `captured` was on the wire. A sender's host has super-packets before
/// segmentation (TSO, GSO), and a receiver's host after aggregation (GRO): taken apart, both have the same packets.
///
/// Flags are as segmentation sets them: CWR on the first, FIN and PSH on the last. The identification of IPv4 counts up.
/// Source: net/ipv4/tcp_offload.c and net/ipv4/af_inet.c of Linux.
pub(crate) fn pieces(
    captured: &Captured,
    segment: &Segment,
    most: u32,
) -> impl Iterator<Item = Piece> + use<> {
    let (whole, first, most) = (*segment, captured.seq64, most.max(1));
    let count = whole.payload_bytes.div_ceil(most).max(1);
    (0..count).map(move |number| {
        if count == 1 {
            return Piece { segment: whole, seq64: first };
        }
        let before = number * most;
        let mut flags = whole.flags;
        if number > 0 {
            flags = flags.without(Flags::CWR);
        }
        if number + 1 < count {
            flags = flags.without(Flags::FIN | Flags::PSH);
        }
        let segment = Segment {
            seq: whole.seq.wrapping_add(before),
            payload_bytes: (whole.payload_bytes - before).min(most),
            flags,
            ip_id: whole.ip_id.map(|id| id.wrapping_add(number as u16)),
            ..whole
        };
        Piece { segment, seq64: first + i64::from(before) }
    })
}
