//! A line that changes at known times: its rate, its delay, its losses and the room before it.
//!
//! Since the times are known, all that becomes of a packet is still known when it is accepted, as on any other line; but its
//! transmission may begin at one rate and end at another, so each packet is computed by itself. kernel/qdisc/sch_wire.c does the same.

use super::loss;
use super::settings::{LinkSettings, LossSettings};
use std::collections::VecDeque;

/// Picoseconds in a second times bits in a byte.
const SECOND_BITS: u64 = 8_000_000_000_000;

/// A line that stands still to the end delivers after any run.
const NEVER: i64 = i64::MAX / 2;

/// State of the line from a moment on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// Picoseconds.
    at: i64,
    /// bit/s; of zero, nothing is sent.
    rate: u64,
    /// Propagation, picoseconds.
    pub delay: i64,
    /// Lost is what draws less.
    pub loss_bound: u64,
    /// Room for waiting frames, bytes.
    limit: u64,
}

/// Times of a packet, picoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// Its last bit is sent.
    pub end: i64,
    /// It reaches the far end, unless it is lost.
    pub arrival: i64,
    /// The line when its last bit is sent.
    pub state: State,
}

/// A packet that was accepted, and had not begun to be sent when the line was looked at last.
#[derive(Debug, Clone, Copy)]
struct Accepted {
    start: i64,
    /// Bytes accepted before it.
    before: u64,
}

/// Such a line. Every time asked for is not before the one given to [`Changing::tidy`] last.
#[derive(Debug, Clone)]
pub(crate) struct Changing {
    states: Vec<State>,
    /// The state in which the transmitter is free.
    sending: usize,
    /// The state when the last packet came.
    coming: usize,
    free: i64,
    /// Of `free`, in picoseconds divided by the rate.
    remainder: u64,
    last_arrival: i64,
    accepted: VecDeque<Accepted>,
    /// Packets and bytes ever accepted.
    packets: u64,
    bytes: u64,
    /// Arrivals of accepted packets.
    arrivals: VecDeque<i64>,
    arrived: u64,
    /// The most packets put into one train.
    pub train_limit: u32,
}

impl Changing {
    /// The line of `settings`, if it changes.
    pub(crate) fn new(settings: &LinkSettings) -> Option<Changing> {
        if settings.changes.is_empty() {
            return None;
        }
        let first = State {
            at: 0,
            rate: settings.rate.get(),
            delay: settings.delay.picoseconds(),
            loss_bound: match settings.loss {
                LossSettings::Random { probability } => loss::bound(probability),
                _ => 0,
            },
            limit: settings.queue.limit_bytes().unwrap_or(u64::MAX),
        };
        let later = settings.changes.iter().map(|change| State {
            at: change.at.picoseconds(),
            rate: change.rate.get(),
            delay: change.delay.picoseconds(),
            loss_bound: loss::bound(change.loss),
            limit: change.limit.get(),
        });
        Some(Changing {
            states: std::iter::once(first).chain(later).collect(),
            sending: 0,
            coming: 0,
            free: 0,
            remainder: 0,
            last_arrival: 0,
            accepted: VecDeque::new(),
            packets: 0,
            bytes: 0,
            arrivals: VecDeque::new(),
            arrived: 0,
            train_limit: settings.train_limit.max(1),
        })
    }

    /// When the transmitter is free.
    pub(crate) fn free(&self) -> i64 {
        self.free
    }

    /// Its rate from then on, bit/s; `None`: it stands still.
    pub(crate) fn rate(&self) -> Option<u64> {
        Some(self.states[self.sending].rate).filter(|rate| *rate > 0)
    }

    /// Room for waiting frames at `at`, bytes.
    pub(crate) fn limit(&mut self, at: i64) -> u64 {
        // A train that came before may have brought packets that are later.
        while self.states[self.coming].at > at {
            self.coming -= 1;
        }
        while self.states.get(self.coming + 1).is_some_and(|next| next.at <= at) {
            self.coming += 1;
        }
        self.states[self.coming].limit
    }

    /// Packets and bytes that are accepted and have not begun to be sent at `at`.
    pub(crate) fn not_started(&self, at: i64) -> (u64, u64) {
        let begun = self.accepted.partition_point(|packet| packet.start <= at);
        let bytes = self.accepted.get(begun).map_or(0, |first| self.bytes - first.before);
        ((self.accepted.len() - begun) as u64, bytes)
    }

    /// Packets and bytes that have begun to be sent at `at`.
    pub(crate) fn started(&self, at: i64) -> (u64, u64) {
        let (packets, bytes) = self.not_started(at);
        (self.packets - packets, self.bytes - bytes)
    }

    /// Packets that have arrived at `at`, lost ones included.
    pub(crate) fn arrived(&self, at: i64) -> u64 {
        self.arrived + self.arrivals.partition_point(|arrival| *arrival <= at) as u64
    }

    /// Sends a frame that comes at `at`, when the transmitter is free.
    pub(crate) fn send(&mut self, at: i64, frame: u32) -> Sent {
        if self.free <= at {
            self.free = at;
            self.remainder = 0;
            self.enter_state();
        }
        self.accepted.push_back(Accepted { start: self.free, before: self.bytes });
        self.packets += 1;
        self.bytes += u64::from(frame);
        self.transmit(frame);
        let state = self.states[self.sending];
        // Packets keep their order where the delay gets shorter.
        self.last_arrival = self.last_arrival.max(self.free.saturating_add(state.delay));
        self.arrivals.push_back(self.last_arrival);
        Sent { end: self.free, arrival: self.last_arrival, state }
    }

    /// Moves the transmitter's clock over a frame.
    fn transmit(&mut self, frame: u32) {
        // In picoseconds times bit/s.
        let mut work = self.remainder + u64::from(frame) * SECOND_BITS;
        while work > 0 {
            let State { rate, .. } = self.states[self.sending];
            let Some(next) = self.states.get(self.sending + 1).map(|next| next.at) else {
                let Some(whole) = work.checked_div(rate) else {
                    self.free = NEVER;
                    return;
                };
                self.free += whole as i64;
                self.remainder = work % rate;
                return;
            };
            if let Some(whole) = work.checked_div(rate)
                && self.free + (whole as i64) < next
            {
                self.free += whole as i64;
                self.remainder = work % rate;
                return;
            }
            work -= (next - self.free) as u64 * rate;
            self.free = next;
            self.sending += 1;
        }
        self.remainder = 0;
        self.enter_state();
    }

    /// Enters the state of the time when the transmitter is free.
    fn enter_state(&mut self) {
        while self.states.get(self.sending + 1).is_some_and(|next| next.at <= self.free) {
            self.sending += 1;
        }
    }

    /// Forgets packets that have started, and those that have arrived, at `at`.
    pub(crate) fn tidy(&mut self, at: i64) {
        while self.accepted.front().is_some_and(|packet| packet.start <= at) {
            self.accepted.pop_front();
        }
        while self.arrivals.front().is_some_and(|arrival| *arrival <= at) {
            self.arrivals.pop_front();
            self.arrived += 1;
        }
    }
}
