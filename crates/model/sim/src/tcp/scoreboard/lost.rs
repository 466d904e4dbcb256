//! What is presumed lost.

use super::waiting::Waiting;
use super::{Scoreboard, Segment};

impl Scoreboard {
    fn mark(segment: &mut Segment, lost: &mut u64, retransmitted: &mut u64, waiting: &mut Waiting) -> u64 {
        let packets = u64::from(segment.packets);
        if segment.lost {
            if !segment.retransmitted {
                return 0;
            }
            // Its retransmission is lost too.
            segment.retransmitted = false;
            *retransmitted -= packets;
        } else {
            segment.lost = true;
            *lost += packets;
        }
        waiting.add(segment.first, segment.end());
        packets
    }

    /// Goes through what is in flight in the order in which it left, as long as `left_before` holds, and marks as
    /// lost what `is_lost` says; returns how many packets were marked (RFC 8985, `RACK_detect_loss`).
    pub fn detect(
        &mut self,
        left_before: impl Fn(&Segment) -> bool,
        mut is_lost: impl FnMut(&Segment) -> bool,
    ) -> u64 {
        let mut marked = 0;
        let mut may_advance = true;
        let mut place = self.place(self.decided);
        while let Some(segment) = self.segments.get_mut(place) {
            if !segment.sacked && !segment.lost && !segment.was_retransmitted() {
                if !left_before(segment) {
                    break;
                }
                if is_lost(segment) {
                    marked += Self::mark(segment, &mut self.lost, &mut self.retransmitted, &mut self.waiting);
                } else {
                    may_advance = false;
                }
            }
            if may_advance {
                self.decided = segment.end();
            }
            place = self.segments.after(place);
        }
        marked + self.detect_retransmitted(left_before, is_lost)
    }

    /// The same for retransmissions.
    pub fn detect_retransmitted(
        &mut self,
        left_before: impl Fn(&Segment) -> bool,
        mut is_lost: impl FnMut(&Segment) -> bool,
    ) -> u64 {
        let mut marked = 0;
        let mut turn = self.order.begin();
        'entries: while let Some(entry) = self.order.get(turn).copied() {
            let mut keeps = false;
            let mut place = self.place(entry.first);
            loop {
                let here = place;
                place = self.segments.after(here);
                let Some(segment) = self.segments.get_mut(here).filter(|s| s.first < entry.end) else {
                    break;
                };
                let counts = segment.sent == entry.sent
                    && !segment.sacked
                    && (segment.retransmitted || (segment.ever_retransmitted && !segment.lost));
                if !counts {
                    continue;
                }
                if !left_before(segment) {
                    break 'entries;
                }
                if is_lost(segment) {
                    marked += Self::mark(segment, &mut self.lost, &mut self.retransmitted, &mut self.waiting);
                } else {
                    keeps = true;
                }
            }
            turn = if keeps { self.order.after(turn) } else { self.order.remove(turn) };
        }
        marked
    }

    /// Marks as lost everything that is not selectively acknowledged and for which `is_lost` holds, after a
    /// timeout; returns how many packets. With `forget`, selective acknowledgements are not believed any more.
    pub fn mark_after_timeout(&mut self, forget: bool, is_lost: impl Fn(&Segment) -> bool) -> u64 {
        if forget {
            self.sacked = 0;
            self.highest_sacked = 0;
        }
        let mut marked = 0;
        self.segments.each_mut(|segment| {
            segment.sacked &= !forget;
            if !segment.sacked && is_lost(segment) {
                marked += Self::mark(segment, &mut self.lost, &mut self.retransmitted, &mut self.waiting);
            }
        });
        marked
    }

    /// Marks as lost what is below `end` and not selectively acknowledged (`tcp_mark_head_lost`); returns how many packets
    /// were marked.
    pub fn mark_below(&mut self, end: u64) -> u64 {
        if end <= self.decided {
            return 0;
        }
        let place = self.place(end);
        if self.segments.get(place).is_some_and(|segment| segment.first < end && !segment.sacked) {
            self.split(place, end);
        }
        let marked = self.mark_while(|segment| segment.first < end);
        self.decided = self.decided.max(end);
        marked
    }

    /// The same for the first packet below `end` of which nothing is known yet.
    pub fn mark_next_below(&mut self, end: u64) -> u64 {
        let mut place = self.place(self.decided);
        while let Some(segment) = self.segments.get(place).copied().filter(|segment| segment.first < end) {
            if !segment.sacked && !segment.lost && !segment.was_retransmitted() {
                self.cut(segment.first + 1);
                return self.mark_while(|other| other.first <= segment.first);
            }
            place = self.segments.after(place);
        }
        0
    }

    /// The same from the first packet on of which it is not known, as long as `holds`.
    pub fn mark_while(&mut self, holds: impl Fn(&Segment) -> bool) -> u64 {
        let mut marked = 0;
        let mut place = self.place(self.decided);
        while let Some(segment) = self.segments.get_mut(place).filter(|segment| holds(segment)) {
            if !segment.sacked && !segment.lost {
                marked += Self::mark(segment, &mut self.lost, &mut self.retransmitted, &mut self.waiting);
            }
            place = self.segments.after(place);
        }
        marked
    }

    /// Marks the first packet as lost (NewReno, RFC 6582); returns how many packets were marked.
    pub fn mark_head(&mut self) -> u64 {
        let Some(first) = self.head().map(|head| head.first) else { return 0 };
        self.cut(first + 1);
        let head = self.segments.front_mut().expect("the queue has a head");
        if head.lost {
            return 0;
        }
        Self::mark(head, &mut self.lost, &mut self.retransmitted, &mut self.waiting)
    }

    /// Nothing is presumed lost any more: the reduction was a mistake.
    pub fn forget_losses(&mut self) {
        self.segments.each_mut(|segment| segment.lost = false);
        self.lost = 0;
        self.decided = 0;
        self.waiting.clear();
    }
}
