//! One direction of a link: queue, transmitter, propagation, losses.
//!
//! The default queue equals kernel/qdisc/sch_wire.c packet for packet.

use super::bucket::Bucket;
use super::codel::Dropped;
use super::delayed::Delayed;
use super::dual_pi2::ServedByClass;
use super::fec::Fec;
use super::fifo::Fifo;
use super::settings::LinkSettings;
use super::train::{Arrival, Train};
use super::wire::{Wire, put};
use wirespeed_units::{SimTime, Span};

/// One direction of a link with the queue before it.
#[derive(Debug, Clone)]
pub struct Link {
    wire: Wire,
    queue: Queue,
    policer: Option<Bucket>,
    fec: Option<Box<Fec>>,
    /// Scratch of the policer.
    passing: Vec<Train>,
    /// Scratch of the correction.
    arrived: Vec<Train>,
    train_limit: u32,
    counters: Counters,
}

#[derive(Debug, Clone)]
enum Queue {
    Fifo(Fifo),
    Delayed(Box<Delayed>),
}

/// What a link has counted by events, as opposed to what follows from the time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    pub overflow: u64,
    /// Of those, what the policer dropped, and what the queue's management did (RED, CoDel).
    pub policed: u64,
    pub managed: u64,
    /// Of all, what is told by [`Link::take_gone`].
    pub told: u64,
    pub marked: u64,
    pub overlimits: u64,
    /// Packets that went back to the queueing discipline because no descriptor was free.
    pub requeues: u64,
    /// When the first did, and which packet of its burst it was.
    pub first_requeue: Option<(SimTime, u64)>,
}

/// The state of a link. Every packet offered, copied, recovered or sent for repair is in exactly one of: overflow, lost, decoded,
/// delivered, waiting, flight, ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStatistics {
    /// In the queue; the frame being sent does not count.
    pub waiting_bytes: u64,
    /// In the queue.
    pub waiting_packets: u64,
    /// Being sent or in propagation.
    pub flight_packets: u64,
    /// Accepted as part of a train, but not at the queue yet; none in the reference mode.
    pub ahead_packets: u64,
    /// Whose transmission has started, lost ones included.
    pub sent_packets: u64,
    /// Of those.
    pub sent_bytes: u64,
    /// Dropped by the full queue, its management or the policer.
    pub overflow_packets: u64,
    /// Of those, by the policer.
    pub policed_packets: u64,
    /// Of those, by the queue's management.
    pub managed_packets: u64,
    /// Lost behind the queue: at random, in an outage, or at the port.
    pub lost_packets: u64,
    /// Of those, at the port.
    pub port_packets: u64,
    /// Of those, in an outage.
    pub outage_packets: u64,
    /// Copied at their arrival.
    pub copied_packets: u64,
    /// Repair packets sent.
    pub repair_packets: u64,
    /// Repair packets at the far end.
    pub decoded_packets: u64,
    /// Lost packets that were recovered.
    pub recovered_packets: u64,
    /// At the far end, with copies that will arrive there, and without repair packets.
    pub delivered_packets: u64,
    /// Marked as having met congestion.
    pub marked_packets: u64,
    /// Times the queue's management or the policer acted (Linux: overlimits).
    pub overlimits: u64,
    /// Packets that found no transmit descriptor free and went back to the queueing discipline.
    pub requeues: u64,
    /// When the first did, and which packet of its burst it was.
    pub first_requeue: Option<(SimTime, u64)>,
}

impl Link {
    /// An idle link.
    ///
    /// # Panics
    /// If a rate is zero.
    pub fn new(settings: &LinkSettings) -> Link {
        let queue = match Fifo::new(settings) {
            Some(fifo) => Queue::Fifo(fifo),
            None => {
                let delayed = Delayed::new(settings).expect("a queue decides at either end");
                Queue::Delayed(Box::new(delayed))
            }
        };
        Link {
            wire: Wire::new(settings),
            queue,
            policer: settings.policer.map(|p| Bucket::new(p.rate, p.burst)),
            fec: settings.fec.as_ref().map(|fec| Box::new(Fec::new(fec))),
            passing: Vec::new(),
            arrived: Vec::new(),
            train_limit: settings.train_limit.max(1),
            counters: Counters::default(),
        }
    }

    /// A train reaches the queue, the first packet now or later. What gets through is appended to `out` as it
    /// arrives at the far end. Ask [`Link::next_wake`] afterwards.
    ///
    /// Trains may overlap in time; the first packet of each should not come before the first of the one before.
    pub fn offer(&mut self, train: Train, out: &mut Vec<Train>) {
        let arrival = self.pass(&train, out);
        put(out, train, arrival);
    }

    /// The same for a caller that keeps the train: answers when it arrives at the far end if it gets there as a whole,
    /// which nearly all do. To move it once, and not through every part of the link, is a good part of what a train costs.
    #[inline]
    pub fn pass(&mut self, train: &Train, out: &mut Vec<Train>) -> Option<Arrival> {
        debug_assert!(train.packets > 0, "a train has a packet");
        if self.fec.is_some() {
            self.protect(train, out);
            return None;
        }
        self.pass_unprotected(train, out)
    }

    #[inline]
    fn pass_unprotected(&mut self, train: &Train, out: &mut Vec<Train>) -> Option<Arrival> {
        if self.policer.is_some() {
            self.police(train.clone(), out);
            return None;
        }
        self.enqueue(train, out)
    }

    /// Packets with their repair packets.
    #[inline(never)]
    fn protect(&mut self, train: &Train, out: &mut Vec<Train>) {
        let Some(mut fec) = self.fec.take() else { return };
        for i in 0..train.packets {
            let mut packet = train.part(i, 1);
            packet.gap = Span::ZERO;
            if fec.is_pause_over(packet.at) {
                fec.flush();
                self.send_repairs(&mut fec, packet.at, out);
            }
            let arrived = self.carry_alone(&packet);
            fec.pass(&packet, arrived, out);
            self.send_repairs(&mut fec, packet.at, out);
        }
        self.fec = Some(fec);
    }

    fn send_repairs(&mut self, fec: &mut Fec, now: SimTime, out: &mut Vec<Train>) {
        for group in fec.take_full() {
            let repair = fec.repair_of(&group, now);
            if let Some(arrived) = self.carry_alone(&repair) {
                fec.decode(group, arrived.at, out);
            }
        }
    }

    /// One packet, as it arrives at the far end if it does.
    fn carry_alone(&mut self, packet: &Train) -> Option<Train> {
        let mut arrived = std::mem::take(&mut self.arrived);
        let arrival = self.pass_unprotected(packet, &mut arrived);
        let train = arrived.pop().or_else(|| arrival.map(|arrival| packet.clone().arriving(arrival)));
        debug_assert!(arrived.is_empty(), "a packet arrives once");
        self.arrived = arrived;
        train
    }

    #[inline]
    fn enqueue(&mut self, train: &Train, out: &mut Vec<Train>) -> Option<Arrival> {
        match &mut self.queue {
            Queue::Fifo(fifo) => fifo.offer(train, &mut self.wire, &mut self.counters, out),
            Queue::Delayed(delayed) => delayed.offer(train, &mut self.wire, &mut self.counters, out),
        }
    }

    fn police(&mut self, train: Train, out: &mut Vec<Train>) {
        let mut passing = std::mem::take(&mut self.passing);
        if let Some(policer) = &mut self.policer {
            let counters = &mut self.counters;
            policer.filter(train, self.train_limit, &mut passing, |_, _, packets| {
                counters.overflow += u64::from(packets);
                counters.policed += u64::from(packets);
                counters.overlimits += u64::from(packets);
            });
        }
        for train in passing.drain(..) {
            let arrival = self.enqueue(&train, out);
            put(out, train, arrival);
        }
        self.passing = passing;
    }

    /// When [`Link::wake`] must be called next; none if there is nothing to decide until a packet comes.
    pub fn next_wake(&self) -> Option<SimTime> {
        if let Some(fec) = &self.fec {
            return fec.next_wake();
        }
        match &self.queue {
            Queue::Fifo(_) => None,
            Queue::Delayed(delayed) => delayed.next_wake(&self.wire).map(SimTime::ps),
        }
    }

    /// Lets a queue that decides when a packet leaves (CoDel, FQ-CoDel, fq) send what it can at `now`. Too early or too
    /// often does no harm. It also ends pauses of an encoder, and the waiting of packets at a decoder.
    pub fn wake(&mut self, now: SimTime, out: &mut Vec<Train>) {
        if let Some(mut fec) = self.fec.take() {
            if fec.is_pause_over(now) {
                fec.flush();
                self.send_repairs(&mut fec, now, out);
            }
            fec.expire(now, out);
            self.fec = Some(fec);
        }
        if let Queue::Delayed(delayed) = &mut self.queue {
            delayed.wake(now.picoseconds(), &mut self.wire, &mut self.counters, out);
        }
    }

    /// Packets that were refused so far when they were offered, by the full queue, its management or the policer.
    pub fn refused(&self) -> u64 {
        self.counters.overflow - self.counters.told
    }

    /// The last `packets` of them count as not offered.
    pub fn forget_refused(&mut self, packets: u64) {
        self.counters.overflow -= packets;
    }

    /// What a host's queue has dropped since this was last asked after it had let it in, or of others than it was offered.
    pub fn take_gone(&mut self) -> Vec<Dropped> {
        match &mut self.queue {
            Queue::Fifo(_) => Vec::new(),
            Queue::Delayed(delayed) => delayed.take_gone(),
        }
    }

    /// Packets that have left the queue, by class, since this was last asked; `None`: its discipline has no classes.
    pub fn take_served(&mut self) -> Option<ServedByClass> {
        match &mut self.queue {
            Queue::Fifo(_) => None,
            Queue::Delayed(delayed) => delayed.take_served(),
        }
    }

    /// The most packets put into one train.
    pub fn train_limit(&self) -> u32 {
        self.train_limit
    }

    /// The state at `now`, or at the first packet of the train offered last if that is later.
    pub fn statistics(&mut self, now: SimTime) -> LinkStatistics {
        let now = now.picoseconds().max(self.wire.seen);
        self.wire.seen = now;
        let (mut waiting, mut ahead) = ((0, 0), 0);
        if let Queue::Delayed(delayed) = &mut self.queue {
            delayed.admit(now, &mut self.counters);
            (waiting, ahead) = (delayed.waiting(), delayed.ahead());
        }
        let line = self.wire.statistics(now);
        let lost = self.wire.propagation.lost(now);
        let fec = self.fec.as_mut().map(|fec| fec.counts(SimTime::ps(now))).unwrap_or_default();
        LinkStatistics {
            waiting_bytes: waiting.1 + line.waiting_bytes,
            waiting_packets: waiting.0 + line.waiting_packets,
            flight_packets: line.sent_packets - line.arrived_packets,
            ahead_packets: ahead + line.ahead_packets,
            sent_packets: line.sent_packets,
            sent_bytes: line.sent_bytes,
            overflow_packets: self.counters.overflow,
            policed_packets: self.counters.policed,
            managed_packets: self.counters.managed,
            lost_packets: lost.all(),
            port_packets: lost.port,
            outage_packets: lost.outage,
            copied_packets: lost.copied,
            repair_packets: fec.repair,
            decoded_packets: fec.decoded,
            recovered_packets: fec.recovered,
            delivered_packets: line.arrived_packets - lost.all() + lost.copied - fec.decoded + fec.recovered,
            marked_packets: self.counters.marked,
            overlimits: self.counters.overlimits,
            requeues: self.counters.requeues,
            first_requeue: self.counters.first_requeue,
        }
    }
}
