//! Packets that left a class of a queue, by the time that they had waited.

use std::collections::BTreeMap;

/// Parts of an octave of delays, as bits: a bound is at most 1/16 above any delay below it.
const PARTS_BITS: u32 = 4;

/// Packets that left one class of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Served {
    /// By their time in the queue: its bucket's number ([`upper_bound_ns`]).
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
        self.by_delay.entry(bucket(ns)).or_default().dropped_packets += u64::from(packets);
    }

    /// `packets` of `frame` bytes leave, each after `delay` in picoseconds.
    pub(crate) fn count(&mut self, packets: u32, frame: u32, delay: i64, marked: bool) {
        let packets = u64::from(packets);
        let ns = (delay / 1000).max(0) as u64;
        let delays = self.by_delay.entry(bucket(ns)).or_default();
        delays.packets += packets;
        delays.marked_packets += if marked { packets } else { 0 };
        delays.bytes += packets * u64::from(frame);
        delays.sum_ns += packets * ns;
    }

    /// By the upper bound of their delay in nanoseconds, ascending.
    pub fn by_delay(&self) -> impl Iterator<Item = (u64, Delays)> {
        self.by_delay.iter().map(|(bucket, delays)| (upper_bound_ns(*bucket), *delays))
    }
}

/// Number of the bucket of a delay. Below 2^[`PARTS_BITS`] each nanosecond has its own; above, an octave has 2^`PARTS_BITS`.
fn bucket(ns: u64) -> u32 {
    let Some(octave) = ns.checked_ilog2().filter(|octave| *octave > PARTS_BITS) else { return ns as u32 };
    let shift = octave - PARTS_BITS;
    (shift << PARTS_BITS) + (ns >> shift) as u32
}

/// The longest delay of a bucket.
fn upper_bound_ns(bucket: u32) -> u64 {
    let part = 1 << PARTS_BITS;
    if bucket < 2 * part {
        return bucket.into();
    }
    let shift = bucket / part - 1;
    (u64::from(bucket - shift * part + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_at_most_a_sixteenth_above_the_delay() {
        for ns in (0..5_000).chain((0..60).map(|bits| (1_u64 << bits) - 1)).chain([1_000_000, 15_000_000]) {
            let bound = upper_bound_ns(bucket(ns));
            assert!(bound >= ns && bound - ns <= ns / 16, "{ns}: {bound}");
            assert_eq!(bucket(bound), bucket(ns), "{ns}");
            assert_ne!(bucket(bound + 1), bucket(ns), "{ns}");
        }
    }
}
