//! DCTCP (RFC 8257) in Linux' form: alpha is the moving average of the share of packets marked in a round trip, in
//! 1/1024; a mark costs alpha/2 of the window, a loss half.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::Parameter;
use crate::registry::{Algorithm, EcnUse};
use crate::slow_start::Standard;
use crate::window::{MINIMUM_SSTHRESH, Window};

/// One, in the scale of alpha.
const ONE: u64 = 1024;

pub(super) const ROW: Algorithm = Algorithm {
    name: "dctcp",
    about: "Decrease in proportion to the share of ECN marks",
    reference: "RFC 8257",
    linux: Some("dctcp"),
    parameters: &[
        Parameter::new("dctcp_shift_g", 4, 0, 10, "weight of the newest share of marks is 1/2^this"),
        Parameter::new(
            "dctcp_alpha_on_init",
            1024,
            0,
            1024,
            "share of marks assumed at the beginning, in 1/1024",
        ),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::ExactEcho,
    draws: false,
    build: |setup, values| {
        let rule = Dctcp {
            shift: values.count("dctcp_shift_g") as u32,
            alpha: values.count("dctcp_alpha_on_init"),
            end: 0,
            delivered: 0,
            delivered_ce: 0,
        };
        Ok(Box::new(LossBased::new(setup.window(), Standard, rule)))
    },
};

#[derive(Debug, Clone)]
struct Dctcp {
    shift: u32,
    alpha: u64,
    /// The round trip ends when this is acknowledged.
    end: u64,
    /// The connection's counts when the round trip began.
    delivered: u64,
    delivered_ce: u64,
}

impl WindowRule for Dctcp {
    fn measure(&mut self, ack: &AckSample, _before: Phase, _window: &mut Window) {
        if ack.snd_una < self.end {
            return;
        }
        let delivered = ack.delivered.get().saturating_sub(self.delivered);
        let marked = ack.delivered_ce.get().saturating_sub(self.delivered_ce);
        // alpha = (1 - g) alpha + g F (RFC 8257, section 3.3); what is below one part of g goes at once.
        let decay = self.alpha >> self.shift;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        self.alpha = (self.alpha + (marked << (10 - self.shift)) / delivered.max(1)).min(ONE);
        self.end = ack.snd_nxt;
        self.delivered = ack.delivered.get();
        self.delivered_ce = ack.delivered_ce.get();
    }

    fn ssthresh(&mut self, event: &CongestionEvent, window: &Window) -> u64 {
        match event.kind {
            CongestionKind::FastRetransmit | CongestionKind::Timeout => window.half(),
            _ => window.cwnd - window.cwnd * self.alpha / (2 * ONE),
        }
    }

    /// A loss during the reduction for a mark halves the rest of the window (`dctcp_state`, `dctcp_react_to_loss`).
    fn on_phase(&mut self, change: &PhaseChange, window: &mut Window) {
        if change.to == Phase::Recovery
            && let Some(cwnd) = change.cwnd
        {
            window.ssthresh = (cwnd / 2).max(MINIMUM_SSTHRESH);
            window.set(window.ssthresh);
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("alpha_ratio", self.alpha as f64 / ONE as f64);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{AckSample, CongestionKind, Phase};
    use crate::testing::Flow;
    use wirespeed_units::{Packets, Span};

    /// Round trips of a hundred packets of which `marked` carry a mark.
    fn rounds(flow: &mut Flow, marked: u64, rounds: usize) {
        flow.app_limited = true;
        for _ in 0..rounds {
            flow.delivered_ce += marked;
            flow.round(Span::ms(1));
        }
    }

    #[test]
    fn alpha_is_the_moving_average_of_the_share() {
        let mut flow = Flow::with("dctcp", &[("dctcp_alpha_on_init", 0)]).at(100);
        rounds(&mut flow, 0, 2);
        assert_eq!(flow.see("alpha_ratio"), 0.0);
        // g = 1/16, F = 1/2: 1/32, then 15/16 of that and 1/32 more.
        rounds(&mut flow, 50, 1);
        rounds(&mut flow, 0, 1);
        let first = flow.see("alpha_ratio");
        assert!((first - 0.03).abs() < 0.005, "{first}");
        rounds(&mut flow, 50, 150);
        assert!((flow.see("alpha_ratio") - 0.5).abs() < 0.02, "{}", flow.see("alpha_ratio"));
    }

    #[test]
    fn a_mark_costs_half_of_alpha() {
        let mut flow = Flow::with("dctcp", &[("dctcp_alpha_on_init", 512)]).at(1_000);
        flow.congest(CongestionKind::EcnEcho);
        assert_eq!(flow.cwnd(), 750);
    }

    #[test]
    fn a_loss_halves_whatever_alpha() {
        let mut flow = Flow::with("dctcp", &[("dctcp_alpha_on_init", 0)]).at(1_000);
        flow.lose();
        assert_eq!(flow.cwnd(), 500);
    }

    #[test]
    fn a_loss_behind_a_mark_halves_what_the_mark_has_left() {
        let mut flow = Flow::with("dctcp", &[("dctcp_alpha_on_init", 512)]).at(1_000);
        flow.congest(CongestionKind::EcnEcho);
        assert_eq!(flow.cwnd(), 750);
        // The socket lowers its window step by step, from 1000 to 750 packets.
        flow.control.on_ack(&AckSample {
            phase: Phase::Recovery,
            cwnd: Packets::new(900),
            ..AckSample::default()
        });
        assert_eq!(flow.cwnd(), 450);
        // The loss is answered once.
        flow.control.on_ack(&AckSample {
            phase: Phase::Recovery,
            cwnd: Packets::new(800),
            ..AckSample::default()
        });
        assert_eq!(flow.cwnd(), 450);
    }

    #[test]
    fn alpha_fades_to_nothing() {
        let mut flow = Flow::new("dctcp").at(100);
        rounds(&mut flow, 0, 100);
        assert_eq!(flow.see("alpha_ratio"), 0.0);
    }
}
