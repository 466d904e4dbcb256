//! Putting packets together again that follow each other at an even distance.

use super::train::{Arrival, Train};
use crate::long::{Long, Pack, Place};
use wirespeed_units::{SimTime, Span};

/// How far a distance may be off and still be even: rounding to picoseconds at both ends, in picoseconds.
const EVEN: i64 = 2;

/// By how many picoseconds the last of so many packets of a train may be off: the train's own distance by up to half a picosecond,
/// and the last packet by that for each.
fn rounding(packets: u32) -> i64 {
    EVEN + i64::from(packets / 2)
}

/// Adds `next`, which comes at `arrival`, to `last`, whose last packet is at `last_at`, if it continues it at an even
/// distance and both together have at most `limit` packets.
#[inline]
pub(crate) fn join(last: &mut Train, last_at: SimTime, next: &Train, arrival: Arrival, limit: u32) -> bool {
    // Where flows by the hundred mix, this is what nearly always tells.
    if last.flow != next.flow {
        return false;
    }
    let distance = (arrival.at - last_at).picoseconds();
    let off = rounding(last.packets.max(next.packets));
    let fits = |gap: Span| (gap.picoseconds() - distance).abs() <= off;
    if last.packets.saturating_add(next.packets) > limit
        || distance < 0
        || last.packets > 1 && !fits(last.gap)
        || next.packets > 1 && !fits(arrival.gap)
        || !last.is_continued_by(next)
    {
        return false;
    }
    if last.packets == 1 {
        last.gap = Span::ps(distance);
    }
    last.append(next);
    true
}

/// What is on its way on a link, in order of arrival.
#[derive(Debug, Clone)]
pub struct InFlight {
    trains: Long<Train>,
    /// Each packet is seen by itself, and joined with none: the first of a train, which is the first of `trains`, may be taken off
    /// it already.
    each: bool,
    first: Option<Train>,
    /// When the very last packet arrives. The last train's own distance, in whole picoseconds, may be off by a
    /// fraction that adds up over its packets.
    last_at: SimTime,
    /// The last train has grown by joining.
    joined: bool,
    /// No train that is put together lasts longer from first to last packet.
    pub longest: Span,
}

impl InFlight {
    /// An empty link; `each`: one on which every packet is seen by itself.
    pub fn new(longest: Span, each: bool) -> InFlight {
        InFlight {
            trains: Long::default(),
            each,
            first: None,
            last_at: SimTime::START,
            joined: false,
            longest,
        }
    }

    /// Appends `train` with the times it has.
    #[inline(never)]
    pub fn push(&mut self, train: Train, train_limit: u32) -> bool {
        let arrival = train.arrival();
        self.push_arriving(train, arrival, train_limit)
    }

    /// Appends `train`, which comes at `arrival`, put together with the last one if it continues it and both have at most
    /// `train_limit` packets. True if it became the first of all, so that its arrival has to be scheduled.
    ///
    /// Trains that overlap may be cut on the way such that a part of one arrives after the other has begun to; so
    /// `train` goes before those that arrive later than it.
    #[inline(always)]
    pub fn push_arriving(&mut self, train: Train, arrival: Arrival, train_limit: u32) -> bool {
        let end = arrival.at + arrival.gap * i64::from(train.packets - 1);
        if let Some(last) = self.trains.back_mut() {
            if train_limit > 1
                && !self.each
                && (end - last.at).picoseconds() <= self.longest.picoseconds()
                && join(last, self.last_at, &train, arrival, train_limit)
            {
                self.last_at = end;
                self.joined = true;
                return false;
            }
            if arrival.at < last.at || self.each && arrival.at < self.last_at {
                let train = train.arriving(arrival);
                // Where each packet is seen by itself, those of two trains that overlap take turns.
                return if self.each {
                    (0..train.packets)
                        .fold(false, |is_first, i| self.push_packet(train.part(i, 1)) | is_first)
                } else {
                    self.insert(train)
                };
            }
            self.close();
        }
        self.last_at = end;
        self.joined = false;
        // Put together where it stays: a train that is changed and then copied makes the processor wait for its own stores,
        // which costs more than all the rest.
        let Train { packets, frame, flow, ecn, body, .. } = train;
        self.trains.push_back(Train { at: arrival.at, gap: arrival.gap, packets, frame, flow, ecn, body });
        self.trains.is_one()
    }

    /// Appends a packet, or puts it before those that arrive later. Answers whether it is the first.
    #[inline(never)]
    fn push_packet(&mut self, packet: Train) -> bool {
        if packet.at < self.last_at {
            return self.insert(packet);
        }
        self.last_at = packet.at;
        self.trains.push_back(packet);
        self.trains.is_one()
    }

    /// Puts a train before those that arrive later. Answers whether it is the first.
    fn insert(&mut self, mut train: Train) -> bool {
        if let Some(first) = self.first.take() {
            self.trains.insert(self.trains.begin(), first);
        }
        // The last train may be taken apart.
        self.close();
        let mut is_first = false;
        loop {
            let place = self.place_for(&train, &mut is_first);
            let later = self.trains.get(place).filter(|later| later.flow == train.flow).map(|later| later.at);
            let ahead = later.map_or(train.packets, |at| train.packets_before(at));
            if ahead == train.packets {
                self.trains.insert(place, train);
                return is_first;
            }
            let front = train.split(ahead);
            self.trains.insert(place, front);
        }
    }

    /// The place of a train, or of its first packets; `is_first`: before all others. It may be between the packets of an earlier
    /// train if each packet is seen by itself, or if both are of one flow, of which some packets were overtaken.
    fn place_for(&mut self, train: &Train, is_first: &mut bool) -> Place {
        let Some(earlier) = self.trains.last_below(train.key() + 1) else {
            *is_first = true;
            return self.trains.begin();
        };
        let place = self.trains.after(earlier);
        let Some(before) = self.trains.get_mut(earlier) else { return place };
        let overlap = (before.last_at() - train.at).picoseconds();
        // Packets that follow each other may overlap by rounding.
        let takes_turns = if self.each {
            overlap > 0
        } else {
            before.flow == train.flow && overlap > rounding(before.packets)
        };
        if !takes_turns {
            return place;
        }
        let front = before.split(before.packets_before(train.at + Span::ps(1)));
        let rest = std::mem::replace(before, front);
        self.trains.insert(place, rest)
    }

    /// Appends `train` with the times it has, on a link on which every packet is seen by itself.
    pub fn push_packets(&mut self, train: &Train) -> bool {
        debug_assert!(self.each, "its packets are to be taken off it one by one");
        let is_first = self.trains.is_empty();
        if !is_first && train.at < self.last_at {
            return (0..train.packets)
                .fold(false, |is_first, i| self.push_packet(train.part(i, 1)) | is_first);
        }
        self.close();
        self.joined = false;
        self.last_at = train.last_at();
        self.trains.push_back(train.clone());
        is_first
    }

    /// When the first train arrives.
    pub fn front_at(&self) -> Option<SimTime> {
        self.first.as_ref().or_else(|| self.trains.front()).map(|train| train.at)
    }

    /// The first train, as it arrives.
    #[inline]
    pub fn first(&mut self) -> Option<&Train> {
        if self.each {
            return self.first_packet();
        }
        self.close_only();
        self.trains.front()
    }

    /// The first packet by itself.
    fn first_packet(&mut self) -> Option<&Train> {
        if self.first.is_none()
            && let Some(front) = self.trains.front_mut()
            && front.packets > 1
        {
            self.first = Some(front.split(1));
        }
        self.first.as_ref().or_else(|| self.trains.front())
    }

    /// Forgets the first train, which was looked at. Answers when the next one arrives.
    #[inline]
    pub fn remove_first(&mut self) -> Option<SimTime> {
        if self.first.is_some() {
            return self.remove_packet();
        }
        self.trains.drop_front().map(|train| train.at)
    }

    /// Forgets the first packets of the first train, which has more. Answers when the next ones arrive.
    pub fn skip_first(&mut self, packets: u32) -> Option<SimTime> {
        let rest = self.trains.front_mut()?;
        rest.skip(packets);
        let at = rest.at;
        // Trains overlap seldom.
        let is_next = match self.trains.near_front(1) {
            Some(next) => at <= next.at,
            None => self.trains.is_one(),
        };
        if !is_next {
            self.put_back_first();
        }
        self.front_at()
    }

    /// Puts the first train where its time is.
    #[inline(never)]
    fn put_back_first(&mut self) {
        let Some(train) = self.trains.pop_front() else { return };
        if self.trains.back().is_none_or(|last| last.at <= train.at) {
            self.close();
            (self.last_at, self.joined) = (train.last_at(), false);
            self.trains.push_back(train);
        } else {
            self.insert(train);
        }
    }

    /// The same for a packet that was taken off its train: the next one is.
    fn remove_packet(&mut self) -> Option<SimTime> {
        let rest = self.trains.front_mut()?;
        let at = rest.at;
        match &mut self.first {
            Some(first) if rest.packets > 1 => rest.split_into(first),
            _ => self.first = None,
        }
        Some(at)
    }

    /// Takes the first train.
    #[inline]
    pub fn pop(&mut self) -> Option<Train> {
        if self.each {
            self.first_packet()?;
            if let Some(first) = self.first.take() {
                return Some(first);
            }
        }
        self.close_only();
        self.trains.pop_front()
    }

    /// Nothing is put together any more with a train that is the last and the first.
    #[inline]
    fn close_only(&mut self) {
        if self.joined && self.trains.is_one() {
            self.close();
        }
    }

    /// The train that arrives after `before` others, a few, if it is at hand.
    pub fn upcoming(&self, before: usize) -> Option<&Train> {
        self.trains.near_front(before)
    }

    /// How many trains are on the way.
    pub fn len(&self) -> usize {
        self.trains.len() + usize::from(self.first.is_some())
    }

    /// Whether nothing is on the way.
    pub fn is_empty(&self) -> bool {
        self.trains.is_empty()
    }

    /// Makes the last train's distance the mean of those it was put together from.
    fn close(&mut self) {
        if let Some(last) = self.trains.back_mut()
            && self.joined
        {
            let steps = i64::from(last.packets - 1);
            last.gap = Span::ps(((self.last_at - last.at).picoseconds() + steps / 2) / steps);
            self.joined = false;
        }
    }
}

#[cfg(test)]
mod tests;
