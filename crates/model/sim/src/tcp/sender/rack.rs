//! Loss detection by time (RACK, RFC 8985; `tcp_recovery.c`), and how much reordering it puts up with.

use super::Sender;
use super::ack::Findings;
use crate::tcp::clock;
use crate::tcp::rate::Newest;
use wirespeed_congestion::Phase;
use wirespeed_units::SimTime;

/// `net.ipv4.tcp_max_reordering`.
const MAX_REORDERING: u64 = 300;
/// Recoveries a larger reordering window is kept for (TCP_RACK_RECOVERY_THRESH).
pub(super) const PERSIST: u32 = 16;

/// RACK's state (RFC 8985, section 6).
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// Microseconds when the most recently sent of the delivered packets left, and the number after it.
    pub sent_us: i64,
    pub end: u64,
    pub rtt_us: i64,
    pub advanced: bool,
    pub duplicate_seen: bool,
    pub steps: i64,
    pub persist: u32,
    pub last_delivered: u64,
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
    pub(super) fn identify_loss(&mut self, found: &mut Findings) {
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
        if self.settings.era.forward_acks {
            self.detect_by_forward_acks();
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
}
