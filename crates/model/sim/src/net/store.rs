//! Packets in a queue, kept as trains whose times are those of their coming.

use super::train::{Body, Train};
use std::collections::VecDeque;

/// A first-in-first-out store.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    trains: VecDeque<Train>,
    /// Packets of TCP data that its host hands over as one (GSO); 1 if it does not.
    piece: u32,
    bytes: u64,
    packets: u64,
    /// What Linux counts as packets (`struct sk_buff`).
    pieces: u64,
}

impl Store {
    pub(crate) fn new(piece: u32) -> Store {
        Store { trains: VecDeque::new(), piece: piece.max(1), bytes: 0, packets: 0, pieces: 0 }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) fn pieces(&self) -> u64 {
        self.pieces
    }

    /// Packets that one piece of a train has: of what is not TCP data each is one.
    pub(crate) fn piece(&self, train: &Train) -> u32 {
        if let Body::Data(_) = train.body { self.piece } else { 1 }
    }

    pub(crate) fn put(&mut self, train: Train) {
        self.bytes += train.bytes();
        self.packets += u64::from(train.packets);
        self.pieces += u64::from(train.packets.div_ceil(self.piece(&train)));
        self.trains.push_back(train);
    }

    /// The train in front.
    pub(crate) fn front(&self) -> Option<&Train> {
        self.trains.front()
    }

    /// Takes the first piece.
    pub(crate) fn take_piece(&mut self) -> Option<Train> {
        let packets = self.piece(self.trains.front()?);
        self.take(packets)
    }

    /// Takes `packets` of the train in front, at most all of it, and of TCP data whole pieces.
    pub(crate) fn take(&mut self, packets: u32) -> Option<Train> {
        let piece = self.piece(self.trains.front()?);
        let front = self.trains.front_mut()?;
        let taken =
            if packets < front.packets { Some(front.split(packets)) } else { self.trains.pop_front() }?;
        self.bytes -= taken.bytes();
        self.packets -= u64::from(taken.packets);
        self.pieces -= u64::from(taken.packets.div_ceil(piece));
        Some(taken)
    }
}
