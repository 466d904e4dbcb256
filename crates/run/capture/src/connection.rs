//! Connections, and packets with their place in one.

use crate::segment::{Address, Flags, Packet, Segment, Transport};

/// Direction of a packet within its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the host that opened the connection.
    ClientToServer,
    /// To the host that opened the connection.
    ServerToClient,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::ClientToServer, Direction::ServerToClient];

    /// The other direction.
    pub const fn reverse(self) -> Self {
        match self {
            Direction::ClientToServer => Direction::ServerToClient,
            Direction::ServerToClient => Direction::ClientToServer,
        }
    }

    /// 0 or 1, for arrays with a place for each direction.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The first packet of a connection that the capture has. It decides which end is the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opened {
    /// A SYN: its source is the client.
    Syn,
    /// A SYN-ACK: its destination is the client.
    SynAck,
    /// Both ends sent a SYN (RFC 9293, 3.5). The source of the first is the client.
    Simultaneous,
    /// A packet within the connection. The end with the lower port is the server, or the destination if the ports are
    /// the same. UDP flows are always of this kind, and the source of the first packet is their client.
    Midstream,
}

/// The announcements of an end of a TCP connection in its SYN or SYN-ACK. All are `None` or `false` if the capture has neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Endpoint {
    /// Initial sequence number.
    pub isn: Option<u32>,
    /// Maximum segment size that this end is ready to receive, in bytes.
    pub mss: Option<u16>,
    /// Shift of the windows that this end announces.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Its SYN or SYN-ACK had timestamps.
    pub has_timestamps: bool,
    /// Its SYN or SYN-ACK was captured with all options.
    pub has_all_options: bool,
    /// Largest payload of a packet that this end sent and that was no larger than the path's MSS, in bytes.
    /// It stands in for the MSS where the handshake is missing.
    pub largest_payload: u32,
    /// Packets from this end, as captured.
    pub packets: u64,
    /// Bytes of payload from this end, as captured, with retransmissions.
    pub payload_bytes: u64,
}

/// A connection or UDP flow, with all facts up to its newest packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Number of the connection, from 0 in the order of their first packets. It is never reused.
    pub index: u32,
    /// Number of the place of the connection among those that are open. It is reused after [`Observer::ended`]. It is
    /// always below the largest number of connections that were open at once.
    pub slot: u32,
    /// Protocol.
    pub transport: Transport,
    /// The end that opened the connection.
    pub client: Address,
    /// The other end.
    pub server: Address,
    /// How the capture shows its start.
    pub opened: Opened,
    /// Time of the first packet, in nanoseconds since the Unix epoch.
    pub first_ns: i64,
    /// Time of the newest packet, in nanoseconds since the Unix epoch.
    pub last_ns: i64,
    /// Client and server, by [`Direction::index`] of what they send.
    pub ends: [Endpoint; 2],
}

impl Connection {
    /// The end that sends in `direction`.
    pub fn sender(&self, direction: Direction) -> &Endpoint {
        &self.ends[direction.index()]
    }

    /// The end that receives in `direction`.
    pub fn receiver(&self, direction: Direction) -> &Endpoint {
        &self.ends[direction.reverse().index()]
    }

    /// The window that `segment` announces, in bytes. `segment` goes in `direction`.
    ///
    /// `None` if the shift is unknown, since the capture lacks a SYN. Windows that are never scaled need no shift: those of
    /// a SYN, and of a connection without the option (RFC 7323, 2.2).
    pub fn window_bytes(&self, direction: Direction, segment: &Segment) -> Option<u64> {
        let window = u64::from(segment.window);
        if segment.flags.contains(Flags::SYN) || window == 0 {
            return Some(window);
        }
        let (from, to) = (self.sender(direction), self.receiver(direction));
        match (from.window_scale, to.window_scale) {
            (Some(shift), Some(_)) => Some(window << shift.min(14)),
            // An end that did not offer the option keeps both ends from using it.
            _ if from.has_all_options && from.window_scale.is_none() => Some(window),
            _ if to.has_all_options && to.window_scale.is_none() => Some(window),
            _ => None,
        }
    }

    /// Most bytes of payload that a packet in `direction` can have on the wire. It is the smaller MSS of both ends, less the
    /// room for timestamps. Without a handshake it is the largest payload of one packet, or `None` if no packet had any.
    pub fn segment_bytes(&self, direction: Direction) -> Option<u32> {
        let (from, to) = (self.sender(direction), self.receiver(direction));
        let options = if from.has_timestamps && to.has_timestamps { 12 } else { 0 };
        match (from.mss, to.mss) {
            (Some(own), Some(other)) => Some(u32::from(own.min(other)).saturating_sub(options).max(1)),
            _ => (from.largest_payload > 0).then_some(from.largest_payload),
        }
    }
}

/// Whether a packet is one of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The packet is as in the capture.
    Whole,
    /// Segmentation offload makes one captured packet of many on the wire. This is one of these, and derived: it has the
    /// time of the captured packet.
    Derived {
        /// Number of this part, from 0.
        number: u32,
        /// Number of parts of the captured packet.
        of: u32,
    },
}

/// A packet with its place in a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured {
    /// The packet.
    pub packet: Packet,
    /// [`Connection::index`].
    pub connection: u32,
    /// Direction.
    pub direction: Direction,
    /// Sequence number in 64 bits. The SYN has 0, and the first byte of payload 1. Without a SYN the first captured
    /// sequence number of the direction is 1, and those before it are smaller. 0 for UDP.
    pub seq64: i64,
    /// Acknowledgment number in 64 bits, in sequence numbers of the reverse direction. `None` without an ACK flag, and for UDP.
    pub ack64: Option<i64>,
    /// Packets that this one was on the wire: more than 1 for a super-packet of segmentation offload.
    pub wire_packets: u32,
    /// Whether the packet is one of the capture.
    pub part: Part,
}

impl Captured {
    /// Whether it is larger than the MSS allows on the wire: a super-packet of TSO, GSO, GRO or BIG TCP.
    pub fn is_super_packet(&self) -> bool {
        self.wire_packets > 1
    }

    /// Sequence number after the last that the packet occupies.
    pub fn end64(&self) -> i64 {
        self.seq64 + self.packet.segment().map_or(0, |segment| i64::from(segment.sequence_length()))
    }

    /// SACK blocks in 64 bits, as `ack64` is. A block is below `ack64` if it reports a duplicate (RFC 2883).
    pub fn sack64(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let segment = self.packet.segment().zip(self.ack64);
        segment.into_iter().flat_map(|(segment, ack64)| {
            let unwrap = move |number: u32| ack64 + i64::from(number.wrapping_sub(segment.ack) as i32);
            segment.options.sack.iter().map(move |block| (unwrap(block.left), unwrap(block.right)))
        })
    }
}

/// Why nothing more is reported about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// Both ends sent a FIN that was acknowledged, and a while passed, or a new connection has the same addresses.
    Closed,
    /// A packet with RST, and a while passed, or a new connection has the same addresses.
    Reset,
    /// Another connection with the same addresses began, and no end of this one was captured.
    Replaced,
    /// No packet for longer than the limit, or it was idle for longest when too many connections were open.
    Idle,
    /// The capture ended.
    EndOfCapture,
}

/// Receives the packets of a capture.
pub trait Observer {
    /// A packet, in the order of the file. `connection` includes it.
    fn packet(&mut self, captured: &Captured, connection: &Connection);

    /// No more packets of `connection` will come. A late packet of the same flow opens a new connection, unless it is
    /// a rest of this one.
    fn ended(&mut self, connection: &Connection, reason: EndReason);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Body, Options, Passage, SackBlock};

    fn connection(client: Endpoint, server: Endpoint) -> Connection {
        Connection {
            index: 0,
            slot: 0,
            transport: Transport::Tcp,
            client: Address::v4([10, 0, 0, 1], 40_000),
            server: Address::v4([10, 0, 0, 2], 443),
            opened: Opened::Syn,
            first_ns: 0,
            last_ns: 0,
            ends: [client, server],
        }
    }

    #[test]
    fn window_is_scaled_only_if_both_ends_offered_it() {
        let end =
            |window_scale, has_all_options| Endpoint { window_scale, has_all_options, ..Endpoint::default() };
        let segment = Segment { window: 100, ..Segment::default() };
        let window =
            |client, server| connection(client, server).window_bytes(Direction::ClientToServer, &segment);
        assert_eq!(window(end(Some(7), true), end(Some(2), true)), Some(12_800));
        assert_eq!(window(end(Some(7), true), end(None, true)), Some(100));
        assert_eq!(window(end(Some(7), true), Endpoint::default()), None);
        assert_eq!(window(Endpoint::default(), Endpoint::default()), None);
        let syn = Segment { flags: Flags::SYN, ..segment };
        let both = connection(end(Some(7), true), end(Some(2), true));
        assert_eq!(both.window_bytes(Direction::ClientToServer, &syn), Some(100));
    }

    #[test]
    fn payload_of_a_packet_leaves_room_for_timestamps() {
        let end = |mss| Endpoint { mss: Some(mss), has_timestamps: true, ..Endpoint::default() };
        let bytes = |client, server| connection(client, server).segment_bytes(Direction::ClientToServer);
        assert_eq!(bytes(end(1460), end(8960)), Some(1448));
        assert_eq!(bytes(Endpoint { mss: Some(1460), ..Endpoint::default() }, end(1460)), Some(1460));
        assert_eq!(bytes(Endpoint { largest_payload: 1428, ..Endpoint::default() }, end(1460)), Some(1428));
        assert_eq!(bytes(Endpoint::default(), end(1460)), None);
    }

    #[test]
    fn sack_blocks_across_the_wrap_are_in_order() {
        let mut options = Options::default();
        options.sack.push(SackBlock { left: u32::MAX - 10, right: 20 }).unwrap();
        let segment = Segment { ack: u32::MAX - 100, flags: Flags::ACK, options, ..Segment::default() };
        let packet = Packet {
            ordinal: 1,
            time_ns: 0,
            interface: 0,
            wire_bytes: 66,
            source: Address::v4([10, 0, 0, 1], 1),
            destination: Address::v4([10, 0, 0, 2], 2),
            passage: Passage::Unknown,
            body: Body::Tcp(segment),
        };
        let captured = Captured {
            packet,
            connection: 0,
            direction: Direction::ClientToServer,
            seq64: 1,
            ack64: Some(5_000),
            wire_packets: 1,
            part: Part::Whole,
        };
        assert_eq!(captured.sack64().collect::<Vec<_>>(), [(5_090, 5_121)]);
    }
}
