//! What arrived out of order, and how selective acknowledgements report it (RFC 2018, RFC 2883; the array
//! `selective_acks` of Linux).

use crate::net::Sack;
use std::collections::VecDeque;
use std::ops::Range;

/// Blocks remembered (TCP_NUM_SACKS).
const REMEMBERED: usize = 4;

/// Packets beyond the next expected one.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// What is held, sorted, no two adjoining. A slow start that overshot leaves thousands of holes, which are filled
    /// from the front.
    held: VecDeque<Range<u64>>,
    /// Most recently changed first.
    recent: Vec<Range<u64>>,
    duplicate: Option<Range<u64>>,
}

impl Order {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    pub(super) fn held(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.held.iter().cloned()
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        let index = self.held.partition_point(|range| range.end <= number);
        self.held.get(index).is_some_and(|range| range.start <= number)
    }

    pub(super) fn report_duplicate(&mut self, range: Range<u64>) {
        self.duplicate = Some(range);
    }

    pub(super) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Holds a packet; returns the place among the recent blocks of the one it extended (their number if none).
    pub(super) fn insert(&mut self, number: u64) -> usize {
        let index = self.held.partition_point(|range| range.end < number);
        match self.held.get_mut(index) {
            Some(range) if range.start <= number && number < range.end => {}
            Some(range) if range.end == number => {
                range.end += 1;
                if self.held.get(index + 1).is_some_and(|next| next.start == number + 1) {
                    let next = self.held.remove(index + 1).expect("it was just looked at");
                    self.held[index].end = next.end;
                }
            }
            Some(range) if range.start == number + 1 => range.start = number,
            _ => self.held.insert(index, number..number + 1),
        }
        self.note(number)
    }

    /// `tcp_sack_new_ofo_skb`.
    fn note(&mut self, number: u64) -> usize {
        let touching = self.recent.iter().position(|block| block.start <= number + 1 && number <= block.end);
        let place = touching.unwrap_or(self.recent.len());
        match touching {
            Some(place) => {
                let block = self.recent.remove(place);
                self.recent.insert(0, block.start.min(number)..block.end.max(number + 1));
                self.join();
            }
            None => {
                self.recent.truncate(REMEMBERED - 1);
                self.recent.insert(0, number..number + 1);
            }
        }
        place
    }

    /// The first block may have grown together with another (`tcp_sack_maybe_coalesce`).
    fn join(&mut self) {
        let mut index = 1;
        while index < self.recent.len() {
            let (first, other) = (&self.recent[0], &self.recent[index]);
            if other.start <= first.end && first.start <= other.end {
                self.recent[0] = first.start.min(other.start)..first.end.max(other.end);
                self.recent.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// The next expected packet is `next`; returns what it is once everything held that joins it is delivered.
    pub(super) fn advance(&mut self, next: u64) -> u64 {
        let mut next = next;
        if let Some(range) = self.held.front()
            && range.start <= next
        {
            next = next.max(range.end);
            self.held.pop_front();
        }
        if self.held.is_empty() {
            self.recent.clear();
        } else {
            self.recent.retain(|block| block.start > next);
        }
        next
    }

    /// The blocks of an ACK, at most `most`; `None` if there is nothing to say.
    pub(super) fn report(&mut self, most: usize) -> Option<Sack> {
        let duplicate = self.duplicate.take();
        if duplicate.is_none() && self.recent.is_empty() {
            return None;
        }
        let room = most - usize::from(duplicate.is_some());
        Some(Sack { duplicate, blocks: self.recent.iter().take(room).cloned().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(order: &Order) -> Vec<Range<u64>> {
        order.held().collect()
    }

    #[test]
    fn packets_join_and_the_most_recent_block_is_reported_first() {
        let mut order = Order::default();
        for number in [5, 9, 6, 8] {
            order.insert(number);
        }
        assert_eq!(held(&order), [5..7, 8..10]);
        assert_eq!(order.report(3).unwrap().blocks[..], [8..10, 5..7]);
        order.insert(7);
        assert_eq!(held(&order), std::slice::from_ref(&(5..10)));
        assert_eq!(order.report(3).unwrap().blocks[..], std::slice::from_ref(&(5..10))[..]);
        assert_eq!(order.advance(5), 10);
        assert!(order.is_empty());
        assert_eq!(order.report(3), None);
    }

    #[test]
    fn a_duplicate_comes_first_once_and_takes_a_place() {
        let mut order = Order::default();
        for number in [5, 7, 9, 11, 13] {
            order.insert(number);
        }
        order.report_duplicate(2..3);
        let sack = order.report(3).unwrap();
        assert_eq!((sack.duplicate, &sack.blocks[..]), (Some(2..3), &[13..14, 11..12][..]));
        assert_eq!(order.report(4).unwrap().blocks.len(), 4, "one block is forgotten: four are remembered");
    }
}
