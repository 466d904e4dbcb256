//! What is sent and not yet acknowledged: segments in the order of their numbers, with what is known of each
//! (the retransmission queue of Linux, `tcp_rtx_queue`, and the flags of `tcp_skb_cb`).
//!
//! A segment is what left as one GSO packet; it is cut where a selective acknowledgement or a loss cuts it.
//! Neighbours that were selectively acknowledged become one (Linux `tcp_shift_skb_data`), so that a search meets
//! holes, not packets.

use crate::tcp::rate::Snapshot;
use std::collections::VecDeque;
use std::ops::Range;
use wirespeed_units::SimTime;

/// Packets that left together and have fared the same since. One is a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub struct Segment {
    /// Number of the first packet.
    pub first: u64,
    /// How many.
    pub packets: u32,
    /// Selectively acknowledged (`TCPCB_SACKED_ACKED`).
    pub sacked: bool,
    /// Presumed lost (`TCPCB_LOST`).
    pub lost: bool,
    /// A retransmission is in flight (`TCPCB_SACKED_RETRANS`).
    pub retransmitted: bool,
    /// Was retransmitted at some time (`TCPCB_EVER_RETRANS`).
    pub ever_retransmitted: bool,
    /// When it last left.
    pub sent: SimTime,
    /// The connection's state at that time, for the delivery rate; `None` once it has been used.
    pub snapshot: Option<Snapshot>,
}

impl Segment {
    /// New data, which leaves at `sent`.
    #[inline]
    pub fn fresh(first: u64, packets: u32, sent: SimTime, snapshot: Snapshot) -> Segment {
        Segment {
            first,
            packets,
            sacked: false,
            lost: false,
            retransmitted: false,
            ever_retransmitted: false,
            sent,
            snapshot: Some(snapshot),
        }
    }

    /// Number of the first packet after it.
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.packets)
    }

    /// Retransmitted, now or before (`TCPCB_RETRANS`).
    pub fn was_retransmitted(&self) -> bool {
        self.retransmitted || self.ever_retransmitted
    }
}

/// Room for segments that is always kept: a small window's.
const LEAST_ROOM: usize = 16;

/// The segments in flight and their counts.
#[derive(Debug, Default)]
pub struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Selectively acknowledged packets (`sacked_out`).
    pub sacked: u64,
    /// Packets presumed lost (`lost_out`).
    pub lost: u64,
    /// Retransmitted packets in flight (`retrans_out`).
    pub retransmitted: u64,
    /// Number after the highest packet selectively acknowledged, 0 if none is (`highest_sack`).
    pub highest_sacked: u64,
    /// Every original below this one is selectively acknowledged, presumed lost or retransmitted.
    decided: u64,
    /// No packet below this one waits for its retransmission (`retransmit_skb_hint`).
    hint: u64,
    /// Retransmissions in the order in which they left: when, and which numbers. What has been acknowledged, or has
    /// left again since, is skipped.
    order: VecDeque<(SimTime, Range<u64>)>,
}

impl Scoreboard {
    /// The first segment not acknowledged.
    pub fn head(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// The last segment sent.
    pub fn tail(&self) -> Option<&Segment> {
        self.segments.back()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// New data left.
    pub fn push(&mut self, segment: Segment) {
        debug_assert!(self.tail().is_none_or(|tail| tail.end() == segment.first), "data leaves in order");
        self.segments.push_back(segment);
    }

    /// New data from `from` on has not left after all. Returns where the data that has left ends.
    pub fn withdraw(&mut self, from: u64) -> Option<u64> {
        while let Some(tail) = self.segments.back_mut()
            && tail.end() > from
            && !(tail.sacked || tail.lost || tail.was_retransmitted())
        {
            if tail.first >= from {
                self.segments.pop_back();
            } else {
                tail.packets = (from - tail.first) as u32;
            }
        }
        self.tail().map(Segment::end)
    }

    /// Acknowledges everything below `una`; `see` gets each segment (or the acknowledged part of one) as it goes.
    pub fn acknowledge(&mut self, una: u64, mut see: impl FnMut(&Segment)) {
        while let Some(front) = self.segments.front_mut() {
            if front.first >= una {
                break;
            }
            // Seen where it is, cut to the part for as long as that takes: a copy of each would cost as much as all else.
            let rest = front.end().saturating_sub(una) as u32;
            front.packets -= rest;
            if front.sacked | front.lost | front.retransmitted {
                let packets = u64::from(front.packets);
                self.sacked -= if front.sacked { packets } else { 0 };
                self.lost -= if front.lost { packets } else { 0 };
                self.retransmitted -= if front.retransmitted { packets } else { 0 };
            }
            see(front);
            if rest > 0 {
                (front.first, front.packets) = (una, rest);
                break;
            }
            self.segments.pop_front();
        }
        if self.highest_sacked <= una {
            self.highest_sacked = 0;
        }
        self.decided = self.decided.max(una);
        self.hint = self.hint.max(una);
        if self.segments.is_empty() {
            self.order.clear();
        }
        // What a slow start needed: going round in it, each segment would find its place out of the cache.
        let room = self.segments.capacity();
        if room > LEAST_ROOM && self.segments.len() < room / 8 {
            self.segments.shrink_to(room / 4);
        }
    }

    fn index(&self, number: u64) -> usize {
        // What is asked for is mostly at one end.
        if self.head().is_none_or(|head| number < head.end()) {
            return 0;
        }
        if self.tail().is_some_and(|tail| number >= tail.end()) {
            return self.segments.len();
        }
        self.segments.partition_point(|segment| segment.end() <= number)
    }

    /// Cuts so that a segment begins at `number`; returns its index.
    fn cut(&mut self, number: u64) -> usize {
        let index = self.index(number);
        let Some(segment) = self.segments.get_mut(index) else { return index };
        if segment.first >= number {
            return index;
        }
        let back = Segment { first: number, packets: (segment.end() - number) as u32, ..*segment };
        segment.packets -= back.packets;
        self.segments.insert(index + 1, back);
        index + 1
    }

    /// A selective acknowledgement of `first..end`; `see` gets every part that was not acknowledged before, as it
    /// was before.
    pub fn sack(&mut self, first: u64, end: u64, mut see: impl FnMut(&Segment)) {
        let mut index = self.index(first);
        while let Some(segment) = self.segments.get(index) {
            if segment.first >= end {
                break;
            }
            if segment.sacked {
                index += 1;
                continue;
            }
            let (from, to) = (segment.first.max(first), segment.end().min(end));
            if self.grow_before(index, from, to, &mut see) {
                continue;
            }
            index = self.cut(from);
            self.cut(to);
            see(&self.segments[index]);
            let segment = &mut self.segments[index];
            let packets = u64::from(segment.packets);
            // A retransmission not presumed lost stays in flight: the original may have been delivered.
            if segment.retransmitted && segment.lost {
                segment.retransmitted = false;
                self.retransmitted -= packets;
            }
            if segment.lost {
                segment.lost = false;
                self.lost -= packets;
            }
            segment.sacked = true;
            segment.snapshot = None;
            self.sacked += packets;
            self.highest_sacked = self.highest_sacked.max(to);
            index = self.join(index) + 1;
        }
    }

    /// The common case of [`Scoreboard::sack`]: the block before the segment grows into it, and a part of the segment
    /// stays. Only their border moves; to cut and to join would move all segments behind them twice.
    fn grow_before(&mut self, index: usize, from: u64, to: u64, see: &mut impl FnMut(&Segment)) -> bool {
        let Some(before) = index.checked_sub(1) else { return false };
        let (block, segment) = (&self.segments[before], &self.segments[index]);
        let packets = (to - from) as u32;
        let may_move = from == segment.first
            && to < segment.end()
            && block.sacked
            && block.retransmitted == (segment.retransmitted && !segment.lost)
            && block.ever_retransmitted == segment.ever_retransmitted
            && block.packets.checked_add(packets).is_some();
        if !may_move {
            return false;
        }
        see(&Segment { packets, ..*segment });
        let packets = u64::from(packets);
        self.retransmitted -= if segment.retransmitted && segment.lost { packets } else { 0 };
        self.lost -= if segment.lost { packets } else { 0 };
        let segment = &mut self.segments[index];
        segment.first = to;
        segment.packets -= packets as u32;
        self.segments[before].packets += packets as u32;
        self.sacked += packets;
        self.highest_sacked = self.highest_sacked.max(to);
        true
    }

    /// Joins a selectively acknowledged segment with its neighbours of the same history; returns its new index.
    fn join(&mut self, mut index: usize) -> usize {
        let same = |a: &Segment, b: &Segment| {
            a.sacked
                && b.sacked
                && a.retransmitted == b.retransmitted
                && a.ever_retransmitted == b.ever_retransmitted
                && a.packets.checked_add(b.packets).is_some()
        };
        if index > 0 && same(&self.segments[index - 1], &self.segments[index]) {
            let joined = self.segments.remove(index).expect("the index is of a segment");
            index -= 1;
            self.segments[index].packets += joined.packets;
        }
        if index + 1 < self.segments.len() && same(&self.segments[index], &self.segments[index + 1]) {
            let joined = self.segments.remove(index + 1).expect("the index is of a segment");
            self.segments[index].packets += joined.packets;
        }
        index
    }

    /// A duplicate of `first..end` was reported (DSACK): retransmissions of packets already acknowledged are no
    /// longer in flight.
    pub fn duplicate(&mut self, first: u64, end: u64) {
        let mut index = self.index(first);
        while let Some(segment) = self.segments.get_mut(index) {
            if segment.first >= end {
                break;
            }
            if segment.retransmitted && segment.sacked && segment.first >= first && segment.end() <= end {
                segment.retransmitted = false;
                self.retransmitted -= u64::from(segment.packets);
            }
            index += 1;
        }
    }

    fn mark(segment: &mut Segment, lost: &mut u64, retransmitted: &mut u64) -> u64 {
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
        let mut index = self.index(self.decided);
        while let Some(segment) = self.segments.get_mut(index) {
            if !segment.sacked && !segment.lost && !segment.was_retransmitted() {
                if !left_before(segment) {
                    break;
                }
                if is_lost(segment) {
                    self.hint = self.hint.min(segment.first);
                    marked += Self::mark(segment, &mut self.lost, &mut self.retransmitted);
                } else {
                    may_advance = false;
                }
            }
            if may_advance {
                self.decided = segment.end();
            }
            index += 1;
        }
        marked + self.detect_retransmitted(left_before, is_lost)
    }

    /// The same for retransmissions.
    fn detect_retransmitted(
        &mut self,
        left_before: impl Fn(&Segment) -> bool,
        mut is_lost: impl FnMut(&Segment) -> bool,
    ) -> u64 {
        let mut marked = 0;
        let (mut entry, mut kept) = (0, 0);
        'entries: while let Some((sent, range)) = self.order.get(entry).cloned() {
            let mut keeps = false;
            let mut index = self.index(range.start);
            while let Some(segment) = self.segments.get_mut(index)
                && segment.first < range.end
            {
                index += 1;
                let counts = segment.sent == sent
                    && !segment.sacked
                    && (segment.retransmitted || (segment.ever_retransmitted && !segment.lost));
                if !counts {
                    continue;
                }
                if !left_before(segment) {
                    break 'entries;
                }
                if is_lost(segment) {
                    self.hint = self.hint.min(segment.first);
                    marked += Self::mark(segment, &mut self.lost, &mut self.retransmitted);
                } else {
                    keeps = true;
                }
            }
            if keeps {
                self.order.swap(kept, entry);
                kept += 1;
            }
            entry += 1;
        }
        self.order.drain(kept..entry);
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
        for segment in &mut self.segments {
            segment.sacked &= !forget;
            if !segment.sacked && is_lost(segment) {
                marked += Self::mark(segment, &mut self.lost, &mut self.retransmitted);
            }
        }
        self.hint = 0;
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
        self.hint = first;
        Self::mark(head, &mut self.lost, &mut self.retransmitted)
    }

    /// Nothing is presumed lost any more: the reduction was a mistake.
    pub fn forget_losses(&mut self) {
        for segment in &mut self.segments {
            segment.lost = false;
        }
        self.lost = 0;
        self.decided = 0;
        self.hint = 0;
    }

    /// The first packets that wait for their retransmission, at most `most`.
    pub fn next_lost(&mut self) -> Option<Segment> {
        if self.retransmitted >= self.lost {
            return None;
        }
        let mut index = self.index(self.hint);
        while let Some(segment) = self.segments.get(index) {
            if segment.lost && !segment.sacked && !segment.retransmitted {
                self.hint = segment.first;
                return Some(*segment);
            }
            index += 1;
        }
        None
    }

    /// `packets` from number `first` leave again at `now`.
    pub fn retransmit(&mut self, first: u64, packets: u32, now: SimTime, snapshot: Snapshot) {
        let index = self.cut(first);
        self.cut(first + u64::from(packets));
        let segment = &mut self.segments[index];
        if segment.retransmitted {
            self.retransmitted -= u64::from(segment.packets);
        }
        segment.retransmitted = true;
        segment.ever_retransmitted = true;
        segment.sent = now;
        segment.snapshot = Some(snapshot);
        self.retransmitted += u64::from(segment.packets);
        let range = segment.first..segment.end();
        self.order.push_back((now, range));
    }

    /// Whether the head has been retransmitted (`tcp_any_retrans_done` beside `retrans_out`).
    pub fn head_was_retransmitted(&self) -> bool {
        self.head().is_some_and(|head| head.ever_retransmitted)
    }

    /// Recounts everything from the segments.
    ///
    /// # Panics
    /// If a count is wrong.
    #[cfg(test)]
    pub fn verify(&self) {
        let count = |f: fn(&Segment) -> bool| {
            self.segments.iter().filter(|s| f(s)).map(|s| u64::from(s.packets)).sum::<u64>()
        };
        assert_eq!(self.sacked, count(|s| s.sacked));
        assert_eq!(self.lost, count(|s| s.lost));
        assert_eq!(self.retransmitted, count(|s| s.retransmitted));
        for (a, b) in self.segments.iter().zip(self.segments.iter().skip(1)) {
            assert_eq!(a.end(), b.first);
        }
    }
}

#[cfg(test)]
mod tests;
