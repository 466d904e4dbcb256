//! Connections of packets: who opened them, where they end, and sequence numbers in 64 bits.

mod handshake;
mod sequence;
mod table;

use crate::connection::{Captured, Connection, Direction, EndReason, Observer, Opened, Part};
use crate::segment::{Body, Flags, Packet, Segment, Transport};
use handshake::Relation;
use sequence::Sequence;
use table::{Entry, Table};

/// When connections end, and how many may be open. Times are those of the capture.
///
/// A connection takes at most 320 bytes of memory while it is open, so that the default of a million takes 340 MB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most connections that are open at once. If more are, one that had no packet for long ends as [`EndReason::Idle`].
    pub most_open: u32,
    /// Nanoseconds without a packet until a connection ends that was closed or reset. Late packets within that time
    /// still belong to it.
    pub linger_ns: i64,
    /// Nanoseconds without a packet until any connection ends.
    pub idle_ns: i64,
}

impl Default for Limits {
    /// A million connections, 2 minutes, 2 hours (the time after which Linux sends the first keepalive).
    fn default() -> Self {
        Limits { most_open: 1 << 20, linger_ns: 120_000_000_000, idle_ns: 7_200_000_000_000 }
    }
}

/// Numbers about all packets of a tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tracked {
    /// Connections and UDP flows.
    pub connections: u64,
    /// Most that were open at once.
    pub most_open: u32,
    /// TCP packets larger than the MSS allows on the wire.
    pub super_packets: u64,
}

/// Follows connections. Give it the packets of a capture in order.
pub struct Tracker {
    table: Table,
    limits: Limits,
    tracked: Tracked,
}

impl Tracker {
    /// A tracker that has seen no packet.
    pub fn new(limits: Limits) -> Self {
        Tracker { table: Table::new(), limits, tracked: Tracked::default() }
    }

    /// Finds the connection of `packet`, and gives both to `observer`.
    pub fn packet<O: Observer + ?Sized>(&mut self, packet: &Packet, observer: &mut O) {
        self.expire_next(packet.time_ns, observer);
        let hash = self.table.hash(packet);
        let (slot, direction) = match self.table.find(hash, packet) {
            Some((slot, direction)) => match self.table.get(slot).relation(direction, packet) {
                Relation::Same => (slot, direction),
                Relation::Successor => {
                    self.end(slot, EndReason::Replaced, observer);
                    self.open(hash, packet, observer)
                }
            },
            None => self.open(hash, packet, observer),
        };
        let entry = self.table.get_mut(slot);
        let captured = entry.place(packet, direction);
        self.tracked.super_packets += u64::from(captured.is_super_packet());
        observer.packet(&captured, &entry.connection);
    }

    /// Ends all connections.
    pub fn finish<O: Observer + ?Sized>(mut self, observer: &mut O) -> Tracked {
        for slot in 0..self.table.slots() {
            if self.table.get(slot).is_open {
                self.end(slot, EndReason::EndOfCapture, observer);
            }
        }
        self.tracked
    }

    fn open<O: Observer + ?Sized>(
        &mut self,
        hash: u64,
        packet: &Packet,
        observer: &mut O,
    ) -> (u32, Direction) {
        while self.table.open() >= self.limits.most_open.max(1) {
            let slot = self.table.longest_unused();
            self.end(slot, EndReason::Idle, observer);
        }
        let index = self.tracked.connections as u32;
        self.tracked.connections += 1;
        let (entry, direction) = Entry::opened_by(packet, index);
        let slot = self.table.insert(hash, entry);
        self.tracked.most_open = self.tracked.most_open.max(self.table.open());
        (slot, direction)
    }

    /// Looks at one connection, whether it is over. Each packet does so with the next one.
    ///
    /// The time is that of the packet and not the latest of all: one packet with a wrong time must not end every connection.
    #[inline]
    fn expire_next<O: Observer + ?Sized>(&mut self, now_ns: i64, observer: &mut O) {
        let Some(slot) = self.table.next_to_check() else { return };
        let entry = self.table.get(slot);
        if !entry.is_open {
            return;
        }
        let quiet_ns = now_ns.saturating_sub(entry.connection.last_ns);
        let limit_ns = if entry.is_over() { self.limits.linger_ns } else { self.limits.idle_ns };
        if quiet_ns > limit_ns {
            self.end(slot, EndReason::Idle, observer);
        }
    }

    /// Ends a connection, for `otherwise` unless it was closed or reset.
    fn end<O: Observer + ?Sized>(&mut self, slot: u32, otherwise: EndReason, observer: &mut O) {
        let entry = self.table.get(slot);
        let reason = if entry.is_reset {
            EndReason::Reset
        } else if entry.is_closed() {
            EndReason::Closed
        } else {
            otherwise
        };
        observer.ended(&entry.connection, reason);
        self.table.remove(slot);
    }
}

impl Entry {
    /// A connection whose first packet in the capture is `packet`.
    fn opened_by(packet: &Packet, index: u32) -> (Entry, Direction) {
        use Direction::{ClientToServer, ServerToClient};
        let (source, destination) = (packet.source, packet.destination);
        let (opened, direction) = match &packet.body {
            Body::Tcp(segment) if segment.flags.contains(Flags::SYN | Flags::ACK) => {
                (Opened::SynAck, ServerToClient)
            }
            Body::Tcp(segment) if segment.flags.contains(Flags::SYN) => (Opened::Syn, ClientToServer),
            // Services have the lower port numbers.
            Body::Tcp(_) if source.port < destination.port => (Opened::Midstream, ServerToClient),
            Body::Tcp(_) | Body::Udp(_) => (Opened::Midstream, ClientToServer),
        };
        let (client, server) = match direction {
            ClientToServer => (source, destination),
            ServerToClient => (destination, source),
        };
        let connection = Connection {
            index,
            slot: 0,
            transport: packet.transport(),
            client,
            server,
            opened,
            first_ns: packet.time_ns,
            last_ns: packet.time_ns,
            ends: Default::default(),
        };
        (Entry::new(connection), direction)
    }

    /// Adds a packet to the connection, and gives it its place.
    #[inline]
    fn place(&mut self, packet: &Packet, direction: Direction) -> Captured {
        self.was_used = true;
        let connection = &mut self.connection;
        connection.last_ns = connection.last_ns.max(packet.time_ns);
        connection.first_ns = connection.first_ns.min(packet.time_ns);
        let payload = packet.payload_bytes();
        let end = &mut connection.ends[direction.index()];
        end.packets += 1;
        end.payload_bytes += u64::from(payload);
        let mut captured = Captured {
            packet: *packet,
            connection: connection.index,
            direction,
            seq64: 0,
            ack64: None,
            wire_packets: 1,
            part: Part::Whole,
        };
        if let Body::Tcp(segment) = &packet.body {
            (captured.seq64, captured.ack64) = self.place_segment(segment, direction);
            captured.wire_packets = self.wire_packets(payload, direction);
        }
        captured
    }

    #[inline]
    fn place_segment(&mut self, segment: &Segment, direction: Direction) -> (i64, Option<i64>) {
        let flags = segment.flags;
        if flags.contains(Flags::SYN) {
            self.learn_handshake(segment, direction);
        }
        let is_reset = flags.contains(Flags::RST);
        let [own, other] = self.sequences(direction);
        let seq64 = own.place(segment, is_reset);
        let ack64 = flags.contains(Flags::ACK).then(|| other.acknowledge(segment.ack, is_reset));
        if flags.contains(Flags::FIN) {
            own.finished_at = Some(seq64 + i64::from(segment.sequence_length()));
        }
        self.is_reset |= is_reset;
        (seq64, ack64)
    }

    /// Packets that one with so much payload was on the wire.
    #[inline]
    fn wire_packets(&mut self, payload: u32, direction: Direction) -> u32 {
        if payload == 0 {
            return 1;
        }
        if self.connection.sender(direction).mss.is_none()
            || self.connection.receiver(direction).mss.is_none()
        {
            let largest = &mut self.connection.ends[direction.index()].largest_payload;
            *largest = sequence::largest_on_the_wire(*largest, payload);
        } else {
            let limit = self.connection.segment_bytes(direction).unwrap_or(u32::MAX);
            let largest = &mut self.connection.ends[direction.index()].largest_payload;
            *largest = (*largest).max(if payload <= limit { payload } else { 0 });
        }
        match self.connection.segment_bytes(direction) {
            Some(limit) if payload > limit => payload.div_ceil(limit),
            _ => 1,
        }
    }

    fn sequences(&mut self, direction: Direction) -> [&mut Sequence; 2] {
        let [client, server] = &mut self.sequences;
        match direction {
            Direction::ClientToServer => [client, server],
            Direction::ServerToClient => [server, client],
        }
    }

    /// Whether both ends sent a FIN, and the other acknowledged it.
    fn is_closed(&self) -> bool {
        self.connection.transport == Transport::Tcp && self.sequences.iter().all(Sequence::is_finished)
    }

    /// Whether no more data can come.
    fn is_over(&self) -> bool {
        self.is_reset || self.is_closed()
    }
}
