//! The default link equals sch_wire.c.

use super::reference::{Reference, assert_conserved, data, packets};
use crate::net::{Link, LinkSettings, LossSettings};
use proptest::prelude::*;
use wirespeed_units::{Bytes, Rate, SimTime, Span};

proptest! {
    /// Packets one by one: the same packets get through at the same picosecond, and all counters agree.
    #[test]
    fn single_packets_equal_sch_wire(
        rate in 1_000_000_000..1_000_000_000_000_u64,
        delay in 0..100_000_000_i64,
        limit in 0..60_000_u64,
        probability in prop_oneof![Just(0.0), 0.0..0.3_f64],
        seed: u64,
        offers in prop::collection::vec((60..1514_u32, 0.0..2.5_f64), 1..300),
    ) {
        let mut settings = LinkSettings::new(Rate::bps(rate), Span::ps(delay), Bytes::new(limit));
        settings.loss = LossSettings::Random { probability };
        settings.seed = seed;
        let mut link = Link::new(&settings);
        let mut reference = Reference::new(rate, delay, limit, (probability * 2f64.powi(64)) as u64, seed);
        let mean = (800.0 * 8e12 / rate as f64) as i64;
        let mut now = 0;
        for (i, (frame, load)) in offers.into_iter().enumerate() {
            now += (mean as f64 * load / 1.5) as i64;
            let mut out = Vec::new();
            link.offer(data(0, i as u64, 1, frame, now, 0), &mut out);
            let expected = reference.enqueue(now, frame.into());
            prop_assert_eq!(out.first().map(|t| t.at.picoseconds()), expected);
            prop_assert!(out.len() <= 1);
            if i % 7 == 0 {
                prop_assert_eq!(link.statistics(SimTime::ps(now)), reference.statistics(now));
            }
        }
        let end = now + delay + 100_000_000;
        prop_assert_eq!(link.statistics(SimTime::ps(end)), reference.statistics(end));
    }

    /// Trains that do not overlap: the same packets get through, each at the same time but for rounding within a
    /// train.
    #[test]
    fn trains_equal_sch_wire(
        rate in 1_000_000_000..1_000_000_000_000_u64,
        delay in 0..100_000_000_i64,
        limit in 1514..200_000_u64,
        probability in prop_oneof![Just(0.0), 0.0..0.1_f64],
        seed: u64,
        offers in prop::collection::vec((1..65_u32, 0.0..2.5_f64, 0.0..20.0_f64), 1..60),
    ) {
        let mut settings = LinkSettings::new(Rate::bps(rate), Span::ps(delay), Bytes::new(limit));
        settings.loss = LossSettings::Random { probability };
        settings.seed = seed;
        settings.train_limit = 64;
        let mut link = Link::new(&settings);
        let mut reference = Reference::new(rate, delay, limit, (probability * 2f64.powi(64)) as u64, seed);
        let service = (1514.0 * 8e12 / rate as f64) as i64;
        let (mut now, mut number) = (0_i64, 0);
        for (count, spacing, pause) in offers {
            let gap = (service as f64 * spacing) as i64;
            let mut out = Vec::new();
            link.offer(data(0, number, count, 1514, now, gap), &mut out);
            let mut expected = Vec::new();
            for i in 0..count {
                if let Some(at) = reference.enqueue(now + gap * i64::from(i), 1514) {
                    expected.push((0, number + u64::from(i), at));
                }
            }
            let got = packets(&out);
            prop_assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(&expected) {
                prop_assert_eq!(got.1, expected.1);
                prop_assert!((got.2 - expected.2).abs() <= 64, "{:?} instead of {:?}", got, expected);
            }
            number += u64::from(count);
            assert_conserved(number, &link.statistics(SimTime::ps(now)));
            let end = now + gap * i64::from(count - 1);
            let (have, want) = (link.statistics(SimTime::ps(end)), reference.statistics(end));
            // A start may be on either side of `end` by the rounding.
            prop_assert!(have.waiting_packets.abs_diff(want.waiting_packets) <= 1, "{have:?} {want:?}");
            prop_assert_eq!(have.overflow_packets, want.overflow_packets);
            prop_assert_eq!(have.ahead_packets, 0);
            now = end + (service as f64 * pause) as i64 + 100;
        }
    }
}
