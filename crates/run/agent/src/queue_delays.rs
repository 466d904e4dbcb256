//! Rows of the table of delays, from counts by class and time that only grow.

use std::collections::BTreeMap;
use wirespeed_record::{QueueClass, QueueDelay, longest_of_bucket};
use wirespeed_topology::line::Bin;

/// The counts of all queues with classes at the last sample.
#[derive(Debug, Default)]
pub struct QueueDelays {
    before: BTreeMap<(String, bool, u32), Bin>,
}

impl QueueDelays {
    /// Rows of packets that left a queue since the last sample.
    pub fn follow(&mut self, t_ns: i64, queue: &str, bins: &[Bin]) -> Vec<QueueDelay> {
        bins.iter().filter_map(|bin| self.row(t_ns, queue, bin)).collect()
    }

    fn row(&mut self, t_ns: i64, queue: &str, bin: &Bin) -> Option<QueueDelay> {
        let key = (queue.to_owned(), bin.is_low_latency, bin.bucket);
        let before = self.before.insert(key, *bin).unwrap_or_default();
        let since = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
        let packets = since(bin.packets, before.packets);
        let dropped_packets = since(bin.dropped, before.dropped);
        (packets > 0 || dropped_packets > 0).then(|| QueueDelay {
            t_ns,
            queue: queue.to_owned(),
            class: if bin.is_low_latency { QueueClass::LowLatency } else { QueueClass::Classic },
            up_to_ns: i64::try_from(longest_of_bucket(bin.bucket)).unwrap_or(i64::MAX),
            packets,
            bytes: bin.bytes - before.bytes,
            sum_ns: (bin.sum_ns - before.sum_ns) as i64,
            marked_packets: since(bin.marked, before.marked),
            dropped_packets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_what_came_since_the_last_sample() {
        let mut delays = QueueDelays::default();
        let bin = |packets, marked, dropped| Bin {
            is_low_latency: true,
            bucket: 100,
            packets,
            marked,
            dropped,
            bytes: u64::from(packets) * 1514,
            sum_ns: u64::from(packets) * 650,
        };
        let first = delays.follow(1, "link0/forward", &[bin(u32::MAX, 0, 0)]);
        assert_eq!((first[0].packets, first[0].class), (u64::from(u32::MAX), QueueClass::LowLatency));
        assert_eq!(delays.follow(2, "link0/forward", &[bin(u32::MAX, 0, 0)]), []);
        let wrapped = Bin {
            packets: 2,
            bytes: (u64::from(u32::MAX) + 3) * 1514,
            sum_ns: (u64::from(u32::MAX) + 3) * 650,
            ..bin(0, 1, 4)
        };
        let row = delays.follow(3, "link0/forward", &[wrapped]).remove(0);
        assert_eq!((row.packets, row.bytes, row.sum_ns), (3, 4542, 1950));
        assert_eq!((row.marked_packets, row.dropped_packets, row.up_to_ns), (1, 4, 671));
        assert_eq!(delays.follow(3, "link1/forward", &[bin(1, 1, 0)])[0].marked_packets, 1);
    }
}
