//! BIC (Xu, Harfoush, Rhee, INFOCOM 2004) in Linux' form: binary search between the window after and before the last
//! loss, at most `max_increment` packets a round trip, then a search beyond it.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{LARGEST, Parameter, Values};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::Standard;
use crate::tick::{HZ, ticks};
use crate::window::Window;

/// The search goes 1/B of the way to the target each round trip.
const B: u64 = 4;
/// The ratio of packets to ACKs is kept in sixteenths.
const RATIO_SHIFT: u32 = 4;
/// Unit of `beta`.
const BETA_SCALE: u64 = 1024;
/// At most this many packets per increment while no loss is known: five percent a round trip.
const MOST_BEFORE_LOSS: u64 = 20;

pub(super) const ROW: Algorithm = Algorithm {
    name: "bic",
    about: "Binary search between the last windows with and without loss",
    reference: "Xu, Harfoush, Rhee, INFOCOM 2004",
    linux: Some("bic"),
    parameters: &[
        Parameter::new("fast_convergence", 1, 0, 1, "release bandwidth faster while the peak window shrinks"),
        Parameter::new("max_increment", 16, 1, LARGEST, "largest increase a round trip, packets")
            .known_as("smax"),
        Parameter::new("low_window", 14, 0, LARGEST, "behave as Reno below this window, packets"),
        Parameter::new("beta", 819, 1, 1023, "window kept after a loss, in 1/1024"),
        Parameter::new(
            "initial_ssthresh",
            0,
            0,
            LARGEST,
            "slow start threshold at the beginning, packets; 0: none",
        ),
        Parameter::new(
            "smooth_part",
            20,
            1,
            LARGEST,
            "round trips from the peak window less B to the peak window",
        ),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let mut window = setup.window();
        if values.is_on("initial_ssthresh") {
            window.ssthresh = values.count("initial_ssthresh").max(2);
        }
        Ok(Box::new(LossBased::new(window, Standard, Bic::new(values))))
    },
};

#[derive(Debug, Clone)]
struct Bic {
    fast_convergence: bool,
    max_increment: u64,
    low_window: u64,
    beta: u64,
    smooth_part: u64,
    /// Packets acknowledged for one packet more.
    per_increment: u64,
    /// The window at the last loss; zero if none is known.
    last_max: u64,
    last_cwnd: u64,
    last_tick: u64,
    /// Packets per ACK, in sixteenths.
    packets_per_ack: u64,
}

impl Bic {
    fn new(values: &Values) -> Self {
        Bic {
            fast_convergence: values.is_on("fast_convergence"),
            max_increment: values.count("max_increment"),
            low_window: values.count("low_window"),
            beta: values.count("beta"),
            smooth_part: values.count("smooth_part"),
            per_increment: 0,
            last_max: 0,
            last_cwnd: 0,
            last_tick: 0,
            packets_per_ack: 2 << RATIO_SHIFT,
        }
    }

    fn forget(&mut self) {
        self.per_increment = 0;
        self.last_max = 0;
        self.last_cwnd = 0;
        self.last_tick = 0;
        self.packets_per_ack = 2 << RATIO_SHIFT;
    }

    /// Packets to acknowledge for one more, at window `cwnd` above the low window.
    fn search(&self, cwnd: u64) -> u64 {
        let smooth = cwnd * self.smooth_part / B;
        let linear = cwnd / self.max_increment;
        if cwnd < self.last_max {
            let step = (self.last_max - cwnd) / B;
            if step > self.max_increment {
                linear
            } else if step <= 1 {
                smooth
            } else {
                cwnd / step
            }
        } else if cwnd < self.last_max + B {
            smooth
        } else if cwnd < self.last_max + self.max_increment * (B - 1) {
            cwnd * (B - 1) / (cwnd - self.last_max)
        } else {
            linear
        }
    }

    fn update(&mut self, cwnd: u64, tick: u64) {
        if self.last_cwnd == cwnd && tick - self.last_tick <= HZ / 32 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_tick = tick;
        if cwnd <= self.low_window {
            self.per_increment = cwnd;
            return;
        }
        let mut per_increment = self.search(cwnd);
        if self.last_max == 0 {
            per_increment = per_increment.min(MOST_BEFORE_LOSS);
        }
        // Delayed ACKs are made up for: fewer packets per increment in proportion.
        self.per_increment = ((per_increment << RATIO_SHIFT) / self.packets_per_ack).max(1);
    }
}

impl WindowRule for Bic {
    fn measure(&mut self, ack: &AckSample, before: Phase, _window: &mut Window) {
        if before == Phase::Open {
            // A moving average: 15/16 of the old ratio and 1/16 of the new.
            self.packets_per_ack -= self.packets_per_ack >> RATIO_SHIFT;
            self.packets_per_ack += ack.newly_acked.get();
        }
    }

    fn avoid(&mut self, ack: &AckSample, acked: u64, window: &mut Window) {
        self.update(window.cwnd, ticks(ack.now));
        window.additive_increase(self.per_increment, acked);
    }

    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        let cwnd = window.cwnd;
        self.last_max = if cwnd < self.last_max && self.fast_convergence {
            cwnd * (BETA_SCALE + self.beta) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        if cwnd <= self.low_window { window.half() } else { cwnd * self.beta / BETA_SCALE }
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        if change.to == Phase::Loss {
            self.forget();
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("last_max_packets", self.last_max as f64);
        observer.value("per_increment_packets", self.per_increment as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Values;
    use crate::testing::Flow;
    use std::collections::BTreeMap;
    use wirespeed_units::Span;

    fn after_loss_at(last_max: u64) -> Bic {
        let values = Values::resolve("bic", ROW.parameters, &BTreeMap::new()).unwrap();
        Bic { last_max, packets_per_ack: 1 << RATIO_SHIFT, ..Bic::new(&values) }
    }

    /// Packets a round trip adds at window `cwnd`.
    fn increase(bic: &Bic, cwnd: u64) -> f64 {
        cwnd as f64 / bic.search(cwnd) as f64
    }

    #[test]
    fn a_quarter_of_the_distance_at_most_smax() {
        let bic = after_loss_at(1_000);
        assert_eq!(increase(&bic, 800), 16.0); // 200 away: 50, limited to Smax
        assert!((increase(&bic, 960) - 10.0).abs() < 0.1); // 40 away
        assert!((increase(&bic, 980) - 5.0).abs() < 0.1); // 20 away
        // 4 packets away the quarter is one packet: B a smooth_part-th of a packet, 0.2.
        assert!((increase(&bic, 996) - 0.2).abs() < 0.001);
    }

    #[test]
    fn beyond_the_peak_slowly_then_up_to_smax() {
        let bic = after_loss_at(1_000);
        assert!((increase(&bic, 1_003) - 0.2).abs() < 0.001);
        assert!((increase(&bic, 1_012) - 4.0).abs() < 0.05); // 12 / (B - 1)
        assert!((increase(&bic, 1_045) - 15.0).abs() < 0.2);
        assert!((increase(&bic, 1_100) - 16.0).abs() < 0.3); // 1100 / 16 = 68 in whole packets
    }

    #[test]
    fn a_loss_leaves_four_fifths_and_a_lower_peak_if_the_last_was_higher() {
        let mut flow = Flow::new("bic").at(1_000);
        flow.lose();
        assert_eq!((flow.cwnd(), flow.see("last_max_packets")), (799, 1_000.0)); // 1000 x 819/1024
        flow.lose();
        // Fast convergence: 799 x (1024 + 819) / 2048.
        assert_eq!(flow.see("last_max_packets"), 719.0);
    }

    #[test]
    fn linear_then_logarithmic_to_the_old_peak() {
        let mut flow = Flow::new("bic").at(1_000);
        flow.lose();
        let mut windows = vec![flow.cwnd()];
        for _ in 0..12 {
            flow.round(Span::ms(100));
            windows.push(flow.cwnd());
        }
        let steps: Vec<u64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // 201 away: twice Smax until a quarter of the distance is less (see the next test for the two).
        assert!(steps[..4].iter().all(|step| (30..=33).contains(step)), "{windows:?}");
        assert!(steps[4..].windows(2).all(|pair| pair[1] <= pair[0] + 1), "{windows:?}");
        assert!((990..1_000).contains(&windows[12]), "{windows:?}");
    }

    #[test]
    fn linux_doubles_smax_even_if_every_packet_is_acknowledged() {
        // The ratio starts at 32/16 and, in whole sixteenths, cannot fall below 31/16 with one packet an ACK; and
        // since increments count packets, not ACKs, delayed ACKs are made up for twice.
        for packets_per_ack in [1, 2] {
            let mut flow = Flow::new("bic").at(10_000).stretched(packets_per_ack);
            flow.lose();
            let before = flow.cwnd();
            flow.round(Span::ms(100));
            assert!((31..=33).contains(&(flow.cwnd() - before)), "{}", flow.cwnd() - before);
        }
    }

    #[test]
    fn acknowledgements_of_many_packets_are_made_up_for() {
        let mut flow = Flow::new("bic").at(10_000).stretched(8);
        // The average is at 8 packets an acknowledgement after some of them.
        flow.round(Span::ms(100));
        flow.lose();
        let before = flow.cwnd();
        flow.round(Span::ms(100));
        let grown = flow.cwnd() - before;
        assert!((124..=132).contains(&grown), "{grown}, not 16 x 8");
    }

    #[test]
    fn smax_is_an_alias() {
        let mut flow = Flow::with("bic", &[("smax", 32)]).at(10_000);
        flow.lose();
        let before = flow.cwnd();
        flow.round(Span::ms(100));
        assert!((62..=66).contains(&(flow.cwnd() - before)), "{}", flow.cwnd() - before);
    }
}
