//! BBR version 3's probing for bandwidth: the cycle Down, Cruise, Refill, Up, and the long-term bound of what may be in
//! flight (draft-ietf-ccwg-bbr, sections "ProbeBW" and "Updating the Model").

use super::{Bbr3, Mode};
use crate::event::AckSample;
use crate::tick::ticks;

/// Least time between probes, and the random part of it, ms.
const WAIT_MS: u64 = 2_000;
const WAIT_RANDOM_MS: u64 = 1_000;
/// A Reno flow would have grown by its window in as many round trips as it has packets; at most this many count.
const RENO_ROUNDS: u64 = 63;
/// Growth while probing doubles each round trip, at most so often.
const UP_ROUNDS_MOST: u32 = 30;

/// What the ACKs that arrive now tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the cycle.
#[derive(Debug, Clone, Default)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// Losses now tell how much the path holds.
    pub samples_probe: bool,
    /// When the phase began and how long to wait before the next probe, ticks.
    start: u64,
    pub wait: u64,
    rounds_since_probe: u64,
    up_rounds: u32,
    /// Packets acknowledged for one more in flight, and those counted so far.
    up_price: u64,
    up_acks: u64,
}

impl Bbr3 {
    /// min(BDP, cwnd) in packets.
    fn target_in_flight(&self) -> u64 {
        self.bdp(self.bandwidth(), 100).min(self.window.cwnd)
    }

    /// The long-term bound less room for others; `u64::MAX` without bound.
    pub(super) fn with_headroom(&self) -> u64 {
        match self.long_term {
            u64::MAX => u64::MAX,
            bound => (bound * self.settings.headroom_keeps / 100).max(super::LEAST_WINDOW),
        }
    }

    pub(super) fn start_down(&mut self, now: u64) {
        self.reset_congestion_signals();
        self.cycle.up_price = u64::MAX;
        self.cycle.rounds_since_probe = self.random.below(2);
        self.cycle.wait = WAIT_MS + self.random.below(WAIT_RANDOM_MS);
        self.cycle.start = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    fn start_refill(&mut self) {
        self.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acks = 0;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, now: u64) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full();
        self.full_bandwidth = self.sample_rate;
        self.cycle.start = now;
        self.mode = Mode::Up;
        self.raise_slope();
    }

    fn raise_slope(&mut self) {
        let growth = 1u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(UP_ROUNDS_MOST);
        self.cycle.up_price = (self.window.cwnd / growth).max(1);
    }

    fn probe_upward(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited || self.window.cwnd < self.long_term {
            return;
        }
        self.cycle.up_acks += ack.newly_delivered.get();
        let steps = self.cycle.up_acks / self.cycle.up_price.max(1);
        self.cycle.up_acks -= steps * self.cycle.up_price;
        self.long_term = self.long_term.saturating_add(steps);
        if self.round_start {
            self.raise_slope();
        }
    }

    /// More of what was in flight was lost than is borne, two percent.
    pub(super) fn lost_too_much(&self, ack: &AckSample) -> bool {
        let most = self.settings.loss_most;
        ack.rate.is_some_and(|rate| {
            rate.lost.get() > 0 && rate.lost.get() * 100 > rate.in_flight_at_send.get() * most
        })
    }

    /// True if the bound was lowered because of loss.
    fn check_in_flight(&mut self, ack: &AckSample) -> bool {
        if !self.lost_too_much(ack) {
            return false;
        }
        if self.cycle.samples_probe {
            self.cycle.samples_probe = false;
            if let Some(rate) = ack.rate.filter(|rate| !rate.app_limited) {
                let floor = self.target_in_flight() * self.settings.beta / 100;
                self.long_term = rate.in_flight_at_send.get().max(floor);
            }
            if self.mode == Mode::Up {
                self.start_down(ticks(ack.now));
            }
        }
        true
    }

    fn adapt_long_term(&mut self, ack: &AckSample) {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.cycle.samples_probe = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.mode.probes_bandwidth() && !ack.rate.is_some_and(|rate| rate.app_limited) {
                self.advance_max_filter();
            }
        }
        if self.check_in_flight(ack) || self.long_term == u64::MAX {
            return;
        }
        if let Some(rate) = ack.rate {
            self.long_term = self.long_term.max(rate.in_flight_at_send.get());
        }
        if self.mode == Mode::Up {
            self.probe_upward(ack);
        }
    }

    fn is_time_to_probe(&self, now: u64) -> bool {
        now > self.cycle.start + self.cycle.wait
            || self.cycle.rounds_since_probe >= self.target_in_flight().min(RENO_ROUNDS)
    }

    pub(super) fn update_cycle(&mut self, ack: &AckSample) {
        if !self.full {
            return;
        }
        self.adapt_long_term(ack);
        let now = ticks(ack.now);
        if self.round_start {
            self.cycle.rounds_since_probe += 1;
        }
        match self.mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            Mode::Down => {
                let in_flight = ack.in_flight.get();
                if in_flight <= self.with_headroom() && in_flight <= self.target(self.max_bandwidth(), 100) {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Refill if self.round_start => {
                self.cycle.samples_probe = true;
                self.start_up(now);
            }
            Mode::Up => {
                if ack.cwnd_limited && self.window.cwnd >= self.long_term {
                    // The bound, not the path, limits the rate: it says nothing about the path yet.
                    self.reset_full();
                    self.full_bandwidth = self.sample_rate;
                } else if self.full_now {
                    self.start_down(now);
                }
            }
            _ => {}
        }
    }
}
