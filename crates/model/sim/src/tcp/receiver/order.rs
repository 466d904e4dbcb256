//! What arrived out of order, the memory it occupies, and how selective acknowledgements report it (RFC 2018, RFC 2883;
//! `out_of_order_queue` and the array `selective_acks` of Linux).

use super::held::Held;
use super::merged::FRAGMENTS;
use crate::long::{Long, Place};
use crate::net::Sack;
use std::ops::Range;

/// Blocks remembered (TCP_NUM_SACKS).
const REMEMBERED: usize = 4;

/// Memory of a packet: its payload's, and what describes it, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Each {
    pub fragment: u64,
    pub overhead: u64,
    /// What describes it is needed once for several (`tcp_ooo_try_coalesce`).
    pub coalesces: bool,
}

/// Memory of packets that were copied together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tight {
    /// Bytes.
    pub memory: u64,
    /// They fill at least one of the buffers they are copied to.
    pub fills_one: bool,
}

/// Packets beyond the next expected one.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// What is held, sorted. A slow start that overshot leaves thousands of holes, which are filled from the front.
    held: Long<Held>,
    /// Memory of all.
    memory: u64,
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

    /// Packets that wait, for tests: those that adjoin together.
    pub(super) fn held(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        self.held.each(|held| match ranges.last_mut() {
            Some(last) if last.end == held.first => last.end = held.end(),
            _ => ranges.push(held.first..held.end()),
        });
        ranges.into_iter()
    }

    /// Memory of all that is held in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// Packets that are held.
    pub(super) fn packets(&self) -> u64 {
        let mut packets = 0;
        self.held.each(|held| packets += u64::from(held.packets));
        packets
    }

    /// The first that ends at `number` or later; mostly it comes after all (`ooo_last_skb`).
    fn place(&mut self, number: u64) -> Place {
        let end = self.held.end();
        match self.held.back() {
            Some(last) if last.end() == number => return self.held.before(end).unwrap_or(end),
            Some(last) if last.end() > number => {}
            _ => return end,
        }
        let Some(place) = self.held.last_below(number) else { return self.held.begin() };
        match self.held.get(place) {
            Some(held) if held.end() < number => self.held.after(place),
            _ => place,
        }
    }

    pub(super) fn contains(&mut self, number: u64) -> bool {
        let place = self.place(number + 1);
        self.held.get(place).is_some_and(|held| held.first <= number)
    }

    pub(super) fn report_duplicate(&mut self, range: Range<u64>) {
        self.duplicate = Some(range);
    }

    pub(super) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Holds a packet of so many fragments.
    pub(super) fn insert(&mut self, number: u64, fragments: u32, each: Each) {
        let mut place = self.place(number);
        let after = self.held.after(place);
        if self.held.get(after).is_some_and(|next| next.first == number) {
            return;
        }
        if let Some(held) = self.held.get_mut(place)
            && held.end() == number
        {
            if each.coalesces && held.fragments + fragments <= FRAGMENTS as u32 {
                held.packets += 1;
                held.fragments += fragments;
                held.memory += each.fragment;
                self.memory += each.fragment;
                return;
            }
            place = after;
        }
        if self.held.get(place).is_none_or(|held| held.first > number) {
            let memory = each.fragment + each.overhead;
            self.held.insert(place, Held { first: number, packets: 1, fragments, memory });
            self.memory += memory;
        }
    }

    /// Throws packets away from the end, but not those before number `incoming`: an eighth of the buffer `size` at a time,
    /// or `all`, until `excess` bytes of memory are free (`tcp_prune_ofo_queue`). Returns how many.
    pub(super) fn prune(&mut self, incoming: u64, all: bool, size: u64, excess: u64) -> u64 {
        let (mut packets, mut freed, mut part) = (0, 0, 0);
        while let Some(last) = self.held.back() {
            if !all && incoming > last.first {
                break;
            }
            packets += u64::from(last.packets);
            freed += last.memory;
            part += last.memory;
            self.held.pop_back();
            if !all && part >= size >> 3 {
                if freed >= excess {
                    break;
                }
                part = 0;
            }
        }
        self.memory -= freed;
        if packets > 0 {
            // What was reported as received is forgotten (`tcp_sack_reset`).
            self.recent.clear();
        }
        packets
    }

    /// Copies packets that adjoin together where that saves memory (`tcp_collapse_ofo_queue`): from the first on that is
    /// `bloated` for its memory and packets. `tight` is the memory of so many packets then. Stretches that are no more
    /// than one small buffer are left alone, and everything behind them once they come to more than `tiny` bytes. Returns
    /// how many buffers there were of what is one now.
    pub(super) fn collapse(
        &mut self,
        tiny: u64,
        bloated: impl Fn(u64, u64) -> bool,
        tight: impl Fn(u64) -> Tight,
    ) -> u64 {
        let mut before = std::mem::take(&mut self.held);
        let (mut collapsed, mut alone) = (0, 0);
        let mut stretch: Vec<Held> = Vec::new();
        while let Some(first) = before.pop_front() {
            stretch.clear();
            stretch.push(first);
            let mut end = first.end();
            while let Some(next) = before.front().copied().filter(|next| next.first == end) {
                stretch.push(next);
                end = next.end();
                before.pop_front();
            }
            let large = tight(u64::from(first.packets)).fills_one;
            if stretch.len() == 1 && !large {
                alone += first.memory;
                self.held.push_back(first);
                if alone > tiny {
                    break;
                }
                continue;
            }
            let fat = |held: &Held| bloated(held.memory, u64::from(held.packets));
            let from = stretch.iter().position(fat).unwrap_or(stretch.len());
            stretch[..from].iter().for_each(|held| self.held.push_back(*held));
            if let Some(first) = stretch.get(from) {
                let packets: u64 = stretch[from..].iter().map(|held| u64::from(held.packets)).sum();
                collapsed += (stretch.len() - from) as u64;
                self.held.push_back(Held {
                    first: first.first,
                    packets: packets as u32,
                    fragments: FRAGMENTS as u32,
                    memory: tight(packets).memory,
                });
            }
        }
        while let Some(held) = before.pop_front() {
            self.held.push_back(held);
        }
        self.memory = 0;
        self.held.each(|held| self.memory += held.memory);
        collapsed
    }

    /// Extends a recent block by a packet where one touches it (`tcp_sack_extend`); the place of the block, which it keeps until
    /// [`note`](Self::note).
    pub(super) fn extend(&mut self, number: u64) -> Option<usize> {
        let touching =
            self.recent.iter().position(|block| block.start <= number + 1 && number <= block.end)?;
        let block = &mut self.recent[touching];
        *block = block.start.min(number)..block.end.max(number + 1);
        Some(touching)
    }

    /// Blocks that are remembered.
    pub(super) fn blocks(&self) -> usize {
        self.recent.len()
    }

    /// Puts the block first that a packet extended, or a new one (`tcp_sack_new_ofo_skb`).
    pub(super) fn note(&mut self, number: u64, extended: Option<usize>) {
        if let Some(place) = extended {
            self.recent[..=place].rotate_right(1);
            self.join();
            return;
        }
        self.recent.truncate(REMEMBERED - 1);
        self.recent.insert(0, number..number + 1);
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

    /// The next expected packet is `next`; returns what it is once everything held that joins it is delivered, which
    /// `deliver` sees.
    pub(super) fn advance(&mut self, next: u64, mut deliver: impl FnMut(Held)) -> u64 {
        let mut next = next;
        while let Some(held) = self.held.front().copied()
            && held.first <= next
        {
            next = next.max(held.end());
            self.memory -= held.memory;
            self.held.drop_front();
            deliver(held);
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

    const EACH: Each = Each { fragment: 100, overhead: 10, coalesces: true };

    fn held(order: &Order) -> Vec<Range<u64>> {
        order.held().collect()
    }

    fn add(order: &mut Order, number: u64, each: Each) {
        order.insert(number, 1, each);
        let extended = order.extend(number);
        order.note(number, extended);
    }

    fn with(numbers: impl IntoIterator<Item = u64>) -> Order {
        let mut order = Order::default();
        numbers.into_iter().for_each(|number| add(&mut order, number, EACH));
        order
    }

    #[test]
    fn later_data_share_a_descriptor_up_to_the_fragments_of_a_buffer_and_earlier_data_do_not() {
        assert_eq!(with([5, 6, 7]).memory(), 310);
        assert_eq!(with([7, 6, 5]).memory(), 330);
        assert_eq!(with(5..5 + FRAGMENTS).memory(), 100 * FRAGMENTS + 10);
        assert_eq!(with(5..6 + FRAGMENTS).memory(), 100 * (FRAGMENTS + 1) + 20);
        let mut apart = Order::default();
        for number in [5, 6, 7] {
            add(&mut apart, number, Each { coalesces: false, ..EACH });
        }
        assert_eq!(apart.memory(), 330);
        assert_eq!(held(&apart), std::slice::from_ref(&(5..8)));
        let mut twice = with([5, 6, 7]);
        add(&mut twice, 6, EACH);
        assert_eq!((twice.memory(), twice.packets()), (310, 3));
        let mut twice = with([7, 6, 5]);
        for number in [5, 6, 7] {
            add(&mut twice, number, EACH);
        }
        assert_eq!((twice.memory(), twice.packets()), (330, 3));
    }

    #[test]
    fn delivered_data_free_their_memory() {
        let mut order = with([5, 6, 9, 8]);
        let mut delivered = Vec::new();
        assert_eq!(order.advance(5, |held| delivered.push((held.packets, held.memory))), 7);
        assert_eq!((delivered, order.memory()), (vec![(2, 210)], 220));
        assert_eq!(order.advance(8, |_| {}), 10);
        assert_eq!(order.memory(), 0);
    }

    #[test]
    fn pruning_spares_what_comes_before_the_packet_and_goes_on_until_enough_is_free() {
        // Buffers of 110 bytes; an eighth of the whole is 200.
        let full = || with((5..25).step_by(2));
        let pruned = |incoming, all, excess| {
            let mut order = full();
            let packets = order.prune(incoming, all, 1600, excess);
            assert_eq!(order.memory(), 110 * (10 - packets));
            assert_eq!(order.report(4).is_none(), packets > 0, "what was reported is forgotten");
            packets
        };
        assert_eq!(pruned(1, false, 1), 2, "no less than an eighth");
        assert_eq!(pruned(1, false, 300), 4);
        assert_eq!(pruned(19, false, 1000), 3, "19, 21 and 23");
        assert_eq!(pruned(24, false, 1000), 0);
        assert_eq!(pruned(24, true, 1), 10);
    }

    #[test]
    fn only_what_adjoins_and_is_bloated_is_copied_together() {
        let tight = |packets: u64| Tight { memory: 60 * packets, fills_one: packets >= 10 };
        let mut order = with([5, 6, 8, 11, 10]);
        assert_eq!(order.collapse(u64::MAX, |_, _| false, tight), 0);
        assert_eq!(order.collapse(u64::MAX, |memory, packets| memory > 80 * packets, tight), 2);
        assert_eq!(order.memory(), 210 + 110 + 120, "5 and 6 wait as one; 10 and 11 were two");
        assert_eq!(held(&order), [5..7, 8..9, 10..12]);
        add(&mut order, 12, EACH);
        assert_eq!(order.memory(), 210 + 110 + 120 + 110, "what was copied takes no fragments");
        // Each alone: nothing to copy together, and nothing behind is looked at.
        let mut order = with([5, 7, 9, 11, 10]);
        assert_eq!(order.collapse(200, |_, _| true, tight), 0);
        assert_eq!(order.packets(), 5);
    }

    #[test]
    fn packets_join_and_the_most_recent_block_is_reported_first() {
        let mut order = with([5, 9, 6, 8]);
        assert_eq!(held(&order), [5..7, 8..10]);
        assert_eq!(order.report(3).unwrap().blocks[..], [8..10, 5..7]);
        add(&mut order, 7, EACH);
        assert_eq!(held(&order), std::slice::from_ref(&(5..10)));
        assert_eq!(order.report(3).unwrap().blocks[..], std::slice::from_ref(&(5..10))[..]);
        assert_eq!(order.advance(5, |_| {}), 10);
        assert!(order.is_empty());
        assert_eq!(order.report(3), None);
    }

    #[test]
    fn a_duplicate_comes_first_once_and_takes_a_place() {
        let mut order = with([5, 7, 9, 11, 13]);
        order.report_duplicate(2..3);
        let sack = order.report(3).unwrap();
        assert_eq!((sack.duplicate, &sack.blocks[..]), (Some(2..3), &[13..14, 11..12][..]));
        assert_eq!(order.report(4).unwrap().blocks.len(), 4, "one block is forgotten: four are remembered");
    }
}
