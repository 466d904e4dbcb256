//! Linux' fq against cases reckoned by hand: its turns, its limits, and when what it keeps is let go.

use super::reference::{assert_conserved, data, packets, run};
use crate::net::{Body, FqSettings, Link, LinkSettings, QueueSettings, Train};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// 1000 bytes last 1 ms, and arrive 10 ms after that. A turn is 2000 bytes, the first as well.
fn link() -> Link {
    with(SETTINGS)
}

const SETTINGS: FqSettings = FqSettings {
    quantum: 2000,
    initial_quantum: 2000,
    limit: 10_000,
    flow_limit: 100,
    max_rate: None,
    whole: true,
};

fn with(queue: FqSettings) -> Link {
    let settings = LinkSettings::new(Rate::mbit(8), Span::ms(10), Bytes::ZERO);
    Link::new(&LinkSettings { queue: QueueSettings::Fq(queue), train_limit: 64, ..settings })
}

/// A GSO packet that comes at `at_us` and is due `held_us` later.
fn piece(flow: u32, first: u64, packets: u32, at_us: i64, held_us: i64) -> Train {
    let mut train = data(flow, first, packets, 1000, at_us * 1_000_000, 0);
    if let Body::Data(data) = &mut train.body {
        data.held = Span::us(held_us);
    }
    train
}

/// Flows in the order in which their packets arrive.
fn order(trains: &[Train]) -> Vec<u32> {
    packets(trains).into_iter().map(|packet| packet.0).collect()
}

/// When the packets of a flow arrive, in microseconds.
fn arrivals(trains: &[Train], flow: u32) -> Vec<i64> {
    packets(trains).into_iter().filter(|p| p.0 == flow).map(|p| p.2 / 1_000_000).collect()
}

#[test]
fn flows_take_turns_of_a_quantum() {
    let pieces = |flow| (0..6).map(move |i| piece(flow, i, 1, 0, 0));
    let out = run(&mut link(), pieces(1).chain(pieces(2)));
    assert_eq!(order(&out), [1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2]);
}

#[test]
fn a_gso_packet_leaves_as_a_whole_and_is_paid_for_in_later_turns() {
    // Eight packets cost four turns, in which the other flow sends two packets each.
    let large = (0..2).map(|i| piece(1, 8 * i, 8, 0, 0));
    let small = (0..20).map(|i| piece(2, i, 1, 0, 0));
    // While the line is busy with a third flow both come.
    let out = run(&mut link(), [piece(3, 0, 1, 0, 0)].into_iter().chain(large).chain(small));
    let expected: Vec<u32> =
        [(3, 1), (1, 8), (2, 8), (1, 8), (2, 12)].iter().flat_map(|(f, n)| vec![*f; *n]).collect();
    assert_eq!(order(&out), expected);
}

#[test]
fn a_flow_that_has_just_begun_is_served_before_a_standing_queue() {
    let out = run(&mut link(), (0..50).map(|i| piece(1, i, 1, 0, 0)).chain([piece(2, 0, 1, 3_500, 0)]));
    // It comes while the fourth packet is sent, and is the next.
    assert_eq!(arrivals(&out, 2), [4_000 + 1_000 + 10_000]);
}

#[test]
fn packet_that_is_not_due_waits_and_delays_no_other() {
    let trains = [piece(1, 0, 1, 0, 5_000), piece(1, 1, 1, 0, 20_000), piece(2, 0, 1, 1_000, 0)];
    let out = run(&mut link(), trains);
    assert_eq!(arrivals(&out, 2), [1_000 + 1_000 + 10_000], "the line is idle");
    // The timer comes with its slack of 10 us.
    assert_eq!(arrivals(&out, 1), [5_010 + 11_000, 20_010 + 11_000]);
}

#[test]
fn flow_that_becomes_due_while_the_line_is_busy_is_old() {
    // Flow 1 is let go at 2 ms, when the timer would have come 10 us later but the line asks; then both take turns.
    let held = (0..2).map(|i| piece(1, i, 1, 0, 1_500));
    let out = run(&mut link(), held.chain((0..8).map(|i| piece(2, i, 1, 0, 0))));
    // Flow 2 has used its first turn at 2 ms and goes behind flow 1, which was put at the end of the list at that time.
    assert_eq!(order(&out), [2, 2, 1, 1, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn a_flow_has_room_for_a_hundred_gso_packets() {
    let mut link = link();
    let mut out = Vec::new();
    for i in 0..105 {
        link.offer(piece(1, 3 * i, 3, 0, 1_000_000), &mut out);
    }
    link.offer(piece(2, 0, 1, 0, 0), &mut out);
    let now = SimTime::START;
    let s = link.statistics(now);
    assert_eq!((s.overflow_packets, s.waiting_packets, s.flight_packets), (15, 300, 1));
    assert_conserved(316, &s);
    assert_eq!(link.next_wake(), Some(now + Span::us(1_000_010)));
}

#[test]
fn beyond_the_horizon_of_ten_seconds_nothing_is_kept() {
    let mut link = link();
    let out = run(&mut link, [piece(1, 0, 1, 0, 10_000_000), piece(1, 1, 1, 0, 10_000_001)]);
    assert_eq!(arrivals(&out, 1), [10_000_010 + 11_000]);
    assert_eq!(link.statistics(SimTime::START).overflow_packets, 1);
}

#[test]
fn a_flow_that_was_away_for_long_has_a_full_turn() {
    // After its first packet flow 1 has half of its turn left. Back after 40 ms it has a whole one, before that it has not.
    for (back_us, expected) in [(35_000, [1, 2, 2, 1]), (50_000, [1, 1, 2, 2])] {
        let both = [3, 1, 1, 2, 2].map(|flow| piece(flow, 1, 1, back_us, 0));
        let out = run(&mut link(), [piece(1, 0, 1, 0, 0)].into_iter().chain(both));
        assert_eq!(order(&out)[2..], expected);
    }
}

#[test]
fn a_flow_has_room_for_as_many_as_its_limit_says() {
    let mut link = with(FqSettings { flow_limit: 7, ..SETTINGS });
    (0..10).for_each(|i| link.offer(piece(1, 3 * i, 3, 0, 1_000_000), &mut Vec::new()));
    let s = link.statistics(SimTime::START);
    assert_eq!((s.overflow_packets, s.waiting_packets), (9, 21));
}

#[test]
fn a_turn_is_as_long_as_the_quantum() {
    let pieces = |flow| (0..6).map(move |i| piece(flow, i, 1, 0, 0));
    let mut link = with(FqSettings { quantum: 3000, ..SETTINGS });
    let out = run(&mut link, pieces(1).chain(pieces(2)));
    assert_eq!(order(&out), [1, 1, 2, 2, 1, 1, 1, 2, 2, 2, 1, 2], "the first turn is the initial quantum");
}

#[test]
fn a_flow_is_held_to_its_highest_rate_and_the_others_take_the_rest() {
    // 1000 bytes last 4 ms at 2 Mbit/s.
    let mut link = with(FqSettings { max_rate: Some(Rate::mbit(2)), ..SETTINGS });
    let out = run(&mut link, [(1, 0), (1, 1), (1, 2), (2, 0)].map(|(flow, i)| piece(flow, i, 1, 0, 0)));
    // Each timer comes 10 us late, and the next wait is shorter by that.
    assert_eq!(arrivals(&out, 1), [11_000, 4_010 + 11_000, 8_010 + 11_000]);
    assert_eq!(arrivals(&out, 2), [1_000 + 11_000]);
}

#[test]
fn a_packet_of_a_flow_that_was_idle_shortens_the_next_wait_by_half() {
    let mut link = with(FqSettings { max_rate: Some(Rate::mbit(2)), ..SETTINGS });
    let trains = [piece(1, 0, 1, 0, 0), piece(1, 1, 1, 50_000, 0), piece(1, 2, 1, 50_000, 0)];
    assert_eq!(arrivals(&run(&mut link, trains), 1), [11_000, 50_000 + 11_000, 52_010 + 11_000]);
}
