//! Scalable TCP (Kelly, CCR 33(2), 2003) in Linux' form: one packet more for every hundred acknowledged, an eighth
//! less on loss; as Reno below a window of 100.

use super::reno::MAX_SSTHRESH;
use crate::event::{AckSample, CongestionEvent};
use crate::loss_based::{LossBased, WindowRule};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::Limited;
use crate::window::Window;

/// 1/a: packets acknowledged for one more.
pub(super) const PER_INCREMENT: u64 = 100;
/// log2 of the share of the window a loss costs.
const DECREASE_SHIFT: u32 = 3;

pub(super) const ROW: Algorithm = Algorithm {
    name: "scalable",
    about: "Increase in proportion to the window, decrease by an eighth",
    reference: "Kelly, CCR 2003",
    linux: Some("scalable"),
    parameters: &[MAX_SSTHRESH],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        Ok(Box::new(LossBased::new(setup.window(), Limited::above(values.count("max_ssthresh")), Scalable)))
    },
};

#[derive(Debug, Clone, Copy)]
struct Scalable;

impl WindowRule for Scalable {
    fn only_counts(&self) -> bool {
        true
    }

    fn count_ahead(&mut self, acked: u64, most: u32, window: &mut Window) -> u32 {
        window.count_ahead(window.cwnd.min(PER_INCREMENT), acked, most)
    }

    fn avoid(&mut self, _ack: &AckSample, acked: u64, window: &mut Window) {
        window.additive_increase(window.cwnd.min(PER_INCREMENT), acked);
    }

    fn ssthresh(&mut self, _event: &CongestionEvent, window: &Window) -> u64 {
        window.cwnd - (window.cwnd >> DECREASE_SHIFT)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Flow;
    use wirespeed_units::Span;

    #[test]
    fn a_loss_leaves_seven_eighths() {
        let mut flow = Flow::new("scalable").at(8_000);
        flow.lose();
        assert_eq!(flow.cwnd(), 7_000);
    }

    #[test]
    fn one_percent_a_round_trip_whatever_the_window() {
        for window in [1_000, 6_900_000] {
            let mut flow = Flow::new("scalable").at(window);
            flow.round(Span::ms(100));
            assert_eq!(flow.cwnd(), window + window / 100);
        }
    }

    #[test]
    fn reno_below_a_hundred() {
        let mut flow = Flow::new("scalable").at(50);
        flow.round(Span::ms(100));
        assert_eq!(flow.cwnd(), 51);
    }
}
