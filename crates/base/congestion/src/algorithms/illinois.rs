//! Illinois (Liu, Basar, Srikant, VALUETOOLS 2006) in Linux' form: Reno whose increase alpha and decrease beta are
//! curves of the average queueing delay of the last round trip. Delays are in microseconds, alpha in 1/128, beta
//! in 1/64.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{LARGEST, Parameter};
use crate::registry::{Algorithm, EcnUse};
use crate::round::Round;
use crate::slow_start::{SlowStart, Standard};
use crate::tick::micros;
use crate::window::Window;

/// One, and the bounds of alpha: 0.3 (in whole parts) and 10.
const ALPHA_ONE: u64 = 128;
const ALPHA_MIN: u64 = 3 * ALPHA_ONE / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_ONE;
/// One, and the bounds of beta: an eighth and a half.
const BETA_ONE: u64 = 64;
const BETA_MIN: u64 = BETA_ONE / 8;
const BETA_MAX: u64 = BETA_ONE / 2;
/// Longer round-trip times count as this, microseconds (Linux: 3.3 s).
const RTT_MAX: u64 = u32::MAX as u64 / ALPHA_MAX;

pub(super) const ROW: Algorithm = Algorithm {
    name: "illinois",
    about: "Reno whose increase and decrease follow the queueing delay",
    reference: "Liu, Basar, Srikant, VALUETOOLS 2006",
    linux: Some("illinois"),
    parameters: &[
        Parameter::new("win_thresh", 15, 0, LARGEST, "behave as Reno below this window, packets")
            .at_loading(),
        Parameter::new("theta", 5, 0, LARGEST, "round trips of low delay before full growth").at_loading(),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let rule = Illinois {
            low_window: values.count("win_thresh"),
            theta: values.count("theta"),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base_rtt: u64::MAX,
            max_rtt: 0,
            round: Round::default(),
            sum: 0,
            samples: 0,
            acked: 0,
            was_high: false,
            low_rounds: 0,
        };
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Illinois {
    low_window: u64,
    theta: u64,
    alpha: u64,
    beta: u64,
    base_rtt: u64,
    max_rtt: u64,
    round: Round,
    /// Round-trip times of this round trip: their sum and number.
    sum: u64,
    samples: u64,
    /// Packets of the newest ACK.
    acked: u64,
    /// The delay has been above the low threshold.
    was_high: bool,
    /// Round trips with low delay since.
    low_rounds: u64,
}

impl Illinois {
    /// Increase for an average delay `average` if the largest is `largest`: ten while below a hundredth of it, then
    /// k1 / (k2 + average), falling to 0.3 at the largest (paper, section 3.1).
    fn alpha_of(&mut self, average: u64, largest: u64) -> u64 {
        let low = largest / 100;
        if average <= low {
            if !self.was_high {
                return ALPHA_MAX;
            }
            // One good round trip is not enough to rush.
            self.low_rounds += 1;
            if self.low_rounds < self.theta {
                return self.alpha;
            }
            self.low_rounds = 0;
            self.was_high = false;
            return ALPHA_MAX;
        }
        self.was_high = true;
        let (average, largest) = (average - low, largest - low);
        largest * ALPHA_MAX / (largest + average * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }

    fn update(&mut self, cwnd: u64, snd_nxt: u64) {
        if cwnd < self.low_window {
            self.alpha = ALPHA_ONE;
            self.beta = BETA_MAX;
        } else if let Some(mean) = self.sum.checked_div(self.samples) {
            let average = mean.saturating_sub(self.base_rtt);
            let largest = self.max_rtt - self.base_rtt;
            self.alpha = self.alpha_of(average, largest);
            self.beta = beta_of(average, largest);
        }
        self.start_round(snd_nxt);
    }

    fn start_round(&mut self, snd_nxt: u64) {
        self.round.start(snd_nxt);
        self.sum = 0;
        self.samples = 0;
    }
}

/// Decrease for an average delay: an eighth up to a tenth of the largest, a half from eight tenths on, a line between.
fn beta_of(average: u64, largest: u64) -> u64 {
    let (low, high) = (largest / 10, 8 * largest / 10);
    if average <= low {
        BETA_MIN
    } else if average >= high || high <= low {
        BETA_MAX
    } else {
        // At least zero: the line passes through the two corners, and the average lies between them.
        (BETA_MIN * high + (BETA_MAX - BETA_MIN) * average - BETA_MAX * low) / (high - low)
    }
}

impl WindowRule for Illinois {
    fn measure(&mut self, ack: &AckSample, _before: Phase, _window: &mut Window) {
        self.acked = ack.newly_acked.get();
        let Some(rtt) = ack.rtt else { return };
        let rtt = micros(rtt).min(RTT_MAX);
        self.base_rtt = self.base_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
        self.sum += rtt;
        self.samples += 1;
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, slow_start: &mut dyn SlowStart) {
        if self.round.is_over(ack.snd_una) {
            self.update(window.cwnd, ack.snd_nxt);
        }
        if !ack.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            slow_start.grow(ack.newly_delivered.get(), window);
            return;
        }
        window.count += std::mem::replace(&mut self.acked, 1);
        let earned = window.count * self.alpha / ALPHA_ONE;
        if earned >= window.cwnd {
            window.set(window.cwnd + earned / window.cwnd);
            window.count = 0;
        }
    }

    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        window.cwnd - window.cwnd * self.beta / BETA_ONE
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        if change.to == Phase::Loss {
            self.alpha = ALPHA_ONE;
            self.beta = BETA_MAX;
            self.low_rounds = 0;
            self.was_high = false;
            self.start_round(change.snd_nxt);
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("alpha_packets_per_rtt", self.alpha as f64 / ALPHA_ONE as f64);
        observer.value("beta_ratio", self.beta as f64 / BETA_ONE as f64);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Flow;
    use wirespeed_units::Span;

    /// Alpha and beta after a round trip whose average delay is `delay_ms` of at most 100 ms, window 1000.
    fn curves(delay_ms: i64) -> (f64, f64) {
        let mut flow = Flow::new("illinois").at(1_000);
        flow.ack(1, Span::ms(50));
        flow.ack(1, Span::ms(150));
        // The first is averaged with what came before, and growth waits for five with low delay.
        for _ in 0..8 {
            flow.round(Span::ms(50 + delay_ms));
        }
        flow.ack(1, Span::ms(50 + delay_ms));
        flow.ack(1, Span::ms(50 + delay_ms));
        (flow.see("alpha_packets_per_rtt"), flow.see("beta_ratio"))
    }

    #[test]
    fn alpha_falls_from_ten_to_three_tenths() {
        assert_eq!(curves(1).0, 10.0);
        // kappa1 / (kappa2 + d) with d1 = 1, dm = 100: at 10 ms 2.54, at 50 ms 0.59.
        for (delay, expected) in [(10, 2.54), (50, 0.588), (100, 0.3)] {
            let alpha = curves(delay).0;
            assert!((alpha - expected).abs() < 0.03, "alpha({delay} ms) = {alpha}");
        }
    }

    #[test]
    fn beta_rises_from_an_eighth_to_a_half() {
        for (delay, expected) in [(5, 0.125), (45, 0.3125), (80, 0.5), (100, 0.5)] {
            let beta = curves(delay).1;
            assert!((beta - expected).abs() < 0.02, "beta({delay} ms) = {beta}");
        }
    }

    #[test]
    fn ten_packets_a_round_trip_on_an_empty_queue() {
        let mut flow = Flow::new("illinois").at(1_000);
        for _ in 0..5 {
            flow.round(Span::ms(50));
        }
        assert!((1_048..=1_050).contains(&flow.cwnd()), "{}", flow.cwnd());
        let before = flow.cwnd();
        flow.lose();
        // All delays were the same: the largest is none, so a loss costs an eighth.
        assert_eq!(flow.cwnd(), before - before / 8);
    }

    #[test]
    fn reno_below_the_low_window() {
        let mut flow = Flow::new("illinois").at(10);
        for _ in 0..3 {
            flow.round(Span::ms(50));
        }
        assert!((12..=13).contains(&flow.cwnd()), "{}", flow.cwnd());
    }
}
