//! The result of an analysis. Times of events are in nanoseconds since the first packet of the capture.

use crate::algorithm::Guess;
use crate::artefact::Artefacts;
use crate::capture_point::CapturePoint;
use crate::distribution::Quantiles;
use crate::limit::Limits;
use crate::retransmission::{Retransmission, RetransmissionCounts};
use crate::round::Round;
use crate::sequence::ConnectionSequence;
use crate::series::WindowSample;
use crate::slow_start::SlowStart;
use crate::udp::UdpStream;
use serde::Serialize;

/// All that was found in a capture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    /// The connections with most bytes, in the order of their numbers.
    pub connections: Vec<ConnectionTrace>,
    /// TCP connections of the capture, also those that are not in `connections`.
    pub total_connections: u64,
    /// TCP packets of the capture, as captured.
    pub total_packets: u64,
    /// The UDP streams with most payload, in the order of their numbers.
    pub streams: Vec<UdpStream>,
    /// UDP streams of the capture, also those that are not in `streams`.
    pub total_streams: u64,
    /// UDP packets of the capture, as captured.
    pub total_udp_packets: u64,
    /// Time of the first packet, in nanoseconds since the Unix epoch.
    pub first_ns: i64,
    /// From the earliest to the latest packet, in nanoseconds.
    pub duration_ns: i64,
    /// Points of the flow with most data and of its reverse, for figures: with [`Options::points`](crate::Options::points), unless
    /// they took too much memory.
    #[serde(skip)]
    pub sequence: Option<ConnectionSequence>,
}

/// A TCP connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectionTrace {
    /// Number of the connection in the order of first packets, from 1.
    pub number: u64,
    /// Address and port of the end that opened it.
    pub client: String,
    /// Address and port of the other end.
    pub server: String,
    /// Time of the first packet.
    pub first_ns: i64,
    /// Time of the last packet.
    pub last_ns: i64,
    /// The capture has the handshake.
    pub has_handshake: bool,
    /// How it ended, as far as the capture shows it.
    pub ended: Ended,
    /// Data from the client, if there was any.
    pub from_client: Option<FlowTrace>,
    /// Data from the server, if there was any.
    pub from_server: Option<FlowTrace>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Both ends closed it.
    Closed,
    /// An end reset it.
    Reset,
    /// The end is not in the capture.
    Unseen,
}

/// The data of a connection in one direction, with the acknowledgments for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowTrace {
    /// Payload, each byte once, in bytes.
    pub unique_bytes: u64,
    /// Payload with retransmissions, without duplicates that the capture made, in bytes.
    pub sent_bytes: u64,
    /// Data packets after segmentation, with retransmissions, without duplicates that the capture made.
    pub packets: u64,
    /// Of these, the packets of super-packets (TSO, GSO, GRO): the wire had them, the capture did not.
    pub derived_packets: u64,
    /// First data packet to the last acknowledgment or data packet.
    pub duration_ns: i64,
    /// Acknowledged payload by `duration_ns`, in bits per second.
    pub goodput_bps: f64,
    /// Payload of a full packet, in bytes.
    pub mss_bytes: u32,
    /// Position of the capture on the path, with its evidence.
    pub capture_point: CapturePoint,
    /// From a data packet at the capture point to its acknowledgment there, in nanoseconds. At the sender this is the RTT.
    pub rtt_to_receiver_ns: Option<Quantiles>,
    /// From an acknowledgment at the capture point to the data packet that echoes it, in nanoseconds. At the receiver
    /// this is the RTT.
    pub rtt_to_sender_ns: Option<Quantiles>,
    /// Largest number of bytes in flight, as the sender saw it. Without SACK, and at other points than the sender, too
    /// large while losses are repaired.
    pub max_in_flight_bytes: u64,
    /// Rounds of the flow, at most the first [`Round::MOST`].
    pub rounds: Vec<Round>,
    /// Number of all rounds.
    pub total_rounds: u64,
    /// Bytes in flight and RTT of every round, thinned to at most [`WindowSample::MOST`] samples.
    pub windows: Vec<WindowSample>,
    /// The slow start at the begin of the flow.
    pub slow_start: SlowStart,
    /// Retransmissions by kind.
    pub retransmissions: RetransmissionCounts,
    /// Each retransmission, at most the first [`Retransmission::MOST`].
    pub each_retransmission: Vec<Retransmission>,
    /// Packets that arrived at the capture point in another order than they were sent, or later than the capture recorded others.
    pub reordering: Reordering,
    /// Losses and where they happened, relative to the capture point.
    pub losses: Losses,
    /// Acknowledgments.
    pub acks: Acks,
    /// The receive window.
    pub receive_window: ReceiveWindow,
    /// How the packets were spaced.
    pub bursts: Bursts,
    /// Time by limiting factor.
    pub limits: Limits,
    /// Guess of the congestion control algorithm.
    pub algorithm: Guess,
    /// Effects of capturing.
    pub artefacts: Artefacts,
}

/// Reordered packets (RFC 4737). A retransmission is not one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Reordering {
    /// Packets that arrived after a packet with a higher sequence number, although they were sent before it.
    pub packets: u64,
    /// Largest reordering extent (RFC 4737, 4.2.2): packets that arrived between the first with a higher sequence number and
    /// the reordered packet.
    pub max_extent_packets: u64,
    /// Largest delay of a reordered packet after the first with a higher sequence number, in nanoseconds.
    pub max_late_ns: i64,
}

/// Packets that were lost, as far as the capture shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Losses {
    /// Packets that did not reach the capture point: their sequence numbers appear first in a retransmission.
    pub before_capture_point: u64,
    /// Packets that passed the capture point and were retransmitted, unless the retransmission was spurious.
    pub after_capture_point: u64,
    /// Reductions of the window without a loss or a mark. The sender's own queue dropped packets before any capture, or
    /// the congestion control algorithm had another reason.
    pub unseen_reductions: u64,
    /// Intervals of 100 ms with a retransmission (kit-2019 counts these as one retransmission event).
    pub events_100ms: u64,
    /// Episodes of recovery, each from the first retransmission to the acknowledgment of all data sent until then.
    pub recoveries: u64,
}

/// Acknowledgments of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Acks {
    /// Packets with an acknowledgment, from the receiver.
    pub packets: u64,
    /// Of these, packets that acknowledged new data.
    pub advancing: u64,
    /// Duplicate acknowledgments (RFC 5681, 2).
    pub duplicate: u64,
    /// Acknowledgments with SACK blocks.
    pub with_sack: u64,
    /// DSACK blocks (RFC 2883): the receiver got the data twice.
    pub dsack: u64,
    /// Holes between SACK blocks or before them, largest number in one acknowledgment.
    pub max_holes: u64,
    /// Data packets for each advancing acknowledgment, median.
    pub packets_each: Option<f64>,
    /// Most data packets that one acknowledgment acknowledged outside of recovery: large where acknowledgments were thinned or lost.
    pub max_packets: u64,
    /// Share of advancing acknowledgments that followed in less than a quarter of the usual time (median, for each packet).
    /// They were compressed in transit, or the receiver sent them in bursts.
    pub compressed_share: Option<f64>,
    /// Acknowledgments with ECE.
    pub with_ece: u64,
    /// Acknowledgments that were captured for data that was captured later, or never.
    pub for_unseen_data: u64,
}

/// The receive window that limits a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ReceiveWindow {
    /// Smallest window, in bytes, after the handshake. `None` if the shift of the window is unknown.
    pub min_bytes: Option<u64>,
    /// Largest window, in bytes.
    pub max_bytes: Option<u64>,
    /// Changes to a window of 0.
    pub zero_windows: u64,
    /// Time with a window of 0, in nanoseconds.
    pub zero_ns: i64,
    /// Probes of a zero window.
    pub probes: u64,
    /// Keepalive packets.
    pub keepalives: u64,
}

/// Spacing of data packets at the capture point.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bursts {
    /// Packets in a burst. A burst is a sequence of packets, each within three packet times of the one before at `peak_rate_bps`.
    pub packets: Option<Quantiles>,
    /// Highest rate of 16 packets in a row, frames with their headers, in bits per second.
    /// At a sender it is the rate of the host or its interface. Behind a bottleneck it is the rate of the bottleneck.
    pub peak_rate_bps: Option<f64>,
    /// Between the starts of bursts, in nanoseconds.
    pub gap_ns: Option<Quantiles>,
    /// Share of bursts that started directly after an acknowledgment. Low for a paced flow; high for one that
    /// acknowledgments clock. Meaningful at the sender only.
    pub ack_clocked_share: Option<f64>,
    /// The bursts are even and do not follow acknowledgments.
    pub is_paced: bool,
}
