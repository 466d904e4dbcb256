//! The receiving end of a TCP connection: what is acknowledged when, and the window that is offered
//! (`net/ipv4/tcp_input.c`, `tcp_output.c`).

mod arrive;
mod buffer;
mod held;
mod hosted;
mod marks;
mod merged;
mod messages;
mod order;
mod reply;
mod rtt;
mod settings;
mod shortage;

use crate::due::Due;
use crate::net::{Body, Ecn, Step, Train};
use crate::prefetch::prefetch;
use crate::tcp::{Feedback, clock};
use buffer::Buffer;
use marks::Marks;
use order::Order;
use std::ops::Range;
use std::rc::Rc;
use wirespeed_units::{SimTime, Span};

pub use settings::BufferSettings;
use settings::UNSCALED;
pub use shortage::Shortage;

/// Least delay of a delayed ACK, TCP_ATO_MIN and TCP_DELACK_MIN, in ticks.
const DELAY_MIN_TICKS: i64 = 40;
/// Least distance of answers to segments outside of the window, `net.ipv4.tcp_invalid_ratelimit`, in ticks.
const ANSWER_PAUSE_TICKS: i64 = 500;
/// Largest delay, TCP_DELACK_MAX, in ticks.
const DELAY_MAX_TICKS: i64 = 200;

/// What a receiver is made with, but for what tells it from others of its kind.
#[derive(Debug, Clone)]
pub struct Settings {
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
    /// How it reports marks.
    pub feedback: Feedback,
    /// ECN field of its acknowledgements.
    pub ack_ecn: Ecn,
    /// Receive buffer.
    pub buffer: BufferSettings,
}

/// Counts that a recording shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data packets that arrived.
    pub packets_in: u64,
    /// Packets without data that carried the FIN.
    pub own_fins: u64,
    /// Packets that arrived out of order.
    pub out_of_order: u64,
    /// Packets that arrived a second time.
    pub duplicates: u64,
    /// Packets that were not taken: no memory, or a closed window.
    pub dropped: u64,
    /// ACKs sent.
    pub acks_out: u64,
}

/// State that few flows ever need.
#[derive(Debug, Default)]
struct Rare {
    /// The tick at which a segment outside of the window was answered last (`last_oow_ack_time`).
    answered: Option<i64>,
    shortage: Shortage,
    /// Packets out of order that carry less than a full segment: number, and how many bytes less.
    shorts: Vec<(u64, u32)>,
    /// What was missing below what the last ACK acknowledged.
    missing_acknowledged: u64,
}

/// The receiving end. As in [`Sender`](crate::tcp::sender::Sender), what samples read comes first.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    next: u64,
    counts: Counts,
    buffer: Buffer,
    settings: Rc<Settings>,
    now: SimTime,
    /// What was next at the last ACK (`rcv_wup`).
    acknowledged: u64,
    order: Order,
    interval: i64,
    last_data: i64,
    delayed: Due,
    /// When the timer of the delayed ACK fires: an ACK that leaves does not stop it.
    armed: Due,
    compressed_at: Due,
    compressed_next: u64,
    opened: SimTime,
    /// Round-trip time of the handshake in microseconds, 0 before it is over.
    handshake_us: i64,
    end: Option<u64>,
    /// The message that the application waits for, if the other end writes messages.
    message: messages::Awaited,
    /// What few flows ever need.
    rare: Option<Box<Rare>>,
    /// Number of the flow.
    flow: u32,
    quick: u32,
    compressed: u32,
    duplicate_acks: u32,
    /// The millisecond clock of the packet that the next ACK will echo (`ts_recent`).
    echo: u32,
    congestion_seen: bool,
    /// Marks that it has counted, with Accurate ECN.
    marks: Marks,
    ecn_was_seen: bool,
    ack_now: bool,
    /// Something that is not acknowledged yet was pushed (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// Its host knows that it holds acknowledgements back.
    is_known_to_hold: bool,
    /// Its host receives packets at this instant that came together: the application runs after them.
    is_in_poll: bool,
}

impl Receiver {
    /// The listening socket of flow number `flow`.
    pub fn new(settings: Rc<Settings>, flow: u32) -> Self {
        let buffer = Buffer::new(settings.clone());
        Receiver {
            settings,
            flow,
            now: SimTime::START,
            next: 0,
            acknowledged: 0,
            order: Order::default(),
            buffer,
            quick: 0,
            interval: 0,
            last_data: 0,
            delayed: Due::NEVER,
            armed: Due::NEVER,
            compressed: 0,
            compressed_at: Due::NEVER,
            compressed_next: u64::MAX,
            duplicate_acks: 0,
            echo: 0,
            congestion_seen: false,
            is_in_poll: false,
            marks: Marks::default(),
            ecn_was_seen: false,
            opened: SimTime::START,
            handshake_us: 0,
            ack_now: false,
            pushed: false,
            is_known_to_hold: false,
            end: None,
            message: messages::Awaited::default(),
            counts: Counts::default(),
            rare: None,
        }
    }

    /// A SYN arrived that left at `stamp` of its sender's millisecond clock: the answer leaves.
    pub fn on_connect(&mut self, now: SimTime, stamp: u32, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        self.echo = stamp;
        self.opened = now;
        out.push(Train {
            at: now,
            gap: Span::ZERO,
            packets: 1,
            frame: self.settings.handshake_frame,
            flow: self.flow,
            ecn: Ecn::NotCapable,
            body: Body::Handshake {
                step: Step::Reply,
                stamp: clock::stamp(now),
                echo: stamp,
                // Not scaled (RFC 7323, section 2.2).
                window: self.buffer.offered().min(UNSCALED),
            },
        });
    }

    /// The handshake's last packet arrived, or data in its place: only now is the connection established.
    pub fn on_confirm(&mut self, now: SimTime) {
        if self.handshake_us == 0 {
            self.handshake_us = (clock::micros(now) - clock::micros(self.opened)).max(1);
            self.buffer.open(now);
        }
    }

    /// Brings near what a sample will look at.
    #[inline]
    pub fn prefetch_sample(&self) {
        prefetch(&self.next);
        prefetch(&self.buffer.rtt8);
    }

    /// When [`Receiver::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Due {
        let due = self.delayed.min(self.compressed_at).min(self.message.due());
        if self.compressed_at.is_set() { due.min(self.armed) } else { due }
    }

    /// A timer is due.
    pub fn on_timer(&mut self, now: SimTime, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        if !self.deadline().has_come(now) {
            return;
        }
        if self.message.due().has_come(now) {
            self.ask(out);
            return;
        }
        if self.armed.has_come(now) {
            self.armed = Due::NEVER;
        }
        if self.compressed == 0 && self.delayed.has_come(now) {
            // `tcp_delack_timer_handler`.
            if std::mem::take(&mut self.message.is_interactive) {
                self.interval = DELAY_MIN_TICKS;
            } else {
                self.interval = (self.interval << 1).min(200);
            }
        }
        self.acknowledge(out);
    }

    /// A segment without data and before the window arrives, a probe: it is answered (`tcp_send_dupack`), but not soon
    /// after the last one was (`tcp_oow_rate_limited`).
    pub fn on_window_probe(&mut self, now: SimTime, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        let (tick, rare) = (clock::ticks(self.now), self.rare.get_or_insert_default());
        if rare.answered.is_none_or(|last| tick - last >= ANSWER_PAUSE_TICKS) {
            rare.answered = Some(tick);
            self.acknowledge(out);
        }
    }

    /// Scale of the windows it offers (RFC 7323).
    pub fn window_scale(&self) -> u8 {
        self.buffer.shift() as u8
    }

    /// Packets that arrived in order.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// Payload that arrived in order, bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.buffer.position(self.next)
    }

    /// Payload that the application has read, bytes.
    pub fn read_bytes(&self) -> u64 {
        self.delivered_bytes() - self.buffer.unread_bytes
    }

    /// Whether the stream has ended and everything of it is here.
    pub fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.next >= end)
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

#[cfg(test)]
mod tests;
