//! Queues that decide when a packet leaves: CoDel, FQ-CoDel and fq before a wire.

use super::codel::{Control, Parameters, Tally};
use super::fq::PacedQueue;
use super::fq_codel::FairQueue;
use super::inbox::Inbox;
use super::link::Counters;
use super::settings::{CoDelSettings, LinkSettings, QueueSettings};
use super::store::Store;
use super::train::{Arrival, Body, Train};
use super::wire::Wire;
use wirespeed_units::Span;

/// Such a queue, with what has been offered to it and has not come yet.
#[derive(Debug, Clone)]
pub(crate) struct Delayed {
    inbox: Inbox,
    kind: Kind,
    train_limit: u32,
}

#[derive(Debug, Clone)]
enum Kind {
    Single { store: Store, control: Control, limit: u64, parameters: Parameters },
    Fair(FairQueue, Parameters),
    Paced(PacedQueue),
}

impl Delayed {
    /// The queue of `settings`, if it is one of those.
    pub(crate) fn new(settings: &LinkSettings) -> Option<Delayed> {
        let kind = match &settings.queue {
            QueueSettings::CoDel(s) => Kind::Single {
                store: Store::default(),
                control: Control::default(),
                limit: s.limit.into(),
                parameters: s.into(),
            },
            QueueSettings::FqCodel(s) => {
                let each =
                    CoDelSettings { target: s.target, interval: s.interval, limit: s.limit, ecn: s.ecn };
                Kind::Fair(FairQueue::new(s.quantum, s.limit), (&each).into())
            }
            QueueSettings::Fq(s) => Kind::Paced(PacedQueue::new(*s)),
            _ => return None,
        };
        Some(Delayed { inbox: Inbox::default(), kind, train_limit: settings.train_limit.max(1) })
    }

    /// In the queue: packets, bytes.
    pub(crate) fn waiting(&self) -> (u64, u64) {
        match &self.kind {
            Kind::Single { store, .. } => (store.packets(), store.bytes()),
            Kind::Fair(fair, _) => (fair.packets(), fair.bytes()),
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
        let passes = train.packets == 1 || train.gap.picoseconds() > service.whole;
        if passes && wire.transmitter.free() <= at && self.inbox.packets() == 0 && self.waiting().0 == 0 {
            // Each packet finds an empty queue and leaves an empty queue: there is nothing to decide.
            match (&mut self.kind, &train.body) {
                (Kind::Single { control, .. }, _) => control.passed(train.frame),
                // It is not due yet.
                (Kind::Paced(_), Body::Data(data)) if data.held > Span::ZERO => {
                    return self.hold(train, wire, counters, out);
                }
                (Kind::Paced(paced), _) => paced.passed(train),
                (Kind::Fair(..), _) => {}
            }
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
            _ if self.waiting().0 > 0 => Some(i64::MIN),
            _ => self.inbox.next(),
        };
        come.map(|at| at.max(wire.transmitter.free()))
    }

    /// Takes into the queue what has come at `now`.
    pub(crate) fn admit(&mut self, now: i64, counters: &mut Counters) {
        let mut tally = Tally::default();
        while let Some(train) = self.inbox.take(now) {
            match &mut self.kind {
                Kind::Fair(fair, _) => fair.put(train, &mut tally),
                Kind::Paced(paced) => tally.dropped += paced.put(train),
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
                Kind::Fair(fair, parameters) => fair.dequeue(parameters, now, &mut tally),
                Kind::Paced(paced) => paced.dequeue(now),
                Kind::Single { store, control, parameters, .. } => {
                    let service = store.front().map_or(0, |t| wire.transmitter.service(t.frame).whole);
                    control.dequeue(parameters, store, now, (service, self.train_limit), &mut tally)
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
