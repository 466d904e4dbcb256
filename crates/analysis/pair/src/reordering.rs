//! Packets that overtook each other between the captures.

use serde::Serialize;
use std::collections::VecDeque;

/// Reordered packets, by the order in which they passed the first capture point of their direction (RFC 4737, 3.4, with that order as
/// the sequence number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Reordering {
    /// Packets that a later one overtook.
    pub packets: u64,
    /// Largest reordering extent (RFC 4737, 4.2.2): packets that arrived between the first that overtook and the reordered one.
    pub max_extent_packets: u64,
    /// Largest time between these two arrivals, in nanoseconds.
    pub max_late_ns: i64,
}

/// Arrivals that were the newest when they came: number in the order of sending, number of the arrival, time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    newest: VecDeque<(u64, u64, i64)>,
    arrivals: u64,
    /// Reordered packets so far.
    pub found: Reordering,
}

/// So many are kept. An extent beyond counts as this one.
const MOST: usize = 1_024;

impl Order {
    /// The packet that was sent as number `place` arrived.
    pub(crate) fn arrived(&mut self, place: u64, t_ns: i64) {
        self.arrivals += 1;
        if self.newest.back().is_none_or(|&(newest, ..)| place > newest) {
            self.newest.push_back((place, self.arrivals, t_ns));
            if self.newest.len() > MOST {
                self.newest.pop_front();
            }
            return;
        }
        let first = self.newest.partition_point(|&(newest, ..)| newest <= place);
        let Some(&(_, arrival, then_ns)) = self.newest.get(first) else { return };
        self.found.packets += 1;
        self.found.max_extent_packets = self.found.max_extent_packets.max(self.arrivals - arrival);
        self.found.max_late_ns = self.found.max_late_ns.max(t_ns - then_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overtaken_packet_counts_with_its_extent() {
        let mut order = Order::default();
        for (place, t_ns) in [(1, 10), (4, 20), (5, 30), (2, 40), (3, 50), (6, 60)] {
            order.arrived(place, t_ns);
        }
        // 2 arrives two, and 3 arrives three after 4.
        assert_eq!(order.found, Reordering { packets: 2, max_extent_packets: 3, max_late_ns: 30 });
    }
}
