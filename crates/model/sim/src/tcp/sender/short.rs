//! Packets that carry less than a full segment: what is sent into the end of the receiver's window, and what that leaves of
//! a GSO packet (`tcp_mss_split_point`).
//!
//! Packets are numbered, and nearly all are full. Behind one that is not, the bytes that wait are no longer whole
//! segments: of the first a part has left.

use super::Sender;
use std::collections::VecDeque;

/// Acknowledged short packets that are remembered: a capture may still ask for the sequence number of packets near them.
const KEPT: usize = 64;

/// A packet that carries less.
#[derive(Debug, Clone, Copy)]
struct Short {
    /// Number after it.
    end: u64,
    /// Bytes by which all packets up to it fall short.
    missing: u64,
    /// [`Sender::unsent_phase`] before it was sent.
    phase: u32,
    /// The unsent data needed one packet more after it.
    adds: bool,
}

/// The state behind the last short packet. Nearly all questions are about it, and [`Shorts`] is further away in memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BehindLast {
    /// Number after the packet; 0 if there is none.
    end: u64,
    /// Bytes by which all packets up to it fall short.
    missing: u64,
}

/// Short packets in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Shorts {
    all: VecDeque<Short>,
    /// Bytes by which those that are forgotten fall short.
    before: u64,
}

impl Shorts {
    /// Bytes by which the packets below `number` fall short.
    fn missing(&self, number: u64) -> u64 {
        let index = self.all.partition_point(|short| short.end <= number);
        index.checked_sub(1).map_or(self.before, |index| self.all[index].missing)
    }

    fn behind_last(&self) -> BehindLast {
        let none = BehindLast { end: 0, missing: self.before };
        self.all.back().map_or(none, |last| BehindLast { end: last.end, missing: last.missing })
    }

    /// Packets below `number` are acknowledged.
    fn forget_below(&mut self, number: u64) {
        while self.all.len() > KEPT && self.all[0].end <= number {
            self.before = self.all[0].missing;
            self.all.pop_front();
        }
    }
}

impl Sender {
    /// Bytes by which the packets below `number` fall short of full segments.
    #[inline]
    pub(super) fn missing(&self, number: u64) -> u64 {
        let before = if number >= self.behind_last_short.end {
            self.behind_last_short.missing
        } else {
            self.shorts.as_ref().map_or(0, |shorts| shorts.missing(number))
        };
        if number < self.stream.packets { before } else { before + self.missing_at_end(number) }
    }

    /// The same for packets below `number` that include the last one with data, and perhaps a separate FIN.
    #[cold]
    fn missing_at_end(&self, number: u64) -> u64 {
        let mss = u64::from(self.settings.mss);
        let fins = number - self.stream.packets;
        mss - u64::from(self.stream.last_bytes) + fins * mss
    }

    /// The first byte of packet `number`, counted from 0: its place in the stream.
    #[inline]
    pub fn bytes(&self, number: u64) -> u64 {
        number.saturating_mul(u64::from(self.settings.mss)).saturating_sub(self.missing(number))
    }

    /// The sequence number of packet `number` (RFC 9293), counted from 0. The FIN takes one number after the data.
    pub fn sequence(&self, number: u64) -> u64 {
        self.bytes(number) + u64::from(self.shut && number == self.end)
    }

    /// Bytes from the first that is not acknowledged to the last that is written.
    pub(super) fn unacknowledged_bytes(&self) -> u64 {
        let missing = self.missing(self.nxt) - self.missing(self.una);
        (self.written - self.una) * u64::from(self.settings.mss) - missing - u64::from(self.unsent_phase)
    }

    /// A packet of less than a full segment is out, so that no other is sent while more could fill it (Nagle's algorithm,
    /// RFC 1122, 4.2.3.4; `tcp_minshall_check`).
    pub(super) fn has_small_out(&self) -> bool {
        self.behind_last_short.end > self.una
    }

    /// Of the next `packets` the last will fall short of a full segment by `missing` bytes.
    #[cold]
    pub(super) fn note_short(&mut self, packets: u64, missing: u32) {
        let mss = self.settings.mss;
        let phase = self.unsent_phase + (mss - missing);
        let adds = phase < mss;
        let end = self.nxt + packets;
        let before = self.missing(self.nxt);
        let entry = Short { end, missing: before + u64::from(missing), phase: self.unsent_phase, adds };
        self.add_short(entry);
        self.unsent_phase = if adds { phase } else { phase - mss };
        if adds {
            self.number_unsent(|number| number + 1);
            self.pieces.add_to_head();
        }
        self.window_rest += missing;
        if self.window_rest >= mss {
            self.window_rest -= mss;
            self.window_end += 1;
        }
    }

    /// The last written packet is short, and acknowledged: others may follow it.
    #[cold]
    pub(super) fn note_short_end(&mut self) {
        let end = self.stream.packets;
        let entry = Short { end, missing: self.missing(end), phase: 0, adds: false };
        self.add_short(entry);
    }

    #[cold]
    fn add_short(&mut self, entry: Short) {
        let shorts = self.shorts.get_or_insert_default();
        shorts.forget_below(self.una);
        shorts.all.push_back(entry);
        self.behind_last_short = shorts.behind_last();
    }

    /// Short packets from number [`Sender::nxt`] on were not sent after all.
    pub(super) fn forget_unsent_shorts(&mut self) {
        let nxt = self.nxt;
        while let Some(shorts) = &mut self.shorts
            && let Some(last) = shorts.all.back().copied().filter(|last| last.end > nxt)
        {
            shorts.all.pop_back();
            self.behind_last_short = shorts.behind_last();
            let missing = last.missing - self.behind_last_short.missing;
            let mss = u64::from(self.settings.mss);
            let room = (self.window_end * mss + u64::from(self.window_rest)).saturating_sub(missing);
            (self.window_end, self.window_rest) = (room / mss, (room % mss) as u32);
            self.unsent_phase = last.phase;
            if last.adds {
                self.number_unsent(|number| number - 1);
            }
        }
    }

    /// Changes all packet numbers that lie in the unsent data.
    fn number_unsent(&mut self, change: impl Fn(u64) -> u64) {
        let nxt = self.nxt;
        self.written = change(self.written);
        for number in [&mut self.end, &mut self.granted, &mut self.stream.packets] {
            // The greatest number means that there is no end.
            *number = if *number == u64::MAX { u64::MAX } else { change(*number) };
        }
        if self.pushed > nxt {
            self.pushed = change(self.pushed);
        }
        self.pieces.renumber(nxt, change);
    }

    /// Whether the next short packet may carry so many bytes. In a stream that ends, some have to be left for its last packet.
    pub(super) fn may_end_short(&self, carried: u32) -> bool {
        let phase = self.unsent_phase + carried;
        self.stream.packets == u64::MAX || phase == self.settings.mss || phase < self.stream.last_bytes
    }

    /// What the window of an acknowledgement of everything below `next` allows: number after the last whole packet, and bytes
    /// of the one after it.
    pub(super) fn window_of(&self, next: u64, window: u64, whole: u64) -> (u64, u32) {
        let mss = u64::from(self.settings.mss);
        let apart = self.missing(self.nxt) - self.missing(next.min(self.nxt));
        if apart == 0 {
            return (next + whole, (window - whole * mss) as u32);
        }
        let (end, from) = (self.bytes(next) + window, self.bytes(self.nxt));
        match end.checked_sub(from) {
            Some(room) => (self.nxt + room / mss, (room % mss) as u32),
            None => (self.nxt - (from - end).div_ceil(mss).min(self.nxt), 0),
        }
    }
}
