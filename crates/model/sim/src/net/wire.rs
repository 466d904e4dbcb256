//! The transmitter and what is behind it: when accepted packets are sent, and when they arrive.

use super::arrivals::{InTransit, PendingArrivals};
use super::bucket::push_again;
use super::changing::Changing;
use super::propagation::Propagation;
use super::settings::LinkSettings;
use super::timetable::Timetable;
use super::train::{Arrival, Train};
use super::transmitter::{Service, Transmitter};
use wirespeed_units::{SimTime, Span};

/// From the head of the queue to the far end.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    pub transmitter: Transmitter,
    /// Those that find the transmitter busy, and those that start a busy period.
    pub table: Timetable,
    pub in_transit: InTransit,
    pub pending: PendingArrivals,
    pub propagation: Propagation,
    /// Used instead of `table` and `in_transit` if the line changes; the transmitter follows it.
    pub changing: Option<Box<Changing>>,
    /// A frame is through when its transmission starts.
    pub bucket: bool,
    /// The latest time anything was asked for.
    pub seen: i64,
    /// When the last packet comes of the train that found the transmitter idle each time; far off if it has.
    spaced_last: i64,
    spaced_service: Service,
}

/// Counts of a wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireStatistics {
    /// Accepted and come, and not begun to be sent.
    pub waiting_packets: u64,
    pub waiting_bytes: u64,
    /// Accepted as part of a train, but not come yet.
    pub ahead_packets: u64,
    /// Begun to be sent.
    pub sent_packets: u64,
    pub sent_bytes: u64,
    /// At the far end, lost ones included.
    pub arrived_packets: u64,
}

impl Wire {
    pub(crate) fn new(settings: &LinkSettings) -> Wire {
        let delay = settings.delay.picoseconds();
        Wire {
            transmitter: Transmitter::new(settings.rate),
            table: Timetable::new(settings.rate.get(), delay),
            in_transit: InTransit::new(delay),
            pending: PendingArrivals::default(),
            propagation: Propagation::new(settings),
            changing: Changing::new(settings).map(Box::new),
            bucket: settings.bucket,
            seen: 0,
            spaced_last: i64::MAX,
            spaced_service: Service::default(),
        }
    }

    /// Sends an accepted train, each packet when it has come and the transmitter is free.
    ///
    /// Packets that come more slowly than they are sent find the transmitter idle in between, and another flow's
    /// packets may be sent there. When those come, this train's packets are on their way already. So the time
    /// is charged as if they had been sent at once: capacity is kept, only the order within the train's
    /// time is not.
    ///
    /// Answers when the train arrives if all of it does, evenly; otherwise what does is in `out`.
    #[inline]
    pub(crate) fn send(&mut self, train: &Train, out: &mut Vec<Train>) -> Option<Arrival> {
        if self.changing.is_some() {
            self.send_changing(train, train.gap.picoseconds(), out);
            return None;
        }
        let service = self.transmitter.service(train.frame);
        let (at, gap) = (train.at.picoseconds(), train.gap.picoseconds());
        let behind = self.transmitter.free() > at;
        if !behind {
            self.transmitter.start(at);
        }
        if train.packets > 1 {
            let busy = if behind {
                self.transmitter.busy_for(service, at, gap, train.packets)
            } else if gap < service.whole {
                train.packets
            } else {
                0
            };
            if busy > 0 {
                self.pending.enter(at, gap, busy, train.frame);
            }
            if busy < train.packets {
                return self.send_partly_spaced(train, service, behind, busy, out);
            }
        }
        self.send_busy(train, service, behind, out)
    }

    /// Sends a train of which the first `busy` packets wait, and the others find the transmitter idle.
    #[inline(never)]
    fn send_partly_spaced(
        &mut self,
        train: &Train,
        service: Service,
        behind: bool,
        busy: u32,
        out: &mut Vec<Train>,
    ) -> Option<Arrival> {
        if busy == 0 {
            return self.send_spaced(train, service, out);
        }
        let (front, rest) = (train.part(0, busy), train.part(busy, train.packets - busy));
        let arrival = self.send_busy(&front, service, behind, out);
        put(out, front, arrival);
        self.transmitter.start(rest.at.picoseconds());
        let arrival = self.send_spaced(&rest, service, out);
        put(out, rest, arrival);
        None
    }

    /// Sends a train that has waited, at `now`: at once, or behind what has a descriptor already.
    pub(crate) fn send_waiting(&mut self, mut train: Train, now: i64, out: &mut Vec<Train>) {
        if self.changing.is_some() {
            train.at = SimTime::ps(now);
            return self.send_changing(&train, 0, out);
        }
        let service = self.transmitter.service(train.frame);
        // Free right now is the end of a busy period that goes on, with its remainder.
        let behind = self.transmitter.free() >= now;
        if !behind {
            self.transmitter.start(now);
        }
        let arrival = self.send_busy(&train, service, behind, out);
        put(out, train, arrival);
    }

    /// Sends packets that come every `gap`, over a line that changes.
    #[inline(never)]
    fn send_changing(&mut self, train: &Train, gap: i64, out: &mut Vec<Train>) {
        let Some(changing) = &mut self.changing else { return };
        let base = out.len();
        for i in 0..train.packets {
            let sent = changing.send(train.at.picoseconds() + gap * i64::from(i), train.frame);
            self.propagation.change(Span::ps(sent.arrival - sent.end), sent.state.loss_bound);
            let mut packet = train.part(i, 1);
            packet.gap = Span::ZERO;
            let before = out.len();
            let arrival = self.propagation.carry(&packet, sent.end, 0, out);
            put(out, packet, arrival);
            push_again(out, base, before, changing.train_limit);
        }
        self.transmitter.follow(changing.rate(), changing.free());
    }

    /// Sends packets one after the other, from when the transmitter is free.
    #[inline(always)]
    fn send_busy(
        &mut self,
        train: &Train,
        service: Service,
        behind: bool,
        out: &mut Vec<Train>,
    ) -> Option<Arrival> {
        let (start, remainder) = (self.transmitter.free(), self.transmitter.remainder());
        self.table.enter(start, remainder, service, train.packets, behind);
        self.transmitter.occupy(service, train.packets);
        let rate = self.transmitter.rate();
        let end = if self.bucket {
            start
        } else {
            start + service.whole + i64::from(remainder + service.part >= rate)
        };
        // Without the remainder's carry for each packet: the distance is even, to the nearest picosecond.
        let gap = if train.packets == 1 { 0 } else { service.whole + i64::from(service.part * 2 >= rate) };
        self.propagation.carry(train, end, gap, out)
    }

    /// Sends packets that each find the transmitter idle.
    fn send_spaced(&mut self, train: &Train, service: Service, out: &mut Vec<Train>) -> Option<Arrival> {
        let (at, gap) = (train.at.picoseconds(), train.gap.picoseconds());
        self.in_transit.enter(at, gap, train.packets, train.frame, service.whole);
        self.table.interrupt();
        self.spaced_last = train.last_at().picoseconds();
        self.spaced_service = service;
        self.transmitter.occupy(service, train.packets);
        self.propagation.carry(train, if self.bucket { at } else { at + service.whole }, gap, out)
    }

    /// Its counts at `now`; times asked for do not decrease.
    pub(crate) fn statistics(&mut self, now: i64) -> WireStatistics {
        self.pending.retire(now);
        let (pending_packets, pending_bytes) = self.pending.after(now);
        if let Some(changing) = &mut self.changing {
            changing.tidy(now);
            let (waiting_packets, waiting_bytes) = changing.not_started(now);
            let (sent_packets, sent_bytes) = changing.started(now);
            return WireStatistics {
                waiting_packets: waiting_packets.saturating_sub(pending_packets),
                waiting_bytes: waiting_bytes.saturating_sub(pending_bytes),
                ahead_packets: pending_packets,
                sent_packets,
                sent_bytes,
                arrived_packets: changing.arrived(now),
            };
        }
        self.table.advance(now);
        let (started, passed) = (self.table.started(), self.in_transit.at(now));
        let sent_packets = started.packets + passed.started;
        let arrived = self.table.arrived() + passed.arrived;
        WireStatistics {
            waiting_packets: (self.table.packets - started.packets).saturating_sub(pending_packets),
            waiting_bytes: (self.table.bytes - started.bytes).saturating_sub(pending_bytes),
            ahead_packets: pending_packets + self.in_transit.packets - passed.started,
            sent_packets,
            sent_bytes: started.bytes + passed.started_bytes,
            arrived_packets: if self.bucket { sent_packets } else { arrived },
        }
    }

    /// Forgets what is over at `at`, the time of a train that comes.
    #[inline]
    pub(crate) fn tidy(&mut self, at: i64) {
        self.seen = self.seen.max(at);
        if at >= self.spaced_last {
            // Its packets were charged early, but its last one is being sent only now.
            self.transmitter.hold(self.spaced_service, self.spaced_last);
            self.spaced_last = i64::MAX;
            self.table.interrupt();
        }
        self.pending.retire(at);
        if let Some(changing) = &mut self.changing {
            changing.tidy(at);
        }
        if self.table.is_long() {
            self.table.advance(at);
        }
        if self.in_transit.is_long() {
            self.in_transit.at(at);
        }
        self.propagation.tidy(at);
    }
}

/// Adds a train that arrives as a whole to what arrives; parts of one are there already.
pub(crate) fn put(out: &mut Vec<Train>, train: Train, arrival: Option<Arrival>) {
    if let Some(arrival) = arrival {
        out.push(train.arriving(arrival));
    }
}
