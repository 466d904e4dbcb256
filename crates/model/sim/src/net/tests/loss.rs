//! Losses counted ahead are those of one draw after the other, and as many as they should be.

use crate::net::LossSettings;
use crate::net::loss::Loss;
use proptest::prelude::*;

fn settings() -> impl Strategy<Value = LossSettings> {
    prop_oneof![
        (0.0..0.2_f64).prop_map(|probability| LossSettings::Random { probability }),
        (1e-8..1e-4_f64).prop_map(|rate| LossSettings::BitError { rate }),
        (0.0..0.2_f64, 0.0..1.0_f64, 0.0..0.1_f64, 0.0..=1.0_f64).prop_map(
            |(good_to_bad, bad_to_good, loss_good, loss_bad)| LossSettings::GilbertElliott {
                good_to_bad,
                bad_to_good,
                loss_good,
                loss_bad
            }
        ),
    ]
}

/// Whether each of the packets in trains of `sizes` is lost.
fn lost(loss: &mut Loss, frame: u32, sizes: &[u32]) -> Vec<bool> {
    let mut all = Vec::new();
    for size in sizes {
        let mut left = *size;
        // Half of the trains ask first, as the link does.
        if left % 2 == 0 && loss.spares(frame, left) {
            all.extend((0..left).map(|_| false));
            continue;
        }
        while left > 0 {
            match loss.first_lost(frame, left) {
                None => {
                    all.extend((0..left).map(|_| false));
                    left = 0;
                }
                Some(first) => {
                    all.extend((0..=first).map(|i| i == first));
                    left -= first + 1;
                }
            }
        }
    }
    all
}

proptest! {
    #[test]
    fn the_same_packets_are_lost_in_trains_of_any_size(
        settings in settings(),
        seed: u64,
        sizes in prop::collection::vec(1..65_u32, 1..100),
    ) {
        let total: u32 = sizes.iter().sum();
        let in_trains = lost(&mut Loss::new(&settings, seed), 1514, &sizes);
        let one_by_one = lost(&mut Loss::new(&settings, seed), 1514, &vec![1; total as usize]);
        prop_assert_eq!(in_trains, one_by_one);
    }
}

/// The share of lost packets.
fn share(settings: LossSettings, frame: u32) -> f64 {
    let n = 2_000_000;
    let lost = lost(&mut Loss::new(&settings, 11), frame, &vec![64; n / 64]);
    lost.iter().filter(|l| **l).count() as f64 / lost.len() as f64
}

#[test]
fn wrong_bits_hit_frames_by_their_length() {
    for frame in [64_u32, 1514, 9014] {
        let p = 1.0 - (1.0 - 2e-7_f64).powi(8 * frame as i32);
        let error = (p / 2e6).sqrt();
        let found = share(LossSettings::BitError { rate: 2e-7 }, frame);
        assert!((found - p).abs() < 4.0 * error, "{frame} bytes: {found} instead of {p}");
    }
}

#[test]
fn wrong_bits_know_no_frames() {
    // Alternating sizes: each has its own probability.
    let mut loss = Loss::new(&LossSettings::BitError { rate: 1e-6 }, 5);
    let mut lost = [0.0, 0.0];
    for _ in 0..500_000 {
        for (i, frame) in [100, 1500].into_iter().enumerate() {
            lost[i] += f64::from(u8::from(loss.first_lost(frame, 1).is_some()));
        }
    }
    for (i, bits) in [(0, 800), (1, 12_000)] {
        let expected = 5e5 * (1.0 - (1.0 - 1e-6_f64).powi(bits));
        assert!((lost[i] - expected).abs() < 4.0 * expected.sqrt(), "{} instead of {expected}", lost[i]);
    }
}

#[test]
fn bursts_have_their_share_and_their_length() {
    let model = |loss_good, loss_bad| LossSettings::GilbertElliott {
        good_to_bad: 0.01,
        bad_to_good: 0.25,
        loss_good,
        loss_bad,
    };
    // In the bad state for 0.01 / (0.01 + 0.25) of the packets.
    let bad = 0.01 / 0.26;
    for (good_loss, bad_loss) in [(0.0, 1.0), (0.001, 0.5)] {
        let expected = bad * bad_loss + (1.0 - bad) * good_loss;
        let found = share(model(good_loss, bad_loss), 1514);
        assert!((found / expected - 1.0).abs() < 0.03, "{found} instead of {expected}");
    }
    // A visit to the bad state lasts 4 packets in the mean.
    let lost = lost(&mut Loss::new(&model(0.0, 1.0), 3), 1514, &vec![64; 20_000]);
    let bursts = lost.windows(2).filter(|w| w[1] && !w[0]).count();
    let mean = lost.iter().filter(|l| **l).count() as f64 / bursts as f64;
    assert!((mean - 4.0).abs() < 0.1, "{mean}");
}

#[test]
fn certain_and_impossible_loss() {
    assert_eq!(share(LossSettings::Random { probability: 1.0 }, 1514), 1.0);
    assert_eq!(share(LossSettings::Random { probability: 0.0 }, 1514), 0.0);
    assert_eq!(share(LossSettings::BitError { rate: 0.0 }, 1514), 0.0);
    assert_eq!(share(LossSettings::None, 1514), 0.0);
}
