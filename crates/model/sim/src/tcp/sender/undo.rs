//! Taking a reduction back that was a mistake: by DSACK (RFC 3708), time stamps (RFC 3522) or F-RTO (RFC 5682).

use super::Sender;
use super::rack::PERSIST;
use wirespeed_congestion::Phase;

impl Sender {
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
    pub(super) fn was_delayed(&self) -> bool {
        if self.retransmission_stamp != 0 {
            return self.settings.timestamps && self.echo != 0 && self.echo < self.retransmission_stamp;
        }
        self.settings.sack || self.una < self.high
    }

    pub(super) fn may_undo(&self) -> bool {
        self.undo_marker.is_some() && (self.undo_retransmissions == 0 || self.was_delayed())
    }

    /// `tcp_undo_cwnd_reduction`; the algorithm is told before the acknowledgement is.
    pub(super) fn undo(&mut self, forget_losses: bool) {
        if forget_losses {
            self.board.forget_losses();
        }
        if self.may_restore {
            self.counts.undone += 1;
            self.ecn_cwr = false;
            // A recovery that begins with the same acknowledgement reduces this window (`tcp_reno_undo_cwnd`).
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        self.undo_marker = None;
        self.rack.advanced = true;
    }

    pub(super) fn undo_after_duplicate(&mut self) -> bool {
        if self.undo_marker.is_none() || self.undo_retransmissions != 0 {
            return false;
        }
        self.rack.persist = (self.rack.persist + 1).min(PERSIST);
        self.undo(false);
        true
    }

    /// Everything of the episode is acknowledged (`tcp_try_undo_recovery`); whether the state must be kept.
    pub(super) fn undo_at_end(&mut self) -> bool {
        if self.may_undo() {
            self.undo(false);
        } else if self.rack.persist > 0 {
            self.rack.persist -= 1;
        }
        if self.undo_marker.is_some() {
            self.end_reduction();
        }
        if self.keeps_state_without_sack() {
            return true;
        }
        self.phase = Phase::Open;
        false
    }

    /// `tcp_try_undo_loss`.
    pub(super) fn undo_timeout(&mut self, by_frto: bool) {
        self.undo(true);
        self.retries = 0;
        if self.keeps_state_without_sack() {
            return;
        }
        if by_frto || self.settings.sack {
            self.phase = Phase::Open;
        }
    }
}
