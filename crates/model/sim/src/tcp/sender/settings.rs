//! What a sender is made with.

use super::Era;
use crate::net::Ecn;
use crate::tcp::{Feedback, PACKET_OVERHEAD};
use std::collections::BTreeMap;
use wirespeed_congestion::Algorithm;
use wirespeed_units::Span;

/// What tells a sender from others of its kind.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Number of the flow.
    pub flow: u32,
    /// Packets to send in all; `u64::MAX`: no end.
    pub packets: u64,
    /// Payload of the last of them in bytes.
    pub last_bytes: u32,
    /// The application may write more later ([`Sender::begin_message`](super::Sender::begin_message)), until it ends the stream.
    pub stays_open: bool,
    /// Random offset of the peer's time stamps (RFC 7323, 5.4; Linux `secure_tcp_ts_off`): no matter to the socket,
    /// but to algorithms that take the stamps for a clock.
    pub peer_stamp_offset: u32,
    /// Seed of its random stream.
    pub seed: u64,
}

/// What a sender is made with beside.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// The same without options (`mss_clamp`).
    pub mss_clamp: u32,
    /// Ethernet, IP and TCP headers of a data packet in bytes.
    pub headers: u32,
    /// Bytes of the handshake's frames.
    pub handshake_frame: u32,
    /// RFC 7323 timestamps are used.
    pub timestamps: bool,
    /// RFC 2018 selective acknowledgements are used.
    pub sack: bool,
    /// How marks come back.
    pub feedback: Feedback,
    /// ECN field of its data.
    pub ecn: Ecn,
    /// Packets of one GSO packet at most (64 KiB less headers).
    pub gso_packets: u32,
    /// Packets that GSO packets leaving at once are put together up to; 0: each is a train, as a host with a queue
    /// of its own accepts or refuses each by itself.
    pub train_packets: u32,
    /// What the first line that its packets enter needs for a full one.
    pub line: Span,
    /// Fixed send buffer in bytes; `None`: tuned between the two.
    pub send_buffer: Option<u64>,
    /// `tcp_wmem`: initial and largest send buffer in bytes.
    pub send_buffer_range: (u64, u64),
    /// Something paces the socket even if the algorithm does not ask for it (fq, SO_MAX_PACING_RATE).
    pub paced: bool,
    /// Its host has a queueing discipline that can hold packets: an interface or a bus limits what leaves.
    pub queued: bool,
    /// A GSO packet is split before it comes to that queue, and each packet then has a descriptor of its own
    /// (`tbf_segment`, `tcp_gso_segment`).
    pub split: bool,
    /// It leaves the waiting to its host's fq (`SK_PACING_FQ`).
    pub held: bool,
    /// Ceiling of the pacing rate in bytes per second.
    pub max_pacing: u64,
    /// TCP small queues.
    pub small_queues: bool,
    /// An ACK counts as the packets it acknowledges in congestion avoidance, not as one.
    pub stretch_acks: bool,
    /// The same in slow start.
    pub stretch_slow_start: bool,
    /// How its kernel finds and repairs losses.
    pub era: Era,
    /// Initial window in packets.
    pub initial_window: u64,
    /// `net.ipv4.tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// Congestion control.
    pub algorithm: &'static Algorithm,
    /// Its parameters.
    pub parameters: BTreeMap<String, i64>,
}

impl Settings {
    /// Memory of a packet in the host's queue, in bytes (`truesize`): its payload, and its part of a descriptor and a head,
    /// of which a GSO packet has one.
    pub fn queued_packet_memory(&self) -> u64 {
        let sharing = if self.split { 1 } else { u64::from(self.gso_packets.max(1)) };
        u64::from(self.mss) + PACKET_OVERHEAD / sharing
    }
}
