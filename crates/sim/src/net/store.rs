//! Packets in a queue, kept as trains whose times are those of their coming.

use super::train::Train;
use std::collections::VecDeque;

/// A first-in-first-out store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Store {
    trains: VecDeque<Train>,
    bytes: u64,
    packets: u64,
}

impl Store {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) fn put(&mut self, train: Train) {
        self.bytes += train.bytes();
        self.packets += u64::from(train.packets);
        self.trains.push_back(train);
    }

    /// The train in front.
    pub(crate) fn front(&self) -> Option<&Train> {
        self.trains.front()
    }

    /// Takes `packets` of the train in front, at most all of it.
    pub(crate) fn take(&mut self, packets: u32) -> Option<Train> {
        let front = self.trains.front_mut()?;
        let taken =
            if packets < front.packets { Some(front.split(packets)) } else { self.trains.pop_front() }?;
        self.bytes -= taken.bytes();
        self.packets -= u64::from(taken.packets);
        Some(taken)
    }
}
