//! Forward error correction over a link.

use super::reference::{assert_conserved, data, packets, run, wake_until};
use crate::net::{FecSettings, Link, LinkSettings, LossSettings};
use proptest::prelude::*;
use std::collections::BTreeSet;
use wirespeed_units::{Bytes, Rate, SimTime, Span};

fn settings(interleave: &[u32], hold: Span) -> LinkSettings {
    let fec = FecSettings { data: 8, interleave: interleave.to_vec(), flush: Span::ms(1), hold };
    LinkSettings { fec: Some(fec), ..LinkSettings::new(Rate::gbit(10), Span::ms(5), Bytes::new(10_000_000)) }
}

/// An outage that takes the packet that is sent then.
fn losing(settings: LinkSettings, from: Span, to: Span) -> LinkSettings {
    LinkSettings { outages: vec![(SimTime::START + from, SimTime::START + to)], ..settings }
}

/// Packets every 2 us, which leaves room for repair packets.
fn offers(count: u64) -> impl Iterator<Item = crate::net::Train> {
    (0..count).map(|number| data(0, number, 1, 1514, number as i64 * 2_000_000, 0))
}

#[test]
fn a_lost_packet_arrives_with_the_repair_packet_of_its_group() {
    // Packet 3 is sent from 6 us on and ends at 7.2 us. Packet 7 ends the group, and packet 8 is sent at 16 us.
    let mut link = Link::new(&losing(settings(&[1], Span::ZERO), Span::us(7), Span::us(8)));
    let out = run(&mut link, offers(16));
    let arrived = packets(&out);
    let order: Vec<u64> = arrived.iter().map(|packet| packet.1).collect();
    assert_eq!(order, [0, 1, 2, 4, 5, 6, 7, 8, 3, 9, 10, 11, 12, 13, 14, 15]);
    // The repair packet is sent behind packet 8, and has its own length: 1514 + 32 + 8 * 4 bytes.
    let expected = SimTime::START + Span::us(16) + Span::ps(1514 * 800 + 1578 * 800) + Span::ms(5);
    assert_eq!(arrived[8].2, expected.picoseconds());
    let s = link.statistics(SimTime::START + Span::ms(100));
    assert_eq!((s.repair_packets, s.decoded_packets, s.recovered_packets, s.lost_packets), (2, 2, 1, 1));
    assert_conserved(16, &s);
}

#[test]
fn held_packets_leave_in_order() {
    let mut link = Link::new(&losing(settings(&[1], Span::ms(1)), Span::us(7), Span::us(8)));
    let arrived = packets(&run(&mut link, offers(16)));
    let order: Vec<u64> = arrived.iter().map(|packet| packet.1).collect();
    assert_eq!(order, (0..16).collect::<Vec<_>>());
    assert!(arrived[3..9].windows(2).all(|pair| pair[0].2 == pair[1].2), "they leave together: {arrived:?}");
}

#[test]
fn held_packets_leave_when_the_time_is_over() {
    // Two packets of one group are lost: 3 and 4.
    let mut link = Link::new(&losing(settings(&[1], Span::us(20)), Span::us(7), Span::us(10)));
    let arrived = packets(&run(&mut link, offers(16)));
    let order: Vec<u64> = arrived.iter().map(|packet| packet.1).collect();
    assert_eq!(order, [0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    let first = SimTime::START + Span::us(10) + Span::ps(1514 * 800) + Span::ms(5) + Span::us(20);
    assert_eq!(arrived[3].2, first.picoseconds());
}

#[test]
fn a_burst_is_recovered_by_a_wider_layer() {
    // 36 us: 18 packets, and the repair packets between them.
    for (interleave, is_recovered) in [(&[1][..], false), (&[1, 20], true)] {
        let mut link = Link::new(&losing(settings(interleave, Span::ZERO), Span::us(1000), Span::us(1036)));
        let arrived: BTreeSet<u64> = packets(&run(&mut link, offers(2000))).iter().map(|p| p.1).collect();
        let s = link.statistics(SimTime::START + Span::ms(100));
        assert!(s.lost_packets >= 18, "{}", s.lost_packets);
        assert_eq!(arrived.len() == 2000, is_recovered, "{interleave:?}: {}", arrived.len());
    }
}

#[test]
fn repair_packets_take_their_part_of_the_rate() {
    let mut link = Link::new(&settings(&[1, 20, 40], Span::ZERO));
    run(&mut link, offers(8000));
    let s = link.statistics(SimTime::START + Span::ms(100));
    // 3 for every 8, but for the first groups of the layers of 20 and 40 bins, and those that the pause at the end closes.
    assert!((3000..3130).contains(&s.repair_packets), "{}", s.repair_packets);
    assert_eq!(s.sent_packets, 8000 + s.repair_packets);
    assert_eq!(s.decoded_packets, s.repair_packets);
    assert!(s.sent_bytes > 8000 * 1514 + 3000 * 1578, "{}", s.sent_bytes);
}

#[test]
fn a_pause_ends_the_groups() {
    // The very last packet is lost.
    let mut link = Link::new(&losing(settings(&[1], Span::ZERO), Span::us(5), Span::us(6)));
    let mut out = Vec::new();
    offers(3).for_each(|packet| link.offer(packet, &mut out));
    let pause_over = SimTime::START + Span::us(4) + Span::ms(1);
    assert_eq!(link.next_wake(), Some(pause_over));
    wake_until(&mut link, SimTime::START + Span::secs(1), &mut out);
    let arrived = packets(&out);
    assert_eq!(arrived.iter().map(|p| p.1).collect::<Vec<_>>(), [0, 1, 2]);
    let repair = Span::ps((1514 + 32 + 3 * 4) * 800);
    assert_eq!(arrived[2].2, (pause_over + repair + Span::ms(5)).picoseconds());
    assert_eq!(link.next_wake(), None);
}

#[test]
fn a_full_queue_loses_repair_packets_too() {
    let small = LinkSettings { rate: Rate::gbit(8), ..settings(&[1, 20, 40], Span::ZERO) };
    let small =
        LinkSettings { queue: LinkSettings::new(small.rate, Span::ZERO, Bytes::new(20_000)).queue, ..small };
    let mut link = Link::new(&small);
    let arrived = packets(&run(&mut link, offers(4000)));
    let s = link.statistics(SimTime::START + Span::ms(100));
    assert!(s.overflow_packets > 100, "{s:?}");
    assert!(s.decoded_packets < s.repair_packets, "{s:?}");
    assert_conserved(4000, &s);
    assert_eq!(s.delivered_packets, arrived.len() as u64);
}

proptest! {
    #[test]
    fn nothing_is_delivered_twice_or_invented(
        data_packets in 1..12_u32,
        interleave in prop::collection::btree_set(1..30_u32, 1..4),
        probability in 0.0..0.3_f64,
        seed in any::<u64>(),
        hold_us in prop_oneof![Just(0_i64), 1..2000_i64],
        pauses in prop::collection::vec(prop_oneof![9 => 0..5_000_000_i64, 1 => 0..3_000_000_000_i64], 1..400),
    ) {
        let interleave: Vec<u32> = interleave.into_iter().collect();
        let fec =
            FecSettings { data: data_packets, interleave, flush: Span::ms(1), hold: Span::us(hold_us) };
        let mut link = Link::new(&LinkSettings {
            fec: Some(fec),
            loss: LossSettings::Random { probability },
            seed,
            ..LinkSettings::new(Rate::gbit(10), Span::us(300), Bytes::new(100_000))
        });
        let (mut out, mut now) = (Vec::new(), 0);
        for (number, pause) in pauses.iter().enumerate() {
            now += pause;
            wake_until(&mut link, SimTime::ps(now), &mut out);
            link.offer(data(0, number as u64, 1, 1514, now, 0), &mut out);
            let s = link.statistics(SimTime::ps(now));
            assert_conserved(number as u64 + 1, &s);
        }
        wake_until(&mut link, SimTime::ps(i64::MAX), &mut out);
        let s = link.statistics(SimTime::ps(now + 1_000_000_000_000));
        assert_conserved(pauses.len() as u64, &s);
        let arrived = packets(&out);
        let different: BTreeSet<u64> = arrived.iter().map(|packet| packet.1).collect();
        prop_assert_eq!(different.len(), arrived.len());
        prop_assert!(different.iter().all(|number| *number < pauses.len() as u64));
        prop_assert_eq!(s.delivered_packets, arrived.len() as u64);
        prop_assert_eq!(s.waiting_packets + s.flight_packets, 0);
    }
}
