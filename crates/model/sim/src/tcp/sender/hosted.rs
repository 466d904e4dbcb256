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

    /// Payload of a full segment in bytes.
    pub fn segment(&self) -> u64 {
        self.settings.mss.into()
    }

    /// Payload that the application has written, bytes; a FIN of its own counts as a full segment.
    pub fn written_bytes(&self) -> u64 {
        self.bytes(self.written) - u64::from(self.unsent_phase)
    }
}
