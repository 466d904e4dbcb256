//! Lines that change, against cases reckoned by hand and against the integral of the rate.

use super::reference::{data, packets, run};
use crate::net::{ChangeSettings, Link, LinkSettings, LossSettings, QueueSettings, Random};
use proptest::prelude::*;
use wirespeed_units::{Bytes, Rate, SimTime, Span};

fn ms(n: i64) -> SimTime {
    SimTime::START + Span::ms(n)
}

/// 1000 bytes last 1 ms, and take 10 ms to the far end.
fn plain() -> LinkSettings {
    LinkSettings::new(Rate::mbit(8), Span::ms(10), Bytes::new(5000))
}

fn change(at: i64, rate: Rate, delay: i64) -> ChangeSettings {
    ChangeSettings { at: ms(at), rate, delay: Span::ms(delay), loss: 0.0, limit: Bytes::new(5000) }
}

/// When packets arrive, in microseconds.
fn arrivals(settings: LinkSettings, sent: impl IntoIterator<Item = (i64, u32)>) -> Vec<i64> {
    let trains = sent.into_iter().scan(0, |next, (at, packets)| {
        let train = data(0, *next, packets, 1000, ms(at).picoseconds(), 0);
        *next += u64::from(packets);
        Some(train)
    });
    packets(&run(&mut Link::new(&settings), trains)).into_iter().map(|p| p.2 / 1_000_000).collect()
}

#[test]
fn a_frame_is_sent_at_both_rates_where_they_change_under_it() {
    // Half of the second packet at 8 Mbit/s, the rest at 4; then 2 ms each. Times are whole milliseconds, halves of the frame.
    let changes =
        vec![ChangeSettings { at: SimTime::START + Span::us(1500), ..change(0, Rate::mbit(4), 10) }];
    let times = arrivals(LinkSettings { changes, ..plain() }, [(0, 3)]);
    assert_eq!(times, [11_000, 12_500, 14_500]);
}

#[test]
fn a_line_that_stands_still_goes_on_where_it_stopped() {
    let changes = vec![change(1, Rate::bps(0), 10), change(50, Rate::mbit(8), 10)];
    let times = arrivals(LinkSettings { changes: changes.clone(), ..plain() }, [(0, 1), (10, 2)]);
    assert_eq!(times, [11_000, 61_000, 62_000]);
    let mut link = Link::new(&LinkSettings { changes, ..plain() });
    let mut out = Vec::new();
    link.offer(data(0, 0, 8, 1000, ms(10).picoseconds(), 0), &mut out);
    let s = link.statistics(ms(20));
    // One is being sent, five wait, two find no room.
    assert_eq!((s.flight_packets, s.waiting_packets, s.overflow_packets), (1, 5, 2));
    let forever = vec![change(1, Rate::bps(0), 10)];
    let arrived = arrivals(LinkSettings { changes: forever, ..plain() }, [(0, 1), (10, 2)]);
    assert!(arrived[0] == 11_000 && arrived[1..].iter().all(|at| *at > 1_000_000_000_000), "{arrived:?}");
}

#[test]
fn packets_keep_their_order_where_the_way_gets_shorter() {
    let changes = vec![change(3, Rate::mbit(8), 2), change(20, Rate::mbit(8), 30)];
    let times = arrivals(LinkSettings { changes, ..plain() }, [(0, 4), (30, 1)]);
    // The third would overtake at 5 ms: it comes right behind the second.
    assert_eq!(times, [11_000, 12_000, 12_000, 12_000, 61_000]);
}

#[test]
fn room_that_shrinks_drops_nothing_that_waits() {
    let less = ChangeSettings { limit: Bytes::new(1000), ..change(2, Rate::mbit(8), 10) };
    let settings = LinkSettings { changes: vec![less], ..plain() };
    // At 2 ms three of the first six wait; a seventh finds no room until they are gone.
    assert_eq!(arrivals(settings, [(0, 6), (2, 1), (5, 1)]).len(), 7);
}

#[test]
fn losses_are_those_of_the_time_when_the_last_bit_is_sent() {
    let all = ChangeSettings { loss: 1.0, ..change(2, Rate::mbit(8), 10) };
    let none = change(4, Rate::mbit(8), 10);
    let mut link = Link::new(&LinkSettings { changes: vec![all, none], ..plain() });
    let out = run(&mut link, [data(0, 0, 6, 1000, 0, 0)]);
    let arrived: Vec<u64> = packets(&out).into_iter().map(|p| p.1).collect();
    // Packet i ends at i + 1 ms.
    assert_eq!(arrived, [0, 3, 4, 5]);
    assert_eq!(link.statistics(ms(100)).lost_packets, 2);
}

/// The integral of a line's rate over time, in bits times picoseconds per second.
struct Integral(Vec<(i64, i128, i128)>);

impl Integral {
    fn of(settings: &LinkSettings) -> Integral {
        let mut corners = vec![(0, 0, i128::from(settings.rate.get()))];
        for change in &settings.changes {
            let (at, carried, rate) = *corners.last().unwrap();
            let now = change.at.picoseconds();
            corners.push((now, carried + i128::from(now - at) * rate, i128::from(change.rate.get())));
        }
        Integral(corners)
    }

    fn at(&self, time: i64) -> i128 {
        let (at, carried, rate) = self.0[self.0.partition_point(|corner| corner.0 <= time) - 1];
        carried + i128::from(time - at) * rate
    }

    /// The first time by which so much is carried.
    fn when(&self, carried: i128) -> i64 {
        let corner = self.0.partition_point(|corner| corner.1 < carried).max(1) - 1;
        let (at, before, rate) = self.0[corner];
        at + ((carried - before) / rate.max(1)) as i64
    }
}

proptest! {
    /// Random changes, packets and room: every arrival and every loss.
    #[test]
    fn equals_the_integral_of_the_rate(
        changes in prop::collection::vec((1..3_000_i64, 0..10_u64, 0..20_i64, prop_oneof![Just(0.0), 0.0..0.2_f64], 1_000..20_000_u64), 1..20),
        offers in prop::collection::vec((0..2_500_000_000_i64, 60..1514_u32), 1..200),
        train_limit in prop_oneof![Just(1_u32), Just(64)],
    ) {
        let mut at = SimTime::START;
        let changes: Vec<ChangeSettings> = changes
            .into_iter()
            .map(|(later, rate, delay, loss, limit)| {
                at = at + Span::us(later);
                let (rate, delay) = (Rate::bps(rate * 999_983), Span::ms(delay));
                ChangeSettings { at, rate, delay, loss, limit: Bytes::new(limit) }
            })
            .chain([change(1_000_000, Rate::mbit(8), 10)])
            .collect();
        let settings = LinkSettings {
            changes,
            seed: 7,
            train_limit,
            loss: LossSettings::Random { probability: 0.05 },
            queue: QueueSettings::DropTailBytes { limit: 4000, ecn_threshold: None },
            ..plain()
        };
        let integral = Integral::of(&settings);
        let state = |time: i64| {
            let first = (settings.delay, 0.05, 4000);
            let later = settings.changes.iter().take_while(|change| change.at.picoseconds() <= time).last();
            later.map_or(first, |change| (change.delay, change.loss, change.limit.get()))
        };
        let (mut random, mut free, mut last) = (Random::new(7), 0, 0);
        let mut started: Vec<(i64, u64)> = Vec::new();
        let (mut now, mut trains, mut expected, mut refused) = (0, Vec::new(), Vec::new(), 0);
        for (number, (pause, frame)) in offers.into_iter().enumerate() {
            now += pause;
            trains.push(data(0, number as u64, 1, frame, now, 0));
            let waiting: u64 = started.iter().filter(|(start, _)| *start > now).map(|(_, bytes)| bytes).sum();
            if free > now && waiting + u64::from(frame) > state(now).2 {
                refused += 1;
                continue;
            }
            let start = now.max(free);
            started.push((start, frame.into()));
            free = integral.when(integral.at(start) + i128::from(frame) * 8_000_000_000_000);
            let (delay, loss, _) = state(free);
            let lost = loss > 0.0 && random.draw() < (loss * 2f64.powi(64)) as u64;
            last = last.max(free + delay.picoseconds());
            if !lost {
                expected.push((number as u64, last));
            }
        }
        let mut link = Link::new(&settings);
        let arrived: Vec<(u64, i64)> = packets(&run(&mut link, trains)).into_iter().map(|p| (p.1, p.2)).collect();
        prop_assert_eq!(link.statistics(ms(10_000_000)).overflow_packets, refused);
        prop_assert_eq!(arrived.len(), expected.len());
        for (packet, due) in arrived.iter().zip(&expected) {
            prop_assert_eq!(packet.0, due.0);
            // Each frame of a busy period may be rounded down by another part of a picosecond.
            prop_assert!((packet.1 - due.1).abs() <= 1000, "{:?} {:?}", packet, due);
        }
    }
}
