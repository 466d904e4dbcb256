//! Packets that are offered as trains, handed over when they come.

use super::train::Train;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Trains of which not all packets have come, by the time of the next one; then by the order offered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inbox {
    trains: BinaryHeap<Pending>,
    offered: u64,
    packets: u64,
}

#[derive(Debug, Clone)]
struct Pending {
    train: Train,
    order: u64,
}

impl Pending {
    fn key(&self) -> (i64, u64) {
        (self.train.at.picoseconds(), self.order)
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    /// The earliest is the greatest, for the heap's sake.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl Inbox {
    pub(crate) fn put(&mut self, train: Train) {
        self.packets += u64::from(train.packets);
        self.trains.push(Pending { train, order: self.offered });
        self.offered += 1;
    }

    /// Packets that have not been handed over.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// When the next packet comes.
    pub(crate) fn next(&self) -> Option<i64> {
        self.trains.peek().map(|p| p.train.at.picoseconds())
    }

    /// The next packets of one train that have come at `now`, before those of any other train.
    pub(crate) fn take(&mut self, now: i64) -> Option<Train> {
        if self.next()? > now {
            return None;
        }
        let mut pending = self.trains.pop()?;
        let until = self.next().map_or(now, |other| other.min(now));
        let (first, gap) = (pending.train.at.picoseconds(), pending.train.gap.picoseconds());
        let come = if gap == 0 { u32::MAX } else { ((until - first) / gap).min(1 << 30) as u32 + 1 };
        if come >= pending.train.packets {
            self.packets -= u64::from(pending.train.packets);
            return Some(pending.train);
        }
        self.packets -= u64::from(come);
        let front = pending.train.split(come);
        self.trains.push(pending);
        Some(front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::tests::reference::{data, packets};

    #[test]
    fn overlapping_trains_come_in_the_order_of_their_packets() {
        let mut inbox = Inbox::default();
        inbox.put(data(1, 0, 4, 100, 0, 100));
        inbox.put(data(2, 0, 2, 100, 50, 100));
        assert_eq!((inbox.next(), inbox.packets()), (Some(0), 6));
        let mut come = Vec::new();
        while let Some(train) = inbox.take(250) {
            come.push(train);
        }
        let order: Vec<_> = packets(&come).into_iter().map(|(flow, _, at)| (flow, at)).collect();
        assert_eq!(order, [(1, 0), (2, 50), (1, 100), (2, 150), (1, 200)]);
        assert_eq!((inbox.next(), inbox.packets()), (Some(300), 1));
    }
}
