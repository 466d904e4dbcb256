//! First in, first out: queues that decide when a packet comes.

use super::arrivals::Arrivals;
use super::bucket::push_again;
use super::link::Counters;
use super::ptr_ring::PtrRing;
use super::red::{Red, Verdict};
use super::settings::{LinkSettings, QueueSettings};
use super::timetable::Position;
use super::train::{Arrival, Ecn, Train};
use super::wire::{Wire, put};
use wirespeed_units::Span;

/// A drop-tail queue, which may mark or be managed by RED.
#[derive(Debug, Clone)]
pub(crate) struct Fifo {
    room: Room,
    /// A packet that finds more bytes than this waiting is marked.
    threshold: u64,
    red: Option<Box<Red>>,
    train_limit: u32,
    /// Transmit descriptors; `u64::MAX` if this is not an interface.
    ring: u64,
    /// Packets accepted since the transmitter was last idle.
    burst: u64,
}

#[derive(Debug, Clone, Copy)]
enum Room {
    Bytes(u64),
    Packets(u64),
    Array(PtrRing),
}

/// Packets and bytes.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packets: u64,
    bytes: u64,
}

impl Room {
    /// Whether `packets` more of `frame` bytes may wait beside `waiting`.
    #[inline]
    fn takes(self, waiting: Waiting, frame: u32, packets: u32) -> bool {
        match self {
            Room::Bytes(limit) => waiting.bytes + u64::from(frame) * u64::from(packets) <= limit,
            Room::Packets(limit) => waiting.packets + u64::from(packets) <= limit,
            Room::Array(ring) => waiting.packets + u64::from(packets) <= ring.sure_room(),
        }
    }
}

impl Fifo {
    /// The queue of `settings`, if it is one of those.
    pub(crate) fn new(settings: &LinkSettings) -> Option<Fifo> {
        let (room, threshold, red) = match &settings.queue {
            QueueSettings::DropTailBytes { limit, ecn_threshold } => {
                (Room::Bytes(*limit), *ecn_threshold, None)
            }
            QueueSettings::DropTailPackets { limit, ecn_threshold } => {
                (Room::Packets((*limit).into()), *ecn_threshold, None)
            }
            QueueSettings::PtrRing { size } => (Room::Array(PtrRing::new(*size)), None, None),
            QueueSettings::Red(red) => {
                (Room::Bytes(red.limit), None, Some(Box::new(Red::new(red, settings.seed))))
            }
            QueueSettings::CoDel(_)
            | QueueSettings::FqCodel(_)
            | QueueSettings::DualPi2(_)
            | QueueSettings::Fq(_) => return None,
        };
        let threshold = threshold.unwrap_or(u64::MAX);
        let ring = settings.ring.map_or(u64::MAX, u64::from);
        Some(Fifo { room, threshold, red, train_limit: settings.train_limit, ring, burst: 0 })
    }

    /// Whether the whole train gets through unmarked beside `waiting`, however much of that leaves meanwhile.
    #[inline]
    fn is_ample(&self, waiting: Waiting, train: &Train) -> bool {
        let before = waiting.bytes + u64::from(train.frame) * u64::from(train.packets - 1);
        self.room.takes(waiting, train.frame, train.packets)
            && (before <= self.threshold || train.ecn == Ecn::NotCapable)
            && self.red.is_none()
            && waiting.packets.saturating_add(u64::from(train.packets)) <= self.ring
    }

    /// Whether it does because frames leave while it comes: `waiting`, which counts accepted packets that are still to
    /// come as if they were there, grows by no more than those that come faster than they leave.
    fn is_steady(&self, waiting: Waiting, train: &Train, wire: &mut Wire) -> bool {
        let service = wire.transmitter.service(train.frame);
        let each = service.whole + i64::from(service.part > 0);
        let others = i64::from(train.packets - 1);
        let (at, gap) = (train.at.picoseconds(), train.gap.picoseconds());
        // What rounding a gap to picoseconds makes of it over the train.
        let off = i64::from(train.packets);
        let in_step = gap >= service.whole
            && wire.table.next_start().is_some_and(|next| next - at <= service.whole - off);
        let growth = if in_step {
            // One leaves before each further one comes.
            1
        } else {
            // One for the first and one for what a division leaves.
            2 + others - (others * gap / each).min(others)
        };
        let most = waiting.bytes + u64::from(train.frame) * growth as u64;
        self.room.takes(waiting, train.frame, growth as u32)
            && (most <= self.threshold || train.ecn == Ecn::NotCapable)
            && self.red.is_none()
            && self.ring == u64::MAX
            && wire.table.waits_evenly(train.frame)
    }

    /// A train comes. Answers when it arrives at the far end if it gets there as a whole; otherwise what does is in
    /// `out`.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        train: &Train,
        wire: &mut Wire,
        counters: &mut Counters,
        out: &mut Vec<Train>,
    ) -> Option<Arrival> {
        wire.tidy(train.at.picoseconds());
        if wire.changing.is_some() {
            self.offer_changing(train, wire, counters, out);
            return None;
        }
        // What had started when the table was last brought up to date has started now: an upper bound.
        if self.is_ample(not_started(wire), train) {
            self.count_burst(train, wire);
            wire.send(train, out)
        } else {
            self.offer_near_limit(train, wire, counters, out)
        }
    }

    #[inline(never)]
    fn offer_near_limit(
        &mut self,
        train: &Train,
        wire: &mut Wire,
        counters: &mut Counters,
        out: &mut Vec<Train>,
    ) -> Option<Arrival> {
        wire.table.advance_start(train.at.picoseconds());
        let waiting = not_started(wire);
        if let (Room::Array(ring), Span::ZERO) = (self.room, train.gap) {
            return self.offer_burst(train, ring, wire, counters, out);
        }
        if self.is_ample(waiting, train) || self.is_steady(waiting, train, wire) {
            self.count_burst(train, wire);
            wire.send(train, out)
        } else if train.packets == 1 {
            let waiting = waiting_at(train.at.picoseconds(), &mut wire.table.started(), wire);
            match self.decide(train, waiting, wire, counters) {
                Fate::Dropped => None,
                Fate::Passes => wire.send(train, out),
                Fate::Marked => {
                    send_marked(train.clone(), wire, out);
                    None
                }
            }
        } else {
            self.offer_each(train, wire, counters, out);
            None
        }
    }

    /// Packets come to an array at once: none is taken out before the last of them has come.
    fn offer_burst(
        &mut self,
        train: &Train,
        ring: PtrRing,
        wire: &mut Wire,
        counters: &mut Counters,
        out: &mut Vec<Train>,
    ) -> Option<Arrival> {
        let fits = u64::from(train.packets).min(array_room(train.at.picoseconds(), ring, wire)) as u32;
        counters.overflow += u64::from(train.packets - fits);
        match fits {
            0 => None,
            _ if fits == train.packets => wire.send(train, out),
            _ => {
                send(train.part(0, fits), wire, out);
                None
            }
        }
    }

    /// Counts packets of an interface's burst: those since it was idle for longer than a few frames last.
    #[inline]
    fn count_burst(&mut self, train: &Train, wire: &Wire) {
        if self.ring == u64::MAX {
            return;
        }
        if wire.transmitter.free() + BURST_PAUSE.picoseconds() <= train.at.picoseconds() {
            self.burst = 0;
        }
        self.burst += u64::from(train.packets);
    }

    /// Decides packet by packet.
    fn offer_each(&mut self, train: &Train, wire: &mut Wire, counters: &mut Counters, out: &mut Vec<Train>) {
        let base = out.len();
        let mut started = wire.table.started();
        let mut arrivals = Arrivals::default();
        let mut i = 0;
        while i < train.packets {
            let at = train.at.picoseconds() + train.gap.picoseconds() * i64::from(i);
            let waiting = waiting_at(at, &mut started, wire);
            let sure = self.sure(train, i, waiting, wire);
            if sure > 0 {
                send(train.part(i, sure), wire, out);
                i += sure;
                continue;
            }
            let before = out.len();
            if wire.transmitter.free() <= at && self.pass(train, train.packets - i, wire) {
                // From here on none waits. As one train they leave room for those of other flows (Wire::send).
                send(train.part(i, train.packets - i), wire, out);
                break;
            }
            let mut packet = train.part(i, 1);
            packet.gap = Span::ZERO;
            match self.decide(&packet, waiting, wire, counters) {
                Fate::Dropped if self.ring < u64::MAX => {
                    // TCP stops at the first that its host refuses.
                    counters.overflow += u64::from(train.packets - i - 1);
                    break;
                }
                Fate::Dropped => {}
                Fate::Passes => {
                    send(packet, wire, out);
                    arrivals.add(at);
                }
                Fate::Marked => {
                    send_marked(packet, wire, out);
                    arrivals.add(at);
                }
            }
            push_again(out, base, before, self.train_limit);
            i += 1;
        }
        arrivals.enter(train.at.picoseconds(), train.frame, &mut wire.pending);
    }

    /// Decides packet by packet before a line that changes.
    #[inline(never)]
    fn offer_changing(
        &mut self,
        train: &Train,
        wire: &mut Wire,
        counters: &mut Counters,
        out: &mut Vec<Train>,
    ) {
        let base = out.len();
        let mut arrivals = Arrivals::default();
        for i in 0..train.packets {
            let at = train.at.picoseconds() + train.gap.picoseconds() * i64::from(i);
            let Some(changing) = &mut wire.changing else { return };
            let (not_started, pending) = (changing.not_started(at), wire.pending.after(at));
            let waiting = Waiting {
                packets: not_started.0.saturating_sub(pending.0),
                bytes: not_started.1.saturating_sub(pending.1),
            };
            if let Room::Bytes(limit) = &mut self.room {
                *limit = changing.limit(at);
            }
            let mut packet = train.part(i, 1);
            packet.gap = Span::ZERO;
            let before = out.len();
            match self.decide(&packet, waiting, wire, counters) {
                Fate::Dropped => continue,
                Fate::Passes => send(packet, wire, out),
                Fate::Marked => send_marked(packet, wire, out),
            }
            arrivals.add(at);
            push_again(out, base, before, self.train_limit);
        }
        arrivals.enter(train.at.picoseconds(), train.frame, &mut wire.pending);
    }

    /// How many packets of `train`, from number `first` on, get in unmarked beside `waiting` even if nothing leaves
    /// meanwhile; 0 if that is not worth the question.
    fn sure(&self, train: &Train, first: u32, waiting: Waiting, wire: &Wire) -> u32 {
        let left = train.packets - first;
        let may_mark = self.threshold < u64::MAX && train.ecn != Ecn::NotCapable;
        if left == 1 || may_mark || self.red.is_some() || self.ring < u64::MAX {
            return 0;
        }
        let (at, gap) = (train.at.picoseconds(), train.gap.picoseconds());
        let at = at + gap * i64::from(first);
        let room = match self.room {
            Room::Packets(limit) => limit.saturating_sub(waiting.packets),
            Room::Array(ring) => ring.sure_room().saturating_sub(waiting.packets),
            Room::Bytes(limit) => limit.saturating_sub(waiting.bytes) / u64::from(train.frame),
        };
        // Half of the room for what other trains bring meanwhile; then it is seen whether that is enough.
        let packets = u64::from(left).min(room / 2) as u32;
        if packets < LEAST_SURE {
            return 0;
        }
        let (now, then) = (wire.pending.after(at), wire.pending.after(at + gap * i64::from(packets - 1)));
        let others =
            Waiting { packets: waiting.packets + now.0 - then.0, bytes: waiting.bytes + now.1 - then.1 };
        if self.room.takes(others, train.frame, packets) { packets } else { 0 }
    }

    /// Whether `packets` that come as those of `train` pass a transmitter that is idle when the first comes.
    fn pass(&mut self, train: &Train, packets: u32, wire: &mut Wire) -> bool {
        let service = wire.transmitter.service(train.frame).whole;
        let idle = train.gap.picoseconds() - service;
        let share = idle as f64 / service.max(1) as f64;
        packets > 1 && idle >= 0 && self.red.as_mut().is_none_or(|red| red.passes_idle(packets, share))
    }

    /// Decides about one packet, which finds `waiting`.
    fn decide(&mut self, packet: &Train, waiting: Waiting, wire: &mut Wire, counters: &mut Counters) -> Fate {
        let at = packet.at.picoseconds();
        let idle = at - wire.transmitter.free();
        let can_mark = packet.ecn.can_be_marked();
        let mut congested = waiting.bytes > self.threshold && can_mark;
        if let Some(red) = &mut self.red {
            let service = wire.transmitter.service(packet.frame).whole.max(1);
            let idle = (idle >= 0).then(|| idle as f64 / service as f64);
            congested = red.decide(waiting.bytes, idle) == Verdict::Congested;
            counters.overlimits += u64::from(congested);
            if congested && !(red.ecn() && can_mark) {
                counters.overflow += 1;
                counters.managed += 1;
                return Fate::Dropped;
            }
        }
        let fits = match self.room {
            Room::Array(ring) => array_room(at, ring, wire) > 0,
            _ => self.room.takes(waiting, packet.frame, 1),
        };
        if idle < 0 && !fits {
            counters.overflow += 1;
            return Fate::Dropped;
        }
        self.count_burst(packet, wire);
        if waiting.packets >= self.ring {
            // No descriptor is free: it is taken out of the queueing discipline once in vain.
            counters.requeues += 1;
            counters.first_requeue.get_or_insert((packet.at, self.burst));
        }
        if congested {
            counters.marked += 1;
            return Fate::Marked;
        }
        Fate::Passes
    }
}

/// What becomes of a packet at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Dropped,
    Passes,
    Marked,
}

fn send(train: Train, wire: &mut Wire, out: &mut Vec<Train>) {
    let arrival = wire.send(&train, out);
    put(out, train, arrival);
}

fn send_marked(mut packet: Train, wire: &mut Wire, out: &mut Vec<Train>) {
    packet.ecn = Ecn::Marked;
    send(packet, wire, out);
}

/// Fewer packets are decided one by one.
const LEAST_SURE: u32 = 3;

/// A pause in what an interface sends that parts one burst from the next: longer than a few frames last at
/// 1 Gbit/s, shorter than any round-trip time that makes rounds visible.
pub(crate) const BURST_PAUSE: Span = Span::us(200);

/// What waits at `at`, to which `started` is moved.
fn waiting_at(at: i64, started: &mut Position, wire: &Wire) -> Waiting {
    wire.table.start_until(started, at);
    let pending = wire.pending.after(at);
    Waiting {
        packets: (wire.table.packets - started.packets).saturating_sub(pending.0),
        bytes: (wire.table.bytes - started.bytes).saturating_sub(pending.1),
    }
}

/// Free places in an array of packets at `at`.
fn array_room(at: i64, ring: PtrRing, wire: &Wire) -> u64 {
    let entered = wire.table.packets + wire.in_transit.packets;
    let waiting = waiting_at(at, &mut wire.table.started(), wire);
    ring.room(entered, entered - waiting.packets)
}

/// What is accepted and has not started, as far as the table knows.
#[inline]
fn not_started(wire: &Wire) -> Waiting {
    let started = wire.table.started();
    Waiting { packets: wire.table.packets - started.packets, bytes: wire.table.bytes - started.bytes }
}
