//! Super-packets as the packets that they were on the wire.

use crate::connection::{Captured, Connection, EndReason, Observer, Part};
use crate::segment::{Body, Segment};

/// Gives an observer every packet as the wire had it.
///
/// A super-packet of segmentation offload (TSO, GSO), of GRO or of BIG TCP is one packet of the capture, and many on the
/// wire. Each of those is derived: it has the MSS of the connection as payload, and the time of the captured packet.
/// Other packets pass as they are.
pub struct Separate<'a, O: ?Sized>(pub &'a mut O);

impl<O: Observer + ?Sized> Observer for Separate<'_, O> {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        for part in parts(captured, connection) {
            self.0.packet(&part, connection);
        }
    }

    fn ended(&mut self, connection: &Connection, reason: EndReason) {
        self.0.ended(connection, reason);
    }
}

/// The packets that `captured` was on the wire, in order, as [`Segment::wire_packet`] has them. Itself if it was one.
pub fn parts(captured: &Captured, connection: &Connection) -> impl Iterator<Item = Captured> {
    let captured = *captured;
    let each = connection.segment_bytes(captured.direction).unwrap_or(u32::MAX);
    let of = captured.wire_packets.max(1);
    (0..of).map(move |number| match captured.packet.body {
        Body::Tcp(segment) if of > 1 => part(&captured, &segment, each, number, of),
        _ => captured,
    })
}

fn part(captured: &Captured, whole: &Segment, each: u32, number: u32, of: u32) -> Captured {
    let (segment, before) = whole.wire_packet(each, number, of);
    let mut part = *captured;
    part.packet.body = Body::Tcp(segment);
    part.packet.wire_bytes =
        captured.packet.wire_bytes.saturating_sub(whole.payload_bytes).saturating_add(segment.payload_bytes);
    part.seq64 += i64::from(before);
    part.wire_packets = 1;
    part.part = Part::Derived { number, of };
    part
}
