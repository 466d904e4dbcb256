//! A sender inside a modelled host: its application writes when its core lets it, and its host may refuse packets.

use super::Sender;
use crate::net::Train;
use wirespeed_units::SimTime;

impl Sender {
    /// The application is a thread of a modelled host: it has written nothing until [`Sender::grant`] says so.
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

    /// The host's queue refused new data from packet `from` on: it waits to be sent, as if it never had been
    /// (`tcp_write_xmit` stops where `tcp_transmit_skb` fails and leaves the packet at the send head).
    pub fn withdraw(&mut self, from: u64) {
        if from >= self.nxt || from < self.una {
            return;
        }
        self.nxt = self.board.withdraw(from).unwrap_or(self.una).max(self.una);
    }

    /// Number of the first packet that has not left.
    pub fn next_packet(&self) -> u64 {
        self.nxt
    }
}
