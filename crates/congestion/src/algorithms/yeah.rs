//! YeAH (Baiocchi, Castellani, Vacirca, PFLDnet 2007) in Linux' form: Scalable while the queue is short; Reno when it
//! is not, and once a round trip it takes its own packets out of the queue.

use super::scalable::PER_INCREMENT;
use super::vegas::{Delays, FEW_SAMPLES};
use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase, Restart, Sent};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::registry::Algorithm;
use crate::slow_start::{SlowStart, Standard};
use crate::window::Window;

/// Own packets in the queue from which on it counts as full (alpha).
const QUEUE_FULL: u64 = 80;
/// The delay may be above the base by this part of it (1/phi).
const DELAY_PART: u64 = 8;
/// A loss costs at least this part of the window, as a shift (delta).
const LEAST_DECREASE_SHIFT: u32 = 3;
/// Taking packets out of the queue costs at most this part of the window, as a shift (epsilon).
const MOST_EARLY_SHIFT: u32 = 1;
/// After this many slow round trips in a row others compete, and a loss halves (rho).
const COMPETITION: u64 = 16;
/// After this many fast round trips the estimate of Reno's window is dropped (zeta).
const ALONE: u64 = 50;
/// Largest window, packets (Linux: so that its products fit in 32 bits).
const LARGEST_WINDOW: u64 = u32::MAX as u64 / 128;

pub(super) const ROW: Algorithm = Algorithm {
    name: "yeah",
    about: "Scalable while the queue is short, Reno with early retreat when it is not",
    reference: "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
    linux: Some("yeah"),
    parameters: &[],
    needs_pacing: false,
    needs_ecn: false,
    draws: false,
    build: |setup, _| {
        let mut window = setup.window();
        window.clamp = LARGEST_WINDOW;
        window.set(window.cwnd);
        let rule =
            Yeah { delays: Delays::default(), queued: 0, slow_rounds: 0, fast_rounds: 0, reno_window: 2 };
        Ok(Box::new(LossBased::new(window, Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Yeah {
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
    fn look(&mut self, base: u64, rtt: u64, window: &mut Window) {
        let queued = (u128::from(window.cwnd) * u128::from(rtt - base) / u128::from(rtt)) as u64;
        if queued > QUEUE_FULL || rtt - base > base / DELAY_PART {
            if queued > QUEUE_FULL && window.cwnd > self.reno_window {
                let retreat = queued.min(window.cwnd >> MOST_EARLY_SHIFT);
                window.set((window.cwnd - retreat).max(self.reno_window));
                window.ssthresh = window.cwnd;
            }
            self.reno_window = if self.reno_window <= 2 { window.half() } else { self.reno_window + 1 };
            self.slow_rounds += 1;
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ALONE {
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
        let cost = if self.slow_rounds < COMPETITION {
            self.queued.min(half).max(window.cwnd >> LEAST_DECREASE_SHIFT)
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
