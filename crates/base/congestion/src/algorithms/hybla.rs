//! Hybla (Caini, Firrincieli, Int. J. Satellite Communications 2004) in Linux' form: growth is scaled by rho, the
//! ratio of the round-trip time to a reference, so that long paths grow as short ones. The window is at most 65,535
//! packets. Rho is kept in eighths, increments in 1/128, one increment for each ACK.

use super::vegas::reno;
use crate::control::Observer;
use crate::event::{AckSample, Phase};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{LARGEST, Parameter};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::{SlowStart, Standard};
use crate::tick::micros;
use crate::window::Window;
use wirespeed_units::Span;

/// One packet, in the scale of increments.
const ONE: u64 = 128;
/// Largest window, packets.
const LARGEST_WINDOW: u64 = 65_535;
/// Largest exponent of slow start.
const LARGEST_EXPONENT: u64 = 16;
/// 2^(i/8), in the scale of increments.
const ROOTS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

pub(super) const ROW: Algorithm = Algorithm {
    name: "hybla",
    about: "Makes flows with a long round-trip time grow as those with a short reference one",
    reference: "Caini, Firrincieli, Int. J. Satellite Communications 2004",
    linux: Some("hybla"),
    parameters: &[Parameter::new("rtt0", 25, 1, LARGEST, "reference round-trip time, ms")],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let mut rule =
            Hybla { reference_ms: values.count("rtt0"), rho: 8, least_srtt: 0, hundredths: 0, open: true };
        let mut window = setup.window();
        window.clamp = LARGEST_WINDOW;
        if let Some(rtt) = setup.handshake_rtt {
            rule.learn(rtt);
        }
        // The initial window is rho packets, not the system's.
        window.set(rule.rho / 8);
        Ok(Box::new(LossBased::new(window, Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Hybla {
    reference_ms: u64,
    /// Eight times the ratio of round-trip time to reference, at least eight.
    rho: u64,
    /// Least smoothed round-trip time in microseconds, zero if unknown.
    least_srtt: u64,
    /// Parts of a packet not yet added: 128ths, in spite of the name.
    hundredths: u64,
    open: bool,
}

impl Hybla {
    fn learn(&mut self, srtt: Span) {
        let srtt = micros(srtt);
        self.rho = (8 * srtt / (self.reference_ms * 1_000)).max(8);
        self.least_srtt = srtt;
    }

    /// 2^rho - 1 in slow start, rho^2 / cwnd above it (paper, equation 9), in 1/128.
    fn increment(&self, window: &Window) -> u64 {
        if window.in_slow_start() {
            let whole = (self.rho / 8).min(LARGEST_EXPONENT);
            (1 << whole) * ROOTS[(self.rho % 8) as usize] - ONE
        } else {
            2 * self.rho * self.rho / window.cwnd
        }
    }
}

impl WindowRule for Hybla {
    fn grow(&mut self, ack: &AckSample, window: &mut Window, _slow_start: &mut dyn SlowStart) {
        if let Some(srtt) = ack.srtt
            && (self.least_srtt == 0 || micros(srtt) < self.least_srtt)
        {
            self.learn(srtt);
        }
        if !ack.cwnd_limited {
            return;
        }
        if !self.open {
            reno(ack, window);
            return;
        }
        let slow_start = window.in_slow_start();
        let increment = self.increment(window);
        if !slow_start && increment < ONE {
            window.count += 1;
        }
        let mut cwnd = window.cwnd + increment / ONE;
        self.hundredths += increment % ONE;
        if self.hundredths >= ONE {
            cwnd += self.hundredths / ONE;
            self.hundredths %= ONE;
            window.count = 0;
        }
        // Where the increment is less than 1/128 the window grows as Reno's, one packet a round trip.
        if increment == 0 && window.count >= cwnd {
            cwnd += 1;
            window.count = 0;
        }
        if slow_start {
            cwnd = cwnd.min(window.ssthresh);
        }
        window.set(cwnd);
    }

    fn on_phase(&mut self, change: &PhaseChange, _window: &mut Window) {
        self.open = change.to == Phase::Open;
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("rho_ratio", self.rho as f64 / 8.0);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Flow;
    use wirespeed_units::Span;

    #[test]
    fn rho_is_the_ratio_to_the_reference() {
        for (rtt, rho) in [(10, 1.0), (25, 1.0), (100, 4.0), (250, 10.0)] {
            let flow = Flow::new("hybla").after_handshake(Span::ms(rtt));
            assert_eq!(flow.see("rho_ratio"), rho, "{rtt} ms");
            assert_eq!(flow.cwnd(), rho as u64);
        }
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one_for_each_ack() {
        let mut flow = Flow::new("hybla").after_handshake(Span::ms(100));
        flow.ack(1, Span::ms(100));
        assert_eq!(flow.cwnd(), 4 + 15);
        // Below the reference it is the standard slow start.
        let mut flow = Flow::new("hybla").after_handshake(Span::ms(25));
        for expected in [2, 4, 8] {
            flow.round(Span::ms(25));
            assert_eq!(flow.cwnd(), expected);
        }
    }

    #[test]
    fn congestion_avoidance_adds_rho_squared_a_round_trip() {
        let mut flow = Flow::new("hybla").after_handshake(Span::ms(100));
        flow.ack(1, Span::ms(100));
        flow.ack(1, Span::ms(100));
        flow.ack(1, Span::ms(100));
        flow.lose();
        let before = flow.cwnd();
        assert_eq!(before, 24);
        flow.round(Span::ms(100));
        // rho = 4: 16 packets, a little less because the window grows within the round trip.
        assert!((11..=16).contains(&(flow.cwnd() - before)), "{}", flow.cwnd() - before);
    }
}
