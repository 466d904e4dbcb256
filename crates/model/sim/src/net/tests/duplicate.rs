//! Packets that arrive twice, against the same link without.

use super::reference::{assert_conserved, data, packets, run};
use crate::net::{DuplicateSettings, Link, LinkSettings, LossSettings, Random, ReorderSettings};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

const LATE: Span = Span::us(700);

fn settings(duplicate: Option<Span>) -> LinkSettings {
    LinkSettings {
        duplicate: duplicate.map(|delay| DuplicateSettings { probability: 0.1, delay, seed: 9 }),
        reorder: Some(ReorderSettings { probability: 0.05, delay: LATE, seed: 7 }),
        loss: LossSettings::Random { probability: 0.01 },
        seed: 4,
        train_limit: 64,
        ..LinkSettings::new(Rate::gbit(1), Span::ms(5), Bytes::new(100_000))
    }
}

/// Numbers and times of what arrives of 2000 packets in trains of `size`, in order of number and time.
fn arrivals(settings: &LinkSettings, size: u32) -> Vec<(u64, i64)> {
    let gap = 15_000_000;
    let trains = (0..2000 / size).map(|i| {
        let first = u64::from(i * size);
        data(0, first, size, 1514, first as i64 * gap, gap)
    });
    let mut link = Link::new(settings);
    let mut arrived: Vec<(u64, i64)> =
        packets(&run(&mut link, trains)).into_iter().map(|p| (p.1, p.2)).collect();
    let end = link.statistics(SimTime::START + Span::ms(1000));
    assert_conserved(2000, &end);
    assert_eq!(end.delivered_packets, arrived.len() as u64);
    arrived.sort();
    arrived
}

#[test]
fn the_packets_that_the_stream_draws_arrive_twice_and_no_others() {
    for (size, delay) in [(1, Span::ZERO), (50, Span::ZERO), (50, Span::us(333))] {
        let once = arrivals(&settings(None), size);
        let twice = arrivals(&settings(Some(delay)), size);
        let mut random = Random::new(9);
        let bound = (0.1 * 2f64.powi(64)) as u64;
        let mut expected = Vec::new();
        for (number, at) in once {
            expected.push((number, at));
            if random.draw() < bound {
                expected.push((number, at + delay.picoseconds()));
            }
        }
        assert!(expected.len() > 2100, "some are copied: {}", expected.len());
        assert_eq!(twice, expected);
    }
}

#[test]
fn a_copy_counts_from_when_its_packet_arrives() {
    let duplicate = DuplicateSettings { probability: 1.0, delay: Span::ms(1), seed: 1 };
    let mut link = Link::new(&LinkSettings {
        duplicate: Some(duplicate),
        ..LinkSettings::new(Rate::gbit(1), Span::ms(5), Bytes::new(100_000))
    });
    let mut out = Vec::new();
    link.offer(data(0, 0, 1, 1250, 0, 0), &mut out);
    let arrives = SimTime::START + Span::ms(5) + Span::us(10);
    assert_eq!(
        packets(&out).iter().map(|p| p.2).collect::<Vec<_>>(),
        [arrives.picoseconds(), (arrives + Span::ms(1)).picoseconds()]
    );
    assert_eq!(link.statistics(arrives + Span::ps(-1)).copied_packets, 0);
    assert_eq!(link.statistics(arrives).copied_packets, 1);
}
