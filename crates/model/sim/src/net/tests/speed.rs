//! What an offer costs: `cargo test --release -p wirespeed-sim net::tests::speed -- --ignored --nocapture`.

#![expect(clippy::print_stdout, reason = "the measurement is for people")]

use super::reference::data;
use crate::net::{InFlight, Link, LinkSettings, LossSettings, QueueSettings};
use std::hint::black_box;
use std::time::Instant;
use wirespeed_units::{Bytes, Rate, Span};

/// Nanoseconds per train of `packets` at `load` of the link, with a share of `gap_share` of the service time
/// between packets.
fn measure(name: &str, settings: &LinkSettings, packets: u32, load: f64, gap_share: f64) {
    let mut link = Link::new(settings);
    let service = settings.rate.serialisation(Bytes::new(1514)).picoseconds();
    let gap = (service as f64 * gap_share) as i64;
    let step = (service as f64 * f64::from(packets) / load) as i64;
    let trains = 4_000_000 / packets as usize * 4;
    let mut out = Vec::with_capacity(64);
    let (mut now, mut number, mut arrived) = (0, 0, 0_u64);
    let start = Instant::now();
    for _ in 0..trains {
        link.offer(data(0, number, packets, 1514, now, gap), &mut out);
        for train in out.drain(..) {
            arrived += u64::from(black_box(train).packets);
        }
        now += step;
        number += u64::from(packets);
    }
    let each = start.elapsed().as_secs_f64() * 1e9 / trains as f64;
    println!(
        "{name:44} {each:7.1} ns a train, {:5.2} ns a packet, {arrived} of {number}",
        each / f64::from(packets)
    );
}

#[test]
#[ignore = "a measurement; for release builds"]
fn nanoseconds_per_train() {
    let plain = LinkSettings::new(Rate::gbit(100), Span::ms(5), Bytes::new(125_000_000));
    let odd = LinkSettings { rate: Rate::bps(9_700_000_000), ..plain.clone() };
    let lossy = LinkSettings { loss: LossSettings::Random { probability: 1e-6 }, ..plain.clone() };
    let small = LinkSettings {
        queue: QueueSettings::DropTailBytes { limit: 150_000, ecn_threshold: None },
        ..plain.clone()
    };
    measure("single, idle", &plain, 1, 0.5, 0.0);
    measure("single, saturated, queue never full", &plain, 1, 1.000_1, 0.0);
    measure("single, queue full", &small, 1, 1.2, 0.0);
    measure("single, 1e-6 lost", &lossy, 1, 0.5, 0.0);
    measure("single, uneven rate, idle", &odd, 1, 0.5, 0.0);
    measure("single, uneven rate, queue full", &odd, 1, 1.2, 0.0);
    measure("64, burst", &plain, 64, 0.5, 0.0);
    measure("64, spaced", &plain, 64, 0.5, 2.0);
    measure("64, saturated", &plain, 64, 1.000_01, 0.5);
    measure("64, drains within", &plain, 64, 0.55, 1.5);
    measure("64, uneven rate", &odd, 64, 0.9, 0.5);
    measure("64, 1e-6 lost", &lossy, 64, 0.5, 0.0);
    measure("64, queue full", &small, 64, 1.2, 0.8);

    let mut flight = InFlight::new(Span::us(100), false);
    let start = Instant::now();
    for i in 0..4_000_000_i64 {
        flight.push(data(0, i as u64, 1, 1514, i * 121_120, 0), 64);
        if i % 64 == 63 {
            black_box(flight.pop());
        }
    }
    println!("in flight, single, joined to 64: {:.1} ns", start.elapsed().as_secs_f64() * 1e9 / 4e6);
}
