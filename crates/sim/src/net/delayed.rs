//! Queues that decide when a packet leaves: CoDel and FQ-CoDel before a wire.

use super::codel::{Control, Parameters, Tally};
use super::fq_codel::FairQueue;
use super::inbox::Inbox;
use super::link::Counters;
use super::settings::{CoDelSettings, LinkSettings, QueueSettings};
use super::store::Store;
use super::train::{Arrival, Train};
use super::wire::Wire;

/// Such a queue, with what has been offered to it and has not come yet.
#[derive(Debug, Clone)]
pub(crate) struct Delayed {
    inbox: Inbox,
    kind: Kind,
    parameters: Parameters,
    train_limit: u32,
}

#[derive(Debug, Clone)]
enum Kind {
    Single { store: Store, control: Control, limit: u64 },
    Fair(FairQueue),
}

impl Delayed {
    /// The queue of `settings`, if it is one of those.
    pub(crate) fn new(settings: &LinkSettings) -> Option<Delayed> {
        let (kind, parameters) = match &settings.queue {
            QueueSettings::CoDel(s) => {
                let kind = Kind::Single {
                    store: Store::default(),
                    control: Control::default(),
                    limit: s.limit.into(),
                };
                (kind, s.into())
            }
            QueueSettings::FqCodel(s) => {
                let each =
                    CoDelSettings { target: s.target, interval: s.interval, limit: s.limit, ecn: s.ecn };
                (Kind::Fair(FairQueue::new(s.quantum, s.limit)), (&each).into())
            }
            _ => return None,
        };
        Some(Delayed { inbox: Inbox::default(), kind, parameters, train_limit: settings.train_limit.max(1) })
    }

    /// In the queue: packets, bytes.
    pub(crate) fn waiting(&self) -> (u64, u64) {
        match &self.kind {
            Kind::Single { store, .. } => (store.packets(), store.bytes()),
            Kind::Fair(fair) => (fair.packets(), fair.bytes()),
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
        let passes = train.packets == 1 || train.gap.picoseconds() > service.whole;
        if passes && wire.transmitter.free() <= at && self.inbox.packets() == 0 && self.waiting().0 == 0 {
            // Each packet finds an empty queue and leaves an empty queue: there is nothing to decide.
            if let Kind::Single { control, .. } = &mut self.kind {
                control.passed(train.frame);
            }
            return wire.send(train, out);
        }
        self.inbox.put(train.clone());
        self.wake(at, wire, counters, out);
        None
    }

    /// When the transmitter can take a packet that is there.
    pub(crate) fn next_wake(&self, wire: &Wire) -> Option<i64> {
        let come = if self.waiting().0 > 0 { Some(i64::MIN) } else { self.inbox.next() };
        come.map(|at| at.max(wire.transmitter.free()))
    }

    /// Takes into the queue what has come at `now`.
    pub(crate) fn admit(&mut self, now: i64, counters: &mut Counters) {
        let mut tally = Tally::default();
        while let Some(train) = self.inbox.take(now) {
            match &mut self.kind {
                Kind::Fair(fair) => fair.put(train, &mut tally),
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
        counters.overflow += tally.dropped;
    }

    pub(crate) fn wake(&mut self, now: i64, wire: &mut Wire, counters: &mut Counters, out: &mut Vec<Train>) {
        wire.tidy(now);
        self.admit(now, counters);
        while wire.transmitter.free() <= now {
            let mut tally = Tally::default();
            let train = match &mut self.kind {
                Kind::Fair(fair) => fair.dequeue(&self.parameters, now, &mut tally),
                Kind::Single { store, control, .. } => {
                    let service = store.front().map_or(0, |t| wire.transmitter.service(t.frame).whole);
                    control.dequeue(&self.parameters, store, now, (service, self.train_limit), &mut tally)
                }
            };
            counters.overflow += tally.dropped;
            counters.marked += tally.marked;
            counters.overlimits += tally.dropped + tally.marked;
            let Some(train) = train else { break };
            wire.send_waiting(train, now, out);
        }
    }
}
