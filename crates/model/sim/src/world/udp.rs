//! Datagrams: a source at a constant rate, and what arrives of it.

use crate::net::{Body, Ecn, Train};
use wirespeed_record::Datagram;
use wirespeed_units::{SimTime, Span};

/// Datagrams at a constant rate.
#[derive(Debug)]
pub struct Udp {
    /// Payload of each.
    pub payload: u32,
    /// Ethernet frame of each.
    pub frame: u32,
    /// From one to the next.
    pub gap: Span,
    /// How many at most.
    pub limit: u64,
    /// ECN field of each.
    pub ecn: Ecn,
    /// Datagrams of one event at most.
    pub batch: u32,
    /// When the application began.
    began: SimTime,
    /// When it stops.
    pub stop_at: SimTime,
    /// When the next is due.
    pub next: Option<SimTime>,
    /// Sent.
    pub sent: u64,
    /// Arrived, the first time.
    pub arrived: u64,
    /// One row each.
    rows: Vec<Datagram>,
    /// One row for each that arrived again.
    copies: Vec<Datagram>,
    highest: u64,
}

impl Udp {
    /// A source that has not started.
    pub fn new(payload: u32, frame: u32, gap: Span, limit: u64, batch: u32, stop_at: SimTime) -> Udp {
        Udp {
            payload,
            frame,
            gap,
            limit,
            ecn: Ecn::NotCapable,
            batch: batch.max(1),
            began: SimTime::START,
            stop_at,
            next: None,
            sent: 0,
            arrived: 0,
            rows: Vec::new(),
            copies: Vec::new(),
            highest: 0,
        }
    }

    /// Sends the next datagrams and plans those after.
    pub fn send(&mut self, now: SimTime, flow: u32, out: &mut Vec<Train>) {
        self.next = None;
        let left = self.limit - self.sent;
        if now >= self.stop_at || left == 0 {
            return;
        }
        let until_stop = (self.stop_at - now)
            .picoseconds()
            .unsigned_abs()
            .div_ceil(self.gap.picoseconds().max(1).unsigned_abs());
        let packets = u64::from(self.batch).min(left).min(until_stop.max(1)) as u32;
        out.push(self.put_out(now, packets, flow));
        self.next = Some(now + self.gap * i64::from(packets));
    }

    /// Packets leave the application, the first at `at`.
    fn put_out(&mut self, at: SimTime, packets: u32, flow: u32) -> Train {
        let first = self.sent;
        for index in 0..packets {
            self.rows.push(Datagram {
                flow,
                sequence: first + u64::from(index),
                sent_ns: (at + self.gap * i64::from(index)).nanoseconds(),
                arrived_ns: None,
                reordered_by: 0,
                duplicate: false,
            });
        }
        self.sent += u64::from(packets);
        let body = Body::Datagram { first };
        Train { at, gap: self.gap, packets, frame: self.frame, flow, ecn: self.ecn, body }
    }

    /// The application begins.
    pub fn begin(&mut self, now: SimTime) {
        self.began = now;
    }

    /// When the next is due by the rate, however late those before it were; `None`: at `now` there is no more to send.
    pub fn due(&self, now: SimTime) -> Option<SimTime> {
        let after = self.gap.picoseconds().saturating_mul(i64::try_from(self.sent).unwrap_or(i64::MAX));
        let due = self.began + Span::ps(after);
        (self.sent < self.limit && now.max(due) < self.stop_at).then_some(due)
    }

    /// The application's thread has sent the next.
    pub fn write(&mut self, at: SimTime, flow: u32) -> Train {
        self.put_out(at, 1, flow)
    }

    /// Sends no more.
    pub fn stop(&mut self, now: SimTime) {
        self.stop_at = self.stop_at.min(now);
        self.next = None;
    }

    /// Datagrams arrive, some of them twice.
    pub fn receive(&mut self, train: &Train, first: u64) {
        for index in 0..u64::from(train.packets) {
            let number = first + index;
            let arrived_ns = Some((train.at + train.gap * index as i64).nanoseconds());
            let reordered_by = self.arrived_above(number);
            let row = &mut self.rows[number as usize];
            if row.arrived_ns.is_some() {
                self.copies.push(Datagram { arrived_ns, reordered_by, duplicate: true, ..row.clone() });
                continue;
            }
            (row.arrived_ns, row.reordered_by) = (arrived_ns, reordered_by);
            self.arrived += 1;
            self.highest = self.highest.max(number);
        }
    }

    /// How many datagrams of higher numbers have arrived, copies too.
    fn arrived_above(&self, number: u64) -> u32 {
        if number >= self.highest {
            return 0;
        }
        let above = &self.rows[number as usize + 1..=self.highest as usize];
        let copies = self.copies.iter().filter(|row| row.sequence > number);
        (above.iter().filter(|row| row.arrived_ns.is_some()).count() + copies.count()) as u32
    }

    /// Datagrams that have arrived again.
    pub fn arrived_again(&self) -> u64 {
        self.copies.len() as u64
    }

    /// A row of each datagram, and of each that arrived again.
    pub fn take_rows(&mut self) -> Vec<Datagram> {
        let mut rows = std::mem::take(&mut self.rows);
        if !self.copies.is_empty() {
            rows.append(&mut self.copies);
            rows.sort_by_key(|row| (row.sequence, row.duplicate, row.arrived_ns));
        }
        rows
    }
}
