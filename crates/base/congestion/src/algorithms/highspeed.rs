//! HighSpeed TCP (RFC 3649) with the parameters of its section 5: low window 38, high window 83000, high loss rate
//! 1e-7, high decrease 0.1. In Linux' form, the increase is a whole number of packets, found in the table of
//! RFC 3649, appendix B, and one is counted for each ACK, however many packets it covers.

use super::reno::MAX_SSTHRESH;
use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent};
use crate::loss_based::{LossBased, WindowRule};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::Limited;
use crate::window::Window;

pub(super) const ROW: Algorithm = Algorithm {
    name: "highspeed",
    about: "Reno whose increase and decrease depend on the window's size",
    reference: "RFC 3649",
    linux: Some("highspeed"),
    parameters: &[MAX_SSTHRESH],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        let start = Limited::above(values.count("max_ssthresh"));
        Ok(Box::new(LossBased::new(setup.window(), start, HighSpeed { step: 0 })))
    },
};

/// The response function in steps: up to a window of `.0` packets a loss costs `.1`/256 of the window, and a round
/// trip adds as many packets as the step's number, counted from one (RFC 3649, appendix B,
/// without its last row, as Linux).
const STEPS: [(u64, u64); 72] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1058, 83),
    (1284, 81),
    (1529, 78),
    (1793, 76),
    (2076, 74),
    (2378, 72),
    (2699, 71),
    (3039, 69),
    (3399, 68),
    (3778, 66),
    (4177, 65),
    (4596, 64),
    (5036, 62),
    (5497, 61),
    (5979, 60),
    (6483, 59),
    (7009, 58),
    (7558, 57),
    (8130, 56),
    (8726, 55),
    (9346, 54),
    (9991, 53),
    (10661, 52),
    (11358, 52),
    (12082, 51),
    (12834, 50),
    (13614, 49),
    (14424, 48),
    (15265, 48),
    (16137, 47),
    (17042, 46),
    (17981, 45),
    (18955, 45),
    (19965, 44),
    (21013, 43),
    (22101, 43),
    (23230, 42),
    (24402, 41),
    (25618, 41),
    (26881, 40),
    (28193, 39),
    (29557, 39),
    (30975, 38),
    (32450, 38),
    (33986, 37),
    (35586, 36),
    (37253, 36),
    (38992, 35),
    (40808, 35),
    (42707, 34),
    (44694, 33),
    (46776, 33),
    (48961, 32),
    (51258, 32),
    (53677, 31),
    (56230, 30),
    (58932, 30),
    (61799, 29),
    (64851, 28),
    (68113, 28),
    (71617, 27),
    (75401, 26),
    (79517, 26),
    (84035, 25),
    (89053, 24),
];

#[derive(Debug, Clone, Copy)]
struct HighSpeed {
    /// Index into [`STEPS`], moved while the window grows.
    step: usize,
}

impl WindowRule for HighSpeed {
    fn only_counts(&self) -> bool {
        true
    }

    fn continues_after_slow_start(&self) -> bool {
        false
    }

    fn avoid(&mut self, _ack: &AckSample, _acked: u64, window: &mut Window) {
        while self.step + 1 < STEPS.len() && window.cwnd > STEPS[self.step].0 {
            self.step += 1;
        }
        while self.step > 0 && window.cwnd <= STEPS[self.step - 1].0 {
            self.step -= 1;
        }
        window.count += self.step as u64 + 1;
        if window.count >= window.cwnd {
            window.count -= window.cwnd;
            window.set(window.cwnd + 1);
        }
    }

    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        window.cwnd - ((window.cwnd * STEPS[self.step].1) >> 8)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("increase_packets_per_rtt", self.step as f64 + 1.0);
        observer.value("decrease_ratio", STEPS[self.step].1 as f64 / 256.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Flow;
    use wirespeed_units::Span;

    /// b(w) of RFC 3649, section 5.
    fn decrease(w: f64) -> f64 {
        (0.1 - 0.5) * (w.ln() - 38f64.ln()) / (83_000f64.ln() - 38f64.ln()) + 0.5
    }

    /// a(w) = w^2 p(w) 2 b(w) / (2 - b(w)) with p(w) = 0.078 / w^1.2 (RFC 3649, section 5).
    fn increase(w: f64) -> f64 {
        let b = decrease(w);
        w * w * (0.078 / w.powf(1.2)) * 2.0 * b / (2.0 - b)
    }

    #[test]
    fn the_steps_follow_the_response_function_of_the_rfc() {
        for (index, &(window, loss)) in STEPS.iter().enumerate().skip(1) {
            let w = window as f64;
            assert!((decrease(w) - loss as f64 / 256.0).abs() < 0.006, "b({window}) = {}", decrease(w));
            // The table gives the largest window at which a(w) still is at most its step.
            let a = increase(w);
            let step = index as f64 + 1.0;
            assert!((a / step - 1.0).abs() < 0.02, "a({window}) = {a}, step {step}");
        }
    }

    #[test]
    fn rows_of_the_rfcs_table() {
        // Windows within a step: a(w) and what a loss of b(w), printed with two digits, leaves.
        for (window, a, b) in
            [(30, 1, 0.50), (118, 2, 0.44), (1_058, 8, 0.33), (10_661, 30, 0.21), (84_035, 71, 0.10)]
        {
            let mut flow = Flow::new("highspeed").at(window);
            flow.round(Span::ms(100));
            let grown = flow.cwnd() - window;
            assert!(grown.abs_diff(a) <= 1, "window {window} grew by {grown}");
            let mut flow = Flow::new("highspeed").at(window);
            flow.ack(1, Span::ms(100));
            flow.lose();
            let lost = 1.0 - flow.cwnd() as f64 / window as f64;
            // Whole packets, and b printed with two digits.
            assert!((lost - b).abs() < 0.01 + 1.0 / window as f64, "window {window} lost {lost}");
        }
    }
}
