//! Vegas (Brakmo, Peterson, JSAC 1995) in Linux' form: once a round trip the packets this flow has in the queue,
//! seen as delay, are compared with two bounds. Below a few samples a round trip, and after any loss, it is Reno.

use crate::control::Observer;
use crate::event::{AckSample, Phase, Restart, Sent};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{LARGEST, Parameter};
use crate::registry::{Algorithm, EcnUse};
use crate::round::Round;
use crate::slow_start::{SlowStart, Standard};
use crate::tick::micros;
use crate::window::Window;

/// A round trip with no more samples than this may have seen delayed ACKs only.
pub(super) const FEW_SAMPLES: u64 = 2;

pub(super) const ROW: Algorithm = Algorithm {
    name: "vegas",
    about: "Keeps a few packets of its own in the queue, seen as delay",
    reference: "Brakmo, Peterson, JSAC 1995",
    linux: Some("vegas"),
    parameters: &[
        Parameter::new("alpha", 2, 0, LARGEST, "grow while fewer packets than this are queued"),
        Parameter::new("beta", 4, 0, LARGEST, "shrink while more packets than this are queued"),
        Parameter::new("gamma", 1, 0, LARGEST, "leave slow start when more packets than this are queued"),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let rule = Vegas {
            alpha: values.count("alpha"),
            beta: values.count("beta"),
            gamma: values.count("gamma"),
            delays: Delays::default(),
        };
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

/// Delays of this round trip and of the connection, as Vegas, Veno and YeAH measure them.
#[derive(Debug, Clone, Default)]
pub(super) struct Delays {
    /// Samples count: the phase is Open.
    disabled: bool,
    pub round: Round,
    /// Least of the connection, microseconds plus one.
    pub base: Option<u64>,
    /// Least of this round trip.
    pub least: Option<u64>,
    /// Samples of this round trip.
    pub samples: u64,
}

impl Delays {
    pub fn measure(&mut self, ack: &AckSample) {
        let Some(rtt) = ack.rtt else { return };
        let delay = micros(rtt) + 1;
        self.base = Some(self.base.map_or(delay, |base| base.min(delay)));
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        self.samples += 1;
    }

    pub fn are_enabled(&self) -> bool {
        !self.disabled
    }

    /// Least delay of the connection and of this round trip, if the round had a sample.
    pub fn both(&self) -> Option<(u64, u64)> {
        Some((self.base?, self.least?))
    }

    pub fn start_round(&mut self, snd_nxt: u64) {
        self.round.start(snd_nxt);
        self.forget_round();
    }

    pub fn forget_round(&mut self) {
        self.least = None;
        self.samples = 0;
    }

    /// Measuring begins anew in Open and pauses in any other phase.
    pub fn on_phase(&mut self, change: &PhaseChange) {
        self.disabled = change.to != Phase::Open;
        if !self.disabled {
            self.start_round(change.snd_nxt);
        }
    }

    /// After a pause nothing known holds.
    pub fn restart(&mut self, snd_nxt: u64) {
        *self = Delays { round: Round::until(snd_nxt), ..Delays::default() };
    }

    pub fn observe(&self, observer: &mut dyn Observer) {
        if let Some(base) = self.base {
            observer.value("base_rtt_us", (base - 1) as f64);
        }
        if let Some(least) = self.least {
            observer.value("least_rtt_us", (least - 1) as f64);
        }
        observer.value("rtt_samples", self.samples as f64);
    }
}

#[derive(Debug, Clone)]
struct Vegas {
    alpha: u64,
    beta: u64,
    gamma: u64,
    delays: Delays,
}

impl Vegas {
    /// The adjustment of one round trip with enough samples.
    fn adjust(&self, base: u64, rtt: u64, acked: u64, window: &mut Window, slow_start: &mut dyn SlowStart) {
        // Expected less actual rate, times the base delay: packets in the queue.
        let queued = (u128::from(window.cwnd) * u128::from(rtt - base) / u128::from(base)) as u64;
        if window.in_slow_start() {
            if queued > self.gamma {
                // The window that fits the rate; one more for what the division loses.
                let fitting = (u128::from(window.cwnd) * u128::from(base) / u128::from(rtt)) as u64;
                window.set(window.cwnd.min(fitting + 1));
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                slow_start.grow(acked, window);
            }
        } else if queued > self.beta {
            window.set(window.cwnd - 1);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < self.alpha {
            window.set(window.cwnd + 1);
        }
        window.set(window.cwnd.max(2));
        window.ssthresh = window.current_ssthresh().max(2);
    }
}

impl WindowRule for Vegas {
    fn measure(&mut self, ack: &AckSample, _before: Phase, _window: &mut Window) {
        self.delays.measure(ack);
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, slow_start: &mut dyn SlowStart) {
        let acked = ack.newly_delivered.get();
        if !self.delays.are_enabled() {
            reno(ack, window);
        } else if self.delays.round.is_over(ack.snd_una) {
            match self.delays.both() {
                Some((base, rtt)) if self.delays.samples > FEW_SAMPLES => {
                    self.adjust(base, rtt, acked, window, slow_start);
                }
                _ => reno(ack, window),
            }
            self.delays.start_round(ack.snd_nxt);
        } else if window.in_slow_start() {
            slow_start.grow(acked, window);
        }
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        self.delays.on_phase(change);
    }

    fn on_transmit_start(&mut self, sent: &Sent, _window: &Window) {
        self.delays.restart(sent.snd_nxt);
    }

    fn on_idle_restart(&mut self, restart: &Restart, _window: &Window) {
        self.delays.restart(restart.snd_nxt);
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.delays.observe(observer);
    }
}

/// Reno's growth, where an algorithm falls back to it.
pub(super) fn reno(ack: &AckSample, window: &mut Window) {
    if ack.cwnd_limited {
        window.reno(ack.newly_delivered.get());
    }
}

#[cfg(test)]
mod tests {
    use crate::event::CongestionKind;
    use crate::testing::Flow;
    use wirespeed_units::Span;

    /// A flow whose base delay of 10 ms is known, then `rounds` round trips with `queued` packets in the queue of
    /// a window of 100.
    fn after(queued_us: i64, rounds: usize) -> u64 {
        let mut flow = Flow::new("vegas").at(100);
        flow.ack(1, Span::ms(10));
        for _ in 0..rounds {
            flow.round(Span::us(10_000 + queued_us));
        }
        flow.cwnd()
    }

    #[test]
    fn one_packet_a_round_trip_up_to_alpha_and_down_from_beta() {
        // diff = cwnd (rtt - base) / base: 100 us are one packet of a hundred.
        assert!(after(100, 10) > 105);
        assert_eq!(after(300, 10), 100);
        assert!(after(600, 10) < 95);
    }

    #[test]
    fn slow_start_ends_at_the_window_that_fits_the_rate() {
        let mut flow = Flow::new("vegas");
        flow.round(Span::ms(10));
        flow.round(Span::ms(10));
        let mut before = flow.cwnd();
        assert_eq!((before, flow.ssthresh()), (40, None));
        while flow.ssthresh().is_none() {
            before = flow.cwnd();
            flow.ack(1, Span::ms(20));
        }
        // Twice the delay: half the window fits, and one.
        assert!((before / 2..=before / 2 + 1).contains(&flow.cwnd()), "{} after {before}", flow.cwnd());
    }

    #[test]
    fn a_loss_halves() {
        let mut flow = Flow::new("vegas").at(100);
        flow.round(Span::ms(10));
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before / 2);
    }

    #[test]
    fn reno_while_the_phase_is_not_open() {
        let mut flow = Flow::new("vegas").at(100);
        flow.congest(CongestionKind::Timeout);
        flow.ack(1, Span::ms(30));
        flow.ack(2, Span::ms(30));
        assert_eq!(flow.cwnd(), 4);
    }
}
