//! Packets that arrive later than in their turn, against the same link without.

use super::reference::{assert_conserved, data, packets, run};
use crate::net::{InFlight, Link, LinkSettings, LossSettings, Random, ReorderSettings};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

const DELAY: Span = Span::us(700);

pub(super) fn settings(probability: f64, train_limit: u32) -> LinkSettings {
    let reorder = ReorderSettings { probability, delay: DELAY, seed: 9 };
    LinkSettings {
        reorder: (probability > 0.0).then_some(reorder),
        loss: LossSettings::Random { probability: 0.01 },
        seed: 4,
        train_limit,
        ..LinkSettings::new(Rate::gbit(1), Span::ms(5), Bytes::new(100_000))
    }
}

/// Numbers and times of the packets that arrive of 2000 in trains of `size`, in order of number and time.
pub(super) fn arrivals(settings: &LinkSettings, size: u32) -> Vec<(u64, i64)> {
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
fn the_packets_that_the_stream_draws_are_late_and_no_others() {
    for size in [1, 50] {
        let plain = arrivals(&settings(0.0, 64), size);
        let reordered = arrivals(&settings(0.1, 64), size);
        let mut random = Random::new(9);
        let bound = (0.1 * 2f64.powi(64)) as u64;
        let expected: Vec<(u64, i64)> = plain
            .iter()
            .map(|(number, at)| (*number, if random.draw() < bound { at + DELAY.picoseconds() } else { *at }))
            .collect();
        assert_eq!(reordered, expected);
        assert!(plain.len() < 2000, "some are lost");
    }
}

#[test]
fn every_packet_is_in_one_place_and_what_arrives_is_in_order_of_time() {
    let mut link = Link::new(&settings(0.2, 64));
    let mut out = Vec::new();
    link.offer(data(0, 0, 64, 1514, 0, 0), &mut out);
    assert_conserved(64, &link.statistics(SimTime::START + Span::ms(5)));
    let mut flight = InFlight::new(Span::ZERO, false);
    out.drain(..).for_each(|train| {
        flight.push(train, 1);
    });
    let times: Vec<_> = std::iter::from_fn(|| flight.pop()).map(|train| train.at).collect();
    assert!(times.is_sorted());
}
