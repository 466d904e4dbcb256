//! kernel/qdisc/sch_wire.c, packet by packet and in picoseconds.

use crate::net::{Body, Data, Ecn, Link, LinkStatistics, Random, Train};
use wirespeed_units::{SimTime, Span};

/// Start, arrival, bytes, lost.
type Accepted = (i64, i64, u64, bool);

/// The state of sch_wire.c.
pub(crate) struct Reference {
    pub rate: u64,
    pub delay: i64,
    pub limit: u64,
    pub loss: u64,
    pub random: Random,
    free: i64,
    remainder: u128,
    accepted: Vec<Accepted>,
    overflow: u64,
}

impl Reference {
    pub fn new(rate: u64, delay: i64, limit: u64, loss: u64, seed: u64) -> Reference {
        let random = Random::new(seed);
        let accepted = Vec::new();
        Reference { rate, delay, limit, loss, random, free: 0, remainder: 0, accepted, overflow: 0 }
    }

    pub fn waiting(&self, now: i64) -> u64 {
        // Packets start in order of acceptance.
        self.accepted.iter().rev().take_while(|p| p.0 > now).map(|p| p.2).sum()
    }

    /// The arrival of a packet at `now`, if it is accepted and not lost.
    pub fn enqueue(&mut self, now: i64, bytes: u64) -> Option<i64> {
        if self.free > now && self.waiting(now) + bytes > self.limit {
            self.overflow += 1;
            return None;
        }
        if self.free <= now {
            self.remainder = 0;
        }
        let start = self.free.max(now);
        let parts = self.remainder + u128::from(bytes) * 8_000_000_000_000;
        self.free = start + (parts / u128::from(self.rate)) as i64;
        self.remainder = parts % u128::from(self.rate);
        let lost = self.loss > 0 && self.random.draw() < self.loss;
        self.accepted.push((start, self.free + self.delay, bytes, lost));
        (!lost).then_some(self.free + self.delay)
    }

    pub fn statistics(&self, now: i64) -> LinkStatistics {
        let count =
            |test: fn(&Accepted, i64) -> bool| self.accepted.iter().filter(|p| test(p, now)).count() as u64;
        LinkStatistics {
            waiting_bytes: self.waiting(now),
            waiting_packets: count(|p, now| p.0 > now),
            flight_packets: count(|p, now| p.0 <= now && p.1 > now),
            sent_packets: count(|p, now| p.0 <= now),
            sent_bytes: self.accepted.iter().filter(|p| p.0 <= now).map(|p| p.2).sum(),
            overflow_packets: self.overflow,
            lost_packets: count(|p, now| p.1 <= now && p.3),
            delivered_packets: count(|p, now| p.1 <= now && !p.3),
            ..LinkStatistics::default()
        }
    }
}

/// Data packets of a flow.
pub(crate) fn data(flow: u32, first: u64, packets: u32, frame: u32, at: i64, gap: i64) -> Train {
    let body = Body::Data(Data {
        first,
        stamp: 0,
        echo: 0,
        last: false,
        pushes: 0,
        cwr: false,
        missing: 0,
        held: Span::ZERO,
    });
    Train { at: SimTime::ps(at), gap: Span::ps(gap), packets, frame, flow, ecn: Ecn::NotCapable, body }
}

/// Number of the first packet.
pub(crate) fn first(train: &Train) -> u64 {
    match &train.body {
        Body::Data(data) => data.first,
        _ => panic!("the tests send data"),
    }
}

/// Every packet of `trains` as flow, number and time.
pub(crate) fn packets(trains: &[Train]) -> Vec<(u32, u64, i64)> {
    let of = |t: &Train| {
        let (flow, number, at, gap) = (t.flow, first(t), t.at.picoseconds(), t.gap.picoseconds());
        (0..t.packets).map(move |i| (flow, number + u64::from(i), at + gap * i64::from(i)))
    };
    trains.iter().flat_map(of).collect()
}

/// Offers `trains`, which are in the order of their first packets, calls the link whenever it wants to be called,
/// and returns all that arrives.
pub(crate) fn run(link: &mut Link, trains: impl IntoIterator<Item = Train>) -> Vec<Train> {
    let mut out = Vec::new();
    for train in trains {
        wake_until(link, train.at, &mut out);
        link.offer(train, &mut out);
    }
    wake_until(link, SimTime::ps(i64::MAX), &mut out);
    out
}

/// Calls the link whenever it wants to be called before `until`.
pub(crate) fn wake_until(link: &mut Link, until: SimTime, out: &mut Vec<Train>) {
    while let Some(at) = link.next_wake().filter(|at| *at < until) {
        link.wake(at, out);
        assert!(link.next_wake().is_none_or(|next| next > at), "time goes on");
    }
}

/// Every packet offered is somewhere.
pub(crate) fn assert_conserved(offered: u64, s: &LinkStatistics) {
    let places = s.overflow_packets
        + s.lost_packets
        + s.delivered_packets
        + s.decoded_packets
        + s.waiting_packets
        + s.flight_packets
        + s.ahead_packets;
    let more = s.copied_packets + s.repair_packets + s.recovered_packets;
    assert_eq!(offered + more, places, "every packet offered is somewhere: {s:?}");
}
