//! TCP-NV (Brakmo, Linux Plumbers Conference 2010) in the form of `net/ipv4/tcp_nv.c`: Vegas for data centres. Once
//! a round trip the largest rate seen times the least round-trip time gives the window that fits; beyond it and
//! `nv_pad` packets the window shrinks, but only after enough measurements.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{LARGEST, Parameter};
use crate::random::Random;
use crate::registry::{Algorithm, EcnUse};
use crate::round::Round;
use crate::slow_start::{SlowStart, Standard};
use crate::tick::{HZ, micros, ticks};
use crate::window::Window;

/// The window does not grow if it is within this of the largest, packets.
const PAD_BUFFER: u64 = 2;
/// Of what the window exceeds the fitting one by, 38/128 go in a round trip.
const DECREASE: u64 = 30 * 128 / 100;
/// A loss leaves 819/1024 of the window.
const LOSS_KEEPS: u64 = 819;
/// Measurements before shrinking, growing, and leaving the first slow start.
const CALLS_TO_SHRINK: u64 = 60;
const CALLS_TO_GROW: u64 = 20;
const CALLS_TO_LEAVE: u64 = 30;
/// Round trips without decision before growth stops, and before any decision to shrink.
const ROUNDS_TO_STOP: u64 = 10;
const ROUNDS_TO_DECIDE: u64 = 2;
/// Decisions without congestion after which a growth slowed by timeouts is doubled.
const CALM_TO_DOUBLE: u64 = 8;
/// Growth is slowed to 2^-8 of Reno's at most.
const SLOWEST: u32 = 8;
/// Bounds of the window below which round trips are stretched because of bursts, packets.
const BURST_LEAST: u64 = 4;
const BURST_STEP: u64 = 2;
const BURST_MOST: u64 = 81;

pub(super) const ROW: Algorithm = Algorithm {
    name: "nv",
    about: "Vegas for data centres: compares measured and expected rate, filters noise (TCP-NV)",
    reference: "Brakmo, Linux Plumbers Conference 2010; net/ipv4/tcp_nv.c",
    linux: Some("nv"),
    parameters: &[
        Parameter::new("nv_pad", 10, 0, LARGEST, "packets it may queue"),
        Parameter::new("nv_reset_period", 5, 1, LARGEST, "forget the least round-trip time after this, s"),
        Parameter::new("nv_min_cwnd", 2, 1, LARGEST, "window below which it does not shrink, packets"),
    ],
    needs_pacing: false,
    reads_rates: true,
    ecn: EcnUse::IfNegotiated,
    draws: true,
    build: |setup, values| {
        let rule = Nv {
            pad: values.count("nv_pad"),
            reset_period_s: values.count("nv_reset_period"),
            min_cwnd: values.count("nv_min_cwnd"),
            random: Random::new(setup.seed),
            reset_at: ticks(setup.now) + 2 * HZ,
            may_grow: true,
            must_reset: false,
            slowed: 0,
            burst: BURST_LEAST,
            calls: 0,
            rounds: 0,
            calm: 0,
            round: Round::default(),
            una: 0,
            latest_una: 0,
            last_rtt: 0,
            min_rtt: u64::MAX,
            next_min_rtt: u64::MAX,
            max_rate: 0,
        };
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Nv {
    pad: u64,
    reset_period_s: u64,
    min_cwnd: u64,
    random: Random,
    /// Tick at which the least round-trip time is renewed.
    reset_at: u64,
    may_grow: bool,
    /// Measurements start anew when the phase is Open again.
    must_reset: bool,
    /// Growth is 2^-this of Reno's, after timeouts.
    slowed: u32,
    burst: u64,
    /// Measurements, and round trips, since the last decision.
    calls: u64,
    rounds: u64,
    /// Decisions without congestion in a row.
    calm: u64,
    round: Round,
    una: u64,
    /// First byte not acknowledged, as of the latest ACK.
    latest_una: u64,
    /// Smoothed round-trip time in microseconds, zero if unknown.
    last_rtt: u64,
    min_rtt: u64,
    next_min_rtt: u64,
    /// Largest rate since the last decision, in units of 100 bit/s.
    max_rate: u64,
}

impl Nv {
    fn measure_rtt(&mut self, rtt: u64) -> u64 {
        let average = if self.last_rtt > 0 {
            rtt.midpoint(self.last_rtt)
        } else {
            self.min_rtt = 2 * rtt;
            rtt
        };
        self.last_rtt = average;
        average
    }

    fn renew_min_rtt(&mut self, now: u64) {
        if now < self.reset_at {
            return;
        }
        self.min_rtt = self.next_min_rtt;
        self.next_min_rtt = u64::MAX;
        // Between three and five quarters of the period, so that flows do not do it together.
        self.reset_at = now + ((self.reset_period_s * (384 + self.random.below(256)) * HZ) >> 9);
        self.burst = (self.burst / 2).max(BURST_LEAST);
    }

    /// Decides once a round trip; false if it is too early to.
    fn decide(&mut self, window: &mut Window) -> bool {
        let fitting =
            u128::from(self.max_rate) * u128::from(self.min_rtt) / (80_000 * u128::from(window.mss()));
        let largest = u64::try_from(fitting).unwrap_or(u64::MAX).saturating_add(self.pad);
        if window.cwnd > largest {
            let first = window.ssthresh == u64::MAX;
            if self.rounds < ROUNDS_TO_DECIDE || (first && self.calls < CALLS_TO_LEAVE) {
                return false;
            }
            if !first && self.calls < CALLS_TO_SHRINK {
                self.may_grow &= self.rounds <= ROUNDS_TO_STOP;
                return false;
            }
            self.may_grow = false;
            window.ssthresh = largest.max(2);
            let excess = window.cwnd - largest;
            window.set(if excess > 2 { window.cwnd - ((excess * DECREASE) >> 7).max(2) } else { largest });
            self.calm = 0;
        } else if window.cwnd <= largest.saturating_sub(PAD_BUFFER) {
            if self.calls < CALLS_TO_GROW {
                return false;
            }
            self.may_grow = true;
            self.calm += 1;
            if self.slowed > 0 && self.calm > CALM_TO_DOUBLE {
                self.slowed -= 1;
                self.calm = 0;
            }
        } else {
            return false;
        }
        true
    }
}

impl WindowRule for Nv {
    fn measure(&mut self, ack: &AckSample, before: Phase, window: &mut Window) {
        self.latest_una = ack.snd_una;
        let Some(rtt) = ack.rtt else { return };
        if before > Phase::Disorder {
            return;
        }
        let bytes_acked = ack.snd_una.saturating_sub(self.una);
        self.una = ack.snd_una;
        let Some(rate) = ack.rate else { return };
        // What was delivered since the packet now acknowledged was sent: what was in flight.
        let in_flight = ack.delivered.get().saturating_sub(rate.prior_delivered.get()) * window.mss();
        if in_flight == 0 {
            return;
        }
        let average = self.measure_rtt(micros(rtt));
        self.max_rate = self.max_rate.max(in_flight * 80_000 / average);
        self.calls = (self.calls + 1).min(255);
        self.min_rtt = self.min_rtt.min(average);
        self.next_min_rtt = self.next_min_rtt.min(average);
        self.renew_min_rtt(ticks(ack.now));
        if !self.round.is_over(ack.snd_una) {
            return;
        }
        self.round.start(ack.snd_nxt);
        self.rounds = (self.rounds + 1).min(255);
        // One measurement in a whole round trip: bursts hide the path, so a round must be longer.
        if self.calls == 1 && bytes_acked >= (self.burst - 1) * window.mss() && self.burst < BURST_MOST {
            self.burst = (self.burst + BURST_STEP).min(BURST_MOST);
            self.round.start(ack.snd_nxt + self.burst * window.mss());
            self.calls = 0;
            self.may_grow = true;
            return;
        }
        if self.decide(window) {
            self.calls = 0;
            self.rounds = 0;
            self.max_rate = 0;
            window.set(window.cwnd.max(self.min_cwnd));
        }
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, slow_start: &mut dyn SlowStart) {
        if !ack.cwnd_limited || !self.may_grow {
            return;
        }
        let mut acked = ack.newly_delivered.get();
        if window.in_slow_start() {
            acked = slow_start.grow(acked, window);
        }
        if acked > 0 {
            let price = if self.slowed > 0 { window.cwnd << self.slowed } else { window.cwnd.max(4) };
            window.additive_increase(price, acked);
        }
    }

    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        (window.cwnd * LOSS_KEEPS) >> 10
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        match change.to {
            Phase::Open if self.must_reset => {
                self.must_reset = false;
                self.calm = 0;
                self.rounds = 0;
                self.last_rtt = 0;
                self.max_rate = 0;
                // What recovery acknowledged is no measurement of a round trip.
                self.una = self.latest_una;
                self.round.start(self.una);
                self.calls = 0;
            }
            Phase::Open | Phase::Disorder => {}
            Phase::Cwr | Phase::Recovery | Phase::Loss => {
                self.must_reset = true;
                self.may_grow = false;
                if change.to == Phase::Loss {
                    self.slowed = (self.slowed + 1).min(SLOWEST);
                }
            }
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        if self.min_rtt < u64::MAX {
            observer.value("min_rtt_us", self.min_rtt as f64);
        }
        observer.value("max_rate_bps", self.max_rate as f64 * 100.0);
        observer.value("may_grow_bool", f64::from(u8::from(self.may_grow)));
    }
}

#[cfg(test)]
mod tests {
    use crate::event::CongestionKind;
    use crate::testing::Flow;
    use wirespeed_units::Span;

    #[test]
    fn a_loss_leaves_four_fifths() {
        let mut flow = Flow::new("nv").at(1_000);
        flow.lose();
        assert_eq!(flow.cwnd(), 799);
    }

    #[test]
    fn it_grows_as_reno_while_no_more_than_the_pad_is_queued() {
        let mut flow = Flow::new("nv").at(100);
        for _ in 0..20 {
            flow.round(Span::ms(1));
        }
        assert_eq!(flow.cwnd(), 120);
    }

    #[test]
    fn it_shrinks_by_three_tenths_of_what_exceeds_the_fitting_window_and_the_pad() {
        let mut flow = Flow::new("nv").at(1_000);
        flow.round(Span::ms(1));
        let mut seen = vec![flow.cwnd()];
        // Twice the delay: half the window fits. It decides after some round trips.
        for _ in 0..30 {
            flow.round(Span::ms(2));
            seen.push(flow.cwnd());
        }
        let drop = seen.windows(2).find(|pair| pair[1] < pair[0]).unwrap_or_else(|| panic!("{seen:?}"));
        let fitting = drop[0] / 2 + 10;
        let expected = drop[0] - ((drop[0] - fitting) * 38 / 128);
        // The delay is smoothed, so the rate of the first longer round trip is a little high.
        assert!(drop[1].abs_diff(expected) <= 15, "{drop:?}, expected {expected}");
    }

    #[test]
    fn a_timeout_halves_the_growth() {
        let mut flow = Flow::new("nv").at(100);
        flow.congest(CongestionKind::Timeout);
        flow.phase = crate::event::Phase::Open;
        // Back to the threshold of 79 by slow start, then one packet in two round trips.
        for _ in 0..60 {
            flow.round(Span::ms(1));
        }
        let before = flow.cwnd();
        for _ in 0..8 {
            flow.round(Span::ms(1));
        }
        assert!((4..=8).contains(&(flow.cwnd() - before)), "{before} {}", flow.cwnd());
    }
}
