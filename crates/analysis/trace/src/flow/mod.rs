//! The data of a connection in one direction, with the acknowledgments for it.
//!
//! The state grows with the packets in flight, not with the length of the capture.

mod acknowledgment;
mod data;
mod echo;
mod finish;
mod rtt;

use crate::capture_point::Sides;
use crate::distribution::Distribution;
use crate::loss::LossEvent;
use crate::result::{Acks, ReceiveWindow, Reordering};
use crate::retransmission::{Recovery, Retransmission, RetransmissionCounts};
use crate::round::RoundTracker;
use crate::scoreboard::Scoreboard;
use crate::sequence::{DataPoint, FlowSequence};
use crate::spacing::Spacing;
use echo::Echoes;
use rtt::RttEstimate;
use std::collections::VecDeque;

/// So many chunks are remembered after their acknowledgment, to recognise copies of them.
const REMEMBERED: usize = 256;
/// kit-2019 counts retransmissions in one such interval as one event.
const GROUP_NS: i64 = 100_000_000;

/// A chunk that was acknowledged, or a range that was acknowledged and never captured.
#[derive(Debug, Clone, Copy)]
struct Past {
    start: i64,
    end: i64,
    t_ns: i64,
    ip_id: Option<u16>,
    value: Option<u32>,
    /// It was never captured.
    is_missed: bool,
}

/// The state of the connection that a flow needs for a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    /// Time since the start of the capture.
    pub t: i64,
    /// Payload of a full packet.
    pub mss: u32,
    /// Window of the packet in bytes, if its shift is known.
    pub window: Option<u64>,
}

/// Counts of data packets.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    unique_bytes: u64,
    sent_bytes: u64,
    packets: u64,
    derived_packets: u64,
    super_packets: u64,
    duplicates: u64,
    captured: u64,
    acked_bytes: u64,
    missed_bytes: u64,
    missed_packets: u64,
    late_records: u64,
    lost_before: u64,
    lost_after: u64,
    recoveries: u64,
    events_100ms: u64,
}

/// The data of a connection in one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flow {
    board: Scoreboard,
    sides: Sides,
    to_receiver: Distribution,
    to_sender: Distribution,
    rtt: RttEstimate,
    echoes: Echoes,
    rounds: RoundTracker,
    spacing: Spacing,
    totals: Totals,
    past: VecDeque<Past>,

    acks: Acks,
    packets_each: Distribution,
    /// Time between acknowledgments for each packet acknowledged.
    ack_gaps: Distribution,
    last_advance: Option<i64>,
    duplicate_acks: u32,
    last_window: Option<u64>,

    receive_window: ReceiveWindow,
    edge: Option<i64>,
    zero_since: Option<i64>,

    recovery: Option<Recovery>,
    recovery_began: i64,
    counts: RetransmissionCounts,
    list: Vec<Retransmission>,
    events: Vec<LossEvent>,
    /// The window after the last recovery is not known yet.
    awaits_after: bool,
    /// When the last recovery ended at the capture point.
    recovered_ns: i64,
    reordering: Reordering,
    last_group: Option<i64>,

    mss: u32,
    largest_in_flight: i64,
    first_ns: Option<i64>,
    last_ns: i64,
    last_data_ns: i64,
    is_begin: bool,
    /// Points for figures, if they are wanted.
    sequence: Option<Box<FlowSequence>>,
}

impl Flow {
    /// The stream begins with `first`, the sequence number after the SYN.
    pub(crate) fn begin(&mut self, first: i64) {
        self.board.begin(first);
        self.is_begin = true;
    }

    /// Collects points for figures, after those of the handshake.
    pub(crate) fn collect(&mut self, sequence: Box<FlowSequence>) {
        self.sequence = Some(sequence);
    }

    /// Adds a point that is not data to those that are collected, with the bytes in flight of the packet before.
    pub(crate) fn control_point(&mut self, point: DataPoint) {
        if let Some(sequence) = &mut self.sequence {
            let in_flight = sequence.data.in_flight.last();
            sequence.add_data(DataPoint { in_flight, ..point });
        }
    }

    /// Collects no more points, and discards those that were collected.
    pub(crate) fn discard_points(&mut self) {
        self.sequence = None;
    }

    /// How many points were collected.
    pub(crate) fn points(&self) -> usize {
        self.sequence.as_ref().map_or(0, |sequence| sequence.points())
    }

    /// The points that were collected.
    pub(crate) fn take_points(&mut self) -> Option<FlowSequence> {
        let mut sequence = *self.sequence.take()?;
        if let Some(burst) = self.spacing.open_burst() {
            sequence.add_burst(burst);
        }
        let is_spurious = |entry: &&Retransmission| entry.spurious.is_some();
        for entry in self.list.iter().filter(is_spurious) {
            sequence.spurious_packets.push(entry.packet as i64);
        }
        Some(sequence)
    }

    /// A SYN or SYN-ACK was retransmitted.
    pub(crate) fn handshake_retransmitted(&mut self, t: i64, packet: u64) {
        use crate::retransmission::RetransmissionKind::Handshake;
        self.counts.add(Handshake, 1, 0);
        self.list.push(Retransmission {
            t_ns: t,
            packet,
            start: 0,
            bytes: 0,
            packets: 1,
            kind: Handshake,
            original_seen: true,
            spurious: None,
        });
    }

    /// RTTs to both sides, from the handshake.
    pub(crate) fn handshake_rtt(&mut self, to_sender: i64, to_receiver: i64) {
        self.sides.add_to_sender(to_sender);
        self.sides.add_to_receiver(to_receiver);
        self.rtt.sample(to_sender + to_receiver);
    }

    /// Whether there was data.
    pub(crate) fn has_data(&self) -> bool {
        self.totals.captured > 0
    }

    /// Bytes in flight from the view of the sender when a packet passed the capture point.
    fn in_flight(&self, t: i64, echo: Option<u32>) -> i64 {
        let Some(max) = self.board.max() else { return 0 };
        if self.sides.is_at_sender() {
            return self.board.in_flight();
        }
        let near = self.sides.to_sender.unwrap_or(0);
        let known = self.echoes.known_to_sender(t, echo, near).or(self.board.una());
        known.map_or(0, |known| (max - known).max(0))
    }

    fn payload_mss(&self) -> i64 {
        i64::from(self.mss.max(1))
    }
}
