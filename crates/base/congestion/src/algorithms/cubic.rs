//! CUBIC (RFC 9438) in Linux' form: the window follows a cubic function of the time since the last loss, whose
//! plateau is the window at that loss.
//!
//! Linux' form differs from the RFC: time is in 1/1024 s, the round-trip time of the target is a constant 100 ms
//! (folded into C), C = 41 x 10 / 1024 = 0.4004, the growth rate is found again at most once in a tick, and without
//! change of the window only every HZ/32 ticks. The cube root is exact here; Linux' differs by 0.2 % on average.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase, Sent};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{LARGEST, Parameter, Values};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::{HyStart, HyStartSettings};
use crate::tick::{HZ, micros, ticks, ticks_of};
use crate::window::Window;
use wirespeed_units::{SimTime, Span};

/// Unit of `beta`.
const BETA_SCALE: u64 = 1024;
/// log2 of the time units in a second.
const TIME_SHIFT: u32 = 10;
/// The scale of C: `bic_scale` x 10 / 1024, where 10 is one over the reference round-trip time of 100 ms.
const SCALE_SHIFT: u32 = 10 + 3 * TIME_SHIFT;
/// log2 of the unit of packets per ACK (`ACK_RATIO_SHIFT`).
const RATIO_SHIFT: u32 = 4;
/// Most packets per ACK that are made up for (`ACK_RATIO_LIMIT`).
const MOST_PER_ACK: u64 = 32;
/// At most this many packets per increment while no loss is known: five percent a round trip.
const MOST_BEFORE_LOSS: u64 = 20;

pub(super) const ROW: Algorithm = Algorithm {
    name: "cubic",
    about: "Window as a cubic function of the time since the last loss; the default of Linux",
    reference: "RFC 9438; HyStart: Ha, Rhee, Computer Networks 2011",
    linux: Some("cubic"),
    parameters: &[
        Parameter::new("fast_convergence", 1, 0, 1, "release bandwidth faster while the peak window shrinks"),
        Parameter::new("beta", 717, 1, 1023, "window kept after a loss, in 1/1024"),
        Parameter::new(
            "initial_ssthresh",
            0,
            0,
            LARGEST,
            "slow start threshold at the beginning, packets; 0: none",
        ),
        Parameter::new("bic_scale", 41, 1, 1024, "scale of the cubic term, in 1/1024").at_loading(),
        Parameter::new("tcp_friendliness", 1, 0, 1, "grow at least as Reno would"),
        Parameter::new("hystart", 1, 0, 1, "leave slow start before loss"),
        Parameter::new("hystart_detect", 3, 0, 3, "HyStart's signs: 1 ACK train, 2 delay, 3 both"),
        Parameter::new("hystart_low_window", 16, 0, LARGEST, "no HyStart below this window, packets"),
        Parameter::new(
            "hystart_ack_delta_us",
            2000,
            0,
            LARGEST,
            "ACKs closer than this form a train, microseconds",
        ),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let mut window = setup.window();
        // Linux reads the initial threshold only without HyStart.
        if !values.is_on("hystart") && values.is_on("initial_ssthresh") {
            window.ssthresh = values.count("initial_ssthresh").max(2);
        }
        let detect = values.count("hystart_detect");
        let start = HyStart::new(HyStartSettings {
            on: values.is_on("hystart"),
            ack_train: detect & 1 != 0,
            delay: detect & 2 != 0,
            low_window: values.count("hystart_low_window"),
            ack_delta_us: values.count("hystart_ack_delta_us"),
        });
        Ok(Box::new(LossBased::new(window, start, Cubic::new(values))))
    },
};

/// The curve of the time since the last loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Epoch {
    /// The tick of its first ACK, moved on by idle time.
    start: u64,
    /// K: time to the plateau in 1/1024 s.
    k: u64,
    /// The plateau, packets.
    origin: u64,
}

#[derive(Debug, Clone)]
struct Cubic {
    fast_convergence: bool,
    friendly: bool,
    beta: u64,
    /// C in 1/1024 packets a second cubed.
    c: u64,
    /// Packets acknowledged for one of Reno's with the same beta, per packet of window, in eighths.
    reno_price: u64,
    /// Packets acknowledged for one packet more.
    per_increment: u64,
    /// The window at the last loss; zero if none is known.
    last_max: u64,
    last_cwnd: u64,
    last_tick: u64,
    epoch: Option<Epoch>,
    /// Least round-trip time.
    least: Option<Span>,
    /// Packets acknowledged towards Reno's next packet.
    reno_acked: u64,
    /// The window Reno would have.
    reno_cwnd: u64,
    /// Packets per ACK, in sixteenths: where ACKs are counted, they are made up for (`delayed_ack`, before Linux 4.0).
    packets_per_ack: u64,
}

impl Cubic {
    fn new(values: &Values) -> Self {
        let beta = values.count("beta");
        Cubic {
            fast_convergence: values.is_on("fast_convergence"),
            friendly: values.is_on("tcp_friendliness"),
            beta,
            c: values.count("bic_scale") * 10,
            // Reno with decrease beta grows by 3 (1 - beta) / (1 + beta) a round trip (RFC 9438, section 4.3).
            reno_price: 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta),
            per_increment: 0,
            last_max: 0,
            last_cwnd: 0,
            last_tick: 0,
            epoch: None,
            least: None,
            reno_acked: 0,
            reno_cwnd: 0,
            packets_per_ack: 2 << RATIO_SHIFT,
        }
    }

    fn forget(&mut self) {
        self.per_increment = 0;
        self.last_max = 0;
        self.last_cwnd = 0;
        self.last_tick = 0;
        self.epoch = None;
        self.least = None;
        self.reno_acked = 0;
        self.reno_cwnd = 0;
        self.packets_per_ack = 2 << RATIO_SHIFT;
    }

    /// K = cbrt((W_max - cwnd) / C) in 1/1024 s (RFC 9438, section 4.2).
    fn begin(&mut self, cwnd: u64, acked: u64, tick: u64) -> Epoch {
        self.reno_acked = acked;
        self.reno_cwnd = cwnd;
        let distance = self.last_max.saturating_sub(cwnd);
        let k = cube_root((1u128 << SCALE_SHIFT) / u128::from(self.c) * u128::from(distance));
        Epoch { start: tick, k, origin: self.last_max.max(cwnd) }
    }

    /// W(t) = C (t - K)^3 + W_max one round-trip time ahead of `tick`, packets.
    fn target(&self, epoch: Epoch, tick: u64) -> u64 {
        let t = ((tick - epoch.start + self.least.map_or(0, ticks_of)) << TIME_SHIFT) / HZ;
        let offset = u128::from(t.abs_diff(epoch.k));
        let delta = offset.pow(3).saturating_mul(u128::from(self.c)) >> SCALE_SHIFT;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        if t < epoch.k { epoch.origin.saturating_sub(delta) } else { epoch.origin.saturating_add(delta) }
    }

    fn update(&mut self, cwnd: u64, acked: u64, tick: u64) {
        self.reno_acked += acked;
        if self.last_cwnd == cwnd && tick - self.last_tick <= HZ / 32 {
            return;
        }
        if self.epoch.is_none() || tick != self.last_tick {
            self.last_cwnd = cwnd;
            self.last_tick = tick;
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin(cwnd, acked, tick),
            };
            self.epoch = Some(epoch);
            let target = self.target(epoch, tick);
            self.per_increment = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if self.last_max == 0 {
                self.per_increment = self.per_increment.min(MOST_BEFORE_LOSS);
            }
        }
        if self.friendly {
            let price = ((cwnd * self.reno_price) >> 3).max(1);
            let steps = self.reno_acked.saturating_sub(1) / price;
            self.reno_acked -= steps * price;
            self.reno_cwnd += steps;
            if self.reno_cwnd > cwnd {
                self.per_increment = self.per_increment.min(cwnd / (self.reno_cwnd - cwnd));
            }
        }
        // At most half as much again in a round trip.
        self.per_increment = self.per_increment.max(2);
    }
}

impl WindowRule for Cubic {
    fn measure(&mut self, ack: &AckSample, before: Phase, window: &mut Window) {
        if !window.stretch_acks && before == Phase::Open {
            let acked = ack.newly_acked.get();
            let ratio = self.packets_per_ack - (self.packets_per_ack >> RATIO_SHIFT) + acked;
            self.packets_per_ack = ratio.min(MOST_PER_ACK << RATIO_SHIFT);
        }
        if let Some(rtt) = ack.rtt
            && self.delay_counts(ack.now)
        {
            let rtt = Span::us(micros(rtt) as i64);
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
    }

    fn avoid(&mut self, ack: &AckSample, acked: u64, window: &mut Window) {
        self.update(window.cwnd, window.counted(acked), ticks(ack.now));
        let price = if window.stretch_acks {
            self.per_increment
        } else {
            (self.per_increment << RATIO_SHIFT) / self.packets_per_ack
        };
        window.additive_increase(price, acked);
    }

    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        let cwnd = window.cwnd;
        self.epoch = None;
        self.last_max = if cwnd < self.last_max && self.fast_convergence {
            cwnd * (BETA_SCALE + self.beta) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        cwnd * self.beta / BETA_SCALE
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        if change.to == Phase::Loss {
            self.forget();
        }
    }

    fn on_transmit_start(&mut self, sent: &Sent, _window: &Window) {
        // Idle time does not count: the curve stands still meanwhile.
        let (now, idle) = (ticks(sent.now), sent.since_last.picoseconds().max(0) as u64 / 1_000_000_000);
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    fn delay_counts(&self, now: SimTime) -> bool {
        // Right after recovery delays tell of the burst, not of the path.
        self.epoch.is_none_or(|epoch| ticks(now).saturating_sub(epoch.start) >= HZ)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("last_max_packets", self.last_max as f64);
        observer.value("per_increment_packets", self.per_increment as f64);
        observer.value("reno_packets", self.reno_cwnd as f64);
        if let Some(epoch) = self.epoch {
            observer.value("k_s", epoch.k as f64 / f64::from(1u32 << TIME_SHIFT));
            observer.value("origin_packets", epoch.origin as f64);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CongestionKind;
    use crate::testing::Flow;

    fn quiet(window: u64, parameters: &[(&str, i64)]) -> Flow {
        let mut all = vec![("tcp_friendliness", 0)];
        all.extend_from_slice(parameters);
        Flow::with("cubic", &all).at(window)
    }

    #[test]
    fn cube_roots() {
        for root in [0u64, 1, 2, 4_096, 175_000, (1 << 42) - 1] {
            let cube = u128::from(root).pow(3);
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube + 3 * u128::from(root)), root);
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_k_is_the_cube_root() {
        // W_max 1000, 700 left: K = cbrt(300 / 0.4) = 9.09 s (RFC 9438, equation 2).
        let mut flow = quiet(1_000, &[]);
        flow.lose();
        assert_eq!((flow.cwnd(), flow.ssthresh()), (700, Some(700)));
        flow.ack(1, Span::ms(100));
        assert!((flow.see("k_s") - 9.08).abs() < 0.02, "{}", flow.see("k_s"));
    }

    #[test]
    fn the_window_follows_the_cubic_function() {
        let mut flow = quiet(1_000, &[]);
        flow.lose();
        let start = flow.now;
        let w = |t: f64| 0.4004 * (t - 9.08).powi(3) + 1_000.0;
        for _ in 0..20 {
            for _ in 0..10 {
                flow.round(Span::ms(100));
            }
            let t = (flow.now - start).as_secs_f64();
            assert!((flow.cwnd() as f64 / w(t) - 1.0).abs() < 0.02, "{} at {t} s, not {}", flow.cwnd(), w(t));
        }
        assert!(flow.cwnd() > 1_400);
    }

    #[test]
    fn fast_convergence_lowers_the_plateau() {
        for (on, plateau) in [(1, 595.0), (0, 700.0)] {
            let mut flow = quiet(1_000, &[("fast_convergence", on)]);
            flow.lose();
            flow.lose();
            // 700 x (1 + 0.7) / 2 (RFC 9438, section 4.7).
            assert_eq!(flow.see("last_max_packets"), plateau);
            assert_eq!(flow.cwnd(), 490);
        }
    }

    #[test]
    fn friendliness_grows_as_reno_with_the_same_decrease() {
        // At 10 ms the cubic term is nothing; Reno's 3 (1 - 0.7) / (1 + 0.7) = 0.53 packets a round trip lead.
        let mut flow = Flow::new("cubic").at(40);
        flow.lose();
        let before = flow.cwnd();
        for _ in 0..40 {
            flow.round(Span::ms(10));
        }
        let grown = flow.cwnd() - before;
        assert!((19..=23).contains(&grown), "{grown}");
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut flow = quiet(1_000, &[]);
        flow.lose();
        flow.round(Span::ms(100));
        let before = flow.cwnd();
        flow.wait(Span::secs(30));
        flow.start_sending(Span::secs(30));
        flow.round(Span::ms(100));
        assert!(flow.cwnd() < before + 20, "{} after {before}", flow.cwnd());
    }

    #[test]
    fn a_timeout_forgets_the_plateau() {
        let mut flow = quiet(1_000, &[]);
        flow.lose();
        flow.round(Span::ms(100));
        flow.congest(CongestionKind::Timeout);
        assert_eq!(flow.see("last_max_packets"), 0.0);
        assert_eq!(flow.cwnd(), 1);
    }

    #[test]
    fn the_plateau_is_reached_at_10_gb() {
        // 6.9 million packets: 2.07 million missing, K = cbrt(2.07e6 / 0.4004) = 172.9 s.
        let mut flow = quiet(6_900_000, &[]);
        flow.lose();
        let (start, left) = (flow.now, flow.cwnd());
        flow.round(Span::ms(200));
        assert!((flow.see("k_s") - 172.9).abs() < 0.2, "{}", flow.see("k_s"));
        for _ in 0..49 {
            flow.round(Span::ms(200));
        }
        let t = (flow.now - start).as_secs_f64();
        let expected = 6_900_000.0 + 0.4004 * (t - flow.see("k_s")).powi(3);
        assert!(
            (flow.cwnd() as f64 / expected - 1.0).abs() < 0.01,
            "{} from {left}, not {expected}",
            flow.cwnd()
        );
    }

    #[test]
    fn hystart_can_be_off() {
        for (on, expected) in [(1, false), (0, true)] {
            let mut flow = Flow::with("cubic", &[("hystart", on)]);
            for rtt_ms in [10, 10, 12, 20, 40] {
                flow.round(Span::ms(rtt_ms));
            }
            assert_eq!(flow.ssthresh().is_none(), expected, "hystart = {on}");
        }
    }
}
