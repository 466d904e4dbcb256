//! Veno (Fu, Liew, JSAC 2003) in Linux' form: Reno that asks Vegas' estimate of its own queue whether a loss came
//! from congestion; if not, it keeps four fifths.

use super::vegas::{Delays, FEW_SAMPLES, reno};
use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase, Restart, Sent};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::Parameter;
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::{SlowStart, Standard};
use crate::window::Window;

pub(super) const ROW: Algorithm = Algorithm {
    name: "veno",
    about: "Reno that tells random loss from congestion by Vegas' queue estimate",
    reference: "Fu, Liew, JSAC 2003",
    linux: Some("veno"),
    parameters: &[
        Parameter::of_model(
            "beta",
            3,
            1,
            10_000,
            "own packets in the queue from which on losses mean congestion",
        ),
        Parameter::of_model("random_loss_keeps", 80, 50, 100, "window kept after any other loss, percent"),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let rule = Veno {
            beta_halves: 2 * values.count("beta"),
            keeps_percent: values.count("random_loss_keeps"),
            delays: Delays::default(),
            queued_halves: 0,
            grow_next: true,
        };
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Veno {
    /// `beta` in halves, as the estimate is.
    beta_halves: u64,
    keeps_percent: u64,
    delays: Delays,
    /// Packets of this flow in the queue, in halves.
    queued_halves: u64,
    /// In congestion the window grows every second round trip: this one.
    grow_next: bool,
}

impl Veno {
    fn grow_by_queue(&mut self, base: u64, rtt: u64, ack: &AckSample, window: &mut Window) {
        let fitting = 2 * u128::from(window.cwnd) * u128::from(base) / u128::from(rtt);
        self.queued_halves = 2 * window.cwnd - fitting as u64;
        let mut acked = ack.newly_delivered.get();
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        if acked > 0 {
            if self.queued_halves < self.beta_halves {
                window.additive_increase(window.cwnd, acked);
            } else if window.count >= window.cwnd {
                if self.grow_next {
                    window.set(window.cwnd + 1);
                }
                self.grow_next = !self.grow_next;
                window.count = 0;
            } else {
                window.count += acked;
            }
        }
        window.set(window.cwnd.max(2));
    }
}

impl WindowRule for Veno {
    fn measure(&mut self, ack: &AckSample, _before: Phase, _window: &mut Window) {
        self.delays.measure(ack);
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, _slow_start: &mut dyn SlowStart) {
        if !self.delays.are_enabled() {
            reno(ack, window);
            return;
        }
        if !ack.cwnd_limited {
            return;
        }
        match self.delays.both() {
            Some((base, rtt)) if self.delays.samples > FEW_SAMPLES => {
                self.grow_by_queue(base, rtt, ack, window)
            }
            _ => reno(ack, window),
        }
        // Linux keeps the count of samples: from the third on every ACK is judged by its own delay.
        self.delays.least = None;
    }

    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        if self.queued_halves < self.beta_halves {
            window.cwnd * self.keeps_percent / 100
        } else {
            window.half()
        }
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        let samples = self.delays.samples;
        self.delays.on_phase(change);
        self.delays.samples = samples;
    }

    fn on_transmit_start(&mut self, sent: &Sent, _window: &Window) {
        self.restart(sent.snd_nxt);
    }

    fn on_idle_restart(&mut self, restart: &Restart, _window: &Window) {
        self.restart(restart.snd_nxt);
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.delays.observe(observer);
        observer.value("queued_packets", self.queued_halves as f64 / 2.0);
    }
}

impl Veno {
    fn restart(&mut self, snd_nxt: u64) {
        let samples = self.delays.samples;
        self.delays.restart(snd_nxt);
        self.delays.samples = samples;
        self.grow_next = true;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Flow;
    use wirespeed_units::Span;

    /// A window of 100 with base delay 10 ms, then round trips of `rtt_us`.
    fn after(rtt_us: i64, rounds: usize) -> Flow {
        after_with(&[], rtt_us, rounds)
    }

    fn after_with(parameters: &[(&str, i64)], rtt_us: i64, rounds: usize) -> Flow {
        let mut flow = Flow::with("veno", parameters).at(100);
        for _ in 0..5 {
            flow.ack(1, Span::ms(10));
        }
        for _ in 0..rounds {
            flow.round(Span::us(rtt_us));
        }
        flow
    }

    #[test]
    fn random_loss_costs_a_fifth_congestion_a_half() {
        // cwnd (1 - base / rtt): at 10.2 ms 1.96 packets are queued, at 10.5 ms 4.8.
        let mut flow = after(10_200, 1);
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before * 4 / 5);
        let mut flow = after(10_500, 1);
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before / 2);
    }

    #[test]
    fn random_loss_threshold_and_reduction_can_be_set() {
        // Five packets are queued: congestion for beta = 3, not for 6.
        for (parameters, kept) in [(&[("beta", 6)][..], 80), (&[("beta", 6), ("random_loss_keeps", 70)], 70)]
        {
            let mut flow = after_with(parameters, 10_500, 1);
            let before = flow.cwnd();
            flow.lose();
            assert_eq!(flow.cwnd(), before * kept / 100);
        }
    }

    #[test]
    fn in_congestion_it_grows_every_second_round_trip() {
        assert_eq!(after(10_000, 20).cwnd(), 120);
        let congested = after(11_000, 20).cwnd();
        assert!((109..=111).contains(&congested), "{congested}");
    }
}
