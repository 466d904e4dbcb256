//! Forward error correction of a link, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;
use wirespeed_units::Span;

/// Forward error correction by layered interleaving (Maelstrom; Balakrishnan et al., NSDI 2008): an encoder before the link sends
/// repair packets, from which a decoder at its end recovers lost packets.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FecTable {
    /// Packets that one repair packet protects. Fewer recover more, and cost more of the rate.
    #[schemars(range(min = 1, max = 64))]
    pub data: u32,
    /// The interleave of each layer, in packets: in a layer of interleave 20, a repair packet protects every 20th packet. Each
    /// layer adds a repair packet for every `data` packets. An empty list switches the correction off.
    #[schemars(length(max = 8), inner(range(min = 1, max = 1000)))]
    pub interleave: Vec<u32>,
    /// After a pause of this length the encoder sends repair packets for the groups that are not full yet. Default "5 ms".
    pub flush: Option<Span>,
    /// Packets behind a lost one wait at the decoder for at most this time, and leave in order if it is recovered. Default
    /// "0 ms": packets leave as they arrive, and recovered ones late.
    pub hold: Option<Span>,
}
