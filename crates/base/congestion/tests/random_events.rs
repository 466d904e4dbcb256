//! Random event sequences over every algorithm of the registry. `PROPTEST_CASES=10000` tries more of them than the
//! usual 256; what once failed is a test of its own.

#[path = "support/steps.rs"]
mod steps;

use proptest::prelude::*;
use steps::{Step, WINDOWS, check};
use wirespeed_congestion::{CongestionKind, Phase};

proptest! {
    // The list of numbers is all that could be kept, and means something else once a step is added.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_events_keep_the_bounds_and_repeat(
        steps in prop::collection::vec(any::<u16>(), 0..720).prop_map(|numbers| steps::steps(&numbers)),
        window in prop::sample::select(&WINDOWS[..]),
        seed in any::<u64>(),
    ) {
        check(window, seed, &steps).map_err(TestCaseError::fail)?;
    }
}

/// Two losses and acknowledgements within one microsecond.
#[test]
fn everything_at_one_time() {
    let ack = |packets, rtt_us| {
        let (sacked, lost, limited, marked) = (0, 0, false, false);
        (0, Step::Ack { packets, sacked, lost, rtt_us: Some(rtt_us), phase: Phase::Open, limited, marked })
    };
    let steps = [
        ack(3384, 1),
        (0, Step::Congestion(CongestionKind::Timeout)),
        (0, Step::Congestion(CongestionKind::FastRetransmit)),
        ack(0, 1),
        ack(1838, 2),
        ack(605, 2),
        ack(942, 2),
    ];
    check(1, 8_163_956_139_743_830_660, &steps).unwrap();
}
