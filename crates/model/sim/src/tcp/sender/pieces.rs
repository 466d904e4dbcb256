//! How what is written and not sent yet is divided: the write queue's skbs. The application fills them up to a goal
//! (`tcp_xmit_size_goal`), a send takes from the first, and where one is smaller than what may leave at once, from the
//! second too (`tcp_grow_skb`).

use std::collections::VecDeque;

/// The write queue.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Packets of the first piece.
    head: u32,
    /// Packets of a full one.
    goal: u32,
    /// Those written while the goal was a lower one: the packet up to which they are, and that goal. The goal grows with
    /// the largest window that was ever offered, so there are none for long.
    older: Vec<(u64, u32)>,
    /// Where pieces end that were the last ones when the writer pushed (`tcp_mark_push`), ascending.
    pushed: VecDeque<u64>,
}

impl Pieces {
    /// Nothing is written yet; the first piece has `head` packets.
    pub(super) fn new(head: u32) -> Pieces {
        Pieces { head, goal: 1, older: Vec::new(), pushed: VecDeque::new() }
    }

    /// Packets of a full piece that is written now, at least one.
    #[inline]
    pub(super) fn goal(&self) -> u64 {
        self.goal.into()
    }

    /// Packets of the first piece, the end of what is written apart.
    #[inline]
    pub(super) fn head(&self) -> u64 {
        self.head.into()
    }

    /// The first piece is a full one and so are those behind it.
    #[inline]
    pub(super) fn are_full(&self) -> bool {
        self.head == self.goal && self.older.is_empty()
    }

    /// From now on, with `unsent` packets from number `next` on, pieces are filled up to `goal` packets: the last one too.
    pub(super) fn set_goal(&mut self, goal: u64, next: u64, unsent: u64) {
        let goal = goal as u32;
        if goal == self.goal {
            return;
        }
        if unsent > self.head() {
            let tail = self.tail(next, unsent);
            let last = if tail > 0 { tail } else { self.goal().min(unsent - self.head()) };
            self.older.push((next + unsent - last, self.goal));
        }
        self.goal = goal;
    }

    /// Packets of the last piece, if it is not full; 0 if it is, or if nothing waits.
    pub(super) fn tail(&self, next: u64, unsent: u64) -> u64 {
        if unsent <= self.head() {
            return unsent;
        }
        let behind = next + self.head();
        let start = self.older.last().map_or(behind, |(until, _)| behind.max(*until));
        (next + unsent - start) % self.goal()
    }

    /// The writer pushes what it has written up to packet `end`; `next` is the first that waits.
    pub(super) fn push(&mut self, next: u64, end: u64) {
        while self.pushed.front().is_some_and(|pushed| *pushed <= next) {
            self.pushed.pop_front();
        }
        if self.pushed.back() != Some(&end) {
            self.pushed.push_back(end);
        }
    }

    /// The last piece, which ended before packet `end`, is filled up to packet `full`.
    pub(super) fn fill_tail(&mut self, end: u64, full: u64) {
        if let Some(last) = self.pushed.back_mut()
            && *last == end
        {
            *last = full;
        }
    }

    /// Whether the writer pushed when the piece that ends before packet `end` was the last.
    pub(super) fn was_pushed(&self, end: u64) -> bool {
        self.pushed.binary_search(&end).is_ok()
    }

    /// The rest of the first piece needs one packet more.
    pub(super) fn add_to_head(&mut self) {
        self.head += 1;
    }

    /// Changes the packet numbers behind `next`.
    pub(super) fn renumber(&mut self, next: u64, change: impl Fn(u64) -> u64) {
        self.older.iter_mut().for_each(|(until, _)| *until = change(*until));
        let waiting = self.pushed.iter_mut().filter(|end| **end > next);
        waiting.for_each(|end| *end = change(*end));
    }

    /// The first piece becomes a full one: nothing waits, or it is all that waits and is filled up.
    pub(super) fn fill_head(&mut self) {
        self.head = self.goal;
    }

    /// The most that leaves at once of what begins with packet `next`, if `quota` may.
    #[inline]
    pub(super) fn length(&self, next: u64, quota: u64) -> u64 {
        if quota <= self.head() {
            self.head()
        } else {
            quota.min(self.head() + self.size_at(next + self.head()))
        }
    }

    /// The same where pieces end `phase` bytes before the end of their last packet; and whether it ends where a piece does.
    pub(super) fn length_apart(&self, next: u64, quota: u64, available: u64) -> (u64, bool) {
        if quota < self.head() {
            return (self.head().min(available), true);
        }
        let both = (self.head() + self.size_at(next + self.head())).min(available);
        (quota.min(both), quota >= both)
    }

    /// Packets of the piece that begins with packet `first`.
    #[inline]
    fn size_at(&self, first: u64) -> u64 {
        if self.older.is_empty() { self.goal() } else { self.older_size_at(first) }
    }

    fn older_size_at(&self, first: u64) -> u64 {
        let older = self.older.iter().find(|(until, _)| first < *until);
        older.map_or(self.goal(), |(until, goal)| u64::from(*goal).min(until - first))
    }

    /// `packets` from number `next` on leave.
    #[inline]
    pub(super) fn take(&mut self, next: u64, packets: u32) {
        if packets < self.head {
            self.head -= packets;
        } else if self.older.is_empty() {
            self.head = self.goal - (packets - self.head) % self.goal;
        } else {
            self.take_older(next + self.head(), u64::from(packets - self.head));
        }
    }

    /// The same for `packets` from number `first` on, where a piece begins.
    fn take_older(&mut self, mut first: u64, mut packets: u64) {
        let mut size = self.older_size_at(first);
        while packets >= size {
            first += size;
            packets -= size;
            size = self.older_size_at(first);
        }
        self.head = (size - packets) as u32;
        self.older.retain(|(until, _)| *until > first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What leaves of `unsent` packets if each time `quota` may.
    fn lengths(pieces: &mut Pieces, mut unsent: u64, quota: u64) -> Vec<u64> {
        let mut next = 0;
        let mut all = Vec::new();
        while unsent > 0 {
            let length = pieces.length(next, quota).min(unsent).min(quota);
            pieces.take(next, length as u32);
            all.push(length);
            next += length;
            unsent -= length;
        }
        all
    }

    #[test]
    fn data_written_with_a_lower_goal_keep_their_size() {
        let mut pieces = Pieces::new(1);
        pieces.set_goal(22, 0, 0);
        pieces.fill_head();
        // Two full pieces and five packets, which are filled up with the next goal.
        assert_eq!(pieces.tail(0, 49), 5);
        pieces.set_goal(28, 0, 49);
        assert_eq!(pieces.tail(0, 49), 5);
        assert_eq!(pieces.tail(0, 44 + 28 + 3), 3);
        // So is one that was full.
        assert_eq!(pieces.tail(0, 44 + 28), 0);
        pieces.set_goal(45, 0, 44 + 28);
        assert_eq!(pieces.tail(0, 44 + 28), 28);
        assert_eq!(lengths(&mut pieces, 44 + 45 + 2, 40), [40, 4 + 36, 9 + 2]);
        assert!(pieces.older.is_empty());
    }

    #[test]
    fn a_short_piece_takes_from_the_next_one_only() {
        let mut pieces = Pieces::new(1);
        pieces.set_goal(22, 0, 0);
        pieces.fill_head();
        pieces.set_goal(45, 0, 22 + 22 + 1);
        assert_eq!(pieces.length(0, 10), 22, "more than may leave");
        assert_eq!(pieces.length(0, 30), 30);
        pieces.take(0, 20);
        assert_eq!(pieces.length(20, 45), 24, "two and the whole next piece");
        pieces.take(20, 30);
        assert_eq!(pieces.head(), 45 - 6);
        assert!(!pieces.are_full());
    }
}
