//! A receiver inside a modelled host: packets come merged (GRO), and the application reads when its core lets it.

use super::{Feedback, Receiver};
use crate::net::{Data, Train};
use crate::tcp::clock;
use wirespeed_units::SimTime;

impl Receiver {
    /// Packets that GRO merged into one arrive: they are taken together, and one ACK at most answers them.
    pub fn on_merged(&mut self, train: &Train, data: &Data, out: &mut Vec<Train>) {
        self.on_confirm(train.at);
        if self.settings.timestamps {
            self.buffer.measure_by_stamp(clock::stamp(train.at), data.echo);
        }
        if data.last {
            self.end = Some(data.first + u64::from(train.packets));
        }
        self.now = self.now.max(train.at);
        self.pushed |= data.is_pushed(0);
        let payload = train.frame.saturating_sub(self.header());
        let in_order = data.first == self.next && self.order.is_empty() && !self.order.has_duplicate();
        if !in_order || !self.buffer.fits() || self.buffer.current(self.next) == 0 {
            let sent = out.len();
            for index in 0..u64::from(train.packets) {
                self.on_packet(data.first + index, train.frame, train.ecn, data, out);
            }
            // What was put out on the way is said by the last.
            let surplus = out.len().saturating_sub(sent + 1);
            out.drain(sent..sent + surplus);
            self.counts.acks_out -= surplus as u64;
            return;
        }
        self.count(train.packets, train.frame);
        if self.next <= self.acknowledged {
            self.echo = data.stamp;
        }
        if self.settings.feedback == Feedback::Accurate {
            self.count_marks(train.ecn, payload, train.packets);
        }
        self.buffer.take_merged(self.next, train.packets, payload);
        if payload > 0 {
            self.buffer.measure_round_trip(self.now, self.next);
            self.note_arrival();
        }
        if self.settings.feedback.echoes() {
            self.check_mark(data.first, train.ecn, data, out);
        }
        if payload > 0 && self.buffer.grow(payload, train.packets) {
            self.quick |= 1;
        }
        self.next += u64::from(train.packets);
        if payload < self.settings.mss {
            self.pushed = true;
            self.buffer.fall_short(u64::from(self.settings.mss - payload) * u64::from(train.packets));
        }
        self.settle(out);
        self.read(out);
    }

    /// The application has something to read, or its end.
    pub fn wants_reader(&self) -> bool {
        self.buffer.wakes_reader(self.next) || self.is_finished() && self.buffer.unread() > 0
    }

    /// Whether the handshake is over: accept(2) returns.
    pub fn is_confirmed(&self) -> bool {
        self.handshake_us > 0
    }

    /// Payload of a full segment in bytes.
    pub fn segment(&self) -> u64 {
        self.settings.mss.into()
    }

    /// Packets that wait for the application.
    pub fn unread(&self) -> u64 {
        self.buffer.unread()
    }

    /// Memory that data in the receive buffer occupies, in bytes.
    pub fn memory(&self) -> u64 {
        self.buffer.occupied()
    }

    /// Memory that a train occupies, in bytes; `merged`: it came as one (GRO).
    pub fn train_memory(&self, train: &Train, merged: bool) -> u64 {
        let payload = u64::from(train.frame.saturating_sub(self.header()));
        let (packets, each) = (u64::from(train.packets), self.buffer.each(payload));
        packets * each.fragment + if merged { 1 } else { packets } * each.overhead
    }

    /// Memory up to which packets may wait behind the socket's lock, together with what is unread, in bytes.
    pub fn backlog_limit(&self) -> u64 {
        self.buffer.backlog_limit()
    }

    /// The application has read so many packets, which may make an ACK leave (`tcp_cleanup_rbuf`).
    pub fn read_some(&mut self, now: SimTime, packets: u64, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        self.buffer.read_some(self.now, packets);
        self.answer_reader(out);
    }
}
