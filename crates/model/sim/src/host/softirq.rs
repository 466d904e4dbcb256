//! Softirq work on a core: polling receive queues within a budget, merging (GRO), handing packets to sockets, and
//! giving the work to ksoftirqd when it does not end (`net_rx_action`, `__do_softirq`).

use super::core::{Kind, Session};
use super::cost::{PAGE, part, times};
use super::rules::{Rules, next_tick};
use super::thread::ThreadId;
use super::{Event, Host, Outside};
use crate::net::{Body, Train};
use crate::world::{Endpoint, Way};
use wirespeed_units::{Bytes, SimTime, Span};

/// Packets of one poll of an interface (NAPI_POLL_WEIGHT).
const WEIGHT: u32 = 64;
/// Bytes of what GRO merges stay below this, with the headers of the first packet (GSO_LEGACY_MAX_SIZE).
const MERGED: u64 = 65_536;
/// Of IPv4 and TCP with time stamps, and of Ethernet before them.
const HEADERS: u64 = 52;
const ETHERNET: u64 = 14;

/// What a poll came to.
struct Polled {
    /// Packets.
    count: u32,
    /// What it says to have used of the budget: all of its weight if it has to go on.
    used: u32,
    /// Of getting at the packets.
    cost: Span,
}

/// Where in a piece of softirq work we are.
pub(super) struct Place {
    pub core: usize,
    pub at: SimTime,
}

impl Host {
    /// One poll. A round of softirq ends when its budget is used up or nothing is left of it; what has more, and what
    /// an interrupt brings meanwhile, begins another (`restart` of `__do_softirq`).
    pub(super) fn softirq(&mut self, index: usize, at: SimTime, kind: Kind, outside: &mut Outside) {
        let core = &mut self.cores[index];
        if core.session.used == 0 {
            core.polls.append(&mut core.next_polls);
        }
        let used = self.poll_one(index, at, kind, outside);
        let core = &mut self.cores[index];
        let session = &mut core.session;
        session.since.get_or_insert(at);
        let began = *session.round.get_or_insert(at);
        session.used += used;
        let used_up =
            session.used >= self.settings.softirq.budget || self.rules.round_is_over(began, core.free_at);
        core.squeezed += u64::from(used_up);
        if used_up || (core.polls.is_empty() && core.backlog.is_empty()) {
            core.session.round = None;
            core.session.used = 0;
            core.session.rounds += 1;
        }
    }

    /// The stretch of softirq work has gone on for too long, or a thread waits for the core: ksoftirqd takes it over,
    /// which has to share the core (`__do_softirq`: restarts, time, `need_resched`).
    pub(super) fn hand_to_ksoftirqd(&mut self, index: usize, at: SimTime) -> bool {
        let core = &mut self.cores[index];
        let session = &core.session;
        let lasts = session.since.is_some_and(|since| at - since >= Rules::LONGEST);
        let delays = session.rounds > 0 && core.has_to_switch();
        if session.rounds < Rules::ROUNDS && !(self.rules.yields && (lasts || delays)) {
            return false;
        }
        core.handed = true;
        self.wake(self.ksoftirqd[index], at);
        if !self.rules.leaves_to_ksoftirqd {
            self.calendar.push(next_tick(at), Event::Resume(index));
        }
        true
    }

    /// An interrupt goes on with softirq work on its way out, whether or not ksoftirqd is to do it, where the kernel's
    /// rules say so.
    pub(super) fn resume_softirq(&mut self, index: usize, at: SimTime) {
        if !self.rules.leaves_to_ksoftirqd && self.cores[index].handed {
            self.cores[index].handed = false;
            self.cores[index].session = Session::default();
            self.plan_core(index, at);
        }
    }

    /// A turn of ksoftirqd: one poll, until nothing is left.
    pub(super) fn ksoftirqd(&mut self, index: usize, id: ThreadId, at: SimTime, outside: &mut Outside) {
        if self.cores[index].has_softirq() {
            self.softirq(index, at, Kind::Ksoftirqd, outside);
            let took = self.cores[index].free_at - at;
            self.threads[id].virtual_time += took;
            self.cores[index].ran += took;
        }
        if !self.cores[index].has_softirq() {
            self.cores[index].handed = false;
            self.sleep(id);
        }
    }

    /// Returns how much of the budget it used up.
    fn poll_one(&mut self, index: usize, at: SimTime, kind: Kind, outside: &mut Outside) -> u32 {
        let mut taken = std::mem::take(&mut self.scratch);
        let queue = self.cores[index].polls.pop_front();
        let from_ring = queue.is_some();
        let Polled { count, used, mut cost } = match queue {
            Some(queue) => self.poll_ring(index, queue, at, &mut taken),
            None => {
                let count = self.take_backlog(index, &mut taken);
                Polled { count, used: count, cost: self.settings.costs.poll }
            }
        };
        let mut place = Place { core: index, at };
        if from_ring && !self.settings.rps.is_empty() {
            self.steer(&mut taken, outside);
        } else {
            if self.gro && from_ring {
                merge(&mut taken);
            }
            for train in taken.drain(..) {
                // The cost of taking the packets out is spread over them.
                let each = part(cost, count);
                if self.gro || train.packets == 1 || !matches!(train.body, Body::Data(_)) {
                    self.spend(&mut place, times(each, u64::from(train.packets)));
                    self.hand_over(train, &mut place, outside);
                    continue;
                }
                // Not merged, each is the stack's by itself: the reader it wakes may have the lock when the next comes.
                for index in 0..train.packets {
                    self.spend(&mut place, each);
                    self.hand_over(train.part(index, 1), &mut place, outside);
                }
            }
            if count > 0 {
                cost = Span::ZERO;
            }
        }
        self.spend(&mut place, cost);
        taken.clear();
        self.scratch = taken;
        self.cores[index].spend(kind, at, place.at);
        used
    }

    /// Takes packets out of a ring, and gives it memory for others.
    fn poll_ring(&mut self, index: usize, queue: usize, at: SimTime, taken: &mut Vec<Train>) -> Polled {
        self.admit(queue, at);
        let count = self.queues[queue].take(WEIGHT, taken);
        let (entries, lacking) = self.queues[queue].refill();
        let through = count < WEIGHT && !lacking;
        if through {
            self.queues[queue].complete(at);
            self.plan_irq(queue);
        } else {
            // irqbalance may have moved the interrupt; polling goes on where it was until the ring is empty, and has
            // all the memory it can have.
            self.cores[index].poll(queue, self.rules.once_a_round);
        }
        let costs = &self.settings.costs;
        let remote = self.cores[index].node != self.settings.nic.node as usize;
        let each = costs.rx_packet + if remote { costs.rx_packet_remote } else { Span::ZERO };
        let cost = costs.poll + times(each, u64::from(count)) + self.mapping(entries);
        Polled { count, used: if through { count } else { WEIGHT }, cost }
    }

    /// What new pages for so many shared entries of a ring cost.
    pub(super) fn mapping(&self, entries: u64) -> Span {
        times(self.settings.costs.rx_page, entries * self.settings.nic.rx_wqe.map_or(0, Bytes::get) / PAGE)
    }

    /// Time goes by at a place.
    pub(super) fn spend(&mut self, place: &mut Place, nominal: Span) {
        place.at = place.at + self.takes(place.core, place.at, nominal);
    }

    fn take_backlog(&mut self, index: usize, out: &mut Vec<Train>) -> u32 {
        let weight = self.settings.softirq.dev_weight;
        let core = &mut self.cores[index];
        let mut taken = 0;
        while taken < weight
            && let Some(front) = core.backlog.front_mut()
        {
            let wanted = weight - taken;
            let train = if front.packets <= wanted {
                core.backlog.pop_front().expect("it was looked at")
            } else {
                front.split(wanted)
            };
            taken += train.packets;
            out.push(train);
        }
        core.backlog_packets -= taken;
        taken
    }

    /// Receive Packet Steering: the protocol work goes to other cores, flow by flow.
    fn steer(&mut self, taken: &mut Vec<Train>, outside: &mut Outside) {
        for train in taken.drain(..) {
            let target = self.settings.rps[train.flow as usize % self.settings.rps.len()] as usize;
            let at = train.at;
            self.queue_backlog(target, train, outside);
            self.plan_core(target, at);
        }
    }

    /// Hands a train to its socket.
    fn hand_over(&mut self, train: Train, place: &mut Place, outside: &mut Outside) {
        let direction = Self::direction(&train);
        self.handed[direction] += u64::from(train.packets);
        if let Some(id) = self.capture {
            self.spend(place, times(self.settings.costs.capture_tap, u64::from(train.packets)));
            self.capture_packets += u64::from(train.packets);
            self.wake(id, place.at);
        }
        outside.touched.push(train.flow);
        let flow = &mut outside.flows[train.flow as usize];
        flow.count_arrival(&train, Way::of(&train.body));
        let id = train.flow;
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.filled_by = place.core;
        }
        match (&flow.endpoint, &train.body) {
            (Endpoint::Tcp(_), Body::Data(_)) => self.hand_data(train, place, outside),
            (Endpoint::Udp(_), Body::Datagram { .. }) => self.hand_datagrams(train, place, outside),
            _ => self.hand_reply(train, place, outside),
        }
    }

    fn hand_data(&mut self, train: Train, place: &mut Place, outside: &mut Outside) {
        let id = train.flow;
        let socket = self.sockets.get_mut(&id).expect("a flow's host has its socket");
        if socket.is_locked(place.at) {
            let Endpoint::Tcp(tcp) = &outside.flows[id as usize].endpoint else { return };
            // The limit is looked at before a packet counts (`sk_rcvqueues_full`).
            if socket.backlog_memory + tcp.receiver.memory() > tcp.receiver.backlog_limit() {
                self.lost.tcp_backlog[0] += u64::from(train.packets);
                return;
            }
            socket.backlog_memory += tcp.receiver.train_memory(&train, self.gro);
            socket.backlog.push_back(train);
            let thread = socket.thread;
            self.wake(thread, place.at);
            return;
        }
        self.receive_data(train, place, outside);
    }

    /// TCP takes data, answers, and wakes the reader.
    pub(super) fn receive_data(&mut self, mut train: Train, place: &mut Place, outside: &mut Outside) {
        let id = train.flow;
        let merged = self.gro && train.packets > 1;
        let segments = if merged { 1 } else { u64::from(train.packets) };
        let before = place.at;
        self.spend(place, times(self.settings.costs.rx_segment, segments));
        train.gap = if merged { Span::ZERO } else { part(place.at - before, train.packets) };
        train.at = if merged { place.at } else { before + train.gap };
        let Endpoint::Tcp(tcp) = &mut outside.flows[id as usize].endpoint else { return };
        let Body::Data(data) = &train.body else { return };
        let sent = outside.out.len();
        if merged {
            tcp.receiver.on_merged(&train, data, outside.out);
        } else {
            tcp.receiver.on_data(&train, data, outside.out);
        }
        let (wakes, finished) = (tcp.receiver.wants_reader(), tcp.receiver.is_finished());
        let unread = tcp.receiver.memory();
        if finished {
            outside.flows[id as usize].finished.get_or_insert(place.at);
        }
        self.note_unread(id, unread);
        self.send_from(sent, place, outside);
        let thread = self.sockets[&id].thread;
        if wakes && !self.threads[thread].runnable {
            self.spend(place, self.settings.costs.wakeup);
            self.wake(thread, place.at);
        }
    }

    fn hand_datagrams(&mut self, mut train: Train, place: &mut Place, outside: &mut Outside) {
        let Body::Datagram { first } = train.body else { return };
        let begin = place.at;
        self.spend(place, times(self.settings.costs.rx_datagram, u64::from(train.packets)));
        let id = train.flow;
        let socket = self.sockets.get_mut(&id).expect("a flow's host has its socket");
        let thread = socket.thread;
        let Some(datagrams) = &mut socket.datagrams else { return };
        let taken = datagrams.room().min(u64::from(train.packets));
        datagrams.waiting += taken;
        self.lost.udp_rcvbuf += u64::from(train.packets) - taken;
        if taken == 0 {
            return;
        }
        train.at = begin;
        train.gap = part(place.at - begin, train.packets);
        if taken < u64::from(train.packets) {
            train = train.split(taken as u32);
        }
        if let Endpoint::Udp(udp) = &mut outside.flows[id as usize].endpoint {
            udp.receive(&train, first);
        }
        if !self.threads[thread].runnable {
            self.spend(place, self.settings.costs.wakeup);
            self.wake(thread, place.at);
        }
    }

    /// ACKs and the handshake.
    fn hand_reply(&mut self, mut train: Train, place: &mut Place, outside: &mut Outside) {
        let id = train.flow;
        self.replies[Self::direction(&train)] += u64::from(train.packets);
        let before = place.at;
        self.spend(place, times(self.settings.costs.rx_ack, u64::from(train.packets)));
        train.gap = part(place.at - before, train.packets);
        train.at = before + train.gap;
        let walk = self.sack_walk(&train, outside);
        self.spend(place, walk);
        let sent = outside.out.len();
        outside.flows[id as usize].take(&train, outside.out);
        self.send_from(sent, place, outside);
        self.wake_writer(id, place, outside);
    }

    /// Wakes a flow's writer if there is room for it to write.
    pub(super) fn wake_writer(&mut self, id: u32, place: &mut Place, outside: &mut Outside) {
        let Endpoint::Tcp(tcp) = &outside.flows[id as usize].endpoint else { return };
        let thread = self.sockets[&id].thread;
        if tcp.sender.wants_writer() && self.is_writer(thread) && !self.threads[thread].runnable {
            self.spend(place, self.settings.costs.wakeup);
            self.wake(thread, place.at);
        }
    }
}

/// Merges packets of a flow that follow each other, up to 64 KiB or to one with PSH, whatever other flows' come between (GRO).
pub fn merge(taken: &mut Vec<Train>) {
    let mut merged: Vec<Train> = Vec::with_capacity(taken.len());
    for mut train in taken.drain(..) {
        let most = most_merged(train.frame);
        loop {
            let pushed = train.until_pushed();
            let last = merged.iter_mut().rev().find(|other| other.flow == train.flow);
            match last {
                Some(last) if last.packets < most && continues(last, &train) => {
                    let room = pushed.min(most - last.packets);
                    if train.packets <= room {
                        last.append(&train);
                        break;
                    }
                    last.append(&train.split(room));
                }
                _ if train.packets > pushed.min(most) => merged.push(train.split(pushed.min(most))),
                _ => {
                    merged.push(train);
                    break;
                }
            }
        }
    }
    *taken = merged;
}

/// Packets with such frames that GRO merges into one (`skb_gro_receive`).
fn most_merged(frame: u32) -> u32 {
    let payload = u64::from(frame).saturating_sub(ETHERNET + HEADERS).max(1);
    ((MERGED - 1 - HEADERS) / payload).max(1) as u32
}

/// Whether GRO merges `next` into `last`: data only, of one time stamp, and nothing behind a PSH (`tcp_gro_receive`).
fn continues(last: &Train, next: &Train) -> bool {
    match (&last.body, &next.body) {
        (Body::Data(a), Body::Data(b)) => a.stamp == b.stamp && !a.is_pushed(0) && last.is_continued_by(next),
        _ => false,
    }
}
