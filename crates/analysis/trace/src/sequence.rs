//! The points of a time-sequence graph: every data packet and every acknowledgment of a flow.
//!
//! They are collected while the capture is read, in about 15 bytes each.

mod column;

pub use column::Column;

use crate::retransmission::RetransmissionKind;
use wirespeed_capture::{Ecn, Flags, Segment};

/// The points of a connection, for figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSequence {
    /// [`ConnectionTrace::number`](crate::ConnectionTrace::number).
    pub number: u64,
    /// Data of the client, if there was any.
    pub from_client: Option<FlowSequence>,
    /// Data of the server, if there was any.
    pub from_server: Option<FlowSequence>,
}

/// The points of a flow. Times are in nanoseconds since the first packet of the capture, and sequence numbers are relative: the SYN has 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowSequence {
    /// Data packets, SYN and FIN.
    pub data: DataPoints,
    /// Acknowledgments of the receiver.
    pub acks: AckPoints,
    /// SACK blocks. A block that the acknowledgment before had, too, is left out.
    pub sacks: SackPoints,
    /// From a data packet at the capture point to its acknowledgment there.
    pub rtt_to_receiver: RttPoints,
    /// From an acknowledgment at the capture point to the data packet that echoes it.
    pub rtt_to_sender: RttPoints,
    /// Bursts of data packets, as [`Bursts`](crate::Bursts) defines them.
    pub bursts: BurstPoints,
    /// Numbers in the file of retransmissions that were not necessary, ascending. [`Retransmission::MOST`](crate::Retransmission::MOST)
    /// limits them.
    pub spurious_packets: Column,
    /// Data packets and acknowledgments after the first [`FlowSequence::MOST`].
    pub omitted: u64,
    blocks: [(i64, i64); 4],
}

/// Data packets. All columns have the same length.
///
/// A packet that repeats data and has new data behind it is two points with the same number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataPoints {
    /// Time.
    pub t_ns: Column,
    /// Number of the packet in the file, from 1, as Wireshark counts.
    pub packet: Column,
    /// First sequence number.
    pub start: Column,
    /// Sequence numbers that it occupies: bytes of payload, and one each for SYN and FIN.
    pub length: Column,
    /// [`DataClass`], as a number.
    pub class: Column,
    /// [`DataMarks`].
    pub marks: Column,
    /// Packets after segmentation.
    pub packets: Column,
    /// Bytes in flight with it, as the sender saw it.
    pub in_flight: Column,
}

/// Acknowledgments. All columns have the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AckPoints {
    /// Time.
    pub t_ns: Column,
    /// Number of the packet in the file, from 1.
    pub packet: Column,
    /// First sequence number that it does not acknowledge.
    pub ack: Column,
    /// Right edge of its receive window; `ack` without [`AckMarks::WINDOW`].
    pub edge: Column,
    /// [`AckMarks`].
    pub marks: Column,
    /// Bytes in flight after it, at the sender's capture point. At other points it repeats that of the data packet before.
    pub in_flight: Column,
}

/// SACK blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SackPoints {
    /// Time.
    pub t_ns: Column,
    /// First sequence number.
    pub left: Column,
    /// Bytes.
    pub length: Column,
}

/// RTT samples to one side of the capture point.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RttPoints {
    /// Time at which the sample ended.
    pub t_ns: Column,
    /// The sample, in nanoseconds.
    pub rtt_ns: Column,
}

/// Bursts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BurstPoints {
    /// Time of the first packet.
    pub t_ns: Column,
    /// Packets after segmentation.
    pub packets: Column,
}

/// The class of a data packet. The numbers are those of [`DataPoints::class`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DataClass {
    /// Data for the first time.
    First = 0,
    /// [`RetransmissionKind::Fast`].
    Fast = 1,
    /// [`RetransmissionKind::Rack`].
    Rack = 2,
    /// [`RetransmissionKind::Timeout`].
    Timeout = 3,
    /// [`RetransmissionKind::AfterTimeout`].
    AfterTimeout = 4,
    /// [`RetransmissionKind::TailLossProbe`].
    TailLossProbe = 5,
    /// [`RetransmissionKind::Handshake`].
    Handshake = 6,
    /// [`RetransmissionKind::Unclear`].
    Unclear = 7,
    /// The same packet was captured before: at a sender, a hardware duplicate.
    Duplicate = 8,
    /// It was sent before packets that were captured before it.
    Reordered = 9,
    /// The capture recorded it after its acknowledgment.
    LateRecord = 10,
    /// Probe of a zero window, or keepalive.
    Probe = 11,
}

impl DataClass {
    /// Every class, in the order of its numbers.
    pub const ALL: [DataClass; 12] = [
        DataClass::First,
        DataClass::Fast,
        DataClass::Rack,
        DataClass::Timeout,
        DataClass::AfterTimeout,
        DataClass::TailLossProbe,
        DataClass::Handshake,
        DataClass::Unclear,
        DataClass::Duplicate,
        DataClass::Reordered,
        DataClass::LateRecord,
        DataClass::Probe,
    ];

    /// The class with a number of [`DataPoints::class`].
    pub fn of_number(number: i64) -> Option<DataClass> {
        usize::try_from(number).ok().and_then(|at| Self::ALL.get(at)).copied()
    }

    /// Whether it is a retransmission.
    pub fn is_retransmission(self) -> bool {
        (DataClass::Fast..=DataClass::Unclear).contains(&self)
    }
}

impl From<RetransmissionKind> for DataClass {
    fn from(kind: RetransmissionKind) -> DataClass {
        match kind {
            RetransmissionKind::Fast => DataClass::Fast,
            RetransmissionKind::Rack => DataClass::Rack,
            RetransmissionKind::Timeout => DataClass::Timeout,
            RetransmissionKind::AfterTimeout => DataClass::AfterTimeout,
            RetransmissionKind::TailLossProbe => DataClass::TailLossProbe,
            RetransmissionKind::Handshake => DataClass::Handshake,
            RetransmissionKind::Unclear => DataClass::Unclear,
        }
    }
}

/// Marks of a data packet, as bits of [`DataPoints::marks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataMarks(u8);

impl DataMarks {
    /// PSH.
    pub const PUSH: u8 = 1;
    /// SYN.
    pub const SYN: u8 = 2;
    /// FIN.
    pub const FIN: u8 = 4;
    /// RST.
    pub const RESET: u8 = 8;
    /// Congestion experienced (RFC 3168).
    pub const CE: u8 = 16;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 32;
    /// A retransmission of data that was not captured before.
    pub const FIRST_SEEN: u8 = 64;
    /// A retransmission of data that was acknowledged before it.
    pub const ACKNOWLEDGED: u8 = 128;

    pub(crate) fn of(segment: &Segment) -> DataMarks {
        let has = |flag, mark| if segment.flags.contains(flag) { mark } else { 0 };
        let is_syn = segment.flags.contains(Flags::SYN);
        DataMarks(
            has(Flags::PSH, Self::PUSH)
                | has(Flags::SYN, Self::SYN)
                | has(Flags::FIN, Self::FIN)
                | has(Flags::RST, Self::RESET)
                | if segment.ecn == Ecn::Ce { Self::CE } else { 0 }
                // The flag of a SYN negotiates ECN.
                | if is_syn { 0 } else { has(Flags::CWR, Self::CWR) },
        )
    }

    /// Those of the first of two parts of a packet.
    pub(crate) fn of_first_part(self) -> DataMarks {
        DataMarks(self.0 & !(Self::PUSH | Self::FIN))
    }

    /// Those of the last of two parts of a packet.
    pub(crate) fn of_last_part(self) -> DataMarks {
        DataMarks(self.0 & !(Self::CE | Self::CWR))
    }

    pub(crate) fn with(self, mark: u8) -> DataMarks {
        DataMarks(self.0 | mark)
    }
}

/// Marks of an acknowledgment, as bits of [`AckPoints::marks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckMarks(u8);

impl AckMarks {
    /// Its window is known.
    pub const WINDOW: u8 = 1;
    /// A duplicate acknowledgment.
    pub const DUPLICATE: u8 = 2;
    /// It has SACK blocks.
    pub const SACK: u8 = 4;
    /// Its first SACK block reports data that was received twice.
    pub const DSACK: u8 = 8;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 16;
    /// A window of 0.
    pub const ZERO_WINDOW: u8 = 32;

    pub(crate) fn of(segment: &Segment) -> AckMarks {
        let mut marks = AckMarks::default();
        let is_syn = segment.flags.contains(Flags::SYN);
        marks.add(Self::ECE, segment.flags.contains(Flags::ECE) && !is_syn);
        marks.add(Self::SACK, !segment.options.sack.is_empty());
        marks
    }

    pub(crate) fn add(&mut self, mark: u8, is_set: bool) {
        self.0 |= if is_set { mark } else { 0 };
    }
}

/// A data packet, for [`FlowSequence::data`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataPoint {
    pub t: i64,
    pub packet: u64,
    pub start: i64,
    pub end: i64,
    pub class: DataClass,
    pub marks: DataMarks,
    pub packets: u32,
    pub in_flight: i64,
}

/// An acknowledgment, for [`FlowSequence::ack`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckPoint {
    pub t: i64,
    pub packet: u64,
    pub ack: i64,
    pub window: Option<u64>,
    pub marks: AckMarks,
    pub in_flight: Option<i64>,
}

impl FlowSequence {
    /// Most data packets and acknowledgments of a flow; later ones are left out. They take about 60 MB.
    pub const MOST: usize = 4_000_000;

    /// Data packets and acknowledgments.
    pub fn points(&self) -> usize {
        self.data.t_ns.len() + self.acks.t_ns.len()
    }

    /// Whether later points are left out.
    fn is_full(&self) -> bool {
        self.points() >= Self::MOST
    }

    pub(crate) fn add_data(&mut self, point: DataPoint) {
        if self.is_full() {
            self.omitted += 1;
            return;
        }
        let data = &mut self.data;
        data.t_ns.push(point.t);
        data.packet.push(point.packet as i64);
        data.start.push(point.start);
        data.length.push(point.end - point.start);
        data.class.push(point.class as i64);
        data.marks.push(i64::from(point.marks.0));
        data.packets.push(i64::from(point.packets));
        data.in_flight.push(point.in_flight);
    }

    /// `blocks`: its SACK blocks.
    pub(crate) fn add_ack(&mut self, mut point: AckPoint, blocks: impl Iterator<Item = (i64, i64)>) {
        if self.is_full() {
            self.omitted += 1;
            return;
        }
        let mut current = [(0, 0); 4];
        for (place, (left, right)) in current.iter_mut().zip(blocks) {
            *place = (left, right);
            if right > left && !self.blocks.contains(place) {
                self.sacks.t_ns.push(point.t);
                self.sacks.left.push(left);
                self.sacks.length.push(right - left);
            }
        }
        self.blocks = current;
        point.marks.add(AckMarks::WINDOW, point.window.is_some());
        point.marks.add(AckMarks::ZERO_WINDOW, point.window == Some(0));
        let acks = &mut self.acks;
        acks.t_ns.push(point.t);
        acks.packet.push(point.packet as i64);
        acks.ack.push(point.ack);
        acks.edge.push(point.ack + point.window.unwrap_or(0) as i64);
        acks.marks.push(i64::from(point.marks.0));
        acks.in_flight.push(point.in_flight.unwrap_or(self.data.in_flight.last()));
    }

    pub(crate) fn add_rtt(&mut self, side: Side, t: i64, rtt: i64) {
        if self.is_full() {
            return;
        }
        let points = match side {
            Side::Receiver => &mut self.rtt_to_receiver,
            Side::Sender => &mut self.rtt_to_sender,
        };
        points.t_ns.push(t);
        points.rtt_ns.push(rtt);
    }

    /// A burst of `packets` packets that began at `t`.
    pub(crate) fn add_burst(&mut self, (t, packets): (i64, i64)) {
        if !self.is_full() {
            self.bursts.t_ns.push(t);
            self.bursts.packets.push(packets);
        }
    }
}

/// A side of the capture point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}
