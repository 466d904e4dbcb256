//! Whether the window limits sending, or the application (`tcp_cwnd_validate`, RFC 7661's predecessor).

use super::Sender;
use super::transmit::WINDOW_DIVISOR;
use crate::tcp::clock;
use wirespeed_congestion::{Phase, Restart, RestartKind};
use wirespeed_units::Packets;

impl Sender {
    /// Notes whether the window limits sending (`tcp_cwnd_validate`, RFC 7661's predecessor).
    pub(super) fn validate_window(&mut self, limited: bool) {
        let out = self.outstanding();
        if self.una >= self.cwnd_usage_end || limited || (!self.cwnd_limited && out > self.max_packets_out) {
            self.cwnd_limited = limited;
            self.max_packets_out = out;
            self.cwnd_usage_end = self.nxt;
        }
        let tick = clock::ticks(self.now);
        let is_full = match self.settings.era.grows_when_filled {
            true => out >= self.cwnd,
            false => self.is_window_limited(),
        };
        if is_full {
            self.cwnd_used = 0;
            self.cwnd_stamp = tick;
            return;
        }
        self.cwnd_used = self.cwnd_used.max(out);
        if self.is_buffer_limited() {
            self.buffer_limited.set(true, self.now);
        }
        if self.settings.slow_start_after_idle
            && tick - self.cwnd_stamp >= self.rtt.rto
            && !self.settings.algorithm.needs_pacing
        {
            // A full send buffer means that the application is not the limit (`SOCK_NOSPACE`).
            if self.phase == Phase::Open && !self.blocked {
                let kind = RestartKind::Underused { used: Packets::new(self.cwnd_used) };
                let restart = Restart { now: self.now, kind, snd_nxt: self.bytes(self.nxt) };
                self.tell_restart(&restart);
                self.cwnd_used = 0;
            }
            self.cwnd_stamp = tick;
        }
    }

    /// Whether the window is used so far that it may grow with an ACK that found `in_flight` packets in flight.
    pub(super) fn may_grow_with(&self, in_flight: u64) -> bool {
        if !self.settings.era.grows_when_filled {
            return self.is_window_limited();
        }
        // `tcp_is_cwnd_limited` until Linux 3.16. With GSO it may be short of a third, which a send waits for.
        let left = self.cwnd.saturating_sub(in_flight);
        left == 0 || (self.settings.gso_packets > 1 && left * WINDOW_DIVISOR < self.cwnd)
    }

    /// `tcp_is_cwnd_limited`.
    pub(super) fn is_window_limited(&self) -> bool {
        self.cwnd_limited || (self.cwnd < self.ssthresh && self.cwnd < 2 * self.max_packets_out)
    }

    /// Notes that the application has nothing more to send (`tcp_rate_check_app_limited`).
    pub(super) fn note_application_limit(&mut self) {
        if self.written == self.nxt
            && self.in_flight() < self.cwnd
            && self.board.lost <= self.board.retransmitted
        {
            self.delivery.limited_by_application(self.in_flight());
        }
    }
}
