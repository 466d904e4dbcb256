//! The controls in C do what the Rust implementations of crate `congestion` do, step for step: window and threshold
//! after each event, for random events and for long flows at windows up to 10 GB.

#[path = "support/flow.rs"]
mod flow;
#[path = "support/native.rs"]
mod native;
#[allow(dead_code, reason = "shared with the tests of crate congestion, which use all of it")]
#[path = "../../../base/congestion/tests/support/steps.rs"]
mod steps;

use proptest::prelude::*;
use steps::{MSS, WINDOWS, play_on};
use wirespeed_bpf::controls;
use wirespeed_congestion::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Phase, Setup, algorithm,
};
use wirespeed_units::{Bytes, Packets, SimTime, Span};

/// The same control in Rust and in C.
fn both(name: &str, window: u64, handshake: Span) -> [Box<dyn CongestionControl>; 2] {
    let row = algorithm(name).unwrap_or_else(|| panic!("crate congestion has no {name}"));
    let setup = Setup {
        ssthresh: (window > 100).then_some(window),
        handshake_rtt: Some(handshake),
        ..Setup::new(Bytes::new(MSS), window)
    };
    [row.build(&setup, &Default::default()).unwrap(), native::build(name, &setup)]
}

/// An acknowledgement of so many packets.
fn ack(packets: u64, rtt_us: Option<i64>, phase: Phase, marked: bool) -> steps::Step {
    steps::Step::Ack { packets, sacked: 0, lost: 0, rtt_us, phase, limited: phase == Phase::Open, marked }
}

/// Found by the test below: a duplicate that is not by header prediction, and what follows is.
#[test]
fn header_prediction_omits_no_duplicate() {
    use Phase::{Cwr, Open};
    let steps = [
        (141_634, ack(0, None, Open, true)),
        (79_074, ack(4_361, None, Open, false)),
        (1_958_450, ack(0, Some(833_901), Open, false)),
        (0, ack(0, Some(244_002), Open, false)),
        (5_168, ack(19_200, None, Open, false)),
        (1_378_850, ack(3_252, None, Open, false)),
        (392, ack(7_994, Some(202_028), Cwr, false)),
        (0, steps::Step::Congestion(CongestionKind::EcnEcho)),
        (2_477_698, ack(0, None, Open, false)),
    ];
    let [mut rust, mut c] = both("westwood", 10, Span::ms(20));
    let (rust, c) = (play_on(rust.as_mut(), &steps), play_on(c.as_mut(), &steps));
    assert_eq!(rust, c);
}

proptest! {
    // The list of numbers is all that could be kept, and means something else once a step is added.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn random_events_give_the_same_windows(
        steps in prop::collection::vec(any::<u16>(), 0..720).prop_map(|numbers| steps::steps(&numbers)),
        window in prop::sample::select(&WINDOWS[..]),
    ) {
        for control in controls() {
            let [mut rust, mut c] = both(control.name, window, Span::ms(20));
            let (rust, c) = (play_on(rust.as_mut(), &steps), play_on(c.as_mut(), &steps));
            for (index, (rust, c)) in rust.iter().zip(&c).enumerate() {
                prop_assert_eq!(rust, c, "{} from {} packets, step {}: {:?}", control.name, window, index, &steps[index]);
            }
        }
    }

    #[test]
    fn products_beyond_64_bits_are_exact(a in any::<u32>(), b in any::<u64>(), c in 1..3_000_000_000_000_000_000_u64) {
        let exact = u128::from(a) * u128::from(b) / u128::from(c);
        if let Ok(exact) = u64::try_from(exact) {
            prop_assert_eq!(native::library().mul_div(a, b, c), exact);
        }
    }

    #[test]
    fn cube_roots_are_exact(a in 0..1_u64 << 62, b in 0..1_u32 << 31) {
        let product = u128::from(a) * u128::from(b);
        let root = u128::from(native::library().cube_root(a, b));
        prop_assert!(root.pow(3) <= product, "{root} is too large");
        prop_assert!((root + 1).pow(3) > product || root + 1 == 1 << 31, "{root} is too small");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn eventful_flows_have_the_same_windows(seed in any::<u64>(), window in prop::sample::select(&[1_u64, 10, 150][..])) {
        for control in controls() {
            let mut flow = flow::Flow::new(seed);
            let mut pair = both(control.name, window, flow.base());
            for step in 0..20_000 {
                flow.step(&mut pair);
                let [rust, c] = [pair[0].control(), pair[1].control()];
                prop_assert_eq!(rust, c, "{} from {} packets, step {}", control.name, window, step);
            }
        }
    }
}

/// A long flow over a path whose queue fills and empties, with a loss now and then.
struct Path {
    now: SimTime,
    una: u64,
    acks: u64,
}

impl Path {
    /// One acknowledgement of `stride` packets for each of the two.
    fn step(&mut self, pair: &mut [Box<dyn CongestionControl>; 2], window: u64, stride: u64) {
        let cwnd = pair[0].control().cwnd.get() / MSS;
        // Beyond the window begun with, packets queue: 20 ms of path, and the queue above it.
        let rtt_us = 20_000 + 20_000 * cwnd.saturating_sub(window / 2) / window;
        self.now = self.now + Span::us((rtt_us * stride / cwnd.max(1)) as i64 + 1);
        self.una += stride * MSS;
        self.acks += 1;
        let rtt = Some(Span::us(rtt_us as i64));
        let snd_nxt = self.una + cwnd.min(1 << 20) * MSS;
        let ack = AckSample {
            now: self.now,
            newly_acked: Packets::new(stride),
            newly_delivered: Packets::new(stride),
            may_grow: true,
            cwnd_limited: true,
            snd_una: self.una,
            snd_nxt,
            rtt,
            srtt: rtt,
            ..AckSample::default()
        };
        for control in pair.iter_mut() {
            control.on_ack(&ack);
        }
        if self.acks.is_multiple_of(9_973) {
            let kind = if self.acks.is_multiple_of(3) {
                CongestionKind::Timeout
            } else {
                CongestionKind::FastRetransmit
            };
            let event = CongestionEvent {
                now: self.now,
                kind,
                in_flight: Packets::new(cwnd / 2),
                newly_delivered: Packets::new(0),
                snd_una: self.una,
                snd_nxt,
            };
            self.una = snd_nxt + MSS;
            for control in pair.iter_mut() {
                control.on_congestion(&event);
                let over =
                    AckSample { snd_una: self.una, may_grow: false, phase: Phase::Open, rtt: None, ..ack };
                control.on_ack(&over);
            }
        }
    }
}

#[test]
fn long_flows_give_the_same_windows_up_to_ten_gigabytes() {
    for control in controls() {
        for window in [10, 690_000, 6_900_000] {
            let (mut grew, mut fell) = (false, false);
            for stride in [1, 2, 45] {
                let mut pair = both(control.name, window, Span::ms(20));
                let mut path = Path { now: SimTime::START, una: 0, acks: 0 };
                for step in 0..60_000 {
                    let before = pair[0].control().cwnd;
                    path.step(&mut pair, window, stride);
                    let [rust, c] = [pair[0].control(), pair[1].control()];
                    assert_eq!(
                        rust, c,
                        "{} from {window} packets, {stride} an ACK, step {step}",
                        control.name
                    );
                    grew |= c.cwnd > before;
                    fell |= c.cwnd < before;
                }
            }
            assert!(grew && fell, "{} from {window} packets: flows that show nothing", control.name);
        }
    }
}
