//! Rates, capacities and waiting times that are known.

use super::reference::{data, run};
use crate::net::{Link, LinkSettings, Random, Train};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

const UNEVEN: u64 = 9_700_000_000;

fn uneven(limit: u64) -> Link {
    let mut settings = LinkSettings::new(Rate::bps(UNEVEN), Span::ms(1), Bytes::new(limit));
    settings.train_limit = 64;
    Link::new(&settings)
}

#[test]
fn a_million_packets_take_their_time_to_the_picosecond() {
    // The last one ends rounded down, and leaves after the delay.
    let end = (1_000_000_u128 * 1514 * 8_000_000_000_000 / u128::from(UNEVEN)) as i64 + 1_000_000_000;
    for size in [1_u32, 50] {
        let mut link = uneven(2_000_000_000);
        let trains = (0..1_000_000 / size).map(|i| data(0, u64::from(i * size), size, 1514, i64::from(i), 0));
        let out = run(&mut link, trains);
        let last = out.last().map(|t| t.last_at().picoseconds()).unwrap();
        assert!((last - end).abs() <= i64::from(size), "{last} instead of {end}");
        let s = link.statistics(SimTime::ps(end + 100));
        assert_eq!((s.delivered_packets, s.sent_bytes), (1_000_000, 1_514_000_000));
    }
}

/// Trains of two flows that overlap in time, in the order of their first packets.
fn two_sources(size: u32, each_load: f64, count: u64) -> Vec<Train> {
    let service = (1514 * 8_000_000_000_000_u64 / UNEVEN) as f64;
    let gap = (service / each_load) as i64;
    let mut trains = Vec::new();
    for i in 0..count {
        let at = gap * i64::from(size) * i as i64;
        trains.push(data(1, i * u64::from(size), size, 1514, at, gap));
        trains.push(data(2, i * u64::from(size), size, 1514, at + gap / 3, gap));
    }
    trains
}

#[test]
fn two_overlapping_sources_share_exactly_the_capacity() {
    let service = (1514 * 8_000_000_000_000_u64 / UNEVEN) as f64;
    for size in [1, 16, 64] {
        // Together 1.2 times the rate: one busy period from the first packet on.
        let mut link = uneven(u64::MAX);
        let count = 64_000 / u64::from(size);
        let out = run(&mut link, two_sources(size, 0.6, count));
        let last = out.iter().map(|t| t.last_at().picoseconds()).max().unwrap() - 1_000_000_000;
        let expected = 128_000.0 * service;
        assert!((last as f64 - expected).abs() < service * f64::from(size), "{last} instead of {expected}");

        // Together 0.8 times the rate: nothing waits for longer than a train charged early.
        let mut link = uneven(u64::MAX);
        let out = run(&mut link, two_sources(size, 0.4, count));
        let last = out.iter().map(|t| t.last_at().picoseconds()).max().unwrap() - 1_000_000_000;
        let expected = 64_000.0 * service / 0.4;
        assert!((last as f64 - expected).abs() < 3.0 * service * f64::from(size), "{last} for {expected}");
    }
}

#[test]
fn overload_delivers_the_capacity_and_drops_the_rest() {
    for size in [1, 16, 64] {
        let mut link = uneven(100_000);
        let trains = two_sources(size, 0.75, 64_000 / u64::from(size));
        let end = trains.last().unwrap().last_at();
        let mut out = Vec::new();
        for train in trains {
            link.offer(train, &mut out);
        }
        let s = link.statistics(end);
        let capacity = end.picoseconds() as u128 * u128::from(UNEVEN) / (1514 * 8_000_000_000_000);
        assert!(s.sent_packets.abs_diff(capacity as u64) <= 2 + u64::from(size), "{s:?} for {capacity}");
        // The queue is full: 66 packets of 1514 bytes. Trains decide ahead of each other.
        let over = if size == 1 { 0 } else { u64::from(size) };
        assert!(s.waiting_packets.abs_diff(66) <= over, "{s:?}");
    }
}

#[test]
fn waiting_before_a_constant_service_is_that_of_pollaczek_and_khinchine() {
    // M/D/1: the mean wait is load / (2 (1 - load)) services.
    let service = 12_112_000_i64;
    for load in [0.5, 0.8] {
        let mut link = Link::new(&LinkSettings::new(Rate::gbit(1), Span::ZERO, Bytes::new(u64::MAX)));
        let mut random = Random::new(17);
        let (mut now, mut number, mut out) = (0_i64, 0, Vec::new());
        // Means of batches are nearly independent; their spread gives the error.
        let batches: Vec<f64> = (0..40)
            .map(|_| {
                let mut sum = 0.0;
                for _ in 0..20_000 {
                    now += (-random.unit().ln() * service as f64 / load) as i64;
                    link.offer(data(0, number, 1, 1514, now, 0), &mut out);
                    number += 1;
                    let arrival = out.pop().unwrap().at.picoseconds();
                    sum += (arrival - service - now) as f64 / service as f64;
                }
                sum / 20_000.0
            })
            .collect();
        let n = batches.len() as f64;
        let mean = batches.iter().sum::<f64>() / n;
        let error = (batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        let expected = load / (2.0 * (1.0 - load));
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "load {load}: {mean} +- {error} instead of {expected}"
        );
        assert!(error < 0.05 * expected, "the measurement says something: {error}");
    }
}
