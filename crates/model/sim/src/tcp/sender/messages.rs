//! A sender whose application writes one message after the other on a connection that stays open. Everything before a message has
//! been acknowledged when it is written.

use super::Sender;
use crate::net::Train;
use wirespeed_units::SimTime;

impl Sender {
    /// Everything that was written is acknowledged, and the application may write more.
    pub fn awaits_message(&self) -> bool {
        let is_open = self.stream.stays_open && self.end == self.stream.packets;
        self.established && is_open && self.una == self.stream.packets
    }

    /// The application writes a message of so many bytes, at least one, in a call of its own. Everything before it is acknowledged.
    pub fn begin_message(&mut self, now: SimTime, bytes: u64, out: &mut Vec<Train>) {
        debug_assert!(self.awaits_message() && self.nxt == self.una);
        self.now = self.now.max(now);
        self.end_message();
        let mss = u64::from(self.settings.mss);
        self.stream.packets += bytes.div_ceil(mss);
        self.stream.last_bytes = ((bytes - 1) % mss + 1) as u32;
        self.end = self.stream.packets;
        self.granted = self.end;
        self.note_application_limit();
        self.fill(out);
        self.let_application_write(out);
    }

    /// The application writes no more messages, and shuts the sending side down.
    pub fn end_messages(&mut self, now: SimTime, out: &mut Vec<Train>) {
        debug_assert!(self.awaits_message());
        self.now = self.now.max(now);
        self.end_message();
        self.stream.stays_open = false;
        self.granted = u64::MAX;
        self.shut_down(out);
    }

    /// A short last packet stays short when others follow it.
    fn end_message(&mut self) {
        if self.stream.last_bytes < self.settings.mss {
            self.note_short_end();
            self.stream.last_bytes = self.settings.mss;
        }
    }

    /// A request of the receiver has come.
    pub fn note_request(&mut self) {
        self.requested = true;
    }

    /// The application takes the request that has come, if there is one.
    pub fn take_request(&mut self) -> bool {
        std::mem::take(&mut self.requested)
    }

    /// Number after the last packet of the latest message.
    pub fn message_end(&self) -> u64 {
        self.stream.packets
    }

    /// When it last had something to do.
    pub fn now(&self) -> SimTime {
        self.now
    }
}
