//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control) in the form of L4STeam's module for Linux (tcp_prague.c, version
//! 0.7). A fractional window grows with unmarked packets, and shrinks by half of the average share of marks. Below a target the
//! round-trip time does not matter.

use crate::control::{CongestionControl, Control, Observer};
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase, Restart, RestartKind, Undo};
use crate::parameter::Parameter;
use crate::registry::{Algorithm, EcnUse, Setup};
use crate::window::{MINIMUM_SSTHRESH, Window};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// Least window in packets (`MIN_CWND_RTT`).
const MINIMUM_WINDOW: f64 = 2.0;
/// Weight of the newest share of marks in alpha (`PRAGUE_SHIFT_G`: 1/16).
const GAIN: f64 = 1.0 / 16.0;
/// Frames of this size, in bytes, are what the window grows by, whatever the MTU (`MTU_SYS`).
const MTU_OF_GROWTH: f64 = 1500.0;
/// IPv4 and TCP headers with timestamps, in bytes, which the pacing rate counts (`tcp_mss_to_mtu`).
const HEADERS: u64 = 52;
/// Beyond this round-trip time growth is not scaled (`MAX_SCALED_RTT`).
const LONGEST_SCALED: Span = Span::ms(100);
/// Least pacing rate, 100 kbit/s (`MINIMUM_RATE`).
const MINIMUM_RATE_BPS: f64 = 100_000.0;
/// Pacing rate without a measured round-trip time: as if it were 1 us, as in the module.
const UNKNOWN_RTT: Span = Span::us(1);

pub(super) const ROW: Algorithm = Algorithm {
    name: "prague",
    about: "L4S: decrease by half the share of marks, growth as with 25 ms of round-trip time, paced",
    reference: "draft-briscoe-iccrg-prague-congestion-control, L4STeam tcp_prague.c",
    linux: Some("prague"),
    parameters: &[
        Parameter::new("prague_rtt_target", 25_000, 0, 1_000_000, "round-trip time of growth, us"),
        Parameter::new(
            "prague_rtt_transition",
            4,
            0,
            1_000_000,
            "round trips after slow start before growth follows that time",
        ),
        Parameter::new(
            "prague_alpha_mode",
            0,
            0,
            1,
            "0: the first mark halves the window; 1: the share of marks is 1 at first",
        ),
        Parameter::new("prague_burst_shift", 12, 0, 31, "a burst lasts 1/2^this s at most"),
    ],
    needs_pacing: true,
    reads_rates: true,
    ecn: EcnUse::Scalable,
    draws: false,
    build: |setup, values| {
        let alpha = if values.count("prague_alpha_mode") == 1 { 1.0 } else { 0.0 };
        Ok(Box::new(Prague::new(
            setup,
            Span::us(values.count("prague_rtt_target") as i64),
            values.count("prague_rtt_transition"),
            alpha,
            values.count("prague_burst_shift") as u32,
        )))
    },
};

#[derive(Debug, Clone)]
struct Prague {
    /// The window of the socket, which follows `fraction` by a packet with each ACK.
    window: Window,
    /// The window that the equations make, in packets (`frac_cwnd`).
    fraction: f64,
    /// Average share of marks.
    alpha: f64,
    /// The first mark halves the window, and alpha begins with 0.
    halves_at_first: bool,
    saw_mark: bool,
    /// Round trips since slow start ended.
    rounds: u64,
    /// The round trip ends when this is acknowledged; the connection's counts when it began.
    end: u64,
    delivered: u64,
    delivered_ce: u64,
    /// Marks of the ACKs so far.
    marks: u64,
    phase: Phase,
    /// The window was cut for a loss that is being repaired.
    in_loss: bool,
    /// Window, fraction and threshold before that.
    before_loss: Option<(u64, f64, u64)>,
    alpha_at: SimTime,
    cut_at: Option<SimTime>,
    srtt: Option<Span>,
    in_flight: u64,
    target: Span,
    transition: u64,
    burst_shift: u32,
}

impl Prague {
    fn new(setup: &Setup, target: Span, transition: u64, alpha: f64, burst_shift: u32) -> Prague {
        let window = setup.window();
        Prague {
            fraction: window.cwnd as f64,
            window,
            alpha,
            halves_at_first: alpha == 0.0,
            saw_mark: false,
            rounds: 0,
            end: 0,
            delivered: 0,
            delivered_ce: 0,
            marks: 0,
            phase: Phase::Open,
            in_loss: false,
            before_loss: None,
            alpha_at: setup.now,
            cut_at: None,
            srtt: setup.handshake_rtt,
            in_flight: 0,
            target,
            transition,
            burst_shift,
        }
    }

    /// Rates of flows with other round-trip times are evened out (`prague_is_rtt_indep`).
    fn is_rtt_independent(&self) -> bool {
        !self.window.in_slow_start() && self.rounds >= self.transition
    }

    /// Packets by which the window grows in a round trip without marks (`prague_ai_ack_increase`). Below the target the rate
    /// grows as it would there: by (RTT / target)^2 a round trip.
    fn growth(&self) -> f64 {
        let of_frame = MTU_OF_GROWTH / (self.window.mss() + HEADERS) as f64;
        match self.srtt {
            Some(rtt) if self.is_rtt_independent() && rtt <= LONGEST_SCALED && rtt < self.target => {
                let share = rtt.picoseconds() as f64 / self.target.picoseconds() as f64;
                share * share * of_frame
            }
            _ => of_frame,
        }
    }

    /// `prague_update_cwnd`.
    fn update_window(&mut self, ack: &AckSample) {
        let marked = ack.delivered_ce.get().saturating_sub(self.marks);
        self.marks = ack.delivered_ce.get();
        if marked > 0 {
            if !self.saw_mark && self.halves_at_first {
                self.fraction /= 2.0;
            }
            self.saw_mark = true;
        }
        let mut acked = ack.newly_delivered.get().saturating_sub(marked);
        if acked > 0 && !self.in_loss && ack.cwnd_limited {
            if self.window.in_slow_start() {
                acked = self.window.slow_start(acked);
                self.fraction = self.window.cwnd as f64;
            }
            if acked > 0 {
                self.fraction += acked as f64 * self.growth() / self.fraction.max(1.0);
            }
        }
        let wanted = self.fraction.max(MINIMUM_WINDOW).ceil() as u64;
        if self.window.cwnd > wanted {
            self.window.set(self.window.cwnd - 1);
            self.window.ssthresh = self.window.cwnd.max(MINIMUM_SSTHRESH);
        } else if self.window.cwnd < wanted {
            self.window.set(self.window.cwnd + 1);
        }
    }

    /// A round trip has passed; where rates are evened out, the target's time as well (`prague_should_update_ewma`).
    fn is_round_over(&self, ack: &AckSample) -> bool {
        ack.snd_una >= self.end && (!self.is_rtt_independent() || ack.now - self.alpha_at >= self.target)
    }

    /// `prague_update_alpha`, `prague_new_round`.
    fn end_round(&mut self, ack: &AckSample) {
        if self.saw_mark {
            let delivered = ack.delivered.get().saturating_sub(self.delivered);
            let marked = ack.delivered_ce.get().saturating_sub(self.delivered_ce);
            let share = (marked as f64 / delivered.max(1) as f64).min(1.0);
            self.alpha += GAIN * (share - self.alpha);
            self.alpha_at = ack.now;
        }
        self.end = ack.snd_nxt;
        self.delivered = ack.delivered.get();
        self.delivered_ce = ack.delivered_ce.get();
        if !self.window.in_slow_start() {
            self.rounds += 1;
        }
    }

    /// `prague_enter_cwr`: at most once a round trip, and once in the target's time where rates are evened out.
    fn cut_for_marks(&mut self, now: SimTime) {
        if self.is_rtt_independent() && self.cut_at.is_some_and(|at| now - at < self.target) {
            return;
        }
        self.cut_at = Some(now);
        self.fraction *= 1.0 - self.alpha / 2.0;
    }

    /// `prague_enter_loss`. Half is the answer of Reno (RFC 5681).
    fn cut_for_loss(&mut self) {
        if self.in_loss {
            return;
        }
        self.before_loss = Some((self.window.cwnd, self.fraction, self.window.ssthresh));
        self.fraction = (self.fraction / 2.0).max(MINIMUM_WINDOW);
        self.in_loss = true;
        let window = self.fraction.ceil() as u64;
        self.window.ssthresh = window;
        self.window.set(window.min(self.window.cwnd));
    }

    /// `prague_update_pacing_rate`, in bits per second.
    fn pacing_bps(&self) -> f64 {
        let packets = self.fraction.floor().max(self.in_flight as f64).max(1.0);
        let rtt = self.srtt.filter(|rtt| *rtt > Span::ZERO).unwrap_or(UNKNOWN_RTT);
        let bits = packets * (self.window.mss() + HEADERS) as f64 * 8.0;
        let rate = (bits * 1e12 / rtt.picoseconds() as f64).max(MINIMUM_RATE_BPS);
        if self.window.cwnd < self.window.ssthresh / 2 { rate * 2.0 } else { rate }
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &AckSample) {
        // A reduction for marks that a loss follows is not announced again.
        if ack.phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.cut_for_loss();
        }
        self.phase = ack.phase;
        if ack.phase == Phase::Open {
            self.in_loss = false;
        }
        if ack.newly_delivered.get() == 0 && ack.delivered_ce.get() == self.marks {
            return;
        }
        self.srtt = ack.srtt.or(self.srtt);
        self.in_flight = ack.in_flight.get();
        self.update_window(ack);
        if self.is_round_over(ack) {
            self.end_round(ack);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            CongestionKind::EcnEcho | CongestionKind::LocalDrop | CongestionKind::Requested => {
                self.phase = Phase::Cwr;
                self.cut_for_marks(event.now);
            }
            CongestionKind::FastRetransmit => {
                self.phase = Phase::Recovery;
                self.cut_for_loss();
            }
            CongestionKind::Timeout => {
                self.phase = Phase::Loss;
                self.cut_for_loss();
                self.window.set(1);
            }
            CongestionKind::TailLoss => {
                // The socket goes through a reduction that is over at once.
                self.cut_for_loss();
                self.in_loss = false;
            }
        }
    }

    fn on_undo(&mut self, _undo: &Undo) {
        self.in_loss = false;
        if let Some((cwnd, fraction, ssthresh)) = self.before_loss.take() {
            self.fraction = self.fraction.max(fraction);
            self.window.set(self.window.cwnd.max(cwnd));
            self.window.ssthresh = self.window.ssthresh.max(ssthresh);
        }
    }

    fn on_restart(&mut self, restart: &Restart) {
        match restart.kind {
            RestartKind::Idle { idle, rto } => self.window.after_idle(idle, rto),
            RestartKind::Underused { used } if self.phase == Phase::Open => {
                self.window.after_underuse(used.get());
            }
            RestartKind::Underused { .. } => {}
            RestartKind::Moderated { cwnd } => self.window.set(self.window.cwnd.min(cwnd.get())),
        }
        self.fraction = self.window.cwnd as f64;
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.window.set_mss(mss);
    }

    fn control(&self) -> Control {
        let bps = self.pacing_bps();
        let frame_bits = ((self.window.mss() + HEADERS) * 8) as f64;
        let burst = (bps / frame_bits / f64::from(1_u32 << self.burst_shift)).max(1.0) as u64;
        Control {
            pacing_rate: Some(Rate::bps(bps as u64)),
            send_quantum: Some(Bytes::new(burst.saturating_mul(self.window.mss()))),
            ..self.window.control()
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.window.observe(observer);
        self.observe_inside(observer);
    }

    fn observe_inside(&self, observer: &mut dyn Observer) {
        observer.value("alpha_ratio", self.alpha);
        observer.value("fraction_packets", self.fraction);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{CongestionKind, Phase};
    use crate::testing::Flow;
    use wirespeed_units::Span;

    /// Round trips in which every `each`-th packet carries a mark; 0: none does.
    fn rounds(flow: &mut Flow, each: u64, rtt: Span, rounds: usize) {
        for _ in 0..rounds {
            for packet in 0..flow.cwnd() {
                flow.delivered_ce += u64::from(each > 0 && packet % each == 0);
                flow.ack(1, rtt);
            }
            flow.wait(rtt);
        }
    }

    #[test]
    fn the_first_mark_halves_the_window_a_packet_with_each_ack() {
        let mut flow = Flow::new("prague").after_handshake(Span::ms(30));
        for _ in 0..4 {
            flow.round(Span::ms(30));
        }
        let before = flow.cwnd();
        assert_eq!((before, flow.ssthresh()), (160, None), "slow start doubles");
        flow.delivered_ce += 1;
        flow.ack(1, Span::ms(30));
        flow.congest(CongestionKind::EcnEcho);
        // Alpha is a sixteenth of the share of this one mark.
        assert!((flow.see("fraction_packets") - 80.0).abs() < 0.1, "{}", flow.see("fraction_packets"));
        assert_eq!(flow.cwnd(), before - 1);
        for _ in 0..100 {
            flow.ack(1, Span::ms(30));
        }
        assert!((80..=82).contains(&flow.cwnd()), "{}", flow.cwnd());
    }

    #[test]
    fn alpha_is_the_moving_average_of_the_share_with_gain_one_sixteenth() {
        let mut flow = Flow::new("prague").at(100);
        flow.app_limited = true;
        // 30 ms are longer than the target: each round trip counts.
        rounds(&mut flow, 4, Span::ms(30), 100);
        let share = flow.see("alpha_ratio");
        assert!((share - 0.25).abs() < 0.01, "{share}");
        rounds(&mut flow, 0, Span::ms(30), 16);
        let faded = flow.see("alpha_ratio") / share;
        // A round trip of the algorithm has a packet more than one of this test: 15 or 16 of them have passed.
        let after = |rounds: i32| (1.0 - 1.0 / 16.0_f64).powi(rounds);
        assert!(faded > after(17) && faded < after(14), "{faded}");
    }

    #[test]
    fn a_mark_costs_half_of_alpha() {
        let mut flow = Flow::with("prague", &[("prague_alpha_mode", 1)]).at(1_000);
        flow.congest(CongestionKind::EcnEcho);
        assert_eq!(flow.see("fraction_packets"), 500.0);
    }

    #[test]
    fn a_loss_halves_also_while_the_window_comes_down_for_marks() {
        let mut flow = Flow::new("prague").at(1_000);
        flow.congest(CongestionKind::EcnEcho);
        assert_eq!(flow.cwnd(), 1_000, "alpha is 0");
        flow.phase = Phase::Recovery;
        flow.ack(1, Span::ms(30));
        assert_eq!(flow.cwnd(), 500);
        flow.ack(1, Span::ms(30));
        assert_eq!(flow.cwnd(), 500);
    }

    #[test]
    fn rates_of_short_round_trips_grow_as_those_of_25_ms() {
        // Packets a round trip, by round-trip time: (RTT / 25 ms)^2 below, one at and beyond the target.
        for (ms, expected) in [(5, 0.04), (10, 0.16), (25, 1.0), (50, 1.0), (200, 1.0)] {
            let mut flow = Flow::new("prague").at(100);
            for _ in 0..6 {
                flow.round(Span::ms(ms));
            }
            let before = flow.see("fraction_packets");
            for _ in 0..10 {
                flow.round(Span::ms(ms));
            }
            let grown = (flow.see("fraction_packets") - before) / 10.0;
            assert!((grown / expected - 1.0).abs() < 0.1, "{ms} ms: {grown}");
        }
    }

    #[test]
    fn marked_packets_make_nothing_grow() {
        // In steady state with share p a window grows by 1 - p a round trip and shrinks by p / 2 of itself: 2 (1 - p) / p.
        let mut flow = Flow::new("prague").at(100);
        let (share, rtt) = (0.1, Span::ms(30));
        let (mut sum, mut due) = (0.0, 0.0);
        for round in 0..2_000 {
            due += flow.cwnd() as f64 * share;
            let marked = due as u64;
            due -= marked as f64;
            for _ in 0..marked {
                flow.delivered_ce += 1;
                flow.ack(1, rtt);
            }
            flow.congest(CongestionKind::EcnEcho);
            for _ in 0..flow.cwnd().saturating_sub(marked) {
                flow.ack(1, rtt);
            }
            flow.wait(rtt);
            if round >= 1_000 {
                sum += flow.see("fraction_packets");
            }
        }
        let mean = sum / 1_000.0;
        assert!((mean / 18.0 - 1.0).abs() < 0.15, "{mean}");
    }
}
