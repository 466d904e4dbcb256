//! The engine of all algorithms that are a slow start and a window rule.
//!
//! It keeps what Linux' `tcp_input.c` keeps for every `tcp_congestion_ops`: when a reduction is due, what an undo
//! restores, and in which order an algorithm's hooks run. A rule is then one short file.

use crate::control::{CongestionControl, Control, Observer};
use crate::even::EvenAcks;
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase, Restart, RestartKind, Sent, Undo};
use crate::slow_start::SlowStart;
use crate::window::{MINIMUM_SSTHRESH, Window};
use std::fmt::Debug;
use wirespeed_units::{Bytes, SimTime};

/// The sender went from one phase to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseChange {
    /// Before.
    pub from: Phase,
    /// After.
    pub to: Phase,
    /// When.
    pub now: SimTime,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// The socket's window, which a reduction may not yet have lowered to the threshold; `None` if one began with it.
    pub cwnd: Option<u64>,
}

/// How a window grows in congestion avoidance and what a loss leaves of it. The defaults are Reno's.
pub trait WindowRule: Debug + Send {
    /// Every ACK, in every phase, before the phase changes (Linux `pkts_acked`, `in_ack_event`).
    fn measure(&mut self, _ack: &AckSample, _before: Phase, _window: &mut Window) {}

    /// An ACK that may make the window grow (Linux `cong_avoid`). The default asks the slow start below the
    /// threshold and [`WindowRule::avoid`] above it, and does nothing unless the window limits sending.
    fn grow(&mut self, ack: &AckSample, window: &mut Window, slow_start: &mut dyn SlowStart) {
        if !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.newly_delivered.get();
        if window.in_slow_start() {
            acked = slow_start.grow(acked, window);
            if acked == 0 || !self.continues_after_slow_start() {
                return;
            }
        }
        self.avoid(ack, acked, window);
    }

    /// Congestion avoidance for `acked` packets.
    fn avoid(&mut self, _ack: &AckSample, acked: u64, window: &mut Window) {
        window.additive_increase(window.cwnd, acked);
    }

    /// The packets of an ACK that slow start leaves over go to congestion avoidance.
    fn continues_after_slow_start(&self) -> bool {
        true
    }

    /// Of an ACK the rule looks at nothing but how many packets it acknowledged, and so does its slow start:
    /// [`WindowRule::measure`], [`WindowRule::grow`], [`WindowRule::delay_counts`] and [`SlowStart::on_delay`] are
    /// the defaults. Then several ACKs are counted in one go.
    fn only_counts(&self) -> bool {
        false
    }

    /// Counts as many of `most` ACKs of `acked` packets each as leave the window as it is, the same as
    /// [`WindowRule::avoid`] for each; answers how many.
    fn count_ahead(&mut self, _acked: u64, _most: u32, _window: &mut Window) -> u32 {
        0
    }

    /// The threshold in packets after congestion; less than two becomes two.
    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        window.half()
    }

    /// A timeout that reduced, after [`WindowRule::ssthresh`] (Linux `CA_EVENT_LOSS`).
    fn on_timeout(&mut self, _event: &CongestionEvent, _window: &mut Window) {}

    /// The phase changed.
    fn on_phase(&mut self, _change: &PhaseChange, _window: &mut Window) {}

    /// A reduction is complete (Linux `CA_EVENT_COMPLETE_CWR`), before [`WindowRule::on_phase`].
    fn on_complete(&mut self, _change: &PhaseChange, _window: &mut Window) {}

    /// The last reduction is undone; the window is restored after this.
    fn on_undo(&mut self, _undo: &Undo) {}

    /// Sending starts with nothing in flight (Linux `CA_EVENT_TX_START`).
    fn on_transmit_start(&mut self, _sent: &Sent, _window: &Window) {}

    /// The window restarts after idle time (Linux `CA_EVENT_CWND_RESTART`), before it is lowered.
    fn on_idle_restart(&mut self, _restart: &Restart, _window: &Window) {}

    /// Whether a round-trip time measured now may be used by the slow start.
    fn delay_counts(&self, _now: SimTime) -> bool {
        true
    }

    /// The rule asks for a reduction; cleared by the [`WindowRule::ssthresh`] that follows.
    fn wants_reduction(&self) -> bool {
        false
    }

    /// Reports the inner state.
    fn observe(&self, _observer: &mut dyn Observer) {}
}

/// What an undo restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Before {
    cwnd: u64,
    /// `None` if the reduction had a sure cause (ECN, a local drop) and cannot be undone.
    ssthresh: Option<u64>,
}

/// A slow start and a window rule as one congestion control.
#[derive(Debug)]
pub struct LossBased<S, W> {
    window: Window,
    slow_start: S,
    rule: W,
    phase: Phase,
    /// What was next to send at the last reduction: it is over when this is acknowledged.
    high: u64,
    una: u64,
    /// New data was acknowledged since the last timeout.
    progress: bool,
    before: Option<Before>,
}

impl<S: SlowStart, W: WindowRule> LossBased<S, W> {
    /// Starts with `window`.
    pub fn new(window: Window, slow_start: S, rule: W) -> Self {
        LossBased {
            window,
            slow_start,
            rule,
            phase: Phase::Open,
            high: 0,
            una: 0,
            progress: false,
            before: None,
        }
    }

    fn enter(&mut self, to: Phase, now: SimTime, snd_nxt: u64, cwnd: Option<u64>) {
        if to == self.phase {
            return;
        }
        let change = PhaseChange { from: self.phase, to, now, snd_nxt, cwnd };
        if change.from.is_reducing() && !to.is_reducing() && to != Phase::Loss {
            self.rule.on_complete(&change, &mut self.window);
        }
        self.phase = to;
        self.rule.on_phase(&change, &mut self.window);
    }

    /// Remembers what an undo restores and asks the rule for the threshold.
    fn reduce(&mut self, event: &CongestionEvent, may_be_undone: bool) {
        let reducing = self.phase.is_reducing();
        let threshold = if reducing { self.window.ssthresh } else { self.window.current_ssthresh() };
        self.before = Some(Before { cwnd: self.window.cwnd, ssthresh: may_be_undone.then_some(threshold) });
        self.window.ssthresh = self.rule.ssthresh(event, &self.window).max(MINIMUM_SSTHRESH);
        self.window.count = 0;
        self.high = event.snd_nxt;
    }

    /// The window of data of the last reduction is still out.
    fn is_open(&self, event: &CongestionEvent) -> bool {
        self.phase >= Phase::Cwr && event.snd_una < self.high
    }
}

impl<S: SlowStart, W: WindowRule> CongestionControl for LossBased<S, W> {
    fn on_sent(&mut self, sent: &Sent) {
        if sent.in_flight_before.get() == 0 {
            self.rule.on_transmit_start(sent, &self.window);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if ack.snd_una > self.una {
            self.una = ack.snd_una;
            self.progress = true;
        }
        self.rule.measure(ack, self.phase, &mut self.window);
        if ack.rtt.is_some() && self.rule.delay_counts(ack.now) {
            self.slow_start.on_delay(ack, &mut self.window);
        }
        self.enter(ack.phase, ack.now, ack.snd_nxt, Some(ack.cwnd.get()));
        if ack.may_grow && !ack.phase.is_reducing() && ack.newly_delivered.get() > 0 {
            self.rule.grow(ack, &mut self.window, &mut self.slow_start);
        }
    }

    fn on_even_acks(&mut self, acks: &EvenAcks) {
        let ack = acks.next;
        let counts = self.rule.only_counts()
            && !(self.window.in_slow_start() && ack.cwnd_limited)
            && self.phase == ack.phase
            && ack.may_grow
            && !ack.phase.is_reducing()
            && acks.stride > 0;
        if !counts {
            acks.each(|ack| self.on_ack(ack));
            return;
        }
        let una = (acks.next_una - acks.stride).saturating_mul(acks.mss);
        if una > self.una {
            self.una = una;
            self.progress = true;
        }
        if ack.cwnd_limited {
            let mut left = acks.count;
            loop {
                left -= self.rule.count_ahead(acks.stride, left, &mut self.window);
                if left == 0 {
                    break;
                }
                self.rule.avoid(ack, acks.stride, &mut self.window);
                left -= 1;
            }
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let to = match event.kind {
            CongestionKind::FastRetransmit => {
                // From Loss the socket enters recovery when a retransmission is lost, and Linux reduces again.
                if !(self.phase.is_reducing() && self.is_open(event)) {
                    self.reduce(event, true);
                    self.window.set(self.window.ssthresh);
                }
                Phase::Recovery
            }
            CongestionKind::Timeout => {
                if !self.is_open(event) || (self.phase == Phase::Loss && self.progress) {
                    self.reduce(event, true);
                    self.rule.on_timeout(event, &mut self.window);
                }
                self.window.set(event.in_flight.get() + 1);
                self.window.count = 0;
                self.slow_start.on_timeout(event);
                self.high = event.snd_nxt;
                self.progress = false;
                Phase::Loss
            }
            CongestionKind::EcnEcho
            | CongestionKind::LocalDrop
            | CongestionKind::TailLoss
            | CongestionKind::Requested => {
                if self.is_open(event) {
                    return;
                }
                self.reduce(event, false);
                self.window.set(self.window.ssthresh);
                Phase::Cwr
            }
        };
        self.enter(to, event.now, event.snd_nxt, None);
    }

    fn on_undo(&mut self, undo: &Undo) {
        let Some(Before { cwnd, ssthresh: Some(ssthresh) }) = self.before.take() else { return };
        self.rule.on_undo(undo);
        self.window.set(self.window.cwnd.max(cwnd));
        self.window.ssthresh = self.window.ssthresh.max(ssthresh);
    }

    fn on_restart(&mut self, restart: &Restart) {
        match restart.kind {
            RestartKind::Idle { idle, rto } => {
                self.rule.on_idle_restart(restart, &self.window);
                self.window.after_idle(idle, rto);
            }
            RestartKind::Moderated { cwnd } => self.window.set(self.window.cwnd.min(cwnd.get())),
            RestartKind::Underused { used } => {
                if self.phase == Phase::Open {
                    self.window.after_underuse(used.get());
                }
            }
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.window.set_mss(mss);
    }

    fn control(&self) -> Control {
        Control { wants_reduction: self.rule.wants_reduction(), ..self.window.control() }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.window.observe(observer);
        self.observe_inside(observer);
    }

    fn observe_inside(&self, observer: &mut dyn Observer) {
        self.slow_start.observe(observer);
        self.rule.observe(observer);
    }
}

#[cfg(test)]
mod tests;
