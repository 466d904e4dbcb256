//! Compound TCP (Tan, Song, Zhang, Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02): the window is the sum of
//! Reno's and of a delay window, which grows with win^(3/4) while the queue is short and gives way to it.

use super::vegas::{Delays, FEW_SAMPLES};
use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase, Restart, Sent, Undo};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{LARGEST, Parameter};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::{SlowStart, Standard};
use crate::window::Window;

/// Unit of alpha and zeta.
const SCALE: u64 = 1024;

pub(super) const ROW: Algorithm = Algorithm {
    name: "compound",
    about: "Reno's window plus a delay-based one that grows fast while the queue is short (Compound TCP)",
    reference: "Tan, Song, Zhang, Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
    linux: None,
    parameters: &[
        Parameter::of_model("alpha", 128, 1, 1024, "scale of the increase alpha win^(3/4), in 1/1024"),
        Parameter::of_model(
            "gamma",
            30,
            1,
            LARGEST,
            "packets in the queue from which on the delay window shrinks",
        ),
        Parameter::of_model("zeta", 1024, 1, 65_536, "part of the queue by which it shrinks, in 1/1024"),
        Parameter::of_model("low_window", 38, 0, LARGEST, "only Reno's window below this, packets"),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let rule = Compound {
            alpha: values.count("alpha"),
            gamma: values.count("gamma"),
            zeta: values.count("zeta"),
            low_window: values.count("low_window"),
            delays: Delays::default(),
            delay_window: 0,
            before_loss: 0,
        };
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Compound {
    alpha: u64,
    gamma: u64,
    zeta: u64,
    low_window: u64,
    delays: Delays,
    /// dwnd, part of the window, packets.
    delay_window: u64,
    /// The same before the last loss, for an undo.
    before_loss: u64,
}

impl Compound {
    /// Once a round trip (paper, equation 5).
    fn adjust(&mut self, base: u64, rtt: u64, window: &mut Window) {
        let win = window.cwnd;
        self.delay_window = self.delay_window.min(win - 1);
        let reno = win - self.delay_window;
        // Expected less actual rate, times the base delay.
        let queued = (u128::from(win) * u128::from(rtt - base) / u128::from(rtt)) as u64;
        if queued >= self.gamma {
            let step = (u128::from(queued) * u128::from(self.zeta) / u128::from(SCALE)) as u64;
            self.delay_window = self.delay_window.saturating_sub(step);
        } else if win >= self.low_window {
            self.delay_window += (self.alpha * three_quarters_power(win) / SCALE).saturating_sub(1);
        }
        window.set(reno + self.delay_window);
    }
}

/// The whole part of win^(3/4).
fn three_quarters_power(win: u64) -> u64 {
    u128::from(win).pow(3).isqrt().isqrt() as u64
}

impl WindowRule for Compound {
    fn measure(&mut self, ack: &AckSample, _before: Phase, _window: &mut Window) {
        self.delays.measure(ack);
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, slow_start: &mut dyn SlowStart) {
        if !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.newly_delivered.get();
        if window.in_slow_start() {
            acked = slow_start.grow(acked, window);
        } else if self.delays.are_enabled() && self.delays.round.is_over(ack.snd_una) {
            if let Some((base, rtt)) = self.delays.both()
                && self.delays.samples > FEW_SAMPLES
            {
                self.adjust(base, rtt, window);
            }
            self.delays.start_round(ack.snd_nxt);
        }
        if acked > 0 {
            // Reno's part: one over the whole window for each packet.
            window.additive_increase(window.cwnd, acked);
        }
    }

    fn ssthresh(&mut self, event: &CongestionEvent, window: &Window) -> u64 {
        self.before_loss = self.delay_window;
        let reno = window.cwnd.saturating_sub(self.delay_window);
        // dwnd = win (1 - beta) - cwnd / 2 with beta 1/2: the sum halves.
        self.delay_window = match event.kind {
            CongestionKind::Timeout => 0,
            _ => window.half().saturating_sub((reno / 2).max(1)),
        };
        window.half()
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        self.delays.on_phase(change);
    }

    fn on_undo(&mut self, _undo: &Undo) {
        self.delay_window = self.before_loss;
    }

    fn on_transmit_start(&mut self, sent: &Sent, _window: &Window) {
        self.delays.restart(sent.snd_nxt);
    }

    fn on_idle_restart(&mut self, restart: &Restart, _window: &Window) {
        self.delays.restart(restart.snd_nxt);
        self.delay_window = 0;
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.delays.observe(observer);
        observer.value("delay_window_packets", self.delay_window as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::three_quarters_power;
    use crate::testing::Flow;
    use wirespeed_units::Span;

    fn known_base(window: u64) -> Flow {
        let mut flow = Flow::new("compound").at(window);
        for _ in 0..4 {
            flow.ack(1, Span::ms(100));
        }
        flow
    }

    #[test]
    fn powers() {
        for (win, power) in [(1, 1), (16, 8), (10_000, 1_000), (100_000_000, 1_000_000), (99, 31)] {
            assert_eq!(three_quarters_power(win), power);
        }
    }

    #[test]
    fn an_eighth_of_the_three_quarters_power_a_round_trip_while_the_queue_is_short() {
        let mut flow = known_base(10_000);
        flow.round(Span::ms(100));
        flow.ack(1, Span::ms(100));
        let before = flow.cwnd();
        flow.round(Span::ms(100));
        // 10000^0.75 / 8 = 125, of which one is Reno's own.
        assert!((124..=128).contains(&(flow.cwnd() - before)), "{}", flow.cwnd() - before);
    }

    #[test]
    fn the_delay_window_gives_way_to_a_queue() {
        let mut flow = known_base(10_000);
        for _ in 0..4 {
            flow.round(Span::ms(100));
        }
        // 101 ms: about a hundred packets queued, more than gamma, in each round trip that has seen no less.
        flow.round(Span::ms(101));
        let delay_window = flow.see("delay_window_packets");
        assert!(delay_window > 300.0);
        for _ in 0..3 {
            flow.round(Span::ms(101));
        }
        let now = flow.see("delay_window_packets");
        assert!((280.0..=330.0).contains(&(delay_window - now)), "{delay_window} {now}");
    }

    #[test]
    fn a_loss_halves_the_sum() {
        let mut flow = known_base(10_000);
        for _ in 0..4 {
            flow.round(Span::ms(100));
        }
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before / 2);
    }

    #[test]
    fn reno_below_the_low_window() {
        let mut flow = known_base(20);
        for _ in 0..5 {
            flow.round(Span::ms(100));
        }
        assert!((24..=25).contains(&flow.cwnd()), "{}", flow.cwnd());
        assert_eq!(flow.see("delay_window_packets"), 0.0);
    }
}
