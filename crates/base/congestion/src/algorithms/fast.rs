//! FAST TCP (Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006): once a round trip the window moves a part gamma of the
//! way to the one that keeps `alpha` packets in the queue; a loss halves it.

use crate::control::Observer;
use crate::event::{AckSample, Phase, Restart};
use crate::loss_based::{LossBased, WindowRule};
use crate::parameter::{LARGEST, Parameter};
use crate::registry::{Algorithm, EcnUse};
use crate::round::Round;
use crate::slow_start::{SlowStart, Standard};
use crate::tick::micros;
use crate::window::Window;

/// log2 of the scale of the average delay: fine enough that no sample is lost at a window of ten million packets.
const DELAY_SHIFT: u32 = 32;

pub(super) const ROW: Algorithm = Algorithm {
    name: "fast",
    about: "Moves the window each round trip towards a fixed number of own packets in the queue (FAST TCP)",
    reference: "Wei, Jin, Low, Hegde, IEEE/ACM ToN 2006",
    linux: None,
    parameters: &[
        Parameter::of_model("alpha", 200, 1, LARGEST, "packets it keeps in the queue"),
        Parameter::of_model("gamma_percent", 50, 1, 100, "part of the way it goes each round trip, percent"),
        Parameter::of_model(
            "mi_threshold_us",
            750,
            0,
            LARGEST,
            "leave slow start above this queueing delay, us",
        ),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let rule = Fast {
            alpha: values.count("alpha"),
            gamma: values.count("gamma_percent"),
            leave_us: values.count("mi_threshold_us"),
            base: None,
            average: None,
            round: Round::default(),
        };
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Fast {
    alpha: u64,
    gamma: u64,
    leave_us: u64,
    /// Least round-trip time, microseconds.
    base: Option<u64>,
    /// Average round-trip time, microseconds shifted.
    average: Option<i128>,
    round: Round,
}

impl Fast {
    /// w = min(2 w, (1 - gamma) w + gamma (base / rtt w + alpha)) (paper, equation 1).
    fn target(&self, cwnd: u64, base: u64, average: i128) -> u64 {
        let base = i128::from(base) << DELAY_SHIFT;
        let fitting = i128::from(cwnd) * base / average.max(base) + i128::from(self.alpha);
        let gamma = i128::from(self.gamma);
        let moved = ((100 - gamma) * i128::from(cwnd) + gamma * fitting) / 100;
        (moved as u64).min(2 * cwnd).max(2)
    }
}

impl WindowRule for Fast {
    fn measure(&mut self, ack: &AckSample, _before: Phase, window: &mut Window) {
        let Some(rtt) = ack.rtt.map(micros) else { return };
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        let sample = i128::from(rtt) << DELAY_SHIFT;
        // Weight min(3 / w, 1 / 4): the average covers a third of a window (paper, section IV-B).
        let divisor = i128::from(window.cwnd.max(12));
        self.average =
            Some(self.average.map_or(sample, |average| average + (sample - average) * 3 / divisor));
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, slow_start: &mut dyn SlowStart) {
        let (Some(base), Some(average)) = (self.base, self.average) else {
            return;
        };
        if window.in_slow_start() {
            let queueing = ((average >> DELAY_SHIFT) as u64).saturating_sub(base);
            if queueing <= self.leave_us {
                if ack.cwnd_limited {
                    slow_start.grow(ack.newly_delivered.get(), window);
                }
                return;
            }
            window.ssthresh = window.cwnd.max(2);
        }
        if self.round.is_over(ack.snd_una) {
            self.round.start(ack.snd_nxt);
            // A window that is not used may shrink, not grow.
            let most = if ack.cwnd_limited { u64::MAX } else { window.cwnd };
            window.set(self.target(window.cwnd, base, average).min(most));
            window.ssthresh = window.ssthresh.min(window.cwnd.max(2));
        }
    }

    fn on_idle_restart(&mut self, restart: &Restart, _window: &Window) {
        self.average = None;
        self.round.start(restart.snd_nxt);
    }

    fn observe(&self, observer: &mut dyn Observer) {
        if let (Some(base), Some(average)) = (self.base, self.average) {
            observer.value("base_rtt_us", base as f64);
            observer.value("average_rtt_us", average as f64 / (1u64 << DELAY_SHIFT) as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Flow;
    use wirespeed_units::Span;

    #[test]
    fn it_settles_where_alpha_packets_are_queued() {
        // A path of 1000 packets in 20 ms: with w packets out the delay is w / 1000 x 20 ms.
        let mut flow = Flow::new("fast").at(1_000);
        for _ in 0..60 {
            let rtt = Span::us((flow.cwnd() as i64 * 20).max(20_000));
            flow.round(rtt);
        }
        assert!(flow.cwnd().abs_diff(1_200) <= 4, "{}", flow.cwnd());
    }

    #[test]
    fn an_empty_queue_adds_gamma_alpha_a_round_trip() {
        let mut flow = Flow::new("fast").at(10_000);
        flow.round(Span::ms(20));
        flow.round(Span::ms(20));
        let before = flow.cwnd();
        flow.round(Span::ms(20));
        assert_eq!(flow.cwnd(), before + 100);
    }

    #[test]
    fn a_small_window_doubles_at_most() {
        let mut flow = Flow::new("fast").at(10);
        flow.ack(1, Span::ms(20));
        assert_eq!(flow.cwnd(), 20);
    }

    #[test]
    fn a_loss_halves() {
        let mut flow = Flow::new("fast").at(1_000);
        flow.lose();
        assert_eq!(flow.cwnd(), 500);
    }
}
