//! YeAH (Baiocchi, Castellani, Vacirca, PFLDnet 2007) in Linux' form: Scalable while the queue is short; Reno when it
//! is not, and once a round trip it takes its own packets out of the queue.

use super::scalable::PER_INCREMENT;
use super::vegas::{Delays, FEW_SAMPLES};
use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase, Restart, Sent};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{Parameter, Values};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::{SlowStart, Standard};
use crate::window::Window;

/// Largest window, packets (Linux: so that its products fit in 32 bits).
const LARGEST_WINDOW: u64 = u32::MAX as u64 / 128;

pub(super) const ROW: Algorithm = Algorithm {
    name: "yeah",
    about: "Scalable while the queue is short, Reno with early retreat when it is not",
    reference: "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
    linux: Some("yeah"),
    parameters: &[
        Parameter::of_model(
            "alpha",
            80,
            1,
            1_000_000,
            "own packets in the queue from which on it counts as full",
        ),
        Parameter::of_model("gamma", 1, 1, 1_000, "early retreat takes the packets in the queue over this"),
        Parameter::of_model(
            "delta",
            3,
            1,
            30,
            "a loss costs at least the window over 2 to the power of this",
        ),
        Parameter::of_model(
            "epsilon",
            1,
            1,
            30,
            "early retreat costs at most the window over 2 to the power of this",
        ),
        Parameter::of_model("phy", 8, 1, 1_000, "delay may be above the base by the base over this"),
        Parameter::of_model("rho", 16, 1, 1_000_000, "slow round trips in a row after which a loss halves"),
        Parameter::of_model(
            "zeta",
            50,
            1,
            1_000_000,
            "fast round trips after which Reno's window is forgotten",
        ),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let mut window = setup.window();
        window.clamp = LARGEST_WINDOW;
        window.set(window.cwnd);
        Ok(Box::new(LossBased::new(window, Standard, Yeah::new(values))))
    },
};

#[derive(Debug, Clone)]
struct Yeah {
    /// The parameters, by their names in `tcp_yeah.c`.
    alpha: u64,
    gamma: u64,
    delta: u32,
    epsilon: u32,
    phy: u64,
    rho: u64,
    zeta: u64,
    delays: Delays,
    /// Own packets in the queue at the last look.
    queued: u64,
    /// Slow round trips in a row.
    slow_rounds: u64,
    fast_rounds: u64,
    /// What a Reno flow would have: early retreat goes no lower.
    reno_window: u64,
}

impl Yeah {
    fn new(values: &Values) -> Self {
        Yeah {
            alpha: values.count("alpha"),
            gamma: values.count("gamma"),
            delta: values.count("delta") as u32,
            epsilon: values.count("epsilon") as u32,
            phy: values.count("phy"),
            rho: values.count("rho"),
            zeta: values.count("zeta"),
            delays: Delays::default(),
            queued: 0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_window: 2,
        }
    }

    fn look(&mut self, base: u64, rtt: u64, window: &mut Window) {
        let queued = (u128::from(window.cwnd) * u128::from(rtt - base) / u128::from(rtt)) as u64;
        if queued > self.alpha || rtt - base > base / self.phy {
            if queued > self.alpha && window.cwnd > self.reno_window {
                let retreat = (queued / self.gamma).min(window.cwnd >> self.epsilon);
                window.set((window.cwnd - retreat).max(self.reno_window));
                window.ssthresh = window.cwnd;
            }
            self.reno_window = if self.reno_window <= 2 { window.half() } else { self.reno_window + 1 };
            self.slow_rounds += 1;
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > self.zeta {
                self.reno_window = 2;
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
        self.queued = queued;
    }
}

impl WindowRule for Yeah {
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
        }
        if acked > 0 {
            let price = if self.slow_rounds == 0 { window.cwnd.min(PER_INCREMENT) } else { window.cwnd };
            window.additive_increase(price, acked);
        }
        if self.delays.round.is_over(ack.snd_una) {
            if let Some((base, rtt)) = self.delays.both()
                && self.delays.samples > FEW_SAMPLES
            {
                self.look(base, rtt, window);
            }
            self.delays.start_round(ack.snd_nxt);
        }
    }

    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        let half = window.half();
        let cost = if self.slow_rounds < self.rho {
            self.queued.min(half).max(window.cwnd >> self.delta)
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno_window = (self.reno_window / 2).max(2);
        window.cwnd.saturating_sub(cost)
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
        observer.value("queued_packets", self.queued as f64);
        observer.value("reno_packets", self.reno_window as f64);
        observer.value("slow_bool", f64::from(u8::from(self.slow_rounds > 0)));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Flow;
    use wirespeed_units::Span;

    fn known_base(window: u64) -> Flow {
        let mut flow = Flow::new("yeah").at(window);
        for _ in 0..5 {
            flow.ack(1, Span::ms(100));
        }
        flow
    }

    #[test]
    fn scalable_while_the_queue_is_short() {
        let mut flow = known_base(1_000);
        flow.round(Span::ms(100));
        assert_eq!(flow.cwnd(), 1_010);
        let before = flow.cwnd();
        flow.lose();
        // Nothing queued: an eighth.
        assert_eq!(flow.cwnd(), before - before / 8);
    }

    #[test]
    fn more_than_eighty_queued_packets_are_taken_out() {
        let mut flow = known_base(1_000);
        flow.round(Span::ms(100));
        // 111 ms: 1010 x 11 / 111 = 100 packets of the window are in the queue.
        let before = flow.cwnd();
        flow.round(Span::ms(111));
        flow.round(Span::ms(111));
        assert!((80..=120).contains(&(before - flow.cwnd())), "{before} to {}", flow.cwnd());
        assert_eq!(flow.see("slow_bool"), 1.0);
        assert_eq!(flow.ssthresh().map(|s| s <= flow.cwnd()), Some(true));
    }

    #[test]
    fn reduction_after_a_loss_and_early_decongestion_can_be_set() {
        let mut flow = Flow::with("yeah", &[("delta", 2)]).at(1_000);
        (0..5).for_each(|_| flow.ack(1, Span::ms(100)));
        flow.round(Span::ms(100));
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before - before / 4);
        // 100 packets are queued, which 200 allow: nothing is taken out.
        let mut flow = Flow::with("yeah", &[("alpha", 200)]).at(1_000);
        (0..5).for_each(|_| flow.ack(1, Span::ms(100)));
        let before = flow.cwnd();
        (0..3).for_each(|_| flow.round(Span::ms(111)));
        assert!(flow.cwnd() >= before, "{before} to {}", flow.cwnd());
    }

    #[test]
    fn a_loss_with_a_queue_costs_the_queue() {
        let mut flow = known_base(400);
        // Delay 25 % above the base: 80 of 400 are queued, more than an eighth, but not more than eighty.
        flow.round(Span::ms(125));
        flow.round(Span::ms(125));
        let before = flow.cwnd();
        let queued = flow.see("queued_packets") as u64;
        assert!((79..=81).contains(&queued), "{queued}");
        flow.lose();
        assert_eq!(flow.cwnd(), before - queued);
    }
}
