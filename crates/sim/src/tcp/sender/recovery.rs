//! Loss detection and recovery: the state machine of `tcp_fastretrans_alert`, RACK (RFC 8985), proportional rate
//! reduction (RFC 6937), F-RTO (RFC 5682) and undoing by DSACK (RFC 3708) or time stamps (RFC 3522).

use super::ack::Findings;
use super::transmit::Push;
use super::{MAX_REORDERING, Rack, Sender};
use crate::net::Train;
use crate::tcp::clock;
use crate::tcp::rate::Newest;
use wirespeed_congestion::{CongestionKind, Phase};
use wirespeed_units::SimTime;

/// Recoveries a larger reordering window is kept for (TCP_RACK_RECOVERY_THRESH).
const PERSIST: u32 = 16;

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

impl Rack {
    /// A packet was delivered (`tcp_rack_advance`).
    pub(super) fn advance(&mut self, now_us: i64, minimum_us: i64, sent: SimTime, end: u64, repeated: bool) {
        let sent_us = clock::micros(sent);
        let rtt = now_us - sent_us;
        if rtt < minimum_us && repeated {
            // It may have been the original.
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt;
        if (sent_us, end) > (self.sent_us, self.end) {
            self.sent_us = sent_us;
            self.end = end;
        }
    }
}

impl Sender {
    /// `tcp_rack_reo_wnd`.
    fn reordering_window_us(&self) -> i64 {
        if self.counts.reorderings == 0
            && (self.phase >= Phase::Recovery || self.sacked_out() >= self.reordering)
        {
            return 0;
        }
        ((self.rtt.minimum() >> 2) * self.rack.steps).min(self.rtt.smoothed())
    }

    /// `tcp_rack_detect_loss`; returns the microseconds to wait for what is not yet sure.
    pub(super) fn detect_loss(&mut self) -> i64 {
        let now = clock::micros(self.now);
        let (sent_us, end) = (self.rack.sent_us, self.rack.end);
        let allowed = self.rack.rtt_us + self.reordering_window_us();
        let mut wait = 0;
        let marked = self.board.detect(
            |segment| (sent_us, end) > (clock::micros(segment.sent), segment.end()),
            |segment| {
                let remaining = allowed - (now - clock::micros(segment.sent));
                if remaining > 0 {
                    wait = wait.max(remaining);
                }
                remaining <= 0
            },
        );
        self.delivery.lost += marked;
        wait
    }

    /// `tcp_identify_packet_loss`.
    fn identify_loss(&mut self, found: &mut Findings) {
        if self.board.is_empty() {
            return;
        }
        if !self.settings.sack {
            if (self.phase < Phase::Recovery && self.dupacks >= self.reordering)
                || (self.phase == Phase::Recovery && found.advanced)
            {
                self.delivery.lost += self.board.mark_head();
            }
            return;
        }
        let before = self.board.retransmitted;
        if std::mem::take(&mut self.rack.advanced) {
            let wait = self.detect_loss();
            if wait > 0 {
                self.wait_for_reordering(wait);
                found.set_timer = false;
            }
        }
        found.retransmission_lost |= before > self.board.retransmitted;
    }

    /// `tcp_rack_update_reo_wnd`.
    pub(super) fn update_reordering_window(&mut self, newest: &Newest) {
        let prior = newest.prior_delivered();
        if prior == 0 {
            return;
        }
        if prior < self.rack.last_delivered {
            self.rack.duplicate_seen = false;
        }
        if std::mem::take(&mut self.rack.duplicate_seen) {
            self.rack.steps = (self.rack.steps + 1).min(255);
            self.rack.last_delivered = self.delivery.delivered;
            self.rack.persist = PERSIST;
        } else if self.rack.persist == 0 {
            self.rack.steps = 1;
        }
    }

    /// A packet was overtaken by later ones and not lost (`tcp_check_sack_reordering`).
    pub(super) fn check_reordering(&mut self, low: u64) {
        let highest = self.highest_sacked();
        if low >= highest {
            return;
        }
        self.reordering = self.reordering.max((highest - low).min(MAX_REORDERING));
        self.counts.reorderings += 1;
    }

    /// `tcp_init_undo`.
    pub(super) fn init_undo(&mut self) {
        self.undo_marker = Some(self.una);
        self.undo_retransmissions = self.board.retransmitted as i64;
        if self.probe_end.is_some() && self.probe_retransmitted {
            self.undo_retransmissions += 1;
        }
        if self.undo_retransmissions == 0 {
            // None yet: not the same as "all were unnecessary".
            self.undo_retransmissions = -1;
        }
    }

    /// The echo shows that the original arrived (`tcp_packet_delayed`).
    fn was_delayed(&self) -> bool {
        if self.retransmission_stamp != 0 {
            return self.settings.timestamps && self.echo != 0 && self.echo < self.retransmission_stamp;
        }
        self.settings.sack || self.una < self.high
    }

    fn may_undo(&self) -> bool {
        self.undo_marker.is_some() && (self.undo_retransmissions == 0 || self.was_delayed())
    }

    /// `tcp_undo_cwnd_reduction`; the algorithm is told before the acknowledgement is.
    fn undo(&mut self, forget_losses: bool) {
        if forget_losses {
            self.board.forget_losses();
        }
        if self.may_restore {
            self.counts.undone += 1;
            self.ecn_cwr = false;
        }
        self.undo_marker = None;
        self.rack.advanced = true;
    }

    fn undo_after_duplicate(&mut self) -> bool {
        if self.undo_marker.is_none() || self.undo_retransmissions != 0 {
            return false;
        }
        self.rack.persist = (self.rack.persist + 1).min(PERSIST);
        self.undo(false);
        true
    }

    /// Everything of the episode is acknowledged (`tcp_try_undo_recovery`); whether the state must be kept.
    fn undo_at_end(&mut self) -> bool {
        if self.may_undo() {
            self.undo(false);
        } else if self.rack.persist > 0 {
            self.rack.persist -= 1;
        }
        if self.keeps_state_without_sack() {
            return true;
        }
        self.phase = Phase::Open;
        false
    }

    /// Without SACK the state is kept until something above the episode is acknowledged (RFC 6582, section 5).
    fn keeps_state_without_sack(&mut self) -> bool {
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
        self.ecn_cwr = self.settings.ecn;
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
                Phase::Cwr if self.una != self.high => self.phase = Phase::Open,
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

    /// `tcp_try_undo_loss`.
    fn undo_timeout(&mut self, by_frto: bool) {
        self.undo(true);
        self.retries = 0;
        if self.keeps_state_without_sack() {
            return;
        }
        if by_frto || self.settings.sack {
            self.phase = Phase::Open;
        }
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
