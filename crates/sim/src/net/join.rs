//! Putting packets together again that follow each other at an even distance.

use super::train::{Arrival, Train};
use crate::long::{Long, Pack};
use wirespeed_units::{SimTime, Span};

/// How far a distance may be off and still be even: rounding to picoseconds at both ends, in picoseconds.
const EVEN: i64 = 2;

/// Adds `next`, which comes at `arrival`, to `last`, whose last packet is at `last_at`, if it continues it at an even
/// distance and both together have at most `limit` packets.
#[inline]
pub(crate) fn join(last: &mut Train, last_at: SimTime, next: &Train, arrival: Arrival, limit: u32) -> bool {
    // Where flows by the hundred mix, this is what nearly always tells.
    if last.flow != next.flow {
        return false;
    }
    let distance = (arrival.at - last_at).picoseconds();
    // A train's own distance is off by up to half a picosecond, and its last packet by that for each.
    let off = EVEN + i64::from(last.packets.max(next.packets) / 2);
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
    fn insert(&mut self, train: Train) -> bool {
        if let Some(first) = self.first.take() {
            self.trains.insert(self.trains.begin(), first);
        }
        let Some(earlier) = self.trains.last_below(train.key() + 1) else {
            self.trains.insert(self.trains.begin(), train);
            return true;
        };
        let mut place = self.trains.after(earlier);
        if self.each
            && let Some(before) = self.trains.get_mut(earlier)
            && before.last_at() > train.at
        {
            // It comes between the packets of that one.
            let steps = (train.at - before.at).picoseconds() / before.gap.picoseconds();
            let front = before.split(steps as u32 + 1);
            let rest = std::mem::replace(before, front);
            place = self.trains.insert(place, rest);
        }
        self.trains.insert(place, train);
        false
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
mod tests {
    use super::*;
    use crate::net::tests::reference::{data, packets};
    use crate::net::{Body, Ecn};
    use proptest::prelude::*;

    fn flight() -> InFlight {
        InFlight::new(Span::ms(1), false)
    }

    fn packet_by_packet() -> InFlight {
        InFlight::new(Span::ms(1), true)
    }

    #[test]
    fn packets_at_an_even_distance_become_one_train() {
        // 121.5 ns: the distance alternates between two picoseconds, and the mean is kept.
        let mut flight = flight();
        let at = |i: i64| (i * 243 + 1) / 2;
        for i in 0..64 {
            assert_eq!(flight.push(data(0, i as u64, 1, 1514, at(i), 0), 64), i == 0);
        }
        assert_eq!(flight.len(), 1);
        assert!(!flight.push(data(0, 64, 1, 1514, at(64), 0), 64), "the train is full");
        assert_eq!((flight.len(), flight.front_at()), (2, Some(SimTime::START)));
        let train = flight.pop().unwrap();
        assert_eq!(train.packets, 64);
        assert!((train.last_at().picoseconds() - at(63)).abs() <= 32);
        assert_eq!(packets(&[flight.pop().unwrap()]), [(0, 64, at(64))]);
        assert!(flight.is_empty() && flight.pop().is_none());
    }

    #[test]
    fn trains_whose_packets_last_a_fraction_of_a_picosecond_more_join_too() {
        // 1514 bytes at 9844 Mbit/s: 1230394.15 ps, so that 43 of them are 6 ps longer than 43 times the whole part.
        let at = |i: u64| (i as i128 * 1_514 * 8_000_000_000_000 / 9_844_000_000) as i64;
        let mut flight = flight();
        for train in 0..8 {
            flight.push(data(0, train * 43, 43, 1514, at(train * 43), 1_230_394), 400);
        }
        assert_eq!(flight.len(), 1);
        let train = flight.pop().unwrap();
        assert!((train.last_at().picoseconds() - at(8 * 43 - 1)).abs() <= 200);
    }

    #[test]
    fn what_differs_stays_apart() {
        let first = data(0, 0, 2, 1514, 0, 1000);
        let next = data(0, 2, 2, 1514, 2000, 1000);
        let alone = |change: &dyn Fn(&mut Train)| {
            let (mut flight, mut next) = (flight(), next.clone());
            change(&mut next);
            flight.push(first.clone(), 64);
            flight.push(next, 64);
            flight.len() == 2
        };
        assert!(!alone(&|_| {}));
        assert!(alone(&|t| t.flow = 1));
        assert!(alone(&|t| t.frame = 1000));
        assert!(alone(&|t| t.ecn = Ecn::Marked));
        assert!(alone(&|t| t.at = SimTime::ps(2004)));
        assert!(alone(&|t| t.gap = Span::ps(1004)));
        assert!(alone(&|t| t.body = Body::Datagram { first: 2 }));
        assert!(alone(&|t| t.at = SimTime::ps(2_000_000_000)));
        let mut reference = flight();
        reference.push(first.clone(), 1);
        reference.push(next.clone(), 1);
        assert_eq!(reference.len(), 2, "the reference mode puts nothing together");
    }

    #[test]
    fn no_train_lasts_longer_than_allowed() {
        let mut flight = InFlight::new(Span::ps(5000), false);
        for i in 0..12 {
            flight.push(data(0, i, 1, 1514, i as i64 * 1000, 0), 64);
        }
        let sizes: Vec<u32> = std::iter::from_fn(|| flight.pop()).map(|t| t.packets).collect();
        assert_eq!(sizes, [6, 6]);
    }

    #[test]
    fn packets_one_by_one_are_parts_one_by_one() {
        for before in [0, 2500, 9000] {
            let (mut whole, mut parts) = (packet_by_packet(), packet_by_packet());
            let train = data(0, 5, 4, 1514, 2000, 1000);
            for flight in [&mut whole, &mut parts] {
                flight.push(data(1, 0, 1, 1514, before, 0), 1);
            }
            let is_first = (0..4).fold(false, |is_first, i| parts.push(train.part(i, 1), 1) | is_first);
            assert_eq!(whole.push_packets(&train), is_first);
            assert_eq!(whole.last_at, parts.last_at);
            let [whole, parts] =
                [whole, parts].map(|mut flight| std::iter::from_fn(move || flight.pop()).collect::<Vec<_>>());
            assert_eq!(whole, parts);
        }
    }

    proptest! {
        /// Trains that are seen packet by packet, with others that come between and the first ones gone already, against
        /// packets that are each by themselves.
        #[test]
        fn trains_seen_packet_by_packet_are_their_packets(
            steps in prop::collection::vec((0..3_usize, 1..6_u32, 0..4_000_i64, 0..1_500_i64, 0..8_usize), 1..40),
        ) {
            let (mut flight, mut expected) = (packet_by_packet(), Vec::<Train>::new());
            for (flow, packets, at, gap, taken) in steps {
                let train = data(flow as u32, 7, packets, 1514, at, gap);
                let parts: Vec<_> = (0..packets).map(|index| train.part(index, 1)).collect();
                let first = expected.first().map(|train| train.at);
                let is_first = if packets == 1 { flight.push(train, 1) } else { flight.push_packets(&train) };
                for part in parts {
                    expected.insert(expected.partition_point(|other| other.at <= part.at), part);
                }
                prop_assert_eq!(is_first, first != Some(expected[0].at));
                prop_assert_eq!(flight.front_at(), Some(expected[0].at));
                for index in 0..taken.min(expected.len()) {
                    let packet = expected.remove(0);
                    let next = expected.first().map(|train| train.at);
                    if index % 3 == 2 {
                        prop_assert_eq!(flight.pop(), Some(packet));
                        prop_assert_eq!(flight.front_at(), next);
                    } else {
                        prop_assert_eq!(flight.first(), Some(&packet));
                        prop_assert_eq!(flight.remove_first(), next);
                    }
                }
                prop_assert_eq!(flight.is_empty(), expected.is_empty());
            }
        }
    }

    #[test]
    fn what_arrives_earlier_goes_before() {
        let mut flight = flight();
        assert!(flight.push(data(0, 0, 1, 1514, 1000, 0), 64));
        assert!(!flight.push(data(0, 5, 1, 1514, 9000, 0), 64));
        assert!(!flight.push(data(1, 0, 1, 1514, 5000, 0), 64));
        assert!(flight.push(data(2, 0, 1, 1514, 500, 0), 64), "a new first");
        assert!(!flight.push(data(0, 6, 1, 1514, 9100, 0), 64), "the last is still the last");
        let order: Vec<_> = std::iter::from_fn(|| flight.pop()).map(|t| (t.flow, t.packets)).collect();
        assert_eq!(order, [(2, 1), (0, 1), (1, 1), (0, 2)]);
    }
}
