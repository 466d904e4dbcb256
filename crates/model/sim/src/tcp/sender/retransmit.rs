//! What is sent again (`tcp_xmit_retransmit_queue`, `tcp_retransmit_skb`).

use super::transmit::Turn;
use super::{Pending, Sender};
use crate::net::Train;
use crate::tcp::clock;
use crate::tcp::rate::Snapshot;
use wirespeed_units::SimTime;

impl Sender {
    /// Sends what is presumed lost again, as far as the window allows (`tcp_xmit_retransmit_queue`).
    pub(super) fn retransmit_lost(&mut self, out: &mut Vec<Train>) {
        if self.outstanding() == 0 || self.host_queue.is_asked() {
            return;
        }
        let burst = self.burst;
        let mut rearm = false;
        let mut sent = 0;
        loop {
            if self.waits_for_pacer() {
                break;
            }
            let room = self.cwnd.saturating_sub(self.in_flight()).min(burst);
            if room == 0 {
                break;
            }
            let Some(segment) = self.board.next_lost() else {
                if self.looks_ahead() {
                    continue;
                }
                break;
            };
            // Beyond a window that was taken back nothing is sent again but the head (`__tcp_retransmit_skb`).
            let allowed = self.window_end.saturating_sub(segment.first);
            if allowed == 0 && segment.first != self.una {
                break;
            }
            let packets = u64::from(segment.packets).min(room).min(allowed.max(1)) as u32;
            if self.is_throttled(packets.into(), 1) {
                break;
            }
            self.retransmit(segment.first, packets, out);
            if self.phase.is_reducing() {
                self.prr_out += u64::from(packets);
            }
            rearm |= segment.first == self.una && self.timer.pending != Some(Pending::Reordering);
            sent += u64::from(packets);
            if self.asks(sent) {
                break;
            }
        }
        if rearm {
            self.arm(Pending::Retransmission, self.rtt.rto);
        }
    }

    /// Sends packets again, whatever the window says (`tcp_retransmit_skb`).
    pub(super) fn retransmit(&mut self, first: u64, packets: u32, out: &mut Vec<Train>) {
        let (sent, snapshot) = self.leave_again(first, packets, out);
        self.board.retransmit(first, packets, sent, snapshot);
        if self.retransmission_stamp == 0 {
            self.retransmission_stamp = clock::stamp(sent);
        }
        self.undo_retransmissions = self.undo_retransmissions.max(0) + i64::from(packets);
    }

    /// Sends the last packet again as a tail loss probe. Neither what is in flight nor what an undo waits for counts it
    /// (`tcp_send_loss_probe` calls `__tcp_retransmit_skb`; `tcp_init_undo` adds it to the latter).
    pub(super) fn retransmit_tail(&mut self, out: &mut Vec<Train>) {
        let Some(last) = self.board.tail().map(|tail| tail.end() - 1) else { return };
        let (sent, snapshot) = self.leave_again(last, 1, out);
        self.board.probe(last, 1, sent, snapshot);
        self.probe_retransmitted = true;
    }

    /// Puts packets on the wire that were there before (`__tcp_retransmit_skb`).
    fn leave_again(&mut self, first: u64, packets: u32, out: &mut Vec<Train>) -> (SimTime, Snapshot) {
        let sent = self.departure(packets);
        let in_flight = self.in_flight();
        let snapshot = self.delivery.on_send(sent, self.outstanding(), packets, in_flight);
        self.tell_sent(sent, packets, in_flight);
        self.transmit(first, (packets, packets), Turn::Again, sent, out);
        self.counts.retransmitted += u64::from(packets);
        self.counts.retransmitted_bytes += self.payload(first, packets);
        (sent, snapshot)
    }

    /// The head again, after a timeout.
    pub(super) fn retransmit_head(&mut self, out: &mut Vec<Train>) {
        if let Some(head) = self.board.head().copied() {
            self.retransmit(head.first, 1, out);
        }
    }
}
