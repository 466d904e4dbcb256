//! A receive queue of the interface: descriptors that fill while nobody polls, and the interrupt that asks for it.

use crate::net::Train;
use std::collections::VecDeque;
use wirespeed_units::{SimTime, Span};

/// A receive queue.
#[derive(Debug)]
pub struct RxQueue {
    /// The core its interrupt goes to.
    pub core: usize,
    /// Trains of which packets are still to come.
    coming: VecDeque<Train>,
    /// What lies in the ring.
    ring: VecDeque<Train>,
    ring_packets: u32,
    capacity: u32,
    /// It is polled, or waits to be: no interrupt.
    pub scheduled: bool,
    /// When the next interrupt is due.
    pub irq_event: Option<SimTime>,
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
    /// An empty ring of `capacity` descriptors.
    pub fn new(core: usize, capacity: u32) -> RxQueue {
        RxQueue {
            core,
            coming: VecDeque::new(),
            ring: VecDeque::new(),
            ring_packets: 0,
            capacity,
            scheduled: false,
            irq_event: None,
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
            let room = self.capacity - self.ring_packets;
            if arrived.packets > room {
                let mut refused = arrived.clone();
                if room > 0 {
                    arrived = refused.split(room);
                }
                self.dropped += u64::from(refused.packets);
                lost(&refused);
                if room == 0 {
                    continue;
                }
            }
            self.ring_packets += arrived.packets;
            self.ring.push_back(arrived);
        }
    }

    /// Takes up to `most` packets out of the ring.
    pub fn take(&mut self, most: u32, out: &mut Vec<Train>) -> u32 {
        let mut taken = 0;
        while taken < most
            && let Some(front) = self.ring.front_mut()
        {
            let wanted = most - taken;
            let train = if front.packets <= wanted {
                self.ring.pop_front().expect("it was looked at")
            } else {
                front.split(wanted)
            };
            taken += train.packets;
            self.polled_bytes += train.bytes();
            out.push(train);
        }
        self.ring_packets -= taken;
        self.polled += u64::from(taken);
        taken
    }

    /// Packets in the ring.
    pub fn waiting(&self) -> u32 {
        self.ring_packets
    }

    /// Bytes of these.
    pub fn waiting_bytes(&self) -> u64 {
        self.ring.iter().map(Train::bytes).sum()
    }

    /// Packets in the ring and on their way into it.
    pub fn held(&self) -> u64 {
        u64::from(self.ring_packets) + self.coming.iter().map(|train| u64::from(train.packets)).sum::<u64>()
    }

    /// When an interrupt is due, if one is: not while the queue is polled, and `interval` after the last one at the
    /// earliest once `frames` packets have come since.
    pub fn next_irq(&self, interval: Span, frames: u32) -> Option<SimTime> {
        if self.scheduled {
            return None;
        }
        let first = match (self.ring.front(), self.coming.front()) {
            (Some(train), _) | (None, Some(train)) => train.at,
            (None, None) => return None,
        };
        match self.last_irq {
            Some(last) if self.since_irq >= frames => Some(first.max(last + interval)),
            _ => Some(first),
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
