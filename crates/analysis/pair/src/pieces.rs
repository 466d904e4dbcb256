//! Captured packets as the packets that they were on the wire.

use wirespeed_capture::{Captured, Segment};

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
pub(crate) fn pieces(
    captured: &Captured,
    segment: &Segment,
    most: u32,
) -> impl Iterator<Item = Piece> + use<> {
    let (whole, first, most) = (*segment, captured.seq64, most.max(1));
    let count = whole.payload_bytes.div_ceil(most).max(1);
    (0..count).map(move |number| {
        let (segment, before) = whole.wire_packet(most, number, count);
        Piece { segment, seq64: first + i64::from(before) }
    })
}
