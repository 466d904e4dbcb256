//! The receiving end of a TCP connection: what is acknowledged when, and the window that is offered
//! (`net/ipv4/tcp_input.c`, `tcp_output.c`).

mod buffer;
mod merged;
mod order;

use crate::net::{Ack, Body, Data, Ecn, Step, Train};
use crate::tcp::clock;
use buffer::Buffer;
use order::Order;
use std::ops::Range;
use wirespeed_units::{SimTime, Span};

pub use buffer::BufferSettings;

/// `TCP_MAX_QUICKACKS`.
const QUICK_ACKS: u32 = 16;
/// Least delay of a delayed ACK, TCP_ATO_MIN and TCP_DELACK_MIN, in ticks.
const DELAY_MIN_TICKS: i64 = 40;
/// Largest delay, TCP_DELACK_MAX, in ticks.
const DELAY_MAX_TICKS: i64 = 200;
/// `net.ipv4.tcp_comp_sack_nr`: duplicate ACKs held back at most.
const COMPRESSED_MOST: u32 = 44;
/// `net.ipv4.tcp_comp_sack_delay_ns`, and `tcp_comp_sack_slack_ns`. The slack always passes: a timer that fires in
/// softirq (HRTIMER_MODE_SOFT) is looked at only when the earliest of its kind is due with its slack
/// (kernel/time/hrtimer.c, `softirq_expires_next`), and TCP has few others.
const COMPRESSED_DELAY: Span = Span::ms(1);
const COMPRESSED_SLACK: Span = Span::us(100);
/// Duplicate ACKs sent at once before any is held back (TCP_FASTRETRANS_THRESH).
const UNCOMPRESSED: u32 = 3;
/// SACK blocks after which a further one makes held-back ACKs leave (TCP_SACK_BLOCKS_EXPECTED).
const BLOCKS_EXPECTED: usize = 2;

/// What a receiver is made with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Number of the flow.
    pub flow: u32,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Bytes of an ACK's frame without SACK blocks.
    pub ack_frame: u32,
    /// Bytes of the handshake's frames.
    pub handshake_frame: u32,
    /// RFC 7323 timestamps are used.
    pub timestamps: bool,
    /// RFC 2018 selective acknowledgements are used.
    pub sack: bool,
    /// RFC 3168 is used.
    pub ecn: bool,
    /// ECN as DCTCP's receiver echoes it: every change of mark is acknowledged at once (RFC 8257).
    pub exact_ecn: bool,
    /// Receive buffer.
    pub buffer: BufferSettings,
}

/// Counts that a recording shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data packets that arrived.
    pub packets_in: u64,
    /// Packets that arrived out of order.
    pub out_of_order: u64,
    /// Packets that arrived a second time.
    pub duplicates: u64,
    /// Packets for which there was no memory.
    pub dropped: u64,
    /// ACKs sent.
    pub acks_out: u64,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    settings: Settings,
    now: SimTime,
    next: u64,
    /// What was next at the last ACK (`rcv_wup`).
    acknowledged: u64,
    order: Order,
    buffer: Buffer,
    quick: u32,
    interval: i64,
    last_data: i64,
    delayed: Option<SimTime>,
    compressed: u32,
    compressed_at: Option<SimTime>,
    compressed_next: u64,
    duplicate_acks: u32,
    echo: u32,
    /// The millisecond clock of the packet that the next ACK will echo (`ts_recent`).
    congestion_seen: bool,
    ecn_was_seen: bool,
    opened: SimTime,
    /// Round-trip time of the handshake in microseconds, 0 before it is over.
    handshake_us: i64,
    ack_now: bool,
    end: Option<u64>,
    counts: Counts,
}

impl Receiver {
    /// A listening socket.
    pub fn new(settings: Settings) -> Self {
        let buffer = Buffer::new(&settings.buffer, settings.mss);
        Receiver {
            settings,
            now: SimTime::START,
            next: 0,
            acknowledged: 0,
            order: Order::default(),
            buffer,
            quick: 0,
            interval: 0,
            last_data: 0,
            delayed: None,
            compressed: 0,
            compressed_at: None,
            compressed_next: u64::MAX,
            duplicate_acks: 0,
            echo: 0,
            congestion_seen: false,
            ecn_was_seen: false,
            opened: SimTime::START,
            handshake_us: 0,
            ack_now: false,
            end: None,
            counts: Counts::default(),
        }
    }

    /// A SYN arrived: the answer leaves.
    pub fn on_connect(&mut self, now: SimTime, stamp: u32, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        self.echo = stamp;
        self.opened = now;
        out.push(Train {
            at: now,
            gap: Span::ZERO,
            packets: 1,
            frame: self.settings.handshake_frame,
            flow: self.settings.flow,
            ecn: Ecn::NotCapable,
            body: Body::Handshake { step: Step::Reply, stamp, window: self.buffer.offered() },
        });
    }

    /// The handshake's last packet arrived, or data in its place: only now is the connection established.
    pub fn on_confirm(&mut self, now: SimTime) {
        if self.handshake_us == 0 {
            self.handshake_us = (clock::micros(now) - clock::micros(self.opened)).max(1);
            self.buffer.open(now);
        }
    }

    /// Data arrives: `packets` at `at`, `at + gap`, ...
    pub fn on_data(&mut self, train: &Train, data: &Data, out: &mut Vec<Train>) {
        self.on_confirm(train.at);
        if self.settings.timestamps {
            self.buffer.measure_by_stamp(clock::stamp(train.at), data.echo);
        }
        let mut index = 0;
        if data.last {
            self.end = Some(data.first + u64::from(train.packets));
        }
        while index < train.packets {
            let taken = self.take_even(train, data, index, out);
            if taken > 0 {
                index += taken;
                continue;
            }
            self.now = self.now.max(train.at + train.gap * i64::from(index));
            self.on_packet(data.first + u64::from(index), train.frame, train.ecn, data, out);
            index += 1;
        }
    }

    /// Takes as many of the train's packets as arrive in order while nothing but every other packet's ACK is due;
    /// returns how many, 0 if they must be looked at one by one.
    fn take_even(&mut self, train: &Train, data: &Data, index: u32, out: &mut Vec<Train>) -> u32 {
        let left = train.packets - index;
        let first = data.first + u64::from(index);
        let even = left > 1
            && first == self.next
            && self.order.is_empty()
            && !self.order.has_duplicate()
            && self.quick == 0
            && !self.ack_now
            && !self.settings.ecn
            && self.next - self.acknowledged <= 1
            && !data.last
            && self.interval > 0;
        if !even {
            return 0;
        }
        let packets = left.min(self.buffer.takes_unread(train.frame_payload(self.settings.mss)));
        if packets < 2 {
            return 0;
        }
        let at = train.at + train.gap * i64::from(index);
        let last = train.at + train.gap * i64::from(index + packets - 1);
        let waiting = (self.next - self.acknowledged) as u32;
        self.counts.packets_in += u64::from(packets);
        self.buffer.take(packets, self.settings.mss);
        self.now = self.now.max(last);
        self.note_arrival();
        self.next += u64::from(packets);
        self.buffer.measure_round_trip(self.now, self.next);
        let acks = (packets + waiting) / 2;
        // The first ACK leaves with the packet that is the second since the last ACK.
        let first_ack = 1 - waiting;
        if acks > 0 {
            self.echo = data.stamp;
            let covered = self.acknowledged + 2;
            self.acknowledged += u64::from(acks) * 2;
            let window = self.buffer.select_window(self.acknowledged, self.next);
            self.delayed = None;
            self.compressed = 0;
            self.compressed_at = None;
            self.counts.acks_out += u64::from(acks);
            out.push(Train {
                at: at + train.gap * i64::from(first_ack),
                gap: train.gap * 2,
                packets: acks,
                frame: self.settings.ack_frame,
                flow: self.settings.flow,
                ecn: Ecn::NotCapable,
                body: Body::Ack(Ack {
                    next: covered,
                    stride: 2,
                    window,
                    stamp: clock::stamp(at),
                    echo: data.stamp,
                    ece: false,
                    sack: None,
                }),
            });
        }
        if self.next > self.acknowledged {
            self.delay();
        }
        packets
    }

    /// The clockwork of delayed ACKs (`tcp_event_data_recv`).
    fn note_arrival(&mut self) {
        let tick = clock::ticks(self.now);
        if self.interval == 0 {
            self.quicken(QUICK_ACKS);
            self.interval = DELAY_MIN_TICKS;
        } else {
            let pause = tick - self.last_data;
            if pause <= DELAY_MIN_TICKS / 2 {
                self.interval = (self.interval >> 1) + DELAY_MIN_TICKS / 2;
            } else if pause < self.interval {
                self.interval = ((self.interval >> 1) + pause).min(DELAY_MAX_TICKS);
            } else if pause > crate::tcp::rtt::RTO_MIN_US / 1000 {
                self.quicken(QUICK_ACKS);
            }
        }
        self.last_data = tick;
    }

    /// `tcp_incr_quickack`.
    fn quicken(&mut self, most: u32) {
        let window = self.buffer.offered() / (2 * u64::from(self.settings.mss));
        let acks = if window == 0 { 2 } else { window.min(u64::from(most)) as u32 };
        self.quick = self.quick.max(acks);
    }

    fn on_packet(&mut self, number: u64, frame: u32, ecn: Ecn, data: &Data, out: &mut Vec<Train>) {
        self.counts.packets_in += 1;
        // The stamp of the packet that advances what was last acknowledged is echoed (RFC 7323, 4.3).
        if number <= self.acknowledged {
            self.echo = data.stamp;
        }
        let payload = frame.saturating_sub(self.header()).max(1);
        if number < self.next {
            self.counts.duplicates += 1;
            self.order.report_duplicate(number..number + 1);
            self.quicken(QUICK_ACKS);
            self.interval = DELAY_MIN_TICKS;
            self.settle(out);
            return;
        }
        if number > self.next {
            self.on_out_of_order(number, payload, ecn, data, out);
            return;
        }
        if !self.buffer.has_room() {
            // What the reader waits for is always taken: Linux drops what is out of order (`tcp_prune_queue`) and
            // wakes the reader, or packets out of order that fill the buffer would keep it out for ever.
            self.buffer.read(self.now, self.next);
        }
        self.order.forget_duplicate();
        self.buffer.take(1, payload);
        self.buffer.measure_round_trip(self.now, self.next);
        self.note_arrival();
        self.check_mark(ecn, data, out);
        if self.buffer.grow(payload) {
            self.quick |= 1;
        }
        self.next += 1;
        if !self.order.is_empty() {
            let before = self.next;
            self.next = self.order.advance(self.next);
            self.buffer.deliver(self.next - before);
            if self.order.is_empty() {
                self.ack_now = true;
            }
        }
        self.settle(out);
        self.read(out);
    }

    fn header(&self) -> u32 {
        // Ethernet, IPv4, TCP and the time stamps with their padding.
        14 + 20 + 20 + if self.settings.timestamps { 12 } else { 0 }
    }

    fn on_out_of_order(&mut self, number: u64, payload: u32, ecn: Ecn, data: &Data, out: &mut Vec<Train>) {
        self.check_mark(ecn, data, out);
        if !self.buffer.has_room() {
            self.counts.dropped += 1;
            return;
        }
        if self.order.contains(number) {
            self.counts.duplicates += 1;
            self.order.forget_duplicate();
            self.order.report_duplicate(number..number + 1);
        } else {
            self.counts.out_of_order += 1;
            self.order.forget_duplicate();
            self.buffer.hold(1, payload);
        }
        if self.settings.sack && self.order.insert(number) >= BLOCKS_EXPECTED {
            self.flush_compressed(out);
        } else if !self.settings.sack {
            self.order.insert(number);
        }
        if self.settings.sack {
            self.buffer.grow(payload);
        }
        self.settle(out);
    }

    /// ECN at the receiver (`tcp_ecn_check_ce`, `dctcp_ece_ack_update`).
    fn check_mark(&mut self, ecn: Ecn, data: &Data, out: &mut Vec<Train>) {
        if !self.settings.ecn {
            return;
        }
        if self.settings.exact_ecn {
            let marked = ecn == Ecn::Marked;
            if marked != self.congestion_seen {
                // What came before is acknowledged with the old state, this packet with the new one.
                if self.delayed.is_some() {
                    self.acknowledge(out);
                }
                self.congestion_seen = marked;
                self.ack_now = true;
            }
            return;
        }
        if data.cwr && number_is_first(data) {
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
            Ecn::Capable => self.ecn_was_seen = true,
            Ecn::NotCapable => {
                if self.ecn_was_seen {
                    self.quicken(2);
                }
            }
        }
    }

    /// Whether an ACK leaves now, later, or is held back (`__tcp_ack_snd_check`).
    fn settle(&mut self, out: &mut Vec<Train>) {
        let waiting = self.next - self.acknowledged;
        let widely = waiting > 1
            && (!self.buffer.awaits_reader() || self.buffer.would_offer(self.next) >= self.buffer.offered());
        if widely || self.quick > 0 || self.ack_now {
            self.acknowledge(out);
            return;
        }
        if self.order.is_empty() {
            self.delay();
            return;
        }
        if !self.settings.sack || self.compressed >= COMPRESSED_MOST {
            self.acknowledge(out);
            return;
        }
        if self.compressed_next != self.next {
            self.compressed_next = self.next;
            self.duplicate_acks = 0;
        }
        if self.duplicate_acks < UNCOMPRESSED {
            self.duplicate_acks += 1;
            self.acknowledge(out);
            return;
        }
        self.compressed += 1;
        if self.compressed_at.is_none() {
            // The receiver's own smoothed round-trip time is that of the handshake: it sends no data.
            let rtt = self.buffer.round_trip_us().min(self.handshake_us);
            let part = Span::us(rtt).picoseconds() / 20;
            let delay = COMPRESSED_DELAY.min(Span::ps(part));
            self.compressed_at = Some(self.now + delay + COMPRESSED_SLACK);
        }
    }

    fn flush_compressed(&mut self, out: &mut Vec<Train>) {
        if self.compressed > 0 {
            self.acknowledge(out);
        }
    }

    /// `tcp_send_delayed_ack`.
    fn delay(&mut self) {
        let ticks = self.interval.clamp(1, DELAY_MAX_TICKS);
        let at = clock::wheel(self.now, ticks);
        self.delayed = Some(self.delayed.map_or(at, |earlier| earlier.min(at)));
    }

    /// An ACK leaves.
    fn acknowledge(&mut self, out: &mut Vec<Train>) {
        let window = self.buffer.select_window(self.next, self.next);
        let most = if self.settings.timestamps { 3 } else { 4 };
        let sack = self.settings.sack.then(|| self.order.report(most)).flatten();
        let blocks = sack.as_ref().map_or(0, |s| s.blocks.len() + usize::from(s.duplicate.is_some()));
        // Two bytes of padding, kind and length, then eight per block.
        let options = if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
        self.quick = self.quick.saturating_sub(1);
        self.acknowledged = self.next;
        self.delayed = None;
        self.compressed = 0;
        self.compressed_at = None;
        self.ack_now = false;
        self.counts.acks_out += 1;
        out.push(Train {
            at: self.now,
            gap: Span::ZERO,
            packets: 1,
            frame: self.settings.ack_frame + options,
            flow: self.settings.flow,
            ecn: Ecn::NotCapable,
            body: Body::Ack(Ack {
                next: self.next,
                stride: 1,
                window,
                stamp: clock::stamp(self.now),
                echo: self.echo,
                ece: self.congestion_seen,
                sack: sack.map(Box::new),
            }),
        });
    }

    /// The application reads if it was woken (SO_RCVLOWAT), which may make an ACK leave (`tcp_cleanup_rbuf`).
    fn read(&mut self, out: &mut Vec<Train>) {
        let ended = self.end.is_some_and(|end| self.next >= end);
        if !self.buffer.wakes_reader(self.next) && !ended {
            return;
        }
        self.buffer.read(self.now, self.next);
        if self.next - self.acknowledged > 1 || self.buffer.is_much_wider(self.next) {
            self.acknowledge(out);
        }
    }

    /// When [`Receiver::on_timer`] is due.
    pub fn deadline(&self) -> Option<SimTime> {
        match (self.delayed, self.compressed_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// A timer is due.
    pub fn on_timer(&mut self, now: SimTime, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        if self.deadline().is_none_or(|at| at > now) {
            return;
        }
        if self.delayed.is_some_and(|at| at <= now) {
            self.interval = (self.interval << 1).min(200);
        }
        self.acknowledge(out);
    }

    /// Scale of the windows it offers (RFC 7323).
    pub fn window_scale(&self) -> u8 {
        self.buffer.shift() as u8
    }

    /// Packets that arrived in order.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// Whether the stream has ended and everything of it is here.
    pub fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.next >= end)
    }

    /// Packets the application has read.
    pub fn read_packets(&self) -> u64 {
        self.next - self.buffer.unread()
    }

    /// Counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The receiver's target for its buffer in bytes (`tcpi_rcv_space`) and its estimate of the round-trip time in
    /// microseconds (`tcpi_rcv_rtt`).
    pub fn tuning(&self) -> (u64, i64) {
        (self.buffer.space(), self.buffer.round_trip_us())
    }

    /// What waits out of order, for tests.
    pub fn held(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.order.held()
    }
}

fn number_is_first(_data: &Data) -> bool {
    true
}
