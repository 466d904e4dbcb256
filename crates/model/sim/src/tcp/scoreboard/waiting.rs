//! The packets that wait for their retransmission, found without a walk over the segments between them.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges with at most so many packets between them become one. An entry for each lost packet would take more memory than the
/// packed segments, and to pass so few segments costs no more than to search for another entry.
const NEAR: u64 = 64;

/// Ranges of numbers that contain every packet that waits. They may contain others, which the search skips.
///
/// Linux keeps one lower bound (`retransmit_skb_hint`). Each lost retransmission moves it back, and the search then passes all
/// segments retransmitted since. With BBR, a short buffer and thousands of packets in flight, that took two thirds of a run.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The end of each range, by its begin. More than [`NEAR`] packets are between two.
    ranges: BTreeMap<u64, u64>,
}

impl Waiting {
    /// The range with the lowest numbers.
    pub(super) fn first(&self) -> Option<Range<u64>> {
        self.ranges.first_key_value().map(|(begin, end)| *begin..*end)
    }

    /// Packets wait from now on.
    pub(super) fn add(&mut self, first: u64, mut end: u64) {
        while let Some((&begin, last)) = self.ranges.range_mut(..=end.saturating_add(NEAR)).next_back() {
            if last.saturating_add(NEAR) < first {
                break;
            }
            end = end.max(*last);
            // The usual case: losses are found in the order of their numbers.
            if begin <= first {
                *last = end;
                return;
            }
            self.ranges.remove(&begin);
        }
        self.ranges.insert(first, end);
    }

    /// No packet below `number` waits any more.
    pub(super) fn forget_below(&mut self, number: u64) {
        while let Some(entry) = self.ranges.first_entry().filter(|entry| *entry.key() < number) {
            let end = entry.remove();
            if end > number {
                self.ranges.insert(number, end);
            }
        }
    }

    /// No packet waits any more.
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Waiting {
        fn contains(&self, number: u64) -> bool {
            self.ranges.range(..=number).next_back().is_some_and(|(_, end)| number < *end)
        }
    }

    proptest! {
        #[test]
        fn added_numbers_are_contained_and_distant_ones_are_not(
            added in prop::collection::vec((0..10_000_u64, 1..200_u64), 0..40),
            below in 0..5000_u64,
        ) {
            let mut waiting = Waiting::default();
            added.iter().for_each(|(first, packets)| waiting.add(*first, first + packets));
            waiting.forget_below(below);
            for number in 0..10_300 {
                let is_added = added.iter().any(|(first, packets)| (*first..first + packets).contains(&number));
                let is_close = added
                    .iter()
                    .any(|(first, packets)| (first.saturating_sub(NEAR)..first + packets + NEAR).contains(&number));
                prop_assert!(!(is_added && number >= below) || waiting.contains(number));
                prop_assert!(!waiting.contains(number) || (is_close && number >= below));
            }
            let ranges: Vec<_> = waiting.ranges.iter().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 + NEAR < *pair[1].0));
        }
    }

    #[test]
    fn losses_far_apart_are_ranges_of_their_own() {
        let mut waiting = Waiting::default();
        waiting.add(1000, 1001);
        waiting.add(0, 1);
        assert_eq!(waiting.first(), Some(0..1));
        waiting.forget_below(1);
        assert_eq!(waiting.first(), Some(1000..1001));
        waiting.clear();
        assert_eq!(waiting.first(), None);
    }
}
