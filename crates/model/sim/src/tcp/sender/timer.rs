//! The sender's timers: one at a time, for a retransmission, a tail loss probe or reordering
//! (`icsk_retransmit_timer`), and the pacer's.

use super::Sender;
use super::transmit::Push;
use crate::due::Due;
use crate::net::{Step, Train};
use crate::tcp::clock;
use wirespeed_congestion::{CongestionKind, Phase};
use wirespeed_units::SimTime;

/// Least distance of a timer, TCP_TIMEOUT_MIN_US, in microseconds.
const TIMEOUT_MIN_US: i64 = 2_000;

/// What the timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// Retransmission timeout (RFC 6298).
    Retransmission,
    /// Tail loss probe (RFC 8985, section 7).
    Probe,
    /// Reordering has settled (RFC 8985, section 6.2).
    Reordering,
    /// Nothing is out and the peer's window is closed: it is probed (RFC 9293, 3.8.6.1; `ICSK_TIME_PROBE0`).
    Persist,
}

/// The timer.
#[derive(Debug, Default)]
pub(super) struct Timer {
    pub(super) pending: Option<Pending>,
    at: Due,
}

impl Timer {
    pub(super) fn cancel(&mut self) {
        *self = Timer::default();
    }
}

impl Sender {
    /// When [`Sender::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Due {
        self.timer.at.min(self.pacing_timer).min(self.host_queue.resume)
    }

    pub(super) fn arm(&mut self, pending: Pending, ticks: i64) {
        self.timer.pending = Some(pending);
        self.timer.at = Due::at(clock::wheel(self.now, ticks.min(crate::tcp::rtt::RTO_MAX_TICKS)));
    }

    /// How far off the retransmission timeout is, counted from when the head left (`tcp_rto_delta_us`).
    fn timeout_distance_us(&self) -> i64 {
        let head = self.board.head().map_or(self.now, |head| head.sent);
        clock::micros(head) + self.rtt.rto * 1000 - clock::micros(self.now)
    }

    /// `tcp_rearm_rto`.
    pub(super) fn rearm(&mut self) {
        if self.outstanding() == 0 {
            self.timer.cancel();
            return;
        }
        let rto = match self.timer.pending {
            Some(Pending::Probe | Pending::Reordering) => clock::ticks_of(self.timeout_distance_us().max(1)),
            _ => self.rtt.rto,
        };
        self.arm(Pending::Retransmission, rto);
    }

    /// `tcp_schedule_loss_probe`; says whether it did.
    pub(super) fn schedule_probe(&mut self, advancing: bool) -> bool {
        if self.outstanding() == 0
            || !self.settings.sack
            || !self.settings.era.probes
            || !matches!(self.phase, Phase::Open | Phase::Cwr)
        {
            return false;
        }
        let mut ticks = match self.rtt.smoothed8() {
            0 => crate::tcp::rtt::RTO_INITIAL_TICKS,
            srtt8 => {
                let alone = self.outstanding() == 1;
                let extra = if alone { crate::tcp::rtt::RTO_MIN_US } else { TIMEOUT_MIN_US };
                clock::ticks_of((srtt8 >> 2) + extra)
            }
        };
        let distance = if advancing { self.rtt.rto } else { clock::ticks_of(self.timeout_distance_us()) };
        if distance > 0 {
            ticks = ticks.min(distance);
        }
        self.arm(Pending::Probe, ticks);
        true
    }

    /// `tcp_set_xmit_timer`.
    pub(super) fn set_timer(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm();
        }
    }

    /// Waits until reordering has settled.
    pub(super) fn wait_for_reordering(&mut self, micros: i64) {
        self.arm(Pending::Reordering, clock::ticks_of(micros + TIMEOUT_MIN_US));
    }

    /// A timer is due.
    pub fn on_timer(&mut self, now: SimTime, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        if self.pacing_timer.has_come(now) {
            self.pacing_timer = Due::NEVER;
            self.push(out);
        }
        if self.host_queue.resume.has_come(now) {
            self.resume(now, out);
        }
        if !self.timer.at.has_come(now) {
            return;
        }
        let pending = self.timer.pending.take();
        self.timer.at = Due::NEVER;
        match pending {
            _ if !self.established => {
                self.rtt.back_off();
                out.push(self.handshake(Step::Syn, self.settings.handshake_frame, now));
                self.arm(Pending::Retransmission, self.rtt.rto);
            }
            Some(Pending::Retransmission) => self.on_timeout(out),
            Some(Pending::Probe) => self.send_probe(out),
            Some(Pending::Reordering) => self.on_reordering_settled(out),
            Some(Pending::Persist) => self.probe_window(out),
            None => {}
        }
    }

    /// `tcp_retransmit_timer`, `tcp_enter_loss`.
    fn on_timeout(&mut self, out: &mut Vec<Train>) {
        if self.outstanding() == 0 {
            return;
        }
        self.counts.timeouts += 1;
        let new_recovery = self.phase < Phase::Recovery;
        let forget = self.board.head().is_some_and(|head| head.sacked);
        if !self.settings.sack {
            self.dupacks = 0;
        }
        let (first, rtt, now) = (self.una, self.rack.rtt_us, clock::micros(self.now));
        // Before RACK all was.
        let all = self.settings.era.forward_acks;
        let marked = self.board.mark_after_timeout(forget, |segment| {
            // What left only recently is not yet given up.
            all || forget || segment.first == first || rtt - (now - clock::micros(segment.sent)) <= 0
        });
        self.delivery.lost += marked;
        let reduces = self.phase <= Phase::Disorder
            || self.high <= self.una
            || (self.phase == Phase::Loss && self.retries == 0);
        if reduces {
            self.prior_cwnd = self.cwnd;
            self.may_restore = true;
            self.init_undo();
        }
        if self.phase <= Phase::Disorder && self.sacked_out() >= super::REORDERING {
            self.reordering = self.reordering.min(super::REORDERING);
        }
        self.tell_congestion(CongestionKind::Timeout, 0);
        self.phase = Phase::Loss;
        self.adopt_window();
        if !self.settings.algorithm.needs_pacing {
            self.cwnd = self.in_flight() + 1;
        }
        self.high = self.nxt;
        self.probe_end = None;
        self.ecn_cwr = self.settings.feedback.echoes();
        self.frto = new_recovery || self.retries > 0;
        self.retransmit_head(out);
        self.retries += 1;
        self.rtt.back_off();
        self.arm(Pending::Retransmission, self.rtt.rto);
    }

    /// `tcp_send_loss_probe`.
    fn send_probe(&mut self, out: &mut Vec<Train>) {
        if self.probe_end.is_none() {
            self.probe_retransmitted = false;
            let before = self.nxt;
            let may_send_new = self.written > self.nxt && self.window_end > self.nxt;
            if may_send_new {
                self.write(Push::Probe, out);
            } else {
                self.retransmit_tail(out);
            }
            if self.nxt > before || self.probe_retransmitted {
                self.counts.probes += 1;
                self.probe_end = Some(self.nxt);
                // It is the probe's acknowledgement that is waited for now, as long as for any other.
                self.arm(Pending::Retransmission, self.rtt.rto);
                return;
            }
        }
        self.arm(Pending::Retransmission, clock::ticks_of(self.timeout_distance_us().max(1)));
    }

    /// `tcp_rack_reo_timeout`.
    fn on_reordering_settled(&mut self, out: &mut Vec<Train>) {
        let before = self.in_flight();
        let lost = self.delivery.lost;
        self.detect_loss();
        if self.in_flight() != before {
            if self.phase != Phase::Recovery {
                // A reduction that has begun, for ECN or a drop of the host's own, is not repeated.
                if self.enter_recovery(false) {
                    self.tell_congestion(CongestionKind::FastRetransmit, 0);
                    self.ask_control();
                }
                if self.settings.algorithm.needs_pacing {
                    self.adopt_window();
                } else {
                    self.reduce_window(1, self.delivery.lost - lost, false);
                }
            }
            self.retransmit_lost(out);
        }
        if self.timer.pending != Some(Pending::Retransmission) {
            self.rearm();
        }
    }
}
