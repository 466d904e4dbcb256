//! What the socket tells an algorithm.
//!
//! Counts are in packets as Linux counts them (a segment of up to one MSS is one packet); sequence numbers are
//! bytes since the start of the connection and never wrap.

use wirespeed_units::{Packets, Rate, SimTime, Span};

/// The state of the sender's loss recovery, Linux' `icsk_ca_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Phase {
    /// Nothing suspicious.
    #[default]
    Open,
    /// Duplicate or selective ACKs, no loss yet.
    Disorder,
    /// Reducing because of ECN, a local drop or the algorithm's own wish, without loss.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl Phase {
    /// The socket reduces what is in flight (RFC 6937) and the window does not grow.
    pub fn is_reducing(self) -> bool {
        matches!(self, Phase::Cwr | Phase::Recovery)
    }
}

/// A delivery rate sample, Linux' `struct rate_sample` (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateSample {
    /// Packets delivered over `interval`.
    pub delivered: Packets,
    /// The longer of the send and the ACK interval. A sample with an interval of zero is ignored.
    pub interval: Span,
    /// The connection's count of delivered packets when the newest packet acknowledged was sent.
    pub prior_delivered: Packets,
    /// Packets in flight just after the newest packet acknowledged was sent (bbr3).
    pub in_flight_at_send: Packets,
    /// Packets marked lost since that packet was sent (bbr3).
    pub lost: Packets,
    /// The packet was sent while the application had nothing more to send.
    pub app_limited: bool,
}

/// TCP timestamps of an ACK in milliseconds, as on the wire (RFC 7323).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// TSval: the receiver's clock, with its offset.
    pub value: u32,
    /// TSecr: the sender's clock when the packet left.
    pub echo: u32,
}

/// One ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckSample {
    /// Arrival.
    pub now: SimTime,
    /// The phase this ACK leaves the socket in; but if this ACK begins a reduction, the phase before it, and
    /// `on_congestion` follows.
    pub phase: Phase,
    /// Packets that left the retransmission queue (Linux `pkts_acked`).
    pub newly_acked: Packets,
    /// Packets acknowledged for the first time, cumulatively or selectively (Linux `acked_sacked`).
    pub newly_delivered: Packets,
    /// Packets this ACK made the socket mark lost.
    pub newly_lost: Packets,
    /// The window may grow: new data was acknowledged in order (or reordering is known to be high) and this ACK
    /// does not begin a reduction (Linux `tcp_may_raise_cwnd`). Ignored while the phase is reducing.
    pub may_grow: bool,
    /// The window, not the application or the receiver, limited sending (Linux `tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// Header prediction took it: it offers the window of the ACK before and has neither SACK nor ECN-Echo (Linux without
    /// `CA_ACK_SLOWPATH`).
    pub predicted: bool,
    /// The socket's window before this ACK, which a reduction lowers step by step (Linux `tcp_snd_cwnd`).
    pub cwnd: Packets,
    /// First byte not acknowledged, this ACK included.
    pub snd_una: u64,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// Round-trip time of the newest packet acknowledged; `None` if only retransmissions were acknowledged.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt: Option<Span>,
    /// Packets in flight before this ACK.
    pub prior_in_flight: Packets,
    /// Packets in flight after this ACK.
    pub in_flight: Packets,
    /// Packets selectively acknowledged and waiting, after this ACK.
    pub sacked_out: Packets,
    /// Packets delivered on this connection so far.
    pub delivered: Packets,
    /// Of these, packets whose delivery an ECN echo marked.
    pub delivered_ce: Packets,
    /// Packets marked lost on this connection so far.
    pub lost: Packets,
    /// The delivery rate, if the ACK allows one.
    pub rate: Option<RateSample>,
    /// The receiver may have delayed this ACK (one packet only, nothing sacked).
    pub maybe_delayed: bool,
    /// The socket's pacing rate, zero if not known yet; Linux computes it even if nothing paces.
    pub pacing_rate: Rate,
    /// Something paces this socket.
    pub paced: bool,
    /// When the pacer lets the next packet leave; in the past if at once.
    pub earliest_departure: SimTime,
    /// TCP timestamps, if the connection uses them.
    pub timestamps: Option<Timestamps>,
}

/// What kind of congestion was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionKind {
    /// Fast recovery begins.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// An ACK carried ECN-Echo.
    EcnEcho,
    /// The host's own queue dropped a packet.
    LocalDrop,
    /// A tail loss probe repaired a loss (RFC 8985, section 7.4).
    TailLoss,
    /// The algorithm asked for it: [`crate::Control::wants_reduction`].
    Requested,
}

/// A sign of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CongestionEvent {
    /// When it was seen.
    pub now: SimTime,
    /// What it was.
    pub kind: CongestionKind,
    /// Packets in flight, those newly marked lost taken off.
    pub in_flight: Packets,
    /// Packets the ACK that showed it delivered, zero for a timeout.
    pub newly_delivered: Packets,
    /// First byte not acknowledged.
    pub snd_una: u64,
    /// Next byte to send: the reduction ends when this is acknowledged.
    pub snd_nxt: u64,
}

/// The last reduction was a mistake (F-RTO, DSACK, timestamps).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undo {
    /// When that became known.
    pub now: SimTime,
    /// Next byte to send.
    pub snd_nxt: u64,
}

/// Why the window no longer says what the path bears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartKind {
    /// Nothing was sent for longer than a retransmission timeout (`tcp_slow_start_after_idle`).
    Idle {
        /// Since the last packet was sent.
        idle: Span,
        /// The retransmission timeout.
        rto: Span,
    },
    /// The application left the window unused for a retransmission timeout (RFC 7661's predecessor, RFC 2861).
    Underused {
        /// The most packets that were out in that time.
        used: Packets,
    },
    /// The socket has held the window down and goes on from there (Linux before 3.2: `tcp_moderate_cwnd`,
    /// `tcp_complete_cwr`).
    Moderated {
        /// The window.
        cwnd: Packets,
    },
}

/// Sending starts anew after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// When.
    pub now: SimTime,
    /// Why.
    pub kind: RestartKind,
    /// Next byte to send.
    pub snd_nxt: u64,
}

/// Packets left the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub now: SimTime,
    /// How many.
    pub packets: Packets,
    /// In flight before them.
    pub in_flight_before: Packets,
    /// Since the socket last sent.
    pub since_last: Span,
    /// The application had nothing more to send before these.
    pub app_limited: bool,
    /// Next byte to send, before them: Linux announces them before it counts them (`__tcp_transmit_skb`).
    pub snd_nxt: u64,
}
