//! The first pass over a capture: its connections, and a sample of its packets.

use crate::pieces::pieces;
use crate::sample::{Sample, Sampler, hash};
use std::net::IpAddr;
use wirespeed_capture::{Address, Captured, Connection, Direction, EndReason, Observer};

/// A TCP connection of a capture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surveyed {
    /// The connection at its end.
    pub connection: Connection,
    /// Number of its first packet in the file.
    pub first_packet: u64,
}

/// Results of the first pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Survey {
    /// TCP connections by their number, from 1 at index 0.
    pub connections: Vec<Option<Surveyed>>,
    /// Packets by their numbers on the wire and the addresses of their connection.
    pub as_on_the_wire: Sampler,
    /// Packets by their numbers since the handshake, without addresses: the same also behind a device that changes them.
    pub since_handshake: Sampler,
    /// Of open connections, by slot: number and number of the first packet.
    open: Vec<Option<(u64, u64)>>,
    count: u64,
}

impl Survey {
    /// The connection with a number.
    pub(crate) fn connection(&self, number: u64) -> Option<&Surveyed> {
        self.connections.get(usize::try_from(number).ok()?.checked_sub(1)?)?.as_ref()
    }

    /// All connections with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u64, &Surveyed)> {
        (1..).zip(&self.connections).filter_map(|(number, found)| Some((number, found.as_ref()?)))
    }
}

impl Observer for Survey {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        let Some(segment) = captured.packet.segment() else { return };
        let slot = connection.slot as usize;
        if slot >= self.open.len() {
            self.open.resize(slot + 1, None);
        }
        let (number, _) = *self.open[slot].get_or_insert_with(|| {
            self.count += 1;
            (self.count, captured.packet.ordinal)
        });
        let addresses = hash(&[word(captured.packet.source), word(captured.packet.destination)]);
        let most = connection.segment_bytes(captured.direction).unwrap_or(u32::MAX);
        let isn = |direction: Direction| connection.sender(direction).isn.unwrap_or(0);
        let (own, other) = (isn(captured.direction), isn(captured.direction.reverse()));
        for piece in pieces(captured, segment, most) {
            let piece = piece.segment;
            let rest = u64::from(piece.payload_bytes) << 16 | u64::from(piece.flags.bits());
            let sample = || Sample {
                ip_id: piece.ip_id,
                value: piece.options.timestamps.map(|timestamps| timestamps.value),
                ..Sample::new(captured.packet.ordinal, captured.packet.time_ns, number, captured.direction)
            };
            let wire = u64::from(piece.seq) << 32 | u64::from(piece.ack);
            self.as_on_the_wire.add(hash(&[addresses, wire, rest]), sample);
            let relative = |value: u32, base: u32| u64::from(value.wrapping_sub(base));
            let since = relative(piece.seq, own) << 32 | relative(piece.ack, other);
            self.since_handshake.add(hash(&[since, rest]), sample);
        }
    }

    fn ended(&mut self, connection: &Connection, _: EndReason) {
        let open = self.open.get_mut(connection.slot as usize).and_then(Option::take);
        let Some((number, first_packet)) = open else { return };
        let place = number as usize - 1;
        if place >= self.connections.len() {
            self.connections.resize(place + 1, None);
        }
        self.connections[place] = Some(Surveyed { connection: *connection, first_packet });
    }
}

fn word(address: Address) -> u64 {
    let ip = match address.ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    };
    hash(&[ip as u64, (ip >> 64) as u64, u64::from(address.port)])
}
