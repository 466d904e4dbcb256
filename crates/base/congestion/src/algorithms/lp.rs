//! TCP-LP (Kuzmanovic, Knightly, INFOCOM 2003) in Linux' form: Reno that halves when the one-way delay rises above
//! 15 % of its range, and goes to one packet if it rises again within three round trips.
//!
//! One-way delays come from TCP timestamps in milliseconds, in Linux' 32-bit arithmetic with its wrap-arounds, the
//! estimate of the receiver's clock rate included; without timestamps this is Reno.

use super::vegas::reno;
use crate::control::Observer;
use crate::event::{AckSample, Phase, Timestamps};
use crate::loss_based::{LossBased, WindowRule};
use crate::parameter::{Parameter, Values};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::{SlowStart, Standard};
use crate::tick::ticks;
use crate::window::Window;

/// Ticks of timestamps in a second.
const RESOLUTION: u32 = 1_000;

pub(super) const ROW: Algorithm = Algorithm {
    name: "lp",
    about: "Low priority: yields to other traffic when one-way delay rises",
    reference: "Kuzmanovic, Knightly, INFOCOM 2003",
    linux: Some("lp"),
    parameters: &[
        Parameter::of_model("delta", 15, 0, 100, "rise of the delay that is tolerated, percent of its range"),
        Parameter::of_model(
            "inference",
            3,
            0,
            1000,
            "how long after a cut another goes to one packet, round trips",
        ),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| Ok(Box::new(LossBased::new(setup.window(), Standard, Lp::new(values)))),
};

#[derive(Debug, Clone)]
struct Lp {
    tolerated_percent: u32,
    inference_rounds: u32,
    /// Timestamps of the last ACK: where the next estimate of the receiver's clock starts.
    reference: Option<Timestamps>,
    /// The receiver's clock in ticks a second, times 64; zero if unknown.
    remote_clock: u32,
    /// Smoothed one-way delay times eight, zero if unknown.
    smoothed: u32,
    least: u32,
    largest: u32,
    /// The largest delay of all: one above the largest that counts.
    reserve: u32,
    last_drop: Option<u32>,
    /// How long after a drop another one means that others are there, ms.
    inference: u32,
    in_inference: bool,
}

impl Lp {
    fn new(values: &Values) -> Self {
        Lp {
            tolerated_percent: values.count("delta") as u32,
            inference_rounds: values.count("inference") as u32,
            reference: None,
            remote_clock: 0,
            smoothed: 0,
            least: u32::MAX,
            largest: 0,
            reserve: 0,
            last_drop: None,
            inference: 0,
            in_inference: false,
        }
    }

    /// Ticks of the receiver's clock a second: a moving average over 64 ACKs, zero if unknown.
    fn estimate_clock(&mut self, seen: Timestamps) -> u32 {
        let known = i64::from(self.remote_clock);
        let mut clock = known << 6;
        if let Some(reference) = self.reference
            && reference.value != 0
            && reference.echo != 0
            && seen.value != reference.value
            && seen.echo != reference.echo
        {
            let (remote, local) =
                (seen.value.wrapping_sub(reference.value), seen.echo.wrapping_sub(reference.echo));
            let sample = i64::from(RESOLUTION.wrapping_mul(remote) / local);
            clock = if clock > 0 { clock + sample - known } else { sample << 6 };
        }
        self.reference = Some(seen);
        self.remote_clock = (clock >> 6) as u32;
        self.remote_clock
    }

    fn measure_delay(&mut self, seen: Timestamps) {
        let clock = self.estimate_clock(seen);
        if clock == 0 {
            return;
        }
        let delay = seen.value.wrapping_mul(RESOLUTION / clock).wrapping_sub(seen.echo);
        if delay == 0 {
            return;
        }
        self.least = self.least.min(delay);
        if delay > self.largest {
            if delay > self.reserve {
                self.largest = if self.reserve == 0 { delay } else { self.reserve };
                self.reserve = delay;
            } else {
                self.largest = delay;
            }
        }
        self.smoothed = if self.smoothed == 0 {
            delay << 3
        } else {
            self.smoothed.wrapping_add(delay).wrapping_sub(self.smoothed >> 3)
        };
    }

    fn is_within_threshold(&self) -> bool {
        let range = self.largest.wrapping_sub(self.least);
        let tolerated = self.tolerated_percent.wrapping_mul(range) / 100;
        self.smoothed >> 3 < self.least.wrapping_add(tolerated)
    }
}

impl WindowRule for Lp {
    fn measure(&mut self, ack: &AckSample, before: Phase, window: &mut Window) {
        let Some(seen) = ack.timestamps else { return };
        if ack.rtt.is_some() {
            self.measure_delay(seen);
        }
        let now = ticks(ack.now) as u32;
        let round_trip = now.wrapping_sub(seen.echo);
        if (round_trip as i32) > 0 {
            self.inference = self.inference_rounds.wrapping_mul(round_trip);
        }
        self.in_inference = self.last_drop.is_some_and(|drop| now.wrapping_sub(drop) < self.inference);
        if self.is_within_threshold() {
            return;
        }
        self.least = self.smoothed >> 3;
        self.largest = self.smoothed >> 2;
        self.reserve = self.smoothed >> 2;
        // During a reduction the socket's own rule sets the window after this and overrides it.
        if !before.is_reducing() {
            window.set(if self.in_inference { 1 } else { window.cwnd / 2 });
        }
        self.last_drop = Some(now);
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, _slow_start: &mut dyn SlowStart) {
        if !self.in_inference {
            reno(ack, window);
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("one_way_delay_ms", f64::from(self.smoothed >> 3));
        observer.value("inference_bool", f64::from(u8::from(self.in_inference)));
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{AckSample, Timestamps};
    use crate::testing::Flow;
    use wirespeed_units::{SimTime, Span};

    /// One ACK at `at_ms` whose packet took `forth_ms` forth and 10 ms back.
    fn ack(flow: &mut Flow, at_ms: i64, forth_ms: u32) {
        flow.now = SimTime::START + Span::ms(at_ms);
        let back = 10;
        let value = at_ms as u32 - back;
        let timestamps = Some(Timestamps { value, echo: value - forth_ms });
        let sample = AckSample { timestamps, ..flow.sample(1, Span::ms(i64::from(forth_ms + back))) };
        flow.give(sample);
    }

    /// Delays between 10 and 31 ms are known; the smoothed one is 10 ms again. ACKs are far apart while delays
    /// change, or the estimate of the receiver's clock would leave 501..=1000, where Linux' division works.
    fn known() -> (Flow, i64) {
        known_with(&[])
    }

    fn known_with(parameters: &[(&str, i64)]) -> (Flow, i64) {
        let mut flow = Flow::with("lp", parameters).at(100);
        let mut at = 0;
        for forth in [10, 10, 30, 31, 10] {
            at += 1_000;
            ack(&mut flow, at, forth);
        }
        for _ in 0..200 {
            at += 10;
            ack(&mut flow, at, 10);
        }
        (flow, at)
    }

    #[test]
    fn a_rise_of_delay_halves_and_another_within_three_round_trips_goes_to_one() {
        let (mut flow, at) = known();
        let before = flow.cwnd();
        assert!(before > 50);
        assert_eq!(flow.see("one_way_delay_ms"), 10.0);
        // 10 + (60 - 10) / 8 = 16 ms is above 10 + 15 % of 21; then 21 ms above 16 + 15 % of 16.
        ack(&mut flow, at + 1_000, 60);
        assert_eq!(flow.cwnd(), before / 2 + 1);
        ack(&mut flow, at + 1_002, 60);
        assert_eq!(flow.cwnd(), 1);
        // In inference the window does not grow; three round trips of 70 ms later it does.
        ack(&mut flow, at + 1_004, 10);
        assert_eq!(flow.cwnd(), 1);
        for ms in 2..60 {
            ack(&mut flow, at + 1_000 + 10 * ms, 10);
        }
        assert!(flow.cwnd() > 1, "{}", flow.cwnd());
    }

    #[test]
    fn tolerated_delay_can_be_set() {
        // The rise of the test above is within the whole range: 16 ms is below 10 + 21.
        let (mut flow, at) = known_with(&[("delta", 100)]);
        let before = flow.cwnd();
        ack(&mut flow, at + 1_000, 60);
        assert!(flow.cwnd() >= before);
        // Without inference a second rise halves again.
        let (mut flow, at) = known_with(&[("inference", 0)]);
        ack(&mut flow, at + 1_000, 60);
        let before = flow.cwnd();
        ack(&mut flow, at + 1_002, 60);
        assert!((before / 2..=before / 2 + 1).contains(&flow.cwnd()), "{before} to {}", flow.cwnd());
    }

    #[test]
    fn reno_without_timestamps() {
        let mut flow = Flow::new("lp").at(100);
        flow.round(Span::ms(10));
        flow.round(Span::ms(90));
        assert_eq!(flow.cwnd(), 102);
    }
}
