//! H-TCP (Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06) in Linux' form: the increase grows with the time
//! since the last loss, the decrease follows the ratio of the least to the largest round-trip time. Delays and times
//! are in ticks of 1 ms, alpha and beta in 1/128.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase, Undo};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::Parameter;
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::Standard;
use crate::tick::{HZ, ticks, ticks_of};
use crate::window::Window;

/// One, in the scale of alpha and beta.
const ONE: u64 = 128;
/// Bounds of beta: a half and four fifths.
const BETA_MIN: u64 = 64;
const BETA_MAX: u64 = 102;
/// The largest round-trip time may rise by this at a time, ticks.
const RTT_RISE: u64 = 20;
/// Below this least round-trip time beta stays a half, ticks.
const SHORT_RTT: u64 = 10;

pub(super) const ROW: Algorithm = Algorithm {
    name: "htcp",
    about: "Increase grows with the time since the last loss, decrease with the delay's range",
    reference: "Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06",
    linux: Some("htcp"),
    parameters: &[
        Parameter::new("use_rtt_scaling", 1, 0, 1, "scale the increase with the round-trip time"),
        Parameter::new(
            "use_bandwidth_switch",
            1,
            0,
            1,
            "halve when the throughput changed by more than a fifth",
        ),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let rule = HTcp::new(
            values.is_on("use_rtt_scaling"),
            values.is_on("use_bandwidth_switch"),
            ticks(setup.now),
        );
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

/// What an undo puts back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Saved {
    last_congestion: u64,
    max_rtt: u64,
    old_max_rate: u64,
}

#[derive(Debug, Clone)]
struct HTcp {
    rtt_scaling: bool,
    bandwidth_switch: bool,
    alpha: u64,
    beta: u64,
    /// A second loss has to confirm that delays are known before beta follows them.
    adaptive: bool,
    /// Packets of the newest ACK.
    acked: u64,
    /// Least and largest round-trip time in ticks, zero if unknown.
    min_rtt: u64,
    max_rtt: u64,
    last_congestion: u64,
    saved: Option<Saved>,
    /// Packets since the last measurement of throughput, and its tick.
    counted: u64,
    counted_since: u64,
    /// Throughput in packets a second: smoothed, and the largest of this and of the last epoch.
    rate: u64,
    max_rate: u64,
    old_max_rate: u64,
    now: u64,
}

impl HTcp {
    fn new(rtt_scaling: bool, bandwidth_switch: bool, now: u64) -> Self {
        HTcp {
            rtt_scaling,
            bandwidth_switch,
            alpha: ONE,
            beta: BETA_MIN,
            adaptive: false,
            acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: now,
            saved: None,
            counted: 0,
            counted_since: 0,
            rate: 0,
            max_rate: 0,
            old_max_rate: 0,
            now,
        }
    }

    fn measure_rtt(&mut self, rtt: u64, before: Phase) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if before == Phase::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt > self.max_rtt && rtt <= self.max_rtt + RTT_RISE {
                self.max_rtt = rtt;
            }
        }
    }

    fn measure_throughput(&mut self, acked: u64, before: Phase, cwnd: u64) {
        if before > Phase::Disorder {
            self.counted = 0;
            self.counted_since = self.now;
            return;
        }
        self.counted += acked;
        let window = cwnd.checked_sub((self.alpha / ONE).max(1));
        let elapsed = self.now - self.counted_since;
        // Linux would divide by zero ticks here if a round trip took none; it never does, nor here.
        if window.is_none_or(|w| self.counted < w) || self.min_rtt == 0 || elapsed < self.min_rtt {
            return;
        }
        let rate = self.counted * HZ / elapsed;
        if (self.now - self.last_congestion) / self.min_rtt <= 3 {
            self.rate = rate;
            self.max_rate = rate;
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.max_rate = self.max_rate.max(self.rate);
        }
        self.counted = 0;
        self.counted_since = self.now;
    }

    fn update_beta(&mut self) {
        if self.bandwidth_switch {
            let (new, old) = (self.max_rate, self.old_max_rate);
            self.old_max_rate = new;
            if !(4 * old..=6 * old).contains(&(5 * new)) {
                self.beta = BETA_MIN;
                self.adaptive = false;
                return;
            }
        }
        if self.adaptive && self.min_rtt > SHORT_RTT && self.max_rtt > 0 {
            self.beta = (self.min_rtt * ONE / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.adaptive = true;
        }
    }

    /// alpha = 2 (1 - beta) f(t) with f(t) = 1 + 10 (t - 1) + ((t - 1) / 2)^2 for t seconds above one since the last
    /// congestion, divided by the ratio of 100 ms to the round-trip time, a half to ten.
    fn update_alpha(&mut self) {
        let mut factor = 1;
        if let Some(late) = (self.now - self.last_congestion).checked_sub(HZ)
            && late > 0
        {
            factor = 1 + (10 * late + (late / 2) * (late / 2) / HZ) / HZ;
        }
        if self.rtt_scaling && self.min_rtt > 0 {
            let scale = (8 * HZ / (10 * self.min_rtt)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }
}

impl WindowRule for HTcp {
    fn measure(&mut self, ack: &AckSample, before: Phase, window: &mut Window) {
        self.now = ticks(ack.now);
        if before == Phase::Open {
            self.acked = ack.newly_acked.get();
        }
        if let Some(rtt) = ack.rtt {
            self.measure_rtt(ticks_of(rtt), before);
        }
        if self.bandwidth_switch {
            self.measure_throughput(ack.newly_acked.get(), before, window.cwnd);
        }
    }

    fn continues_after_slow_start(&self) -> bool {
        false
    }

    fn avoid(&mut self, _ack: &AckSample, _acked: u64, window: &mut Window) {
        if window.count * self.alpha / ONE >= window.cwnd {
            window.set(window.cwnd + 1);
            window.count = 0;
            self.update_alpha();
        } else {
            window.count += self.acked;
        }
        self.acked = 1;
    }

    fn ssthresh(&mut self, event: &CongestionEvent, window: &Window) -> u64 {
        self.now = ticks(event.now);
        let (min_rtt, max_rtt) = (self.min_rtt, self.max_rtt);
        self.update_beta();
        self.update_alpha();
        if min_rtt > 0 && max_rtt > min_rtt {
            // The largest round-trip time fades, so that a change of route is noticed.
            self.max_rtt = min_rtt + (max_rtt - min_rtt) * 95 / 100;
        }
        window.cwnd * self.beta / ONE
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        self.now = ticks(change.now);
        match change.to {
            Phase::Open => {
                if self.saved.take().is_some() {
                    self.last_congestion = self.now;
                }
            }
            Phase::Cwr | Phase::Recovery | Phase::Loss => {
                self.saved = Some(Saved {
                    last_congestion: self.last_congestion,
                    max_rtt: self.max_rtt,
                    old_max_rate: self.old_max_rate,
                });
                self.last_congestion = self.now;
            }
            Phase::Disorder => {}
        }
    }

    fn on_undo(&mut self, _undo: &Undo) {
        if let Some(saved) = self.saved.take() {
            self.last_congestion = saved.last_congestion;
            self.max_rtt = saved.max_rtt;
            self.old_max_rate = saved.old_max_rate;
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("alpha_packets_per_rtt", self.alpha as f64 / ONE as f64);
        observer.value("beta_ratio", self.beta as f64 / ONE as f64);
        observer.value("min_rtt_ms", self.min_rtt as f64);
        observer.value("max_rtt_ms", self.max_rtt as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Flow;
    use wirespeed_units::Span;

    #[test]
    fn alpha_of_the_draft() {
        // f(t) = 1 + 10 (t - 1) + ((t - 1)/2)^2: 1 at 1 s, 11.25 at 2 s, 22 at 3 s, 95.25... at 10 s: 1 + 90 + 20.25.
        for (seconds, expected) in [(0, 1.0), (1, 1.0), (2, 11.0), (3, 22.0), (10, 111.0)] {
            let mut rule = HTcp::new(false, false, 0);
            rule.now = seconds * HZ;
            rule.update_alpha();
            assert_eq!(rule.alpha as f64 / ONE as f64, expected, "{seconds} s");
        }
    }

    #[test]
    fn alpha_scales_with_the_round_trip_time_between_a_half_and_ten() {
        // Relative to 100 ms: 200 ms and more count double, 10 ms and less a tenth.
        for (rtt, expected) in [(100, 111.0), (200, 222.0), (1_000, 222.0), (50, 55.0), (10, 11.0), (1, 11.0)]
        {
            let mut rule = HTcp::new(true, false, 0);
            (rule.now, rule.min_rtt) = (10 * HZ, rtt);
            rule.update_alpha();
            assert_eq!(rule.alpha as f64 / ONE as f64, expected, "{rtt} ms");
        }
    }

    #[test]
    fn beta_is_the_ratio_of_delays_from_the_second_loss_on() {
        let mut flow = Flow::with("htcp", &[("use_bandwidth_switch", 0)]).at(1_000);
        flow.ack(1, Span::ms(60));
        flow.ack(1, Span::ms(80));
        flow.lose();
        assert_eq!(flow.cwnd(), 500);
        flow.ack(1, Span::ms(80));
        let before = flow.cwnd();
        flow.lose();
        // 60 of 80 ms, faded by 5 % of the difference to 79: 60 x 128 / 80 = 96 (the ACK has shown 80 again).
        assert_eq!(flow.see("beta_ratio"), 0.75);
        assert_eq!(flow.cwnd(), before * 96 / 128);
    }

    #[test]
    fn a_change_of_throughput_by_more_than_a_fifth_halves() {
        let mut rule = HTcp::new(true, true, 0);
        (rule.min_rtt, rule.max_rtt, rule.adaptive) = (60, 80, true);
        (rule.old_max_rate, rule.max_rate) = (1_000, 1_190);
        rule.update_beta();
        assert_eq!(rule.beta, 96);
        (rule.old_max_rate, rule.max_rate) = (1_000, 1_210);
        rule.update_beta();
        assert_eq!((rule.beta, rule.adaptive), (64, false));
    }

    #[test]
    fn one_packet_a_round_trip_in_the_first_second() {
        let mut flow = Flow::with("htcp", &[("use_rtt_scaling", 0)]).at(100);
        for _ in 0..9 {
            flow.round(Span::ms(100));
        }
        assert!((108..=109).contains(&flow.cwnd()), "{}", flow.cwnd());
    }

    #[test]
    fn undo_gives_the_time_since_congestion_back() {
        let mut flow = Flow::new("htcp").at(100);
        flow.round(Span::ms(100));
        flow.wait(Span::secs(9));
        flow.congest(crate::event::CongestionKind::FastRetransmit);
        flow.undo();
        flow.phase = Phase::Open;
        for _ in 0..3 {
            flow.round(Span::ms(100));
        }
        assert!(flow.see("alpha_packets_per_rtt") > 90.0, "{}", flow.see("alpha_packets_per_rtt"));
    }
}
