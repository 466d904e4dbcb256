//! A receive queue of the interface: descriptors that fill while nobody polls, and the interrupt that asks for it.

use super::dim::{Dim, Profile};
use super::ring::Ring;
use crate::net::Train;
use std::collections::VecDeque;
use wirespeed_units::{SimTime, Span};

/// When a queue may interrupt.
#[derive(Debug)]
pub enum Moderation {
    /// `interval` after the last interrupt at the earliest, once `frames` packets have come since.
    Fixed {
        /// The time.
        interval: Span,
        /// The packets.
        frames: u32,
    },
    /// By the load.
    Adaptive(Dim),
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
            (Moderation::Fixed { interval, frames }, Some(last)) if self.since_irq >= *frames => {
                Some(first.max(last + *interval))
            }
            (Moderation::Fixed { .. }, _) => Some(first),
            (Moderation::Adaptive(dim), _) => Some(self.batch(dim.profile())),
        }
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
