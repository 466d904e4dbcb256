//! A sender whose application does not always have something to write. In a modelled host it writes when its core lets it, and
//! its host may refuse packets. In a splitter it writes as data arrives.

use super::Sender;
use crate::net::Train;
use wirespeed_units::SimTime;

impl Sender {
    /// The application is a thread of a modelled host, or a relay: it has written nothing until [`Sender::grant`] says so.
    pub fn await_writer(&mut self) {
        self.granted = 0;
    }

    /// The application would write if it ran: there is room, and what it wrote before is in.
    pub fn wants_writer(&self) -> bool {
        self.established && !self.blocked && self.granted < self.end && self.written >= self.granted
    }

    /// The application has written so many packets more.
    pub fn grant(&mut self, now: SimTime, packets: u64, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        self.granted = self.granted.saturating_add(packets);
        self.fill(out);
        self.let_application_write(out);
    }

    /// A relay writes so many packets more, in a call of its own: TCP notes first whether it has waited for them
    /// (`tcp_sendmsg_locked`).
    pub fn relay(&mut self, now: SimTime, packets: u64, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        self.note_application_limit();
        self.grant(now, packets, out);
    }

    /// The host's queue refused new data, `packets` from `from` on: they wait to be sent, as if they never had been
    /// (`tcp_write_xmit` stops where `tcp_transmit_skb` fails and leaves the packet at the send head). What was put out
    /// behind them was not tried; they themselves stay counted as sent (`tcpi_bytes_sent` grows before the queue is
    /// asked).
    pub fn withdraw(&mut self, from: u64, packets: u64) {
        // What left before and was to leave again has not become new by being refused.
        if from >= self.nxt || from < self.una || !self.board.left_once(from) {
            return;
        }
        let before = self.nxt;
        let (end, departure) = self.board.withdraw(from);
        self.nxt = end.unwrap_or(self.una).max(self.una);
        // The pacer's clock moves with what was sent only (`tcp_update_skb_after_send`).
        self.pace = departure.map_or(self.pace, |departure| departure.min(self.pace));
        if self.phase.is_reducing() {
            self.prr_out = self.prr_out.saturating_sub(before - self.nxt);
        }
        // Sending stopped here, not at the small-queue limit that was reached behind it.
        self.host_queue.release();
        let tried = (from + packets).max(self.nxt);
        if let Ok(untried @ 1..) = u32::try_from(before.saturating_sub(tried)) {
            self.counts.packets_out -= u64::from(untried) - u64::from(before > self.stream.packets);
            self.counts.bytes_out -= self.payload(tried, untried);
        }
        self.forget_unsent_shorts();
        if self.outstanding() == 0 {
            // No acknowledgement will come: it is tried again like a probe of a closed window (`tcp_check_probe_timer`).
            self.timer.cancel();
            self.await_window();
        }
    }

    /// Payload of a full segment in bytes.
    pub fn segment(&self) -> u64 {
        self.settings.mss.into()
    }

    /// Payload that the application has written, bytes; a FIN of its own counts as a full segment.
    pub fn written_bytes(&self) -> u64 {
        self.bytes(self.written) - u64::from(self.unsent_phase)
    }

    /// Number of the first packet that has not left.
    pub fn next_packet(&self) -> u64 {
        self.nxt
    }
}
