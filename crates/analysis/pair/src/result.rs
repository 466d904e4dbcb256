//! The result of a comparison. Times are in nanoseconds since the first packet of the first capture, by its clock, if not stated otherwise.

use crate::change::Change;
use crate::clock::Clock;
use crate::delay::Delays;
use crate::reordering::Reordering;
use serde::Serialize;
use wirespeed_trace::Trace;

/// A capture point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// That of the first file.
    First,
    /// That of the second file.
    Second,
}

impl Point {
    /// 0 or 1, for arrays with a place for each.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The other one.
    pub const fn other(self) -> Point {
        match self {
            Point::First => Point::Second,
            Point::Second => Point::First,
        }
    }
}

/// Direction of packets between the capture points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// They pass the first capture point, then the second.
    FromFirst,
    /// They pass the second capture point, then the first.
    FromSecond,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::FromFirst, Direction::FromSecond];

    /// The capture point that its packets pass first.
    pub const fn near(self) -> Point {
        match self {
            Direction::FromFirst => Point::First,
            Direction::FromSecond => Point::Second,
        }
    }

    /// The capture point that its packets pass last.
    pub const fn far(self) -> Point {
        self.near().other()
    }

    /// 0 or 1, for arrays with a place for each.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Packets of one direction on the wire, super-packets taken apart.
///
/// `sent` is `delivered` and `lost` and `in_flight` and `missed_by_far`. `arrived` is `delivered` and `duplicated` and `missed_by_near`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Packets that passed the near capture point while the other capture ran.
    pub sent: u64,
    /// Of these, packets with payload.
    pub data_sent: u64,
    /// Packets that passed both capture points.
    pub delivered: u64,
    /// Packets that passed the near capture point only.
    pub lost: u64,
    /// Of these, packets with payload.
    pub data_lost: u64,
    /// Payload of lost packets, in bytes.
    pub lost_bytes: u64,
    /// Packets in transit when the far capture ended.
    pub in_flight: u64,
    /// Packets that the receiver acknowledged, and that the far capture does not have: it dropped them.
    pub missed_by_far: u64,
    /// Packets at the far capture point, while the near capture ran.
    pub arrived: u64,
    /// Packets that arrived again.
    pub duplicated: u64,
    /// Packets at the far capture point that the near capture does not have: it dropped them, or they took another path.
    pub missed_by_near: u64,
    /// Packets that the near capture has while the far one did not run.
    pub near_outside: u64,
    /// Packets that the far capture has, and that passed the near point while its capture did not run.
    pub far_outside: u64,
    /// Packets that a capture has twice, and the wire had once, as where an interface had no free descriptor.
    pub captured_twice: u64,
}

impl Counts {
    /// Adds those of another connection.
    pub(crate) fn add(&mut self, other: &Counts) {
        let Counts {
            sent,
            data_sent,
            delivered,
            lost,
            data_lost,
            lost_bytes,
            in_flight,
            missed_by_far,
            arrived,
            duplicated,
            missed_by_near,
            near_outside,
            far_outside,
            captured_twice,
        } = *other;
        self.sent += sent;
        self.data_sent += data_sent;
        self.delivered += delivered;
        self.lost += lost;
        self.data_lost += data_lost;
        self.lost_bytes += lost_bytes;
        self.in_flight += in_flight;
        self.missed_by_far += missed_by_far;
        self.arrived += arrived;
        self.duplicated += duplicated;
        self.missed_by_near += missed_by_near;
        self.near_outside += near_outside;
        self.far_outside += far_outside;
        self.captured_twice += captured_twice;
    }
}

/// A packet that was lost between the captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LostPacket {
    /// When it passed the near capture point, in nanoseconds since the Unix epoch by the clock of that capture.
    pub t_ns: i64,
    /// Number of the captured packet in the file of that capture, as in Wireshark.
    pub packet: u64,
    /// Its first sequence number; 1 is the first byte of payload after a handshake.
    pub start: i64,
    /// Bytes of payload.
    pub bytes: u32,
    /// 1 for the first transmission of its data, 2 for the first retransmission, and so on. A retransmission with other limits than the
    /// original is at least 2. 0 for a packet without data.
    pub copy: u32,
}

impl LostPacket {
    /// So many are kept for each connection and direction.
    pub const MOST: usize = 10_000;
}

/// The packets of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Path {
    /// Numbers of packets.
    pub counts: Counts,
    /// Data packets lost before the near capture point, as retransmissions show that fill gaps there.
    pub lost_before: Option<u64>,
    /// Data packets that passed both capture points and were retransmitted, but not in vain: lost behind the far point.
    pub lost_after: Option<u64>,
    /// One-way delays.
    pub delays: Option<Delays>,
    /// Packets that overtook each other between the captures.
    pub reordering: Reordering,
    /// Lost packets, in the order in which they were sent, at most [`LostPacket::MOST`]. Empty in sums over connections.
    pub lost: Vec<LostPacket>,
}

/// A connection that both captures have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedConnection {
    /// Its number in each capture, from 1.
    pub numbers: [u64; 2],
    /// Client as in each capture.
    pub client: [String; 2],
    /// Server as in each capture.
    pub server: [String; 2],
    /// The second capture takes the other end for the client, since neither has the handshake.
    pub is_flipped: bool,
    /// The capture point on the client's side.
    pub client_side: Point,
    /// Payload from the client and from the server as the capture near each has it, with retransmissions, in bytes.
    pub payload_bytes: [u64; 2],
    /// Packets from the first capture point to the second.
    pub from_first: Path,
    /// Packets from the second capture point to the first.
    pub from_second: Path,
    /// Changes by devices between the captures.
    pub changes: Vec<Change>,
}

impl PairedConnection {
    /// The packets of a direction.
    pub fn path(&self, direction: Direction) -> &Path {
        match direction {
            Direction::FromFirst => &self.from_first,
            Direction::FromSecond => &self.from_second,
        }
    }

    /// The direction in which more payload goes.
    pub fn data_direction(&self) -> Direction {
        let is_from_client = self.payload_bytes[0] >= self.payload_bytes[1];
        match (is_from_client, self.client_side) {
            (true, Point::First) | (false, Point::Second) => Direction::FromFirst,
            _ => Direction::FromSecond,
        }
    }

    /// Sender and receiver of a direction, as the capture near the sender has them.
    pub fn ends(&self, direction: Direction) -> (&str, &str) {
        let near = direction.near().index();
        match direction.near() == self.client_side {
            true => (&self.client[near], &self.server[near]),
            false => (&self.server[near], &self.client[near]),
        }
    }
}

/// All that was found in two captures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairTrace {
    /// The second clock against the first.
    pub clock: Clock,
    /// Packets of all connections, from the first capture point to the second.
    pub from_first: Path,
    /// Packets of all connections, from the second capture point to the first.
    pub from_second: Path,
    /// The connections that both captures have: those with most bytes.
    pub connections: Vec<PairedConnection>,
    /// Connections that both captures have, also those that are not in `connections`.
    pub total_connections: u64,
    /// Connections that only one capture has, by capture.
    pub only_in: [u64; 2],
    /// Each capture alone.
    pub traces: [Trace; 2],
}

impl PairTrace {
    /// The packets of a direction, over all connections.
    pub fn path(&self, direction: Direction) -> &Path {
        match direction {
            Direction::FromFirst => &self.from_first,
            Direction::FromSecond => &self.from_second,
        }
    }
}
