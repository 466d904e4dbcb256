//! Sequence numbers that a capture has, and those that were acknowledged there although it lacks them.

use std::collections::{BTreeMap, VecDeque};

/// Data of one direction at the capture point near its receiver.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    /// All before was captured, or acknowledged.
    next: Option<i64>,
    /// Ranges above.
    above: BTreeMap<i64, i64>,
    /// Ranges that were acknowledged and never captured, in order.
    missed: VecDeque<(i64, i64)>,
}

/// So many ranges are kept: older ones are long decided.
const MOST: usize = 1 << 16;

impl Received {
    /// A packet with the numbers from `start` to before `end` was captured.
    pub(crate) fn add(&mut self, start: i64, end: i64) {
        if end <= start {
            return;
        }
        let next = *self.next.get_or_insert(start);
        if start < next && !self.missed.is_empty() {
            // The capture has it after the acknowledgment for it.
            self.missed.retain(|&(from, to)| to <= start || end <= from);
        }
        if start <= next {
            self.advance(next.max(end));
        } else if self.above.len() < MOST {
            let known = self.above.entry(start).or_insert(end);
            *known = (*known).max(end);
        }
    }

    fn advance(&mut self, next: i64) {
        let mut next = next;
        while let Some(range) = self.above.first_entry() {
            if *range.key() > next {
                break;
            }
            next = next.max(range.remove());
        }
        self.next = Some(next);
    }

    /// Everything before `ack` was acknowledged behind the capture point.
    pub(crate) fn acknowledged(&mut self, ack: i64) {
        let mut next = *self.next.get_or_insert(ack);
        while next < ack {
            let until = self.above.first_key_value().map_or(ack, |(&start, _)| start.min(ack));
            if next < until {
                self.missed.push_back((next, until));
                if self.missed.len() > MOST {
                    self.missed.pop_front();
                }
            }
            self.advance(until);
            next = self.next.unwrap_or(ack).max(until);
        }
    }

    /// The receiver got these numbers, and the capture has none of them.
    pub(crate) fn is_missed(&self, start: i64, end: i64) -> bool {
        let at = self.missed.partition_point(|&(_, to)| to <= start);
        self.missed.get(at).is_some_and(|&(from, to)| from <= start && end <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledged_gap_is_missed_and_open_gap_is_not() {
        let mut received = Received::default();
        received.add(0, 10);
        received.add(20, 30);
        received.acknowledged(10);
        assert!(!received.is_missed(10, 20));
        received.acknowledged(30);
        assert!(received.is_missed(10, 20) && received.is_missed(12, 15));
        assert!(!received.is_missed(5, 15) && !received.is_missed(20, 30));
        received.add(40, 50);
        received.add(30, 40);
        received.acknowledged(50);
        assert!(!received.is_missed(30, 40));
    }

    #[test]
    fn record_after_its_acknowledgment_is_not_missed() {
        let mut received = Received::default();
        received.add(0, 10);
        received.acknowledged(20);
        assert!(received.is_missed(10, 20));
        received.add(10, 20);
        assert!(!received.is_missed(10, 20));
    }
}
