//! Trains put together on their way, and taken off it.

use super::*;
use crate::net::tests::reference::{data, packets};
use crate::net::{Body, Ecn};
use proptest::prelude::*;

fn flight() -> InFlight {
    InFlight::new(Span::ms(1), false)
}

fn packet_by_packet() -> InFlight {
    InFlight::new(Span::ms(1), true)
}

#[test]
fn packets_at_an_even_distance_become_one_train() {
    // 121.5 ns: the distance alternates between two picoseconds, and the mean is kept.
    let mut flight = flight();
    let at = |i: i64| (i * 243 + 1) / 2;
    for i in 0..64 {
        assert_eq!(flight.push(data(0, i as u64, 1, 1514, at(i), 0), 64), i == 0);
    }
    assert_eq!(flight.len(), 1);
    assert!(!flight.push(data(0, 64, 1, 1514, at(64), 0), 64), "the train is full");
    assert_eq!((flight.len(), flight.front_at()), (2, Some(SimTime::START)));
    let train = flight.pop().unwrap();
    assert_eq!(train.packets, 64);
    assert!((train.last_at().picoseconds() - at(63)).abs() <= 32);
    assert_eq!(packets(&[flight.pop().unwrap()]), [(0, 64, at(64))]);
    assert!(flight.is_empty() && flight.pop().is_none());
}

#[test]
fn trains_whose_packets_last_a_fraction_of_a_picosecond_more_join_too() {
    // 1514 bytes at 9844 Mbit/s: 1230394.15 ps, so that 43 of them are 6 ps longer than 43 times the whole part.
    let at = |i: u64| (i as i128 * 1_514 * 8_000_000_000_000 / 9_844_000_000) as i64;
    let mut flight = flight();
    for train in 0..8 {
        flight.push(data(0, train * 43, 43, 1514, at(train * 43), 1_230_394), 400);
    }
    assert_eq!(flight.len(), 1);
    let train = flight.pop().unwrap();
    assert!((train.last_at().picoseconds() - at(8 * 43 - 1)).abs() <= 200);
}

#[test]
fn different_entries_stay_separate() {
    let first = data(0, 0, 2, 1514, 0, 1000);
    let next = data(0, 2, 2, 1514, 2000, 1000);
    let alone = |change: &dyn Fn(&mut Train)| {
        let (mut flight, mut next) = (flight(), next.clone());
        change(&mut next);
        flight.push(first.clone(), 64);
        flight.push(next, 64);
        flight.len() == 2
    };
    assert!(!alone(&|_| {}));
    assert!(alone(&|t| t.flow = 1));
    assert!(alone(&|t| t.frame = 1000));
    assert!(alone(&|t| t.ecn = Ecn::Marked));
    assert!(alone(&|t| t.at = SimTime::ps(2004)));
    assert!(alone(&|t| t.gap = Span::ps(1004)));
    assert!(alone(&|t| t.body = Body::Datagram { first: 2 }));
    assert!(alone(&|t| t.at = SimTime::ps(2_000_000_000)));
    let mut reference = flight();
    reference.push(first.clone(), 1);
    reference.push(next.clone(), 1);
    assert_eq!(reference.len(), 2, "the reference mode puts nothing together");
}

#[test]
fn no_train_lasts_longer_than_allowed() {
    let mut flight = InFlight::new(Span::ps(5000), false);
    for i in 0..12 {
        flight.push(data(0, i, 1, 1514, i as i64 * 1000, 0), 64);
    }
    let sizes: Vec<u32> = std::iter::from_fn(|| flight.pop()).map(|t| t.packets).collect();
    assert_eq!(sizes, [6, 6]);
}

#[test]
fn packets_one_by_one_are_parts_one_by_one() {
    for before in [0, 2500, 9000] {
        let (mut whole, mut parts) = (packet_by_packet(), packet_by_packet());
        let train = data(0, 5, 4, 1514, 2000, 1000);
        for flight in [&mut whole, &mut parts] {
            flight.push(data(1, 0, 1, 1514, before, 0), 1);
        }
        let is_first = (0..4).fold(false, |is_first, i| parts.push(train.part(i, 1), 1) | is_first);
        assert_eq!(whole.push_packets(&train), is_first);
        assert_eq!(whole.last_at, parts.last_at);
        let [whole, parts] =
            [whole, parts].map(|mut flight| std::iter::from_fn(move || flight.pop()).collect::<Vec<_>>());
        assert_eq!(whole, parts);
    }
}

proptest! {
    /// Trains that are seen packet by packet, with others that come between and the first ones gone already, against
    /// packets that are each by themselves.
    #[test]
    fn trains_seen_packet_by_packet_are_their_packets(
        steps in prop::collection::vec((0..3_usize, 1..6_u32, 0..4_000_i64, 0..1_500_i64, 0..8_usize), 1..40),
    ) {
        let (mut flight, mut expected) = (packet_by_packet(), Vec::<Train>::new());
        for (flow, packets, at, gap, taken) in steps {
            let train = data(flow as u32, 7, packets, 1514, at, gap);
            let parts: Vec<_> = (0..packets).map(|index| train.part(index, 1)).collect();
            let first = expected.first().map(|train| train.at);
            let is_first = if packets == 1 { flight.push(train, 1) } else { flight.push_packets(&train) };
            for part in parts {
                expected.insert(expected.partition_point(|other| other.at <= part.at), part);
            }
            prop_assert_eq!(is_first, first != Some(expected[0].at));
            prop_assert_eq!(flight.front_at(), Some(expected[0].at));
            for index in 0..taken.min(expected.len()) {
                let packet = expected.remove(0);
                let next = expected.first().map(|train| train.at);
                if index % 3 == 2 {
                    prop_assert_eq!(flight.pop(), Some(packet));
                    prop_assert_eq!(flight.front_at(), next);
                } else {
                    prop_assert_eq!(flight.first(), Some(&packet));
                    prop_assert_eq!(flight.remove_first(), next);
                }
            }
            prop_assert_eq!(flight.is_empty(), expected.is_empty());
        }
    }
}

proptest! {
    /// A flow's packets in trains, and some of them late, which others overtake.
    #[test]
    fn packets_of_a_flow_come_in_the_order_of_their_times(
        steps in prop::collection::vec((1..6_u32, 0..8_000_i64, 1..1_500_i64, 0..2_usize), 1..60),
    ) {
        let (mut flight, mut expected) = (flight(), Vec::<i64>::new());
        let mut next = 0;
        for (index, (count, late, gap, taken)) in steps.into_iter().enumerate() {
            let is_late = index % 3 == 1;
            let (at, count) = if is_late { (next + late, 1) } else { (next, count) };
            flight.push(data(0, 100 * index as u64, count, 1514, at, gap), 64);
            expected.extend((0..count).map(|packet| at + gap * i64::from(packet)));
            expected.sort_unstable();
            next += gap * i64::from(count);
            for _ in 0..taken {
                // Only trains that end before the next one begins are taken.
                let Some(train) = flight.first().filter(|train| train.last_at() < SimTime::ps(next)) else { break };
                for (_, _, at) in packets(std::slice::from_ref(train)) {
                    prop_assert_eq!(at, expected.remove(0));
                }
                flight.remove_first();
            }
        }
        let rest: Vec<_> = std::iter::from_fn(|| flight.pop()).collect();
        let times: Vec<_> = packets(&rest).into_iter().map(|(_, _, at)| at).collect();
        prop_assert_eq!(times, expected);
    }
}

#[test]
fn earlier_arrivals_go_first() {
    let mut flight = flight();
    assert!(flight.push(data(0, 0, 1, 1514, 1000, 0), 64));
    assert!(!flight.push(data(0, 5, 1, 1514, 9000, 0), 64));
    assert!(!flight.push(data(1, 0, 1, 1514, 5000, 0), 64));
    assert!(flight.push(data(2, 0, 1, 1514, 500, 0), 64), "a new first");
    assert!(!flight.push(data(0, 6, 1, 1514, 9100, 0), 64), "the last is still the last");
    let order: Vec<_> = std::iter::from_fn(|| flight.pop()).map(|t| (t.flow, t.packets)).collect();
    assert_eq!(order, [(2, 1), (0, 1), (1, 1), (0, 2)]);
}

#[test]
fn the_rest_of_the_first_train_waits_for_trains_that_arrive_before_it() {
    let mut flight = flight();
    flight.push(data(0, 0, 4, 1514, 0, 1000), 64);
    flight.push(data(1, 0, 1, 1514, 500, 0), 64);
    flight.push(data(1, 7, 1, 1514, 9000, 0), 64);
    assert_eq!(flight.skip_first(1), Some(SimTime::ps(500)));
    assert_eq!(flight.remove_first(), Some(SimTime::ps(1000)));
    assert_eq!(flight.skip_first(2), Some(SimTime::ps(3000)));
    assert_eq!(packets(&[flight.pop().unwrap()]), [(0, 3, 3000)]);
    assert_eq!(flight.front_at(), Some(SimTime::ps(9000)));
}

#[test]
fn a_rest_behind_all_others_is_continued() {
    let mut flight = flight();
    flight.push(data(0, 0, 4, 1514, 0, 1000), 64);
    flight.push(data(1, 0, 1, 1514, 500, 0), 64);
    flight.skip_first(1);
    flight.push(data(0, 4, 2, 1514, 4000, 1000), 64);
    let trains: Vec<_> = std::iter::from_fn(|| flight.pop()).map(|t| (t.flow, t.packets, t.at)).collect();
    assert_eq!(trains, [(1, 1, SimTime::ps(500)), (0, 5, SimTime::ps(1000))]);
}
