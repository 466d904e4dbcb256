//! Effects of capturing that a reader could mistake for events of the network.

use serde::Serialize;

/// Meaning of packets that were captured twice with the same headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicateCause {
    /// No packets were captured twice.
    None,
    /// The interface had no free descriptor, and the sender's queue handed the packet over a second time. One packet was on the wire.
    HardwareDuplicates,
    /// Nearly every packet was captured twice, for example on two interfaces (`-i any`).
    CapturedTwice,
    /// The network delivered them twice, or the capture did: away from the sender both look the same.
    NetworkDuplicates,
}

/// Effects of capturing on one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Artefacts {
    /// Data packets that appeared again with the same sequence number, IP identification and timestamps, in packets after
    /// segmentation.
    pub duplicates: u64,
    /// Their cause.
    pub duplicate_cause: DuplicateCause,
    /// Payload that was acknowledged and never captured, in bytes: the capture dropped the packets, or they took another path.
    pub missed_bytes: u64,
    /// The same in full packets, rounded up for each gap.
    pub missed_packets: u64,
    /// Data packets that the file has after the acknowledgment for them: records of the capture are out of order.
    pub late_records: u64,
    /// Captured super-packets of segmentation offload: packet counts and spacing within them are derived.
    pub super_packets: u64,
    /// Chunks of data that were no longer followed, because the capture has no acknowledgments for them.
    pub given_up: u64,
}
