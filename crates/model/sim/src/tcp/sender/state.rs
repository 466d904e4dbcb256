//! A sender's state, to read.

use super::{Counts, Sender};
use crate::tcp::rate::Delivery;
use crate::tcp::rtt::Rtt;
use wirespeed_congestion::{CongestionControl, Phase};
use wirespeed_units::SimTime;

/// A sender's state to read.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    sender: &'a Sender,
}

impl<'a> State<'a> {
    pub(super) fn of(sender: &'a Sender) -> Self {
        State { sender }
    }

    /// Whether the handshake is done.
    pub fn established(&self) -> bool {
        self.sender.established
    }

    /// Counts so far.
    pub fn counts(&self) -> &'a Counts {
        &self.sender.counts
    }

    /// Window in packets.
    pub fn cwnd(&self) -> u64 {
        self.sender.cwnd
    }

    /// Slow start threshold in packets, if there is one.
    pub fn ssthresh(&self) -> Option<u64> {
        Some(self.sender.ssthresh).filter(|s| *s < u64::MAX)
    }

    /// Round-trip times.
    pub fn rtt(&self) -> &'a Rtt {
        &self.sender.rtt
    }

    /// Packets outstanding, selectively acknowledged, presumed lost, retransmitted.
    pub fn out(&self) -> [u64; 4] {
        let s = self.sender;
        [s.outstanding(), s.sacked_out(), s.board.lost, s.board.retransmitted]
    }

    /// Phase.
    pub fn phase(&self) -> Phase {
        self.sender.phase
    }

    /// First packet not acknowledged.
    pub fn una(&self) -> u64 {
        self.sender.una
    }

    /// Deliveries.
    pub fn delivery(&self) -> &'a Delivery {
        &self.sender.delivery
    }

    /// Pacing rate in bytes per second; `None` while nothing paces.
    pub fn pacing_rate(&self) -> Option<u64> {
        Some(self.sender.pacing_rate).filter(|rate| *rate > 0)
    }

    /// Time busy, limited by the receive window, by the send buffer.
    pub fn limits(&self, now: SimTime) -> [i64; 3] {
        let s = self.sender;
        [&s.busy, &s.window_limited, &s.buffer_limited].map(|watch| watch.nanoseconds(now))
    }

    /// Assumed reordering in packets.
    pub fn reordering(&self) -> u64 {
        self.sender.reordering
    }

    /// The peer's window in bytes.
    pub fn window(&self) -> u64 {
        self.sender.window_bytes
    }

    /// Written by the application and not sent, in bytes.
    pub fn unsent_bytes(&self) -> u64 {
        let sender = self.sender;
        let packets = sender.written - sender.nxt;
        packets.saturating_mul(sender.settings.mss.into()) - u64::from(sender.unsent_phase)
    }

    /// The congestion control.
    pub fn congestion(&self) -> Option<&'a dyn CongestionControl> {
        self.sender.cc.as_deref()
    }

    /// Whether RFC 7323 timestamps are used.
    pub fn uses_timestamps(&self) -> bool {
        self.sender.settings.timestamps
    }

    /// Payload of a full segment.
    pub fn mss(&self) -> u32 {
        self.sender.settings.mss
    }

    /// Entries of the retransmission queue.
    pub fn segments(&self) -> usize {
        self.sender.board.len()
    }
}
