//! The connection of a SYN, and its announcements.

use super::table::Entry;
use crate::connection::{Direction, Opened};
use crate::segment::{Body, Flags, Packet, Segment};

/// Whether a packet belongs to the connection with its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// It does.
    Same,
    /// It begins another connection with the same addresses.
    Successor,
}

/// Distance of a SYN from the sequence numbers of an open connection, up to which the connection stays open. The SYN is that
/// of a peer that has lost its state, or a forged one (RFC 5961, 4). The distance is larger than a usual window, and far smaller
/// than the space of sequence numbers.
const NEAR: u64 = 1 << 20;

impl Entry {
    /// The relation of `packet`, which goes in `direction` of this connection if it belongs to it.
    #[inline]
    pub(super) fn relation(&self, direction: Direction, packet: &Packet) -> Relation {
        match &packet.body {
            Body::Tcp(segment) if segment.flags.contains(Flags::SYN) => {
                self.relation_of_syn(direction, segment)
            }
            _ => Relation::Same,
        }
    }

    fn relation_of_syn(&self, direction: Direction, syn: &Segment) -> Relation {
        let own = &self.sequences[direction.index()];
        let other = &self.sequences[direction.reverse().index()];
        let ends = self.is_reset || own.finished_at.is_some() || other.finished_at.is_some();
        let is_same = match own.base {
            // A retransmission, or the capture has it after what followed it.
            Some(base) if base == syn.seq => true,
            Some(_) if ends => false,
            Some(base) => (own.unwrap(base, syn.seq) - own.highest).unsigned_abs() <= NEAR && own.highest > 1,
            None if syn.flags.contains(Flags::ACK) => match other.base {
                // The answer to the SYN that was captured.
                Some(base) => syn.ack == base.wrapping_add(1),
                None => !ends,
            },
            // Both ends may open one connection; later, a SYN of the server's address is another.
            None => !ends && other.highest <= 1,
        };
        if is_same { Relation::Same } else { Relation::Successor }
    }

    /// Reads what a SYN or SYN-ACK announces, unless its number shows that it is not the one of this connection.
    pub(super) fn learn_handshake(&mut self, syn: &Segment, direction: Direction) {
        let sequence = self.sequences[direction.index()];
        if sequence.base.is_some_and(|base| base != syn.seq) {
            return;
        }
        let is_answer = syn.flags.contains(Flags::ACK);
        let client_has_isn = self.connection.ends[Direction::ClientToServer.index()].isn.is_some();
        if !is_answer && direction == Direction::ServerToClient && client_has_isn {
            self.connection.opened = Opened::Simultaneous;
        }
        let end = &mut self.connection.ends[direction.index()];
        end.isn = Some(syn.seq);
        end.mss = syn.options.mss;
        end.window_scale = syn.options.window_scale;
        end.sack_permitted = syn.options.sack_permitted;
        end.has_timestamps = syn.options.timestamps.is_some();
        end.has_all_options = !syn.options.are_cut;
    }
}
