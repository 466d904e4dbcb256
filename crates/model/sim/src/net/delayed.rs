//! Queues that decide when a packet leaves: CoDel, FQ-CoDel, DualPI2 and fq before a wire.

use super::codel::{Control, Dropped, Parameters, Tally};
use super::dual_pi2::{DualQueue, ServedByClass};
use super::fifo::BURST_PAUSE;
use super::fq::PacedQueue;
use super::fq_codel::FairQueue;
use super::inbox::Inbox;
use super::link::Counters;
use super::settings::{CoDelSettings, LinkSettings, QueueSettings};
use super::store::Store;
use super::train::{Arrival, Body, Train};
use super::wire::Wire;
use wirespeed_units::{SimTime, Span};

/// Such a queue, with what has been offered to it and has not come yet.
#[derive(Debug, Clone)]
pub(crate) struct Delayed {
    inbox: Inbox,
    kind: Kind,
    train_limit: u32,
    ring: Option<Ring>,
    /// What was dropped and is to be told to those who sent it; nothing at a router.
    gone: Vec<Dropped>,
    tells: bool,
}

/// The transmit descriptors of an interface behind the queue.
#[derive(Debug, Clone)]
struct Ring {
    /// Packets that have room.
    room: u64,
    /// Taken out of the queue in vain, for want of a descriptor: the first to get one (`dev_requeue_skb`, `gso_skb`).
    requeued: Option<Train>,
    /// Packets taken out since the transmitter was last idle.
    burst: u64,
}

#[derive(Debug, Clone)]
enum Kind {
    Single { store: Store, control: Control, limit: u64, parameters: Parameters },
    Fair(FairQueue, Parameters),
    Dual(Box<DualQueue>),
    Paced(PacedQueue),
}

impl Delayed {
    /// The queue of `settings`, if it is one of those.
    pub(crate) fn new(settings: &LinkSettings) -> Option<Delayed> {
        let kind = match &settings.queue {
            QueueSettings::CoDel(s) => Kind::Single {
                store: Store::new(1),
                control: Control::default(),
                limit: s.limit.into(),
                parameters: s.into(),
            },
            QueueSettings::FqCodel(s) => {
                let each =
                    CoDelSettings { target: s.target, interval: s.interval, limit: s.limit, ecn: s.ecn };
                Kind::Fair(FairQueue::new(s), (&each).into())
            }
            QueueSettings::DualPi2(s) => Kind::Dual(Box::new(DualQueue::new(s, settings.seed))),
            QueueSettings::Fq(s) => Kind::Paced(PacedQueue::new(*s)),
            _ => return None,
        };
        let tells = match &settings.queue {
            QueueSettings::FqCodel(fair) => fair.host.is_some(),
            QueueSettings::Fq(_) => true,
            _ => false,
        };
        let ring = settings.ring.map(|room| Ring { room: room.max(1).into(), requeued: None, burst: 0 });
        // A train leaves as a whole, and the line may change meanwhile.
        let train_limit = if settings.changes.is_empty() { settings.train_limit.max(1) } else { 1 };
        Some(Delayed { inbox: Inbox::default(), kind, train_limit, ring, gone: Vec::new(), tells })
    }

    /// What was dropped since this was last asked, if who sent it is to be told.
    pub(crate) fn take_gone(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.gone)
    }

    /// Packets that have left the queue, by class, since this was last asked; `None`: it has no classes.
    pub(crate) fn take_served(&mut self) -> Option<ServedByClass> {
        match &mut self.kind {
            Kind::Dual(dual) => Some(dual.take_served()),
            _ => None,
        }
    }

    fn count(&mut self, tally: Tally, counters: &mut Counters) {
        counters.overflow += tally.dropped;
        counters.marked += tally.marked;
        if !tally.gone.is_empty() {
            counters.told += tally.dropped;
            self.gone.extend(tally.gone);
        }
    }

    /// In the queue: packets, bytes. What was requeued is a part of it (`dev_requeue_skb`: "it's still part of the queue").
    pub(crate) fn waiting(&self) -> (u64, u64) {
        let (packets, bytes) = self.queued();
        let requeued = self.ring.as_ref().and_then(|ring| ring.requeued.as_ref());
        requeued.map_or((packets, bytes), |train| (packets + u64::from(train.packets), bytes + train.bytes()))
    }

    /// In the queue, but for what was taken out in vain.
    fn queued(&self) -> (u64, u64) {
        match &self.kind {
            Kind::Single { store, .. } => (store.packets(), store.bytes()),
            Kind::Fair(fair, _) => (fair.packets(), fair.bytes()),
            Kind::Dual(dual) => (dual.packets(), dual.bytes()),
            Kind::Paced(paced) => (paced.packets(), paced.bytes()),
        }
    }

    /// Offered and not come.
    pub(crate) fn ahead(&self) -> u64 {
        self.inbox.packets()
    }

    /// A train comes. Answers when it arrives if it passes as a whole; otherwise what does is in `out`, now or
    /// later.
    pub(crate) fn offer(
        &mut self,
        train: &Train,
        wire: &mut Wire,
        counters: &mut Counters,
        out: &mut Vec<Train>,
    ) -> Option<Arrival> {
        let at = train.at.picoseconds();
        wire.tidy(at);
        let service = wire.transmitter.service(train.frame);
        let passes = match &self.ring {
            Some(ring) => {
                wire.table.advance_start(at);
                not_started(wire).saturating_add(train.packets.into()) <= ring.room
            }
            None => {
                let spaced = wire.changing.is_none() && train.gap.picoseconds() > service.whole;
                let apart = train.packets == 1 || spaced;
                apart && wire.transmitter.free() <= at
            }
        };
        let limits_rate = matches!(&self.kind, Kind::Paced(paced) if paced.limits_rate());
        if passes && !limits_rate && self.inbox.packets() == 0 && self.waiting().0 == 0 {
            // Each packet finds an empty queue and leaves an empty queue: there is nothing to decide.
            match (&mut self.kind, &train.body) {
                (Kind::Single { control, .. }, _) => control.passed(train.frame),
                // It is not due yet.
                (Kind::Paced(_), Body::Data(data)) if data.held > Span::ZERO => {
                    return self.hold(train, wire, counters, out);
                }
                (Kind::Paced(paced), _) => paced.passed(train),
                (Kind::Dual(dual), _) => dual.passed(train),
                (Kind::Fair(..), _) => {}
            }
            self.count_burst(train.packets, at, wire);
            return wire.send(train, out);
        }
        if let (Kind::Paced(_), Body::Data(_)) = (&self.kind, &train.body) {
            return self.hold(train, wire, counters, out);
        }
        self.inbox.put(train.clone());
        self.wake(at, wire, counters, out);
        None
    }

    /// A socket's data comes to fq as a whole: whether it is refused the socket is told at once.
    fn hold(
        &mut self,
        train: &Train,
        wire: &mut Wire,
        counters: &mut Counters,
        out: &mut Vec<Train>,
    ) -> Option<Arrival> {
        let at = train.at.picoseconds();
        self.admit(at, counters);
        if let Kind::Paced(paced) = &mut self.kind {
            counters.overflow += paced.put(train.clone());
        }
        self.wake(at, wire, counters, out);
        None
    }

    /// When the transmitter can take a packet that is there.
    pub(crate) fn next_wake(&self, wire: &Wire) -> Option<i64> {
        let come = match &self.kind {
            Kind::Paced(paced) => paced.ready().into_iter().chain(self.inbox.next()).min(),
            _ if self.queued().0 > 0 => Some(i64::MIN),
            _ => self.inbox.next(),
        };
        let Some(ring) = &self.ring else { return come.map(|at| at.max(wire.transmitter.free())) };
        let full = not_started(wire).checked_sub(ring.room);
        // A descriptor is free when so many have started as are more than there are descriptors.
        let free = full.and_then(|before| wire.table.start_behind(before)).unwrap_or(i64::MIN);
        match ring.requeued {
            // What comes meanwhile waits behind it.
            Some(_) => Some(free),
            // One more is taken out in vain.
            None => come,
        }
    }

    /// Whether the next packet could be sent at `now`, or find a descriptor.
    fn has_room(&self, now: i64, wire: &mut Wire) -> bool {
        match &self.ring {
            Some(ring) => {
                wire.table.advance_start(now);
                not_started(wire) < ring.room
            }
            None => wire.transmitter.free() <= now,
        }
    }

    /// Packets leave the queue for the ring.
    fn count_burst(&mut self, packets: u32, now: i64, wire: &Wire) {
        if let Some(ring) = &mut self.ring {
            if wire.transmitter.free() + BURST_PAUSE.picoseconds() <= now {
                ring.burst = 0;
            }
            ring.burst += u64::from(packets);
        }
    }

    /// Takes into the queue what has come at `now`.
    pub(crate) fn admit(&mut self, now: i64, counters: &mut Counters) {
        let mut tally = Tally::new(self.tells);
        while let Some(train) = self.inbox.take(now) {
            match &mut self.kind {
                Kind::Fair(fair, _) => fair.put(train, &mut tally),
                Kind::Dual(dual) => counters.overflow += dual.put(&train),
                Kind::Paced(paced) => {
                    let (packets, refused) = (train.packets, train.clone());
                    let dropped = paced.put(train) as u32;
                    if dropped > 0 {
                        tally.drop(refused.part(packets - dropped, dropped), true);
                    }
                }
                Kind::Single { store, limit, .. } => {
                    let room = limit.saturating_sub(store.packets());
                    let fits = u64::from(train.packets).min(room) as u32;
                    counters.overflow += u64::from(train.packets - fits);
                    if fits > 0 {
                        store.put(train.part(0, fits));
                    }
                }
            }
        }
        self.count(tally, counters);
    }

    pub(crate) fn wake(&mut self, now: i64, wire: &mut Wire, counters: &mut Counters, out: &mut Vec<Train>) {
        wire.tidy(now);
        self.admit(now, counters);
        while self.has_room(now, wire) {
            let requeued = self.ring.as_mut().and_then(|ring| ring.requeued.take());
            let Some(train) = requeued.or_else(|| self.dequeue(now, wire, counters)) else { break };
            wire.send_waiting(train, now, out);
        }
        self.try_in_vain(now, wire, counters);
    }

    /// No descriptor is free: the next is taken out of the queue all the same, and waits outside of it.
    fn try_in_vain(&mut self, now: i64, wire: &mut Wire, counters: &mut Counters) {
        if self.ring.as_ref().is_none_or(|ring| ring.requeued.is_some()) || self.queued().0 == 0 {
            return;
        }
        let train = self.dequeue(now, wire, counters);
        if let (Some(ring), Some(train)) = (&mut self.ring, train) {
            counters.requeues += u64::from(train.packets);
            counters.first_requeue.get_or_insert((SimTime::ps(now), ring.burst));
            ring.requeued = Some(train);
        }
    }

    /// What the queue gives out at `now`.
    fn dequeue(&mut self, now: i64, wire: &mut Wire, counters: &mut Counters) -> Option<Train> {
        let mut tally = Tally::new(self.tells);
        let train = match &mut self.kind {
            Kind::Fair(fair, parameters) => fair.dequeue(parameters, now, &mut tally),
            Kind::Dual(dual) => dual.dequeue(now, &mut tally),
            Kind::Paced(paced) => paced.dequeue(now),
            Kind::Single { store, control, parameters, .. } => {
                let service = store.front().map_or(0, |t| wire.transmitter.service(t.frame).whole);
                control.dequeue(parameters, store, now, (service, self.train_limit), &mut tally)
            }
        };
        counters.overlimits += tally.dropped + tally.marked;
        counters.managed += tally.dropped;
        self.count(tally, counters);
        if let Some(train) = &train {
            self.count_burst(train.packets, now, wire);
        }
        train
    }
}

/// Packets that have descriptors and have not started, as far as the table knows.
fn not_started(wire: &Wire) -> u64 {
    wire.table.packets - wire.table.started().packets
}
