//! What arriving data does (`tcp_rcv_established`, `tcp_data_queue`, `tcp_data_queue_ofo`).

use super::{DELAY_MAX_TICKS, DELAY_MIN_TICKS, Receiver};
use crate::due::Due;
use crate::net::{Ack, Body, Data, Ecn, Train};
use crate::tcp::Feedback;
use crate::tcp::clock::{self, PAWS_WINDOW};
use std::cmp::Ordering;
use wirespeed_units::{SimTime, Span};

/// `TCP_MAX_QUICKACKS`.
pub(super) const QUICK_ACKS: u32 = 16;
/// SACK blocks after which a further one makes held-back ACKs leave (TCP_SACK_BLOCKS_EXPECTED).
const BLOCKS_EXPECTED: usize = 2;

impl Receiver {
    /// Data arrives: `packets` at `at`, `at + gap`, ...
    pub fn on_data(&mut self, train: &Train, data: &Data, out: &mut Vec<Train>) {
        self.on_confirm(train.at);
        if self.settings.timestamps && !self.is_from_before(data.first, data.stamp) {
            self.buffer.measure_by_stamp(clock::stamp(train.at), data.echo);
        }
        if train.packets == 1 && self.take_plain(train, data, out) {
            return;
        }
        let mut index = 0;
        let is_pushed = |index: u32| data.is_pushed(train.packets - 1 - index);
        if data.last {
            self.end = Some(data.first + u64::from(train.packets));
        }
        while index < train.packets {
            let at = train.at + train.gap * i64::from(index);
            // A timer that is due between two packets of a train comes between them, and one that is due with a packet before it:
            // the timers' softirqs come before that of the network.
            if self.deadline().has_come(at) {
                self.on_timer(self.deadline().time(), out);
            }
            let taken = self.take_even(train, data, index, at, out);
            if taken > 0 {
                index += taken;
                self.pushed = self.next > self.acknowledged && is_pushed(index - 1);
                continue;
            }
            self.now = self.now.max(at);
            self.pushed |= is_pushed(index);
            self.on_packet(data.first + u64::from(index), train.frame, train.ecn, data, out);
            index += 1;
        }
    }

    /// Nothing is missing or to be reported, so that only every second packet is acknowledged.
    #[inline]
    fn is_plain(&self) -> bool {
        self.order.is_empty()
            && !self.order.has_duplicate()
            && self.quick == 0
            && !self.ack_now
            && !self.settings.feedback.is_on()
            && self.interval > 0
    }

    /// Fast path of [`Receiver::on_packet`]: a single packet that is the next one, if the only decision left is whether it is
    /// acknowledged. Returns false, and changes nothing, if it does not apply.
    #[inline]
    fn take_plain(&mut self, train: &Train, data: &Data, out: &mut Vec<Train>) -> bool {
        let waiting = self.next - self.acknowledged;
        let payload = train.frame.saturating_sub(self.header()).max(1);
        let is_plain = data.first == self.next
            && waiting <= 1
            && data.stamp >= self.echo
            && payload >= self.settings.mss
            && !data.last
            && !self.bounds_message(data.first, 1)
            && self.is_plain()
            && self.buffer.takes_plain(payload, self.next);
        if !is_plain {
            return false;
        }
        self.now = self.now.max(train.at);
        self.counts.packets_in += 1;
        if waiting == 0 {
            self.echo = data.stamp;
        }
        self.buffer.take(self.next, 1, payload);
        self.buffer.measure_round_trip(self.now, self.next);
        self.note_arrival();
        self.next += 1;
        if waiting > 0 || self.quick > 0 {
            self.acknowledge(out);
        } else {
            self.pushed |= data.is_pushed(0);
            self.delay();
        }
        true
    }

    /// Takes as many of the train's packets, from number `index` on, which comes at `at`, as arrive in order while nothing
    /// but every other packet's ACK is due; returns how many, 0 if they must be looked at one by one.
    fn take_even(
        &mut self,
        train: &Train,
        data: &Data,
        index: u32,
        at: SimTime,
        out: &mut Vec<Train>,
    ) -> u32 {
        let left = train.packets - index;
        let first = data.first + u64::from(index);
        let even = left > 1
            && first == self.next
            && self.next - self.acknowledged <= 1
            && data.stamp >= self.echo
            && !data.last
            && !self.bounds_message(first, left)
            && self.is_plain();
        if !even {
            return 0;
        }
        let room = self.buffer.takes_unread(train.frame_payload(self.settings.mss), left);
        let packets = if room > 1 { before_tick(at, train.gap, room) } else { 0 };
        if packets < 2 {
            return 0;
        }
        let last = at + train.gap * i64::from(packets - 1);
        let waiting = (self.next - self.acknowledged) as u32;
        self.counts.packets_in += u64::from(packets);
        self.now = self.now.max(last);
        self.note_arrival();
        // As for a packet alone, it is asked before the packet counts.
        self.buffer.measure_round_trips(at, train.gap, self.next, packets);
        let (first, acks) = (self.next, (packets + waiting) / 2);
        self.next += u64::from(packets);
        // The first ACK leaves with the packet that is the second since the last ACK.
        let first_ack = 1 - waiting;
        let window = self.buffer.take_acknowledged(first, packets, self.acknowledged);
        if acks > 0 {
            self.echo = data.stamp;
            let covered = self.acknowledged + 2;
            self.acknowledged += u64::from(acks) * 2;
            self.delayed = Due::NEVER;
            self.compressed = 0;
            self.compressed_at = Due::NEVER;
            self.counts.acks_out += u64::from(acks);
            out.push(Train {
                at: at + train.gap * i64::from(first_ack),
                gap: train.gap * 2,
                packets: acks,
                frame: self.settings.ack_frame,
                flow: self.flow,
                ecn: Ecn::NotCapable,
                body: Body::Ack(Ack {
                    next: covered,
                    stride: 2,
                    window,
                    stamp: clock::stamp(at),
                    echo: data.stamp,
                    ece: false,
                    asks: false,
                    marks: None,
                    sack: None,
                }),
            });
        }
        if self.next > self.acknowledged {
            self.delay();
        } else {
            // The last packet but one was the last that waited.
            self.armed = self.delayed_from(last + train.gap * -1);
        }
        packets
    }

    /// Counts packets that arrived. A separate FIN is not data (`tcpi_data_segs_in`).
    #[inline]
    pub(super) fn count(&mut self, packets: u32, frame: u32) {
        if frame > self.header() {
            self.counts.packets_in += u64::from(packets);
        } else {
            self.counts.own_fins += u64::from(packets);
        }
    }

    /// The clockwork of delayed ACKs (`tcp_event_data_recv`).
    #[inline(always)]
    pub(super) fn note_arrival(&mut self) {
        let tick = clock::ticks(self.now);
        if self.interval == 0 {
            self.enter_quick_mode();
        } else {
            let pause = tick - self.last_data;
            if pause <= DELAY_MIN_TICKS / 2 {
                self.interval = (self.interval >> 1) + DELAY_MIN_TICKS / 2;
            } else if pause < self.interval {
                self.interval = ((self.interval >> 1) + pause).min(DELAY_MAX_TICKS);
            } else if pause > self.timeout_ticks() {
                self.quicken(QUICK_ACKS);
            }
        }
        self.last_data = tick;
    }

    /// The receiver's own retransmission timeout: it knows the handshake's round-trip time and no other.
    pub(super) fn timeout_ticks(&self) -> i64 {
        let variance = (2 * self.handshake_us).max(crate::tcp::rtt::RTO_MIN_US);
        clock::ticks_of(self.handshake_us + variance)
    }

    /// `tcp_enter_quickack_mode`.
    pub(super) fn enter_quick_mode(&mut self) {
        self.message.is_interactive = false;
        self.quicken(QUICK_ACKS);
        self.interval = DELAY_MIN_TICKS;
    }

    /// `tcp_incr_quickack`.
    pub(super) fn quicken(&mut self, most: u32) {
        let window = self.buffer.offered() / (2 * u64::from(self.settings.mss));
        let acks = if window == 0 { 2 } else { window.min(u64::from(most)) as u32 };
        self.quick = self.quick.max(acks);
    }

    /// A packet by itself.
    #[inline(always)]
    pub(super) fn on_packet(&mut self, number: u64, frame: u32, ecn: Ecn, data: &Data, out: &mut Vec<Train>) {
        self.count(1, frame);
        if self.is_from_before(number, data.stamp) {
            self.on_old(number, out);
            return;
        }
        // The stamp of the packet that advances what was last acknowledged is echoed (RFC 7323, 4.3).
        if number <= self.acknowledged {
            self.echo = self.echo.max(data.stamp);
        }
        let payload = frame.saturating_sub(self.header());
        if self.settings.feedback == Feedback::Accurate {
            self.count_marks(ecn, payload, 1);
        }
        // What is smaller than a segment is taken for the end of what the peer wrote (`tcp_measure_rcv_mss`).
        self.pushed |= payload < self.settings.mss;
        match number.cmp(&self.next) {
            Ordering::Equal => self.on_next(number, payload, ecn, data, out),
            Ordering::Less => self.on_duplicate(number, out),
            Ordering::Greater => self.on_out_of_order(number, payload, ecn, data, out),
        }
    }

    fn on_duplicate(&mut self, number: u64, out: &mut Vec<Train>) {
        self.counts.duplicates += 1;
        self.order.report_duplicate(number..number + 1);
        self.enter_quick_mode();
        self.settle(out);
    }

    /// A packet is below the last ACK (`tcp_sequence`), or others overtook it by so much that it is taken for one of an
    /// earlier time, although it may be missing still (PAWS of RFC 7323).
    fn is_from_before(&self, number: u64, stamp: u32) -> bool {
        let is_late = i64::from(self.echo) - i64::from(stamp) > PAWS_WINDOW;
        is_late && self.settings.timestamps || number + 1 < self.acknowledged
    }

    /// Such a packet is answered (`tcp_send_dupack`).
    #[cold]
    fn on_old(&mut self, number: u64, out: &mut Vec<Train>) {
        self.counts.duplicates += 1;
        if number < self.next {
            self.order.report_duplicate(number..number + 1);
            self.enter_quick_mode();
        }
        self.answer(out);
    }

    /// The packet that was waited for.
    fn on_next(&mut self, number: u64, payload: u32, ecn: Ecn, data: &Data, out: &mut Vec<Train>) {
        let fits = self.buffer.fits() && self.buffer.current(self.next) > 0;
        if !fits && self.refuses_next(number, out) {
            return;
        }
        self.order.forget_duplicate();
        self.buffer.take(self.next, 1, payload);
        if payload > 0 {
            self.buffer.measure_round_trip(self.now, self.next);
            self.note_arrival();
        }
        if self.settings.feedback.echoes() {
            self.check_mark(number, ecn, data, out);
        }
        if payload > 0 && self.buffer.grow(payload, 1) {
            self.quick |= 1;
        }
        self.next += 1;
        if payload < self.settings.mss {
            self.fall_short(number, self.settings.mss - payload);
        }
        if !self.order.is_empty() {
            self.fill_hole();
        }
        self.settle(out);
        self.read(out);
        self.note_message(out);
    }

    /// What was held and is in order now is delivered.
    fn fill_hole(&mut self) {
        let buffer = &mut self.buffer;
        self.next = self.order.advance(self.next, |held| buffer.deliver(&held));
        self.buffer.hold(self.order.memory());
        self.count_held_shorts();
        if self.order.is_empty() {
            self.ack_now = true;
        }
    }

    /// Packet `number`, which arrived in order, carries less than a full segment.
    #[cold]
    fn fall_short(&mut self, number: u64, missing: u32) {
        self.buffer.fall_short(missing.into());
        if let Some(rare) = &mut self.rare {
            // It may have been held and thrown away since.
            rare.shorts.retain(|(short, _)| *short != number);
        }
    }

    /// The same of a packet that is held out of order.
    #[cold]
    fn hold_short(&mut self, number: u64, missing: u32) {
        let shorts = &mut self.rare.get_or_insert_default().shorts;
        if shorts.iter().all(|(short, _)| *short != number) {
            shorts.push((number, missing));
        }
    }

    /// Counts the short packets among those that were held and are in order now.
    fn count_held_shorts(&mut self) {
        let Some(rare) = self.rare.as_mut().filter(|rare| !rare.shorts.is_empty()) else { return };
        let next = self.next;
        let delivered = rare.shorts.extract_if(.., |(number, _)| *number < next);
        self.buffer.held_fell_short(delivered.map(|(_, missing)| u64::from(missing)).sum());
    }

    pub(super) fn header(&self) -> u32 {
        // Ethernet, IPv4, TCP and the time stamps with their padding.
        14 + 20 + 20 + if self.settings.timestamps { 12 } else { 0 }
    }

    fn on_out_of_order(&mut self, number: u64, payload: u32, ecn: Ecn, data: &Data, out: &mut Vec<Train>) {
        if self.settings.feedback.echoes() {
            self.check_mark(number, ecn, data, out);
        }
        let fits = self.buffer.fits() && !self.buffer.excludes(number, data.missing, self.next);
        if !fits && self.refuses_later(number, data.missing, out) {
            return;
        }
        if payload < self.settings.mss {
            self.hold_short(number, self.settings.mss - payload);
        }
        let is_new = !self.order.contains(number);
        self.order.forget_duplicate();
        if is_new {
            self.counts.out_of_order += 1;
        } else {
            self.counts.duplicates += 1;
            self.order.report_duplicate(number..number + 1);
        }
        let fragments = self.buffer.layout().fragments(number, 1) as u32;
        let (each, before) = (self.buffer.each(u64::from(payload)), self.order.memory());
        self.order.insert(number, fragments, each);
        // What becomes part of a held packet counts at once, any other packet only after this (`skb_set_owner_r`).
        if self.order.memory() - before < each.fragment + each.overhead {
            self.buffer.hold(self.order.memory());
        }
        let extended = self.order.extend(number);
        // The delayed ACK leaves before a new block is among those it reports, and before an extended one comes first.
        let many = extended.unwrap_or(self.order.blocks()) >= BLOCKS_EXPECTED;
        let answered = self.settings.sack && many && self.flush_compressed(out);
        self.order.note(number, extended);
        // As long as the window opens, acknowledgements are not held back.
        if is_new && self.settings.sack && self.buffer.grow(payload, 1) {
            self.quick |= 1;
        }
        self.buffer.hold(self.order.memory());
        // That acknowledgement counts as this packet's too, although it does not report it (`tcp_ack_snd_check`).
        if !answered {
            self.settle(out);
        }
    }

    /// ECN at a receiver that uses it (`tcp_ecn_check_ce`, `dctcp_ece_ack_update`).
    pub(super) fn check_mark(&mut self, number: u64, ecn: Ecn, data: &Data, out: &mut Vec<Train>) {
        // The sender's window may be a single packet now: `tcp_ecn_accept_cwr` acknowledges at once.
        let is_answer = data.cwr && number == data.first;
        self.ack_now |= is_answer;
        if self.settings.feedback == Feedback::ExactEcho {
            let marked = ecn == Ecn::Marked;
            if marked != self.congestion_seen {
                // What came before is acknowledged with the old state, this packet with the new one.
                if self.delayed.is_set() {
                    self.acknowledge(out);
                }
                self.congestion_seen = marked;
                self.ack_now = true;
            }
            return;
        }
        if is_answer {
            self.congestion_seen = false;
        }
        match ecn {
            Ecn::Marked => {
                if !self.congestion_seen {
                    self.quicken(2);
                    self.interval = DELAY_MIN_TICKS;
                    self.congestion_seen = true;
                }
                self.ecn_was_seen = true;
            }
            Ecn::Capable | Ecn::Scalable => self.ecn_was_seen = true,
            Ecn::NotCapable => {
                if self.ecn_was_seen {
                    self.quicken(2);
                }
            }
        }
    }
}

/// How many of `packets` that come at `at`, `at + gap`, ... do so before the millisecond clock goes on: the stamps of
/// their acknowledgements are the same.
fn before_tick(at: SimTime, gap: Span, packets: u32) -> u32 {
    if clock::stamp(at) == clock::stamp(at + gap * i64::from(packets - 1)) {
        return packets;
    }
    let left = (clock::next_tick(at) - at).picoseconds() as u64;
    left.div_ceil(gap.picoseconds().max(1) as u64) as u32
}
