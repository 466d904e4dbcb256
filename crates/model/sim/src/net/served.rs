//! Packets that left a class of a queue, by the time that they had waited.

use std::collections::BTreeMap;
use wirespeed_record::{delay_bucket, longest_of_bucket};

/// Packets that left one class of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Served {
    /// By their time in the queue: its bucket's number ([`delay_bucket`]).
    by_delay: BTreeMap<u32, Delays>,
}

/// Packets with about the same time in the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays {
    /// How many.
    pub packets: u64,
    /// Of these, packets that the queue marked.
    pub marked_packets: u64,
    /// Of these, their frames' bytes.
    pub bytes: u64,
    /// Sum of their times in the queue.
    pub sum_ns: u64,
    /// Packets that the queue's management dropped instead.
    pub dropped_packets: u64,
}

impl Served {
    /// Packets are dropped after `delay` in picoseconds.
    pub(crate) fn drop(&mut self, packets: u32, delay: i64) {
        let ns = (delay / 1000).max(0) as u64;
        self.by_delay.entry(delay_bucket(ns)).or_default().dropped_packets += u64::from(packets);
    }

    /// `packets` of `frame` bytes leave, each after `delay` in picoseconds.
    pub(crate) fn count(&mut self, packets: u32, frame: u32, delay: i64, marked: bool) {
        let packets = u64::from(packets);
        let ns = (delay / 1000).max(0) as u64;
        let delays = self.by_delay.entry(delay_bucket(ns)).or_default();
        delays.packets += packets;
        delays.marked_packets += if marked { packets } else { 0 };
        delays.bytes += packets * u64::from(frame);
        delays.sum_ns += packets * ns;
    }

    /// By the upper bound of their delay in nanoseconds, ascending.
    pub fn by_delay(&self) -> impl Iterator<Item = (u64, Delays)> {
        self.by_delay.iter().map(|(bucket, delays)| (longest_of_bucket(*bucket), *delays))
    }
}
