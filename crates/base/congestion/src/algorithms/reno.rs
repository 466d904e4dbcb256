//! Reno (RFC 5681, RFC 6582): the defaults of the engine.

use crate::loss_based::{LossBased, WindowRule};
use crate::parameter::{LARGEST, Parameter};
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::Limited;
use crate::window::Window;

/// Limited slow start, which Linux had as `tcp_max_ssthresh` until 3.9.
pub(super) const MAX_SSTHRESH: Parameter = Parameter::of_model(
    "max_ssthresh",
    0,
    0,
    LARGEST,
    "limited slow start (RFC 3742) above this window, packets; 0: standard slow start",
);

pub(super) const ROW: Algorithm = Algorithm {
    name: "reno",
    about: "Additive increase by one segment a round trip, halving on loss",
    reference: "RFC 5681, RFC 6582",
    linux: Some("reno"),
    parameters: &[MAX_SSTHRESH],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: false,
    build: |setup, values| {
        Ok(Box::new(LossBased::new(setup.window(), Limited::above(values.count("max_ssthresh")), Reno)))
    },
};

/// One packet a round trip more, half on loss.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reno;

impl WindowRule for Reno {
    fn only_counts(&self) -> bool {
        true
    }

    fn count_ahead(&mut self, acked: u64, most: u32, window: &mut Window) -> u32 {
        window.count_ahead(window.cwnd, acked, most)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Flow;
    use wirespeed_units::Span;

    #[test]
    fn one_packet_a_round_trip_and_half_on_loss() {
        let mut flow = Flow::new("reno").at(100);
        for _ in 0..10 {
            flow.round(Span::ms(10));
        }
        assert_eq!(flow.cwnd(), 110);
        flow.lose();
        assert_eq!((flow.cwnd(), flow.ssthresh()), (55, Some(55)));
    }

    #[test]
    fn slow_start_doubles_each_round_trip() {
        let mut flow = Flow::new("reno");
        for expected in [20, 40, 80] {
            flow.round(Span::ms(10));
            assert_eq!(flow.cwnd(), expected);
        }
    }

    #[test]
    fn limited_slow_start_grows_by_half_the_limit() {
        let mut flow = Flow::with("reno", &[("max_ssthresh", 100)]);
        for _ in 0..4 {
            flow.round(Span::ms(10));
        }
        // 10, 20, 40, 80, then 20 acks to 100 and 60 more at one for two (RFC 3742).
        assert_eq!(flow.cwnd(), 130);
    }
}
