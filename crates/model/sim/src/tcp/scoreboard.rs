//! What is sent and not yet acknowledged: segments in the order of their numbers, with what is known of each
//! (the retransmission queue of Linux, `tcp_rtx_queue`, and the flags of `tcp_skb_cb`).
//!
//! A segment is what left as one GSO packet; it is cut where a selective acknowledgement or a loss cuts it.
//! Neighbours that were selectively acknowledged become one (Linux `tcp_shift_skb_data`), so that a search meets
//! holes, not packets.

mod lost;
mod segment;
mod waiting;

pub use segment::Segment;

use crate::long::{Long, Place};
use crate::tcp::rate::Snapshot;
pub(super) use segment::Retransmission;
use waiting::Waiting;
use wirespeed_units::SimTime;

/// Room for segments that is always kept: a small window's.
const LEAST_ROOM: usize = 16;

/// The segments in flight and their counts, which samples read and which therefore come first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Scoreboard {
    /// Selectively acknowledged packets (`sacked_out`).
    pub sacked: u64,
    /// Packets presumed lost (`lost_out`).
    pub lost: u64,
    /// Retransmitted packets in flight (`retrans_out`).
    pub retransmitted: u64,
    segments: Long<Segment>,
    /// Number after the highest packet selectively acknowledged, 0 if none is (`highest_sack`).
    pub highest_sacked: u64,
    /// Every original below this one is selectively acknowledged, presumed lost or retransmitted.
    decided: u64,
    /// Where packets that are presumed lost and not retransmitted may be.
    waiting: Waiting,
    /// Retransmissions in the order in which they left: when, and which numbers. What has been acknowledged, or has
    /// left again since, is skipped.
    order: Long<Retransmission>,
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

    /// Whether a packet that is in flight has left once only.
    pub fn left_once(&mut self, number: u64) -> bool {
        let place = self.place(number);
        self.segments
            .get(place)
            .is_some_and(|segment| segment.first <= number && !segment.was_retransmitted())
    }

    /// New data from `from` on has not left after all. Returns where the data that has left ends, and when the first
    /// of the withdrawn segments was to leave.
    pub fn withdraw(&mut self, from: u64) -> (Option<u64>, Option<SimTime>) {
        let mut departure = None;
        while let Some(tail) = self.segments.back_mut()
            && tail.end() > from
            && !(tail.sacked || tail.lost || tail.was_retransmitted())
        {
            departure = Some(tail.sent);
            if tail.first >= from {
                self.segments.pop_back();
            } else {
                tail.packets = (from - tail.first) as u32;
            }
        }
        (self.tail().map(Segment::end), departure)
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
            self.segments.drop_front();
        }
        if self.highest_sacked <= una {
            self.highest_sacked = 0;
        }
        self.decided = self.decided.max(una);
        self.waiting.forget_below(una);
        if self.segments.is_empty() {
            self.order.clear();
        }
        // What a slow start needed: going round in it, each segment would find its place out of the cache.
        self.segments.shrink(LEAST_ROOM);
    }

    /// Where the first segment is that ends behind `number`.
    fn place(&mut self, number: u64) -> Place {
        // What is asked for is mostly at one end.
        if self.head().is_none_or(|head| number < head.end()) {
            return self.segments.begin();
        }
        if self.tail().is_some_and(|tail| number >= tail.end()) {
            return self.segments.end();
        }
        self.segments.last_below(number + 1).unwrap_or(self.segments.begin())
    }

    /// Cuts so that a segment begins at `number`; returns where it is.
    fn cut(&mut self, number: u64) -> Place {
        let place = self.place(number);
        match self.segments.get(place) {
            Some(segment) if segment.first < number => self.split(place, number),
            _ => place,
        }
    }

    /// Cuts the segment at `place` so that its second part begins at `number`; returns where that is.
    fn split(&mut self, place: Place, number: u64) -> Place {
        let Some(segment) = self.segments.get_mut(place) else { return place };
        let back = Segment { first: number, packets: (segment.end() - number) as u32, ..*segment };
        segment.packets -= back.packets;
        self.segments.insert(self.segments.after(place), back)
    }

    /// A selective acknowledgement of `first..end`; `see` gets every part that was not acknowledged before, as it
    /// was before.
    pub fn sack(&mut self, first: u64, end: u64, mut see: impl FnMut(&Segment)) {
        let mut place = self.place(first);
        while let Some(segment) = self.segments.get(place) {
            if segment.first >= end {
                break;
            }
            if segment.sacked {
                place = self.segments.after(place);
                continue;
            }
            let (from, to) = (segment.first.max(first), segment.end().min(end));
            let (begins_before, ends_behind) = (segment.first < from, segment.end() > to);
            if self.grow_before(place, from, to, &mut see) {
                continue;
            }
            if begins_before {
                place = self.split(place, from);
            }
            if ends_behind {
                let behind = self.split(place, to);
                place = self.segments.before(behind).unwrap_or(behind);
            }
            let Some(segment) = self.segments.get_mut(place) else { break };
            see(segment);
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
            let joined = self.join(place);
            place = self.segments.after(joined);
        }
    }

    /// The common case of [`Scoreboard::sack`]: the block before the segment grows into it, and a part of the segment
    /// stays. Only their border moves; to cut and to join would move all segments behind them twice.
    fn grow_before(&mut self, place: Place, from: u64, to: u64, see: &mut impl FnMut(&Segment)) -> bool {
        let Some(before) = self.segments.before(place) else { return false };
        let Some(segment) = self.segments.get(place).copied() else { return false };
        let Some(block) = self.segments.get_mut(before) else { return false };
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
        block.packets += packets;
        see(&Segment { packets, ..segment });
        if let Some(segment) = self.segments.get_mut(place) {
            segment.first = to;
            segment.packets -= packets;
        }
        let packets = u64::from(packets);
        self.retransmitted -= if segment.retransmitted && segment.lost { packets } else { 0 };
        self.lost -= if segment.lost { packets } else { 0 };
        self.sacked += packets;
        self.highest_sacked = self.highest_sacked.max(to);
        true
    }

    /// Joins a selectively acknowledged segment with its neighbours of the same history; returns where it is then.
    fn join(&mut self, place: Place) -> Place {
        let before = self.segments.before(place);
        let joined = before.and_then(|before| self.absorb(before, place)).unwrap_or(place);
        self.absorb(joined, self.segments.after(joined)).unwrap_or(joined)
    }

    /// Adds the segment at `next` to the one before it, at `place`, if both are selectively acknowledged and have the same
    /// history. Answers where that is then.
    fn absorb(&mut self, place: Place, next: Place) -> Option<Place> {
        let b = self.segments.get(next).filter(|b| b.sacked)?;
        let (packets, retransmitted, ever) = (b.packets, b.retransmitted, b.ever_retransmitted);
        let a = self.segments.get_mut(place).filter(|a| a.sacked)?;
        let same = a.retransmitted == retransmitted && a.ever_retransmitted == ever;
        a.packets = a.packets.checked_add(packets).filter(|_| same)?;
        let behind = self.segments.remove(next);
        self.segments.before(behind)
    }

    /// A duplicate of `first..end` was reported (DSACK): retransmissions of packets already acknowledged are no
    /// longer in flight.
    pub fn duplicate(&mut self, first: u64, end: u64) {
        let mut place = self.place(first);
        while let Some(segment) = self.segments.get_mut(place) {
            if segment.first >= end {
                break;
            }
            if segment.retransmitted && segment.sacked && segment.first >= first && segment.end() <= end {
                segment.retransmitted = false;
                self.retransmitted -= u64::from(segment.packets);
            }
            place = self.segments.after(place);
        }
    }

    /// The first packets that wait for their retransmission, at most `most`.
    pub fn next_lost(&mut self) -> Option<Segment> {
        if self.retransmitted >= self.lost {
            return None;
        }
        while let Some(range) = self.waiting.first() {
            let mut place = self.place(range.start);
            while let Some(segment) = self.segments.get(place).filter(|segment| segment.first < range.end) {
                if segment.lost && !segment.sacked && !segment.retransmitted {
                    let found = *segment;
                    self.waiting.forget_below(found.first);
                    return Some(found);
                }
                place = self.segments.after(place);
            }
            self.waiting.forget_below(range.end);
        }
        None
    }

    /// `packets` from number `first` leave again at `now`.
    pub fn retransmit(&mut self, first: u64, packets: u32, now: SimTime, snapshot: Snapshot) {
        let Some(place) = self.repeat(first, packets, now, snapshot) else { return };
        let Some(segment) = self.segments.get_mut(place).filter(|segment| !segment.retransmitted) else {
            return;
        };
        segment.retransmitted = true;
        self.retransmitted += u64::from(segment.packets);
    }

    /// They leave again as a tail loss probe, which does not count as a retransmission in flight
    /// (`__tcp_retransmit_skb` without `tcp_retransmit_skb`).
    pub fn probe(&mut self, first: u64, packets: u32, now: SimTime, snapshot: Snapshot) {
        self.repeat(first, packets, now, snapshot);
    }

    /// They leave again: when, and what is known of the connection then. Returns where they are.
    fn repeat(&mut self, first: u64, packets: u32, now: SimTime, snapshot: Snapshot) -> Option<Place> {
        // To cut may move what is behind it: the front last.
        self.cut(first + u64::from(packets));
        let place = self.cut(first);
        let segment = self.segments.get_mut(place)?;
        segment.ever_retransmitted = true;
        segment.sent = now;
        segment.snapshot = Some(snapshot);
        let entry = Retransmission { sent: now, first: segment.first, end: segment.end() };
        self.order.push_back(entry);
        Some(place)
    }

    /// Retransmissions from number `from` on, and all later ones, have not left after all: those presumed lost wait again. Returns them
    /// in the order in which they were to leave; none if `from` is not among them.
    pub(super) fn recall(&mut self, from: u64) -> Vec<Retransmission> {
        let mut behind = Vec::new();
        let found = loop {
            let Some(entry) = self.order.pop_back() else { break None };
            if (entry.first..entry.end).contains(&from) {
                break Some(entry);
            }
            behind.push(entry);
        };
        let Some(entry) = found else {
            behind.into_iter().rev().for_each(|entry| self.order.push_back(entry));
            return Vec::new();
        };
        if entry.first < from {
            self.order.push_back(Retransmission { end: from, ..entry });
        }
        behind.push(Retransmission { first: from, ..entry });
        behind.reverse();
        behind.iter().for_each(|part| self.unretransmit(part));
        behind
    }

    fn unretransmit(&mut self, part: &Retransmission) {
        let mut place = self.cut(part.first);
        while let Some(segment) = self.segments.get_mut(place).filter(|segment| segment.first < part.end) {
            if segment.retransmitted && !segment.sacked && segment.sent == part.sent {
                segment.retransmitted = false;
                self.retransmitted -= u64::from(segment.packets);
                if segment.lost {
                    self.waiting.add(segment.first, segment.end());
                }
            }
            place = self.segments.after(place);
        }
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
        let segments = self.all();
        let count = |f: fn(&Segment) -> bool| {
            segments.iter().filter(|s| f(s)).map(|s| u64::from(s.packets)).sum::<u64>()
        };
        assert_eq!(self.sacked, count(|s| s.sacked));
        assert_eq!(self.lost, count(|s| s.lost));
        assert_eq!(self.retransmitted, count(|s| s.retransmitted));
        for (a, b) in segments.iter().zip(segments.iter().skip(1)) {
            assert_eq!(a.end(), b.first);
        }
    }

    /// Every segment.
    #[cfg(test)]
    fn all(&self) -> Vec<Segment> {
        let mut all = Vec::new();
        self.segments.each(|segment| all.push(*segment));
        all
    }
}

#[cfg(test)]
mod tests;
