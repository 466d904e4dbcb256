//! TCP LoLa (Hock, Neumeister, Zitterbart, Bless, LCN 2017), from the paper: keeps the queueing delay between two
//! bounds whatever the round-trip time, and gives each flow the same share of the queue.
//!
//! A cubic increase fills the path; from a queueing delay of `q_low` on each flow grows to hold X(t) = (t/phi)^3
//! packets in the queue; beyond `q_target` all hold still for `t_sync`, so that every flow notices, and then take their
//! packets out of the queue.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase, Restart};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{Parameter, Values};
use crate::registry::{Algorithm, EcnUse, Setup};
use crate::round::Round;
use crate::slow_start::Standard;
use crate::tick::{micros, micros_at};
use crate::window::Window;

/// The cubic increase's C, packets a second cubed, in tenths.
const C_TENTHS: u128 = 4;
/// A loss leaves 717/1024, as CUBIC.
const LOSS_KEEPS: u64 = 717;
/// Unit of gamma and of what a loss keeps.
const SCALE: u64 = 1024;
/// Longest time that counts in a curve, microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

const PARAMETERS: &[Parameter] = &[
    Parameter::of_model(
        "q_low_us",
        1_000,
        1,
        1_000_000,
        "queueing delay that shows that the path is full, us",
    ),
    Parameter::of_model(
        "q_target_us",
        5_000,
        1,
        1_000_000,
        "queueing delay at which flows hold and retreat, us",
    ),
    Parameter::of_model("t_sync_ms", 250, 0, 10_000, "how long they hold, ms"),
    Parameter::of_model("phi_ms", 35, 1, 10_000, "the share of the queue is (t/phi)^3 packets, ms"),
    Parameter::of_model(
        "gamma",
        973,
        1,
        1_024,
        "a retreat leaves this part of what fits without queue, in 1/1024",
    ),
];

const REFERENCE: &str = "Hock, Neumeister, Zitterbart, Bless, LCN 2017";

pub(super) const ROW: Algorithm = Algorithm {
    name: "lola",
    about: "Keeps the queueing delay slightly above 5 ms at any round-trip time, fairly; reacts to loss as CUBIC",
    reference: REFERENCE,
    linux: None,
    parameters: PARAMETERS,
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| Ok(Box::new(new(setup, values, true))),
};

pub(super) const ROW_NOLOSS: Algorithm = Algorithm {
    name: "lola-noloss",
    about: "LoLa without its reaction to packet loss; timeouts and ECN still count",
    reference: REFERENCE,
    linux: None,
    parameters: PARAMETERS,
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| Ok(Box::new(new(setup, values, false))),
};

fn new(setup: &Setup, values: &Values, reacts_to_loss: bool) -> LossBased<Standard, Lola> {
    let rule = Lola {
        low_us: values.count("q_low_us"),
        target_us: values.count("q_target_us"),
        hold_us: values.count("t_sync_ms") * 1_000,
        phi_us: values.count("phi_ms") * 1_000,
        gamma: values.count("gamma"),
        reacts_to_loss,
        state: State::Increase,
        epoch: None,
        last_max: 0,
        min_rtt: None,
        round: Round::default(),
        round_rtt: None,
        rtt: 0,
        held_rtt: 0,
        share_left: 0,
    };
    LossBased::new(setup.window(), Standard, rule)
}

/// What LoLa does above the threshold; times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Increase,
    Balance { since: u64 },
    Hold { until: u64 },
}

/// The curve since the last decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Epoch {
    start_us: u64,
    k_us: u64,
    origin: u64,
}

#[derive(Debug, Clone)]
struct Lola {
    low_us: u64,
    target_us: u64,
    hold_us: u64,
    phi_us: u64,
    gamma: u64,
    reacts_to_loss: bool,
    state: State,
    epoch: Option<Epoch>,
    /// The window before the last decrease; zero if there was none.
    last_max: u64,
    /// Least round-trip time of the connection, of this round, of the last round; the largest while holding.
    min_rtt: Option<u64>,
    round: Round,
    round_rtt: Option<u64>,
    rtt: u64,
    held_rtt: u64,
    /// Packets the window may still grow by in this round trip to reach the flow's share of the queue.
    share_left: u64,
}

impl Lola {
    fn queueing_us(&self) -> u64 {
        self.rtt.saturating_sub(self.min_rtt.unwrap_or(self.rtt))
    }

    /// Packets of this flow in the queue.
    fn queued(&self, cwnd: u64) -> u64 {
        (u128::from(cwnd) * u128::from(self.queueing_us()) / u128::from(self.rtt.max(1))) as u64
    }

    /// X(t) = (t / phi)^3 in packets.
    fn share(&self, t_us: u64) -> u64 {
        let (t, phi) = (u128::from(t_us.min(LONGEST_US)), u128::from(self.phi_us));
        (t.pow(3) / phi.pow(3)).min(1 << 40) as u64
    }

    /// (1 - queued share) gamma of the window: what fits the path without queue, and a little less.
    fn retreat(&mut self, window: &mut Window) {
        let min_rtt = self.min_rtt.unwrap_or(self.held_rtt);
        let fitting =
            u128::from(window.cwnd) * u128::from(min_rtt) / u128::from(self.held_rtt.max(min_rtt).max(1));
        self.last_max = window.cwnd;
        window.set((fitting as u64 * self.gamma / SCALE).max(2));
        window.ssthresh = window.ssthresh.min(window.cwnd);
        window.count = 0;
        self.epoch = None;
        self.state = State::Increase;
    }

    /// Once a round trip, with its least delay.
    fn decide(&mut self, now_us: u64, window: &mut Window) {
        let queueing = self.queueing_us();
        if window.in_slow_start() {
            if queueing > 2 * self.low_us {
                window.ssthresh = window.cwnd.max(2);
            }
            return;
        }
        match self.state {
            State::Increase if queueing > self.low_us => self.state = State::Balance { since: now_us },
            State::Balance { .. } if queueing < self.low_us => self.state = State::Increase,
            _ => {}
        }
        if let State::Balance { since } = self.state {
            if queueing > self.target_us {
                self.held_rtt = self.rtt;
                self.state = State::Hold { until: now_us + self.hold_us };
            } else {
                self.share_left = self.share(now_us - since).saturating_sub(self.queued(window.cwnd));
            }
        }
        if let State::Hold { until } = self.state {
            self.held_rtt = self.held_rtt.max(self.rtt);
            if now_us >= until {
                self.retreat(window);
            }
        }
    }

    /// W(t) = C (t - K)^3 + W_max, one round trip ahead.
    fn cubic(&mut self, now_us: u64, cwnd: u64) -> u64 {
        let last_max = self.last_max;
        let epoch = *self.epoch.get_or_insert_with(|| {
            // K^3 = (W_max - cwnd) / C, with K in microseconds.
            let k = cube_root(u128::from(last_max.saturating_sub(cwnd)) * 10u128.pow(19) / C_TENTHS);
            Epoch { start_us: now_us, k_us: k, origin: last_max.max(cwnd) }
        });
        let t = (now_us - epoch.start_us + self.min_rtt.unwrap_or(0)).min(LONGEST_US);
        let delta =
            (u128::from(t.abs_diff(epoch.k_us)).pow(3) * C_TENTHS / 10u128.pow(19)).min(1 << 40) as u64;
        if t < epoch.k_us { epoch.origin.saturating_sub(delta) } else { epoch.origin + delta }
    }
}

/// The largest integer whose cube is at most `a`.
fn cube_root(a: u128) -> u64 {
    let mut root = 0u128;
    for bit in (0..=42).rev() {
        let candidate = root | (1 << bit);
        if candidate.pow(3) <= a {
            root = candidate;
        }
    }
    root as u64
}

impl WindowRule for Lola {
    fn measure(&mut self, ack: &AckSample, before: Phase, window: &mut Window) {
        let Some(rtt) = ack.rtt.map(micros) else { return };
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
        if !self.round.is_over(ack.snd_una) {
            return;
        }
        self.round.start(ack.snd_nxt);
        self.rtt = self.round_rtt.take().unwrap_or(rtt);
        self.share_left = 0;
        if !before.is_reducing() {
            self.decide(micros_at(ack.now), window);
        }
    }

    fn avoid(&mut self, ack: &AckSample, acked: u64, window: &mut Window) {
        match self.state {
            State::Increase => {
                let target = self.cubic(micros_at(ack.now), window.cwnd);
                let price = if target > window.cwnd {
                    window.cwnd / (target - window.cwnd)
                } else {
                    100 * window.cwnd
                };
                window.additive_increase(price.max(2), acked);
            }
            State::Balance { .. } if self.share_left > 0 => {
                // Spread over the round trip, and no faster than slow start.
                let before = window.cwnd;
                window.additive_increase((window.cwnd / self.share_left).max(1), acked);
                self.share_left = self.share_left.saturating_sub(window.cwnd - before);
            }
            State::Balance { .. } | State::Hold { .. } => {}
        }
    }

    fn ssthresh(&mut self, event: &CongestionEvent, window: &Window) -> u64 {
        if !self.reacts_to_loss
            && matches!(event.kind, CongestionKind::FastRetransmit | CongestionKind::TailLoss)
        {
            return window.cwnd;
        }
        self.last_max = window.cwnd;
        self.epoch = None;
        self.state = State::Increase;
        window.cwnd * LOSS_KEEPS / SCALE
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        if change.to == Phase::Loss {
            self.last_max = 0;
            self.epoch = None;
            self.state = State::Increase;
        }
    }

    fn on_idle_restart(&mut self, _restart: &Restart, _window: &Window) {
        self.epoch = None;
        self.state = State::Increase;
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("queueing_delay_us", self.queueing_us() as f64);
        let state = match self.state {
            State::Increase => 0.0,
            State::Balance { .. } => 1.0,
            State::Hold { .. } => 2.0,
        };
        observer.value("state_index", state);
        if let Some(rtt) = self.min_rtt {
            observer.value("min_rtt_us", rtt as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Flow;
    use wirespeed_units::Span;

    fn known_base(name: &'static str, window: u64) -> Flow {
        let mut flow = Flow::new(name).at(window);
        flow.round(Span::ms(20));
        flow.round(Span::ms(20));
        flow
    }

    #[test]
    fn beyond_the_target_it_holds_and_then_takes_its_packets_out() {
        let mut flow = known_base("lola", 1_000);
        // 6 ms of queueing delay: above low and target.
        for _ in 0..3 {
            flow.round(Span::ms(26));
        }
        assert_eq!(flow.see("state_index"), 2.0);
        let held = flow.cwnd();
        let start = flow.now;
        while flow.see("state_index") == 2.0 {
            assert_eq!(flow.cwnd(), held);
            flow.round(Span::ms(26));
        }
        let span = (flow.now - start).as_secs_f64();
        assert!((0.18..=0.30).contains(&span), "held for {span} s");
        // cwnd RTT_min / RTT_max gamma, and the increase since.
        let fitting = held * 20 / 26 * 973 / 1024;
        assert!(flow.cwnd().abs_diff(fitting) <= 30, "{} not {fitting}", flow.cwnd());
    }

    #[test]
    fn the_share_of_the_queue_grows_with_the_cube_of_time() {
        let mut flow = known_base("lola", 1_000);
        // 2 ms of 22: 91 of a thousand packets are queued. X(t) = (t/35 ms)^3 passes 91 at 157 ms.
        let mut grown_at = None;
        let before = {
            flow.round(Span::ms(22));
            flow.round(Span::ms(22));
            flow.cwnd()
        };
        let start = flow.now;
        for _ in 0..12 {
            flow.round(Span::ms(22));
            if grown_at.is_none() && flow.cwnd() > before + 5 {
                grown_at = Some((flow.now - start).as_secs_f64());
            }
        }
        assert!(grown_at.is_some_and(|t| (0.12..=0.22).contains(&t)), "{grown_at:?}");
    }

    #[test]
    fn slow_start_ends_at_twice_the_low_bound() {
        let mut flow = Flow::new("lola");
        flow.round(Span::ms(20));
        flow.round(Span::us(21_900));
        flow.round(Span::us(21_900));
        assert_eq!(flow.ssthresh(), None);
        flow.round(Span::us(22_100));
        flow.round(Span::us(22_100));
        assert!(flow.ssthresh().is_some());
    }

    #[test]
    fn loss_counts_for_one_and_not_for_the_other() {
        let mut flow = known_base("lola", 1_000);
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before * 717 / 1024);
        let mut flow = known_base("lola-noloss", 1_000);
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before);
        flow.congest(crate::event::CongestionKind::Timeout);
        assert_eq!(flow.cwnd(), 1);
    }

    #[test]
    fn the_cubic_increase_comes_back_to_the_last_window() {
        let mut flow = known_base("lola", 1_000);
        let before = flow.cwnd();
        flow.lose();
        // K = cbrt(300 / 0.4) = 9.1 s.
        for _ in 0..455 {
            flow.round(Span::ms(20));
        }
        assert!(flow.cwnd().abs_diff(before) <= 20, "{} not {before}", flow.cwnd());
    }
}
