//! How a sender reduced its window before proportional rate reduction: rate halving (Hoe, MIT 1995; Mathis, Semke and Mahdavi,
//! 1999), in the form of `tcp_cwnd_down`, `tcp_moderate_cwnd` and `tcp_complete_cwr` until Linux 3.2.
//!
//! The window never exceeds what is in flight by more than a packet while it is reduced. Where many packets of a window are lost,
//! or many of its ACKs, it falls far below the threshold, and slow start has to bring it back.

use super::Sender;
use super::congestion::Seen;
use wirespeed_congestion::{Restart, RestartKind};
use wirespeed_units::Packets;

/// Packets that may leave at once for an ACK that says something unusual (`tcp_max_burst`).
const MAX_BURST: u64 = 3;
/// Algorithms without a `min_cwnd` of their own: the window goes down to the threshold. (Westwood's own is what its threshold
/// becomes.) Others go down to half of it (`tcp_reno_min_cwnd`).
const DOWN_TO_THRESHOLD: &[&str] = &["bic", "cubic", "htcp", "westwood"];

impl Sender {
    /// A reduction has begun by itself, without an ACK (`tcp_enter_cwr`).
    pub(super) fn hold_window(&mut self) {
        self.cwnd = self.cwnd.min(self.in_flight() + 1);
    }

    /// An ACK during the reduction (`tcp_cwnd_down`).
    pub(super) fn halve_window(&mut self, progress: bool) {
        if !progress {
            return;
        }
        self.second_ack = !self.second_ack;
        if !self.second_ack && self.cwnd > self.least_window() {
            self.cwnd -= 1;
        }
        self.hold_window();
    }

    /// `tcp_cwnd_min`.
    fn least_window(&self) -> u64 {
        if DOWN_TO_THRESHOLD.contains(&self.settings.algorithm.name) {
            self.ssthresh
        } else {
            self.ssthresh / 2
        }
    }

    /// After an ACK that leaves no reduction going on: what a reduction that ended left is kept (`tcp_complete_cwr`), and an
    /// unusual ACK lets no burst go. `reduced`: the window before the ACK.
    pub(super) fn moderate_window(&mut self, seen: &Seen, reduced: u64) {
        let mut limit = u64::MAX;
        // Westwood takes its threshold for the window then.
        if seen.ended && !seen.undone && self.settings.algorithm.name != "westwood" {
            limit = reduced.min(self.ssthresh);
        }
        if seen.dubious {
            limit = limit.min(self.in_flight() + MAX_BURST);
        }
        if limit < self.cwnd {
            let kind = RestartKind::Moderated { cwnd: Packets::new(limit) };
            let restart = Restart { now: self.now, kind, snd_nxt: self.bytes(self.nxt) };
            self.tell_restart(&restart);
        }
    }
}
