//! Forward error correction on a direction of a link.

use serde::{Deserialize, Serialize};
use wirespeed_units::Span;

/// Forward error correction by layered interleaving (Balakrishnan et al., "Maelstrom: Transparent Error Correction for Lambda
/// Networks", NSDI 2008): an encoder before the queue of the direction, a decoder at its far end.
///
/// In a layer of interleave i, packet n of the direction belongs to bin n mod i. When a bin has `data` packets, a repair packet
/// with their XOR leaves. So each layer sends a repair packet for every `data` packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fec {
    /// Packets of a full group; 1 to [`Fec::MOST_DATA`].
    pub data: u32,
    /// Interleave of each layer in packets, in rising order without repetition; 1 to [`Fec::MOST_LAYERS`] of 1 to
    /// [`Fec::WIDEST`].
    pub interleave: Vec<u32>,
    /// The encoder closes all groups when no packet has come for so long; more than 0.
    pub flush: Span,
    /// The longest time that packets wait at the decoder behind a missing one; zero: they do not wait.
    pub hold: Span,
}

impl Fec {
    /// The most packets of a group.
    pub const MOST_DATA: u32 = 64;
    /// The most layers.
    pub const MOST_LAYERS: usize = 8;
    /// The largest interleave.
    pub const WIDEST: u32 = 1000;
    /// [`Fec::flush`] unless it is given: longer than the gaps between the packets of a busy flow, and shorter than the
    /// timeouts of TCP.
    pub const FLUSH: Span = Span::ms(5);
}
