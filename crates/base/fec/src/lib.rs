//! Forward error correction by layered interleaving (Balakrishnan et al., "Maelstrom: Transparent Error Correction for Lambda
//! Networks", NSDI 2008).
//!
//! An [`Encoder`] puts each packet into a group of every layer. In a layer of interleave i, packet n belongs to bin n mod i, and a
//! bin with enough packets is a full group. A repair packet with the XOR of all leaves when the next packet of the bin comes. A [`Decoder`] recovers a packet
//! from a repair packet if all others of the group are there. A recovered packet may make another group complete.
//!
//! The user defines a group. The model has the numbers of its packets. A real network has their bytes: [`PacketEncoder`] and
//! [`PacketDecoder`]. A [`Release`] puts recovered packets in order.

mod decoder;
mod encoder;
mod packets;
mod release;

pub use decoder::{Decoder, Solved};
pub use encoder::Encoder;
pub use packets::{PacketDecoder, PacketEncoder, Parity, ipv4_length};
pub use release::Release;

/// Bytes of a repair packet beside the XOR of its group: headers of IPv4 and UDP, and a header of four bytes.
pub const REPAIR_HEADER: u32 = 20 + 8 + 4;
/// Bytes by which a repair packet names each packet of its group.
pub const NAME: u32 = 4;

/// A decoder remembers this many times the packets that the groups of the widest layer span. A repair packet comes one interleave
/// behind its group. The rest of the time is for groups that wait for a packet which another group recovers.
const SPANS: u64 = 2;

/// For how many packets of the path a decoder should remember a lost packet, or one that arrived. `data`: packets of a full group;
/// `interleave`: of each layer.
pub fn window(data: u32, interleave: &[u32]) -> u64 {
    let widest = interleave.iter().copied().max().unwrap_or(0);
    SPANS * u64::from(data) * u64::from(widest)
}

/// How many repair packets leave while that many packets pass.
pub fn repairs_of_window(data: u32, interleave: &[u32]) -> usize {
    let of_layer = window(data, interleave) / u64::from(data.max(1));
    of_layer as usize * interleave.len()
}
