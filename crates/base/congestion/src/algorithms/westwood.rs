//! Westwood+ (Mascolo et al., MobiCom 2001; Grieco, Mascolo, CCR 2004) in Linux' form: Reno whose window after a
//! loss is the estimated bandwidth times the least round-trip time. Times are in ticks of 1 ms, bandwidth in bytes
//! per tick.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, Phase};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::Parameter;
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::Standard;
use crate::tick::{HZ, ticks, ticks_of};
use crate::window::Window;

pub(super) const ROW: Algorithm = Algorithm {
    name: "westwood",
    about: "Reno that sets the window after a loss from a bandwidth estimate (Westwood+)",
    reference: "Mascolo et al., MobiCom 2001; Grieco, Mascolo, CCR 2004",
    linux: Some("westwood"),
    parameters: &[
        Parameter::of_model("rtt_min", 50, 1, 60_000, "shortest interval of a bandwidth sample, ms"),
        Parameter::of_model("init_rtt", 20_000, 1, 3_600_000, "round-trip time until one is measured, ms"),
        Parameter::of_model(
            "filter_keeps",
            7,
            0,
            7,
            "weight of what is known against a new sample, in eighths",
        ),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let initial_rtt = values.count("init_rtt") * HZ / 1000;
        let rule = Westwood {
            shortest_sample: values.count("rtt_min") * HZ / 1000,
            keeps: values.count("filter_keeps"),
            once: 0,
            bandwidth: 0,
            since: ticks(setup.now),
            sample_bytes: 0,
            una: None,
            accounted: 0,
            rtt: initial_rtt,
            min_rtt: initial_rtt,
            renew_min_rtt: true,
        };
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Westwood {
    /// Ticks that a bandwidth sample takes at least.
    shortest_sample: u64,
    /// Weight of the filter, in eighths.
    keeps: u64,
    /// The bandwidth filtered once, and twice, bytes per tick.
    once: u64,
    bandwidth: u64,
    /// The sample being taken: its first tick and its bytes.
    since: u64,
    sample_bytes: u64,
    /// First byte not acknowledged at the last ACK.
    una: Option<u64>,
    /// Bytes already counted for duplicate ACKs, taken off the cumulative one that follows.
    accounted: u64,
    rtt: u64,
    min_rtt: u64,
    renew_min_rtt: bool,
}

impl Westwood {
    fn end_sample(&mut self, now: u64) {
        let elapsed = now - self.since;
        if elapsed <= self.rtt.max(self.shortest_sample) {
            return;
        }
        let sample = self.sample_bytes / elapsed;
        if self.once == 0 && self.bandwidth == 0 {
            self.once = sample;
            self.bandwidth = sample;
        } else {
            let filter = |known, new| (self.keeps * known + (8 - self.keeps) * new) / 8;
            self.once = filter(self.once, sample);
            self.bandwidth = filter(self.bandwidth, self.once);
        }
        self.sample_bytes = 0;
        self.since = now;
    }

    /// Bytes an ACK stands for: a duplicate for one segment, which the cumulative ACK that follows leaves out.
    fn count(&mut self, ack: &AckSample, mss: u64) -> u64 {
        // The first ACK only sets where counting starts.
        let una = self.una.replace(ack.snd_una).unwrap_or(ack.snd_una);
        let cumulative = ack.snd_una.saturating_sub(una);
        // Nothing is left out of what header prediction takes, which is most often the ACK that ends a recovery
        // (`westwood_fast_bw`): losses make the estimate higher.
        if ack.predicted {
            return cumulative;
        }
        if cumulative == 0 {
            self.accounted += mss;
            return mss;
        }
        if cumulative <= mss {
            return cumulative;
        }
        if self.accounted >= cumulative {
            self.accounted -= cumulative;
            return mss;
        }
        cumulative - std::mem::take(&mut self.accounted)
    }

    /// Bandwidth times least round-trip time in packets.
    fn fitting(&self, mss: u64) -> u64 {
        (u128::from(self.bandwidth) * u128::from(self.min_rtt) / u128::from(mss)).clamp(2, 1 << 40) as u64
    }
}

impl WindowRule for Westwood {
    fn measure(&mut self, ack: &AckSample, _before: Phase, window: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.rtt = ticks_of(rtt);
        }
        self.end_sample(ticks(ack.now));
        self.sample_bytes += self.count(ack, window.mss());
        if self.renew_min_rtt {
            self.min_rtt = self.rtt;
            self.renew_min_rtt = false;
        } else {
            self.min_rtt = self.min_rtt.min(self.rtt);
        }
    }

    fn on_complete(&mut self, _change: &PhaseChange, window: &mut Window) {
        window.ssthresh = self.fitting(window.mss());
        window.set(window.ssthresh);
    }

    fn on_timeout(&mut self, _event: &CongestionEvent, window: &mut Window) {
        window.ssthresh = self.fitting(window.mss());
        self.renew_min_rtt = true;
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("bandwidth_bps", self.bandwidth as f64 * 8.0 * HZ as f64);
        observer.value("min_rtt_ms", self.min_rtt as f64);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::CongestionKind;
    use crate::testing::{Flow, MSS};
    use wirespeed_units::Span;

    /// A hundred packets in each 100 ms with a queue of half the delay: 50 packets fit.
    fn steady() -> Flow {
        let mut flow = Flow::new("westwood").at(100);
        flow.ack(1, Span::ms(50));
        for _ in 0..60 {
            for _ in 0..100 {
                flow.wait(Span::ms(1));
                flow.ack(1, Span::ms(100));
                // Reno's growth is not the matter here.
                flow.app_limited = true;
            }
        }
        flow
    }

    #[test]
    fn bandwidth_is_what_is_acknowledged() {
        let bandwidth = steady().see("bandwidth_bps");
        let sent = MSS as f64 * 8.0 * 1_000.0;
        assert!((bandwidth / sent - 1.0).abs() < 0.02, "{bandwidth} of {sent}");
    }

    #[test]
    fn a_loss_leaves_bandwidth_times_least_delay() {
        let mut flow = steady();
        flow.lose();
        assert!((49..=50).contains(&flow.cwnd()), "{}", flow.cwnd());
        assert_eq!(flow.ssthresh(), Some(flow.cwnd()));
    }

    #[test]
    fn the_filter_can_be_set() {
        // Twice the rate for one sample: an eighth of an eighth of the rise counts, or half of half.
        let rise = |keeps: i64| {
            let mut flow = Flow::with("westwood", &[("filter_keeps", keeps)]).at(100);
            flow.app_limited = true;
            flow.ack(1, Span::ms(50));
            for _ in 0..600 {
                flow.wait(Span::ms(1));
                flow.ack(1, Span::ms(50));
            }
            let before = flow.see("bandwidth_bps");
            for _ in 0..120 {
                flow.wait(Span::us(500));
                flow.ack(1, Span::ms(50));
            }
            flow.see("bandwidth_bps") / before - 1.0
        };
        let (slow, fast) = (rise(7), rise(4));
        assert!(slow < 0.1 && fast > 2.0 * slow, "{slow}, {fast}");
    }

    #[test]
    fn so_does_a_timeout_as_threshold() {
        let mut flow = steady();
        flow.congest(CongestionKind::Timeout);
        assert_eq!(flow.cwnd(), 1);
        assert!((49..=50).contains(&flow.ssthresh().unwrap()));
    }
}
