//! A receive queue of the interface: descriptors that fill while nobody polls, and the interrupt that asks for it.

use super::dim::{Dim, Profile};
use super::ring::Ring;
use crate::net::Train;
use std::collections::VecDeque;
use wirespeed_units::{SimTime, Span};

/// When a queue may interrupt.
#[derive(Debug)]
pub enum Moderation {
    /// `interval` after the last interrupt at the earliest, once `from` packets have come since (ITR of ixgbe, e1000).
    Apart {
        /// The time.
        interval: Span,
        /// The packets.
        from: u32,
    },
    /// When `frames` packets wait, or `longest` after the first of them (`rx-frames` and `rx-usecs` of ethtool, which
    /// e.g. `mlx5e_ethtool_set_coalesce` sets for a completion queue that counts from an event on).
    Together {
        /// The time.
        longest: Span,
        /// The packets.
        frames: u32,
    },
    /// By the load.
    Adaptive(Dim),
}

impl Moderation {
    /// As `coalesce` and `coalesce_frames` have it; `from`: of a throttle.
    pub fn fixed(interval: Span, frames: u32, from: u32) -> Moderation {
        match frames {
            0 => Moderation::Apart { interval, from },
            frames => Moderation::Together { longest: interval, frames },
        }
    }
}

/// A receive queue.
#[derive(Debug)]
pub struct RxQueue {
    /// The core its interrupt goes to.
    pub core: usize,
    /// Trains of which packets are still to come.
    coming: VecDeque<Train>,
    /// What waits to be polled.
    waiting: VecDeque<Train>,
    waiting_packets: u32,
    ring: Ring,
    /// It is polled, or waits to be: no interrupt.
    pub scheduled: bool,
    /// When the next interrupt is due.
    pub irq_event: Option<SimTime>,
    moderation: Moderation,
    last_irq: Option<SimTime>,
    since_irq: u32,
    /// Packets that found no descriptor.
    pub dropped: u64,
    /// Packets taken out of the ring.
    pub polled: u64,
    /// Bytes of these.
    pub polled_bytes: u64,
    /// Interrupts raised.
    pub interrupts: u64,
}

impl RxQueue {
    /// A queue with an empty ring.
    pub fn new(core: usize, ring: Ring, moderation: Moderation) -> RxQueue {
        RxQueue {
            core,
            coming: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_packets: 0,
            ring,
            scheduled: false,
            irq_event: None,
            moderation,
            last_irq: None,
            since_irq: 0,
            dropped: 0,
            polled: 0,
            polled_bytes: 0,
            interrupts: 0,
        }
    }

    /// A train comes in: its packets reach the ring at their own times.
    pub fn arrive(&mut self, train: Train) {
        self.coming.push_back(train);
    }

    /// Lets those packets into the ring that are here by `now`; `lost` sees those for which there was no
    /// descriptor. Between two calls nothing leaves the ring, so that each packet meets the ring as it was at its
    /// own time.
    pub fn admit(&mut self, now: SimTime, mut lost: impl FnMut(&Train)) {
        while let Some(mut arrived) = self.coming.pop_front() {
            let here = packets_by(&arrived, now);
            if here == 0 {
                self.coming.push_front(arrived);
                return;
            }
            if here < arrived.packets {
                let front = arrived.split(here);
                let rest = std::mem::replace(&mut arrived, front);
                let place = self.coming.partition_point(|other| other.at <= rest.at);
                self.coming.insert(place, rest);
            }
            self.since_irq = self.since_irq.saturating_add(arrived.packets);
            let room = self.ring.room(arrived.frame);
            if arrived.packets <= room {
                self.fill(arrived);
                continue;
            }
            if room > 0 {
                let front = arrived.split(room);
                self.fill(front);
            }
            self.ring.refuse();
            self.dropped += u64::from(arrived.packets);
            lost(&arrived);
        }
    }

    fn fill(&mut self, train: Train) {
        self.ring.fill(train.packets, train.frame);
        self.waiting_packets += train.packets;
        self.waiting.push_back(train);
    }

    /// Takes up to `most` packets out of the ring.
    pub fn take(&mut self, most: u32, out: &mut Vec<Train>) -> u32 {
        let mut taken = 0;
        while taken < most
            && let Some(front) = self.waiting.front_mut()
        {
            let wanted = most - taken;
            let train = if front.packets <= wanted {
                self.waiting.pop_front().expect("it was looked at")
            } else {
                front.split(wanted)
            };
            taken += train.packets;
            self.polled_bytes += train.bytes();
            out.push(train);
        }
        self.ring.take(taken);
        self.waiting_packets -= taken;
        self.polled += u64::from(taken);
        taken
    }

    /// A poll gives memory back to the interface ([`Ring::refill`]).
    pub fn refill(&mut self) -> (u64, bool) {
        self.ring.refill()
    }

    /// Packets in the ring.
    pub fn waiting(&self) -> u32 {
        self.waiting_packets
    }

    /// Bytes of these.
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting.iter().map(Train::bytes).sum()
    }

    /// Packets in the ring and on their way into it.
    pub fn held(&self) -> u64 {
        u64::from(self.waiting_packets)
            + self.coming.iter().map(|train| u64::from(train.packets)).sum::<u64>()
    }

    /// When an interrupt is due, by what is known to come, if one is: not while the queue is polled.
    pub fn next_irq(&self) -> Option<SimTime> {
        if self.scheduled {
            return None;
        }
        let first = self.waiting.front().or(self.coming.front())?.at;
        match (&self.moderation, self.last_irq) {
            (Moderation::Apart { interval, from }, Some(last)) if self.since_irq >= *from => {
                Some(first.max(last + *interval))
            }
            (Moderation::Apart { .. }, _) => Some(first),
            (Moderation::Together { longest, frames }, _) => {
                Some(self.full(*frames, first, first + *longest))
            }
            (Moderation::Adaptive(dim), _) => Some(self.batch(dim.profile())),
        }
    }

    /// When `frames` packets wait, the first of them since `first`, or `latest` if they are not together by then.
    fn full(&self, frames: u32, first: SimTime, latest: SimTime) -> SimTime {
        let Some(missing) = frames.checked_sub(self.waiting_packets).filter(|missing| *missing > 0) else {
            return first;
        };
        // Those that find no descriptor do not wait.
        let room = self.coming.front().map_or(0, |train| self.ring.room(train.frame));
        let by = |time| self.coming.iter().map(|train| u64::from(packets_by(train, time))).sum::<u64>();
        if missing > room || by(latest) < u64::from(missing) {
            return latest;
        }
        // Trains of several flows overlap: the first instant by which enough have come.
        let (mut early, mut late) = (first.picoseconds() - 1, latest.picoseconds());
        while late - early > 1 {
            let middle = early + (late - early) / 2;
            if by(SimTime::ps(middle)) < u64::from(missing) { early = middle } else { late = middle }
        }
        SimTime::ps(late)
    }

    /// When the packets of a profile are together, or the last that is known has been the last for long enough.
    fn batch(&self, profile: Profile) -> SimTime {
        let mut missing = profile.packets;
        let mut latest = SimTime::START;
        for train in self.waiting.iter().chain(&self.coming) {
            if train.packets >= missing {
                return latest.max(train.at + train.gap * i64::from(missing - 1));
            }
            missing -= train.packets;
            latest = latest.max(train.at + train.gap * i64::from(train.packets - 1));
        }
        latest + profile.idle
    }

    /// A stretch of polling is over at `now`.
    pub fn complete(&mut self, now: SimTime) {
        self.scheduled = false;
        if let Moderation::Adaptive(dim) = &mut self.moderation {
            dim.polled(now, self.polled, self.polled_bytes);
        }
    }

    /// The interrupt is raised.
    pub fn raise(&mut self, now: SimTime) {
        self.interrupts += 1;
        self.last_irq = Some(now);
        self.since_irq = 0;
    }
}

/// Packets of a train that are here by `now`.
fn packets_by(train: &Train, now: SimTime) -> u32 {
    if train.at > now {
        return 0;
    }
    let gap = train.gap.picoseconds();
    if gap == 0 {
        return train.packets;
    }
    let more = (now - train.at).picoseconds() / gap;
    u32::try_from(more).map_or(train.packets, |more| more.saturating_add(1).min(train.packets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Body, Ecn};

    fn us(microseconds: i64) -> SimTime {
        SimTime::START + Span::us(microseconds)
    }

    /// So many packets from microsecond `at` on, one in each `gap` microseconds.
    fn train(flow: u32, packets: u32, at: i64, gap: i64) -> Train {
        let body = Body::Datagram { first: 0 };
        Train { at: us(at), gap: Span::us(gap), packets, frame: 1514, flow, ecn: Ecn::NotCapable, body }
    }

    fn queue(ring: u32, moderation: Moderation) -> RxQueue {
        RxQueue::new(0, Ring::new(ring, None, u32::MAX), moderation)
    }

    fn together(ring: u32) -> RxQueue {
        queue(ring, Moderation::Together { longest: Span::us(50), frames: 4 })
    }

    #[test]
    fn an_interrupt_comes_with_the_last_of_the_frames_or_when_the_first_has_waited() {
        let mut four = together(64);
        four.arrive(train(0, 10, 100, 10));
        assert_eq!(four.next_irq(), Some(us(130)), "packets at 100, 110, 120 and 130 us");
        let mut slow = together(64);
        slow.arrive(train(0, 10, 100, 20));
        assert_eq!(slow.next_irq(), Some(us(150)), "the fourth would come at 160 us");
        // Another flow's fill the gaps: 100, 105, 115, 120 us.
        slow.arrive(train(1, 2, 105, 10));
        assert_eq!(slow.next_irq(), Some(us(120)));
    }

    #[test]
    fn waiting_packets_count_and_an_earlier_interrupt_does_not() {
        let mut rx = together(64);
        rx.arrive(train(0, 3, 100, 1));
        rx.admit(us(110), |_| panic!("there is room"));
        assert_eq!(rx.next_irq(), Some(us(150)));
        rx.arrive(train(0, 1, 140, 0));
        assert_eq!(rx.next_irq(), Some(us(140)), "the fourth");
        rx.admit(us(140), |_| panic!("there is room"));
        rx.raise(us(140));
        assert_eq!(rx.take(64, &mut Vec::new()), 4);
        rx.complete(us(141));
        rx.arrive(train(0, 1, 142, 0));
        assert_eq!(rx.next_irq(), Some(us(192)), "the next one waits for its own 50 us, and no longer");
    }

    #[test]
    fn frames_that_the_ring_has_no_room_for_never_wait() {
        let mut rx = together(3);
        rx.arrive(train(0, 10, 100, 1));
        assert_eq!(rx.next_irq(), Some(us(150)));
    }

    #[test]
    fn a_throttle_keeps_interrupts_apart_and_the_first_comes_at_once() {
        let mut rx = queue(64, Moderation::Apart { interval: Span::us(50), from: 2 });
        rx.arrive(train(0, 1, 100, 0));
        assert_eq!(rx.next_irq(), Some(us(100)));
        rx.admit(us(100), |_| panic!("there is room"));
        rx.raise(us(100));
        rx.take(64, &mut Vec::new());
        rx.arrive(train(0, 1, 110, 0));
        rx.admit(us(110), |_| panic!("there is room"));
        assert_eq!(rx.next_irq(), Some(us(110)), "only one has come since");
        rx.arrive(train(0, 1, 120, 0));
        rx.admit(us(120), |_| panic!("there is room"));
        assert_eq!(rx.next_irq(), Some(us(150)));
    }
}
