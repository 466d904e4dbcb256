//! Probing a closed window, lest the loss of the ACK that opens it stops the flow for ever (RFC 9293, 3.8.6.1).

use super::{Pending, Sender};
use crate::net::{Body, Ecn, Train};
use crate::tcp::clock;
use crate::tcp::rtt::{RTO_MAX_TICKS, RTO_MIN_US};
use wirespeed_units::Span;

/// Doublings of the interval at most (`tcp_probe0_when`: ilog2(TCP_RTO_MAX / TCP_RTO_MIN) + 1).
const DOUBLINGS: u32 = (RTO_MAX_TICKS * 1000 / RTO_MIN_US).ilog2() + 1;
/// Doublings that are counted (`net.ipv4.tcp_retries2`). After so many probes in a row without any answer, a quarter of
/// an hour and more, Linux gives the connection up.
const COUNTED: u32 = 15;

impl Sender {
    /// Ticks until a probe (`tcp_probe0_when`).
    fn probe_interval(&self, doublings: u32) -> i64 {
        (self.rtt.rto.max(RTO_MIN_US / 1000) << doublings.min(DOUBLINGS)).min(RTO_MAX_TICKS)
    }

    /// Nothing is out, and what is written may not leave (`tcp_check_probe_timer`).
    pub(super) fn await_window(&mut self) {
        if self.timer.pending.is_none() {
            self.arm(Pending::Persist, self.probe_interval(0));
        }
    }

    /// An acknowledgement came while nothing was out: whether the window has opened far enough for what is next
    /// (`tcp_ack_probe`).
    pub(super) fn on_window_known(&mut self) {
        let next = (self.written - self.nxt).min(self.pieces.head());
        if next == 0 {
            return;
        }
        if self.nxt + next <= self.window_end {
            self.rtt.backoff = 0;
            if self.timer.pending == Some(Pending::Persist) {
                self.timer.cancel();
            }
        } else {
            self.arm(Pending::Persist, self.probe_interval(self.rtt.backoff));
        }
    }

    /// The persist timer is due (`tcp_send_probe0`, `tcp_write_wakeup`). A window of less than a segment is used all the
    /// same: a segment is cut to it.
    pub(super) fn probe_window(&mut self, out: &mut Vec<Train>) {
        if self.nxt > self.una || self.written == self.nxt {
            return;
        }
        let room = self.room().min(u64::from(self.settings.mss));
        if room > 0 {
            self.rtt.backoff = 0;
            let offer = self.offer(1, self.written - self.nxt);
            let missing = self.settings.mss - offer.bytes.min(room) as u32;
            if missing > 0 && (offer.bytes <= room || self.may_end_short(room as u32)) {
                self.note_short(1, missing);
            }
            self.send_new(1, 1, out);
            self.let_application_write(out);
            return;
        }
        self.counts.window_probes += 1;
        out.push(Train {
            at: self.now,
            gap: Span::ZERO,
            packets: 1,
            frame: self.settings.headers,
            flow: self.stream.flow,
            ecn: Ecn::NotCapable,
            body: Body::WindowProbe { una: self.una, stamp: clock::stamp(self.now), echo: self.peer_stamp },
        });
        self.rtt.backoff = (self.rtt.backoff + 1).min(COUNTED);
        self.arm(Pending::Persist, self.probe_interval(self.rtt.backoff));
    }
}
