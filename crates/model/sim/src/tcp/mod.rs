//! TCP as Linux 6.12 does it.

pub mod clock;
mod feedback;
pub mod rate;
pub mod receiver;
pub mod rtt;
pub mod scoreboard;
pub mod sender;

pub use feedback::Feedback;

/// Memory that Linux spends on a packet or a GSO packet beside its payload: `sk_buff` (256) and a small head (576,
/// `skb_shared_info` in it; net/core/skbuff.c, SKB_SMALL_HEAD_CACHE_SIZE; Linux 6.12, 64 bit). Seen in the window
/// that the kernel offers with a fixed buffer of 128 KiB: 81,504 bytes with 1448-byte segments, 110,868 with 8948.
pub const PACKET_OVERHEAD: u64 = 256 + 576;
