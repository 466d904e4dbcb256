//! Linux' `fq` (net/sched/sch_fq.c): a queue of its own for every flow, served in turn, in which packets wait until they
//! are due.
//!
//! What Linux queues is a GSO packet, and so here where [`FqSettings::whole`] says so: a train of TCP data that a socket
//! puts out is one, however many packets it has; of all else each packet is one. Flows are not hashed, as sockets are not in
//! Linux.

use super::settings::FqSettings;
use super::train::{Body, Train};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wirespeed_units::Rate;

/// A packet that is due is let go by a timer so much later at most, and with nothing else to wake the processor no
/// earlier (`timer_slack`), in picoseconds.
const TIMER_SLACK: i64 = 10_000_000;
/// What is due later than this is dropped (`horizon`), in picoseconds.
const HORIZON: i64 = 10_000_000_000_000;
/// A flow that has been away for so long has a full turn when it comes back (`flow_refill_delay`), in picoseconds.
const REFILL_DELAY: i64 = 40_000_000_000;

/// What a flow waits for its next packet at most, by its highest rate, in picoseconds.
const LONGEST_WAIT: i64 = 1_000_000_000_000;

/// Where a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On no list: it has had nothing to send since then.
    Detached { since: i64 },
    /// On one of the lists.
    Listed,
    /// Its next packet is not due yet.
    Throttled,
}

/// One flow's queue.
#[derive(Debug, Clone)]
struct Flow {
    trains: VecDeque<Train>,
    /// GSO packets in it (`qlen`), and packets.
    pieces: u64,
    packets: u64,
    /// Bytes it may send before it goes to the end of the list; 0 or less: it has used up its turn.
    credit: i64,
    /// When its next packet may leave at the earliest, by its highest rate; 0: at any time (`time_next_packet`).
    next: i64,
    place: Place,
}

impl Flow {
    /// When its first packet is due.
    fn due(&self) -> Option<i64> {
        self.trains.front().map(|train| due(train).1.max(self.next))
    }

    /// A packet of so many bytes leaves at `now`, and the next one waits (`fq_dequeue`).
    fn pace(&mut self, bytes: u64, rate: Rate, now: i64) {
        let length = u128::from(bytes) * 1_000_000_000_000 / u128::from(rate.bytes_per_second().max(1));
        let mut length = length.min(LONGEST_WAIT as u128) as i64;
        if self.next > 0 {
            // Timers come late.
            length -= (length / 2).min(now - self.next);
        }
        self.next = now + length;
    }
}

/// All flows' queues.
#[derive(Debug, Clone)]
pub(crate) struct PacedQueue {
    settings: FqSettings,
    flows: Vec<Flow>,
    /// Index of each flow's queue by the flow's number.
    index: BTreeMap<u32, usize>,
    /// Those that have just become busy, served first, and the others.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Those whose next packet is not due, by when it is.
    throttled: BTreeSet<(i64, usize)>,
    /// GSO packets and packets in all queues, packets of throttled flows, and bytes.
    pieces: u64,
    packets: u64,
    throttled_packets: u64,
    bytes: u64,
    /// When something was last taken out.
    served: i64,
}

/// How long a train's host keeps it, and when it is due at the earliest.
fn due(train: &Train) -> (i64, i64) {
    let held = match &train.body {
        Body::Data(data) => data.held.picoseconds(),
        _ => 0,
    };
    (held, train.at.picoseconds() + held)
}

impl PacedQueue {
    pub(crate) fn new(settings: FqSettings) -> PacedQueue {
        PacedQueue {
            settings: FqSettings { quantum: settings.quantum.max(1), ..settings },
            flows: Vec::new(),
            index: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            throttled: BTreeSet::new(),
            pieces: 0,
            packets: 0,
            throttled_packets: 0,
            bytes: 0,
            served: 0,
        }
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many packets Linux counts a train as.
    fn pieces(&self, train: &Train) -> u64 {
        match train.body {
            Body::Data(_) if self.settings.whole => 1,
            _ => train.packets.into(),
        }
    }

    /// When a packet could leave by what is here: at any time, or when the timer lets the next go.
    pub(crate) fn ready(&self) -> Option<i64> {
        if self.packets > self.throttled_packets {
            return Some(i64::MIN);
        }
        let (at, i) = *self.throttled.first()?;
        // What is only still to come within a train's time waits for no timer.
        let is_held =
            self.limits_rate() || self.flows[i].trains.front().is_some_and(|train| due(train).0 > 0);
        Some(at + if is_held { TIMER_SLACK } else { 0 })
    }

    /// Whether flows have a highest rate.
    pub(crate) fn limits_rate(&self) -> bool {
        self.settings.max_rate.is_some()
    }

    /// Packets of one flow come (`fq_enqueue`). Answers how many are dropped.
    pub(crate) fn put(&mut self, mut train: Train) -> u64 {
        let i = self.find(train.flow);
        let (all, count) = (u64::from(train.packets), self.pieces(&train));
        let flow = &mut self.flows[i];
        let room = u64::from(self.settings.limit).saturating_sub(self.pieces);
        let room = room.min(u64::from(self.settings.flow_limit).saturating_sub(flow.pieces));
        let (held, _) = due(&train);
        if room == 0 || held > HORIZON {
            return all;
        }
        if room < count {
            train = train.part(0, room as u32);
        }
        let (kept, count) = (u64::from(train.packets), count.min(room));
        if let Place::Detached { since } = flow.place {
            if train.at.picoseconds() > since + REFILL_DELAY {
                flow.credit = flow.credit.max(self.settings.quantum.into());
            }
            flow.place = Place::Listed;
            self.new.push_back(i);
        }
        flow.pieces += count;
        flow.packets += kept;
        self.pieces += count;
        self.packets += kept;
        self.bytes += train.bytes();
        if flow.place == Place::Throttled {
            self.throttled_packets += kept;
        }
        flow.trains.push_back(train);
        all - kept
    }

    /// A train passes while nothing waits: each packet comes and goes at once.
    pub(crate) fn passed(&mut self, train: &Train) {
        let i = self.find(train.flow);
        let (quantum, flow) = (i64::from(self.settings.quantum), &mut self.flows[i]);
        if let Place::Detached { since } = flow.place
            && train.at.picoseconds() > since + REFILL_DELAY
        {
            flow.credit = flow.credit.max(quantum);
        }
        flow.credit = topped_up(flow.credit - train.bytes() as i64, quantum);
        flow.place = Place::Detached { since: train.last_at().picoseconds() };
    }

    /// A flow's queue. If all are empty, all have been looked at in vain and detached since something was taken out.
    fn find(&mut self, flow: u32) -> usize {
        if self.packets == 0 {
            for i in self.new.drain(..).chain(self.old.drain(..)) {
                let flow = &mut self.flows[i];
                flow.credit = topped_up(flow.credit, self.settings.quantum.into());
                flow.place = Place::Detached { since: self.served };
            }
        }
        let (flows, credit) = (&mut self.flows, self.settings.initial_quantum.into());
        *self.index.entry(flow).or_insert_with(|| {
            let place = Place::Detached { since: 0 };
            flows.push(Flow { trains: VecDeque::new(), pieces: 0, packets: 0, credit, next: 0, place });
            flows.len() - 1
        })
    }

    /// Flows whose next packet is due go to the end of the list of old ones (`fq_check_throttled`).
    fn release(&mut self, now: i64) {
        while let Some((at, i)) = self.throttled.first().copied()
            && at <= now
        {
            self.throttled.pop_first();
            self.throttled_packets -= self.flows[i].packets;
            self.flows[i].place = Place::Listed;
            self.old.push_back(i);
        }
    }

    /// What the transmitter sends next at `now` (`fq_dequeue`).
    pub(crate) fn dequeue(&mut self, now: i64) -> Option<Train> {
        self.release(now);
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let i = *list.front()?;
            let flow = &mut self.flows[i];
            if flow.credit <= 0 {
                flow.credit += i64::from(self.settings.quantum);
                list.pop_front();
                self.old.push_back(i);
                continue;
            }
            match flow.due() {
                Some(due) if due > now => {
                    list.pop_front();
                    flow.place = Place::Throttled;
                    flow.next = due;
                    self.throttled_packets += flow.packets;
                    self.throttled.insert((due, i));
                }
                Some(_) => {
                    self.served = now;
                    return self.take(i, now);
                }
                None => {
                    list.pop_front();
                    if from_new {
                        // Lest it come back as a new one in no time and starve the old ones.
                        self.old.push_back(i);
                    } else {
                        flow.place = Place::Detached { since: now };
                    }
                }
            }
        }
    }

    /// The first GSO packet of a flow.
    fn take(&mut self, i: usize, now: i64) -> Option<Train> {
        let flow = &mut self.flows[i];
        let front = flow.trains.front_mut()?;
        let mut taken = match front.body {
            Body::Data(_) if self.settings.whole => flow.trains.pop_front()?,
            _ if front.packets > 1 => front.split(1),
            _ => flow.trains.pop_front()?,
        };
        if let Body::Data(data) = &mut taken.body {
            data.held = wirespeed_units::Span::ZERO;
        }
        flow.credit -= taken.bytes() as i64;
        if let Some(rate) = self.settings.max_rate {
            flow.pace(taken.bytes(), rate, now);
        }
        flow.pieces -= 1;
        flow.packets -= u64::from(taken.packets);
        self.pieces -= 1;
        self.packets -= u64::from(taken.packets);
        self.bytes -= taken.bytes();
        Some(taken)
    }
}

/// A credit after as many turns as a flow needs to have one again: what it comes to where no other flow waits.
fn topped_up(credit: i64, quantum: i64) -> i64 {
    if credit > 0 { credit } else { credit + (-credit / quantum + 1) * quantum }
}
