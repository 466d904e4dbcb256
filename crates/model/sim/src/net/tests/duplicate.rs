//! Packets that arrive twice, against the same link without.

use super::reference::{data, packets};
use super::reorder::{self, arrivals};
use crate::net::{DuplicateSettings, Link, LinkSettings, Random};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

fn settings(duplicate: Option<Span>) -> LinkSettings {
    LinkSettings {
        duplicate: duplicate.map(|delay| DuplicateSettings { probability: 0.1, delay, seed: 7 }),
        ..reorder::settings(0.05, 64)
    }
}

#[test]
fn the_packets_that_the_stream_draws_arrive_twice_and_no_others() {
    for (size, delay) in [(1, Span::ZERO), (50, Span::ZERO), (50, Span::us(333))] {
        let once = arrivals(&settings(None), size);
        let twice = arrivals(&settings(Some(delay)), size);
        let mut random = Random::new(7);
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
