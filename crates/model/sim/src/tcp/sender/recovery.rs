//! Recovery: the state machine of `tcp_fastretrans_alert`, proportional rate reduction (RFC 6937) and F-RTO (RFC 5682).

use super::Sender;
use super::ack::Findings;
use super::transmit::Push;
use crate::net::Train;
use crate::tcp::clock;
use wirespeed_congestion::{CongestionKind, Phase};

/// What is sent after an acknowledgement has been judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Nothing in particular.
    Nothing,
    /// What is presumed lost.
    Lost,
    /// New data, to find out whether the timeout was a mistake (F-RTO).
    New,
}

impl Sender {
    /// Without SACK the state is kept until something above the episode is acknowledged (RFC 6582, section 5).
    pub(super) fn keeps_state_without_sack(&mut self) -> bool {
        let keeps = !self.settings.sack && self.una == self.high;
        if keeps && !self.any_retransmitted() {
            self.retransmission_stamp = 0;
        }
        keeps
    }

    fn any_retransmitted(&self) -> bool {
        self.board.retransmitted > 0 || self.board.head_was_retransmitted()
    }

    /// `tcp_try_keep_open`.
    pub(super) fn keep_open(&mut self) {
        let left_out = self.sacked_out() + self.board.lost;
        let phase = if left_out > 0 || self.any_retransmitted() { Phase::Disorder } else { Phase::Open };
        if self.phase != phase {
            self.phase = phase;
            self.high = self.nxt;
        }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, found: &Findings) -> Option<CongestionKind> {
        if !self.any_retransmitted() {
            self.retransmission_stamp = 0;
        }
        if found.ece && self.phase < Phase::Cwr {
            self.may_restore = false;
            self.undo_marker = None;
            self.begin_reduction();
            self.phase = Phase::Cwr;
            return Some(CongestionKind::EcnEcho);
        }
        if self.phase != Phase::Cwr {
            self.keep_open();
        }
        None
    }

    /// `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self) {
        self.high = self.nxt;
        self.probe_end = None;
        self.prior_cwnd = self.cwnd;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.second_ack = false;
        self.ecn_cwr = self.settings.feedback.echoes();
    }

    /// `tcp_end_cwnd_reduction`: a recovery that begins with the same acknowledgement reduces the window of the algorithm.
    pub(super) fn end_reduction(&mut self) {
        if !self.settings.era.halves && self.phase.is_reducing() {
            self.cwnd = self.wanted_cwnd;
        }
    }

    /// `tcp_enter_recovery`; whether the window is to be reduced.
    pub(super) fn enter_recovery(&mut self, ece: bool) -> bool {
        if !self.any_retransmitted() {
            self.retransmission_stamp = 0;
        }
        self.init_undo();
        let reduces = !self.phase.is_reducing();
        self.may_restore = reduces && !ece;
        if reduces {
            self.begin_reduction();
        }
        self.phase = Phase::Recovery;
        reduces
    }

    /// A duplicate ACK without SACK (`tcp_add_reno_sack`).
    fn count_duplicates(&mut self, duplicates: u64, ece: bool) {
        if duplicates == 0 || self.settings.sack {
            return;
        }
        let before = self.dupacks;
        self.dupacks = (self.dupacks + duplicates).min(self.outstanding().saturating_sub(self.board.lost));
        let gained = self.dupacks.saturating_sub(before);
        self.delivery.delivered += gained;
        self.delivery.delivered_ce += if ece { gained } else { 0 };
    }

    /// What to make of a dubious acknowledgement (`tcp_fastretrans_alert`).
    pub(super) fn judge(
        &mut self,
        prior_una: u64,
        duplicates: u64,
        found: &mut Findings,
    ) -> (Option<CongestionKind>, Repeat) {
        if found.ece {
            self.may_restore = false;
        }
        if found.reneging && found.advanced {
            let wait = clock::ticks_of(self.rtt.smoothed8() >> 4).max(10);
            self.arm(super::Pending::Retransmission, wait);
            found.set_timer = false;
            return (None, Repeat::Nothing);
        }
        if self.phase == Phase::Open {
            self.retransmission_stamp = 0;
        } else if self.una >= self.high {
            match self.phase {
                Phase::Cwr if self.una != self.high => {
                    self.end_reduction();
                    self.phase = Phase::Open;
                }
                Phase::Recovery => {
                    if !self.settings.sack {
                        self.dupacks = 0;
                    }
                    if self.undo_at_end() {
                        return (None, Repeat::Nothing);
                    }
                }
                _ => {}
            }
        }
        match self.phase {
            Phase::Recovery => self.judge_in_recovery(prior_una, duplicates, found),
            Phase::Loss => {
                let repeat = self.judge_after_timeout(duplicates, found);
                self.identify_loss(found);
                if self.phase == Phase::Open || found.retransmission_lost {
                    self.judge_by_default(duplicates, found, repeat)
                } else {
                    (None, repeat)
                }
            }
            _ => self.judge_by_default(duplicates, found, Repeat::Nothing),
        }
    }

    fn judge_in_recovery(
        &mut self,
        prior_una: u64,
        duplicates: u64,
        found: &mut Findings,
    ) -> (Option<CongestionKind>, Repeat) {
        if !found.advanced {
            self.count_duplicates(duplicates, found.ece);
        } else if self.undo_marker.is_some() && self.was_delayed() {
            // The hole was filled by a delayed original.
            self.check_reordering(prior_una);
            if self.board.retransmitted > 0 {
                return (None, Repeat::Nothing);
            }
            if !self.any_retransmitted() {
                self.retransmission_stamp = 0;
            }
            self.undo(true);
            self.keep_open();
        }
        let mut began = None;
        if self.undo_after_duplicate() {
            began = self.try_to_open(found);
        }
        self.identify_loss(found);
        if self.phase != Phase::Recovery {
            if self.board.lost == 0 {
                return (began, Repeat::Nothing);
            }
            if self.enter_recovery(found.ece) {
                began = Some(CongestionKind::FastRetransmit);
            }
        }
        (began, Repeat::Lost)
    }

    fn judge_by_default(
        &mut self,
        duplicates: u64,
        found: &mut Findings,
        repeat: Repeat,
    ) -> (Option<CongestionKind>, Repeat) {
        if !self.settings.sack {
            if found.advanced {
                self.dupacks = 0;
            }
            self.count_duplicates(duplicates, found.ece);
        }
        if self.phase <= Phase::Disorder {
            self.undo_after_duplicate();
        }
        self.identify_loss(found);
        if self.board.lost == 0 {
            return (self.try_to_open(found), repeat);
        }
        let began = self.enter_recovery(found.ece).then_some(CongestionKind::FastRetransmit);
        (began, Repeat::Lost)
    }

    /// `tcp_process_loss`.
    fn judge_after_timeout(&mut self, duplicates: u64, found: &Findings) -> Repeat {
        let recovered = self.una >= self.high;
        if found.advanced && self.may_undo() {
            self.undo_timeout(false);
            return Repeat::Nothing;
        }
        if self.frto {
            if found.original_delivered {
                self.undo_timeout(true);
                return Repeat::Nothing;
            }
            if self.nxt > self.high {
                if found.data_sacked || duplicates > 0 {
                    self.frto = false;
                }
            } else if found.advanced && !recovered {
                self.high = self.nxt;
                if self.written > self.nxt && self.window_end > self.nxt {
                    return Repeat::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.undo_at_end();
            return Repeat::Nothing;
        }
        if !self.settings.sack {
            if self.nxt > self.high && duplicates > 0 {
                self.count_duplicates(duplicates, found.ece);
            } else if found.advanced {
                self.dupacks = 0;
            }
        }
        Repeat::Lost
    }

    /// `tcp_xmit_recovery`.
    pub(super) fn repeat(&mut self, repeat: Repeat, out: &mut Vec<Train>) {
        match repeat {
            Repeat::Nothing => {}
            Repeat::Lost => self.retransmit_lost(out),
            Repeat::New => {
                self.write(Push::All, out);
                if self.nxt > self.high {
                    return;
                }
                self.frto = false;
                self.retransmit_lost(out);
            }
        }
    }

    /// Proportional rate reduction (RFC 6937; `tcp_cwnd_reduction`).
    pub(super) fn reduce_window(&mut self, delivered: u64, lost: u64, advanced: bool) {
        if delivered == 0 || self.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let in_flight = self.in_flight();
        let target = self.ssthresh.min(1 << 40);
        let out = self.prr_out as i64;
        let mut send = if in_flight > target {
            let share = u128::from(target) * u128::from(self.prr_delivered) + u128::from(self.prior_cwnd) - 1;
            (share / u128::from(self.prior_cwnd)) as i64 - out
        } else {
            let mut count = (self.prr_delivered as i64 - out).max(delivered as i64);
            count += i64::from(advanced && lost == 0);
            count.min((target - in_flight) as i64)
        };
        // Entering recovery always sends one.
        send = send.max(i64::from(self.prr_out == 0));
        self.cwnd = (in_flight as i64 + send).max(1) as u64;
    }
}
