//! BBR version 3 (draft-ietf-ccwg-bbr-02, draft-cardwell-iccrg-bbr-congestion-control-02): version 1's model with
//! bounds. A short-term bound follows each round trip with loss; a long-term bound of what is in flight is learnt while
//! probing, where more than 2 % of loss ends the probe.
//!
//! Rates are in packets per microsecond shifted by 24 bits, gains in hundredths.

mod cycle;
mod settings;
#[cfg(test)]
mod tests;

use crate::control::{CongestionControl, Control, Observer};
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase, Sent, Undo};
use crate::filter::WindowedMax;
use crate::random::Random;
use crate::registry::{Algorithm, EcnUse, Setup};
use crate::tick::{micros, micros_at, ticks};
use crate::window::Window;
use cycle::{AckPhase, Cycle};
use settings::{PARAMETERS, Settings};
use wirespeed_units::{Bytes, Rate};

const BANDWIDTH_SHIFT: u32 = 24;
const LEAST_WINDOW: u64 = 4;
const INITIAL_WINDOW: u64 = 10;
/// The pipe is full if the rate did not grow by a quarter in three round trips.
const FULL_PERCENT: u64 = 125;
const FULL_ROUNDS: u64 = 3;
/// Excess of ACKs counts for ten round trips.
const EXCESS_ROUNDS: u64 = 10;
/// A burst lasts a millisecond, between two packets and this many bytes.
const BURST_MOST: u64 = 65_536;

pub(super) const ROW: Algorithm = Algorithm {
    name: "bbr3",
    about: "BBR with bounds learnt from loss: probes seldom, leaves headroom, yields to 2 % of loss (version 3)",
    reference: "draft-ietf-ccwg-bbr-02, draft-cardwell-iccrg-bbr-congestion-control-02",
    linux: None,
    parameters: PARAMETERS,
    needs_pacing: true,
    reads_rates: true,
    ecn: EcnUse::IfNegotiated,
    draws: true,
    build: |setup, values| Ok(Box::new(Bbr3::new(setup, Settings::of(values)))),
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt { done: Option<u64>, round_done: bool },
}

impl Mode {
    fn probes_bandwidth(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// Loss is expected here and does not lower the short-term bounds.
    fn accelerates(self) -> bool {
        matches!(self, Mode::Startup | Mode::Refill | Mode::Up)
    }

    /// Gains of pacing and window.
    fn gains(self, set: &Settings) -> (u64, u64) {
        match self {
            Mode::Startup => (set.startup_gain, set.cwnd_gain),
            Mode::Drain => (set.drain_gain, set.cwnd_gain),
            Mode::Down => (set.down_gain, set.cwnd_gain),
            Mode::Cruise | Mode::Refill => (100, set.cwnd_gain),
            Mode::Up => (set.up_gain, set.up_cwnd_gain),
            Mode::ProbeRtt { .. } => (100, set.probe_rtt_cwnd_gain),
        }
    }
}

#[derive(Debug, Clone)]
struct Bbr3 {
    settings: Settings,
    window: Window,
    random: Random,
    mode: Mode,
    cycle: Cycle,
    /// Largest rate of this cycle and of the last.
    max_rates: [u64; 2],
    /// Rate of the newest sample.
    sample_rate: u64,
    /// Bounds: `u64::MAX` if there is none.
    short_term_rate: u64,
    short_term: u64,
    long_term: u64,
    /// Bounds before the last reduction, for an undo.
    before: Option<(u64, u64, u64)>,
    /// Round trips, and those by which loss is judged, in packets delivered.
    rounds: u64,
    round_end: u64,
    round_start: bool,
    loss_round_end: u64,
    loss_round_start: bool,
    losses_in_round: u64,
    latest_rate: u64,
    latest_delivered: u64,
    full_bandwidth: u64,
    full_rounds: u64,
    full_now: bool,
    full: bool,
    min_rtt: Option<u64>,
    min_rtt_tick: u64,
    /// Least round-trip time since the last probe of it.
    probed_rtt: Option<u64>,
    probed_tick: u64,
    excess: WindowedMax,
    excess_since_us: u64,
    excess_acked: u64,
    prior_cwnd: u64,
    phase: Phase,
    conserves: bool,
    idle_restart: bool,
    has_rtt: bool,
    /// Bytes a second.
    pacing_rate: u64,
    delivered: u64,
}

impl Bbr3 {
    fn new(setup: &Setup, settings: Settings) -> Self {
        let now = ticks(setup.now);
        let rtt = setup.handshake_rtt.map(micros);
        let mut bbr = Bbr3 {
            settings,
            window: Window { ssthresh: u64::MAX, ..setup.window() },
            random: Random::new(setup.seed),
            mode: Mode::Startup,
            cycle: Cycle::default(),
            max_rates: [0; 2],
            sample_rate: 0,
            short_term_rate: u64::MAX,
            short_term: u64::MAX,
            long_term: u64::MAX,
            before: None,
            rounds: 0,
            round_end: 0,
            round_start: false,
            loss_round_end: 0,
            loss_round_start: false,
            losses_in_round: 0,
            latest_rate: 0,
            latest_delivered: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            full_now: false,
            full: false,
            min_rtt: rtt,
            min_rtt_tick: now,
            probed_rtt: rtt,
            probed_tick: now,
            excess: WindowedMax::default(),
            excess_since_us: micros_at(setup.now),
            excess_acked: 0,
            prior_cwnd: 0,
            phase: Phase::Open,
            conserves: false,
            idle_restart: false,
            has_rtt: false,
            pacing_rate: 0,
            delivered: 0,
        };
        bbr.begin_pacing(rtt);
        bbr
    }

    fn begin_pacing(&mut self, rtt: Option<u64>) {
        self.has_rtt |= rtt.is_some();
        let rate = (self.window.cwnd << BANDWIDTH_SHIFT) / rtt.unwrap_or(1_000);
        self.pacing_rate = self.bytes_per_second(rate, self.settings.startup_gain);
    }

    fn bytes_per_second(&self, rate: u64, gain: u64) -> u64 {
        // A little below, so that queues drain on average.
        let per_second = u128::from(self.settings.paced_of_million);
        let scaled = u128::from(rate) * u128::from(self.window.mss()) * u128::from(gain) / 100 * per_second;
        u64::try_from(scaled >> BANDWIDTH_SHIFT).unwrap_or(u64::MAX)
    }

    fn max_bandwidth(&self) -> u64 {
        self.max_rates[0].max(self.max_rates[1])
    }

    fn bandwidth(&self) -> u64 {
        self.max_bandwidth().min(self.short_term_rate)
    }

    fn advance_max_filter(&mut self) {
        // A cycle without any sample does not push out the one before.
        if self.max_rates[1] > 0 {
            self.max_rates = [self.max_rates[1], 0];
        }
    }

    fn bdp(&self, rate: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_WINDOW };
        let scaled = u128::from(rate) * u128::from(min_rtt) * u128::from(gain) / 100;
        scaled.div_ceil(1 << BANDWIDTH_SHIFT) as u64
    }

    /// Packets of one burst.
    fn burst(&self) -> u64 {
        ((self.pacing_rate / 1_000).min(BURST_MOST) / self.window.mss()).max(2)
    }

    fn with_bursts(&self, packets: u64) -> u64 {
        let up = if self.mode == Mode::Up { 2 } else { 0 };
        packets.max(3 * self.burst()).max(LEAST_WINDOW) + up
    }

    fn target(&self, rate: u64, gain: u64) -> u64 {
        self.with_bursts(self.bdp(rate, gain))
    }

    fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

    fn reset_full(&mut self) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.full_now = false;
    }

    fn reset_congestion_signals(&mut self) {
        self.losses_in_round = 0;
        self.latest_rate = 0;
        self.latest_delivered = 0;
    }

    fn reset_short_term(&mut self) {
        self.short_term_rate = u64::MAX;
        self.short_term = u64::MAX;
    }

    /// Rate, rounds and loss of this ACK; false if it carries no rate.
    fn update_signals(&mut self, ack: &AckSample) {
        self.round_start = false;
        self.loss_round_start = false;
        let Some(sample) = ack.rate.filter(|rate| rate.interval.picoseconds() > 0) else { return };
        let scaled = u128::from(sample.delivered.get()) << BANDWIDTH_SHIFT;
        self.sample_rate = u64::try_from(scaled / u128::from(micros(sample.interval))).unwrap_or(u64::MAX);
        self.latest_rate = self.latest_rate.max(self.sample_rate);
        self.latest_delivered = self.latest_delivered.max(sample.delivered.get());
        if sample.prior_delivered.get() >= self.loss_round_end {
            self.loss_round_end = self.delivered;
            self.loss_round_start = true;
        }
        if sample.prior_delivered.get() >= self.round_end {
            self.start_round();
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        if !sample.app_limited || self.sample_rate >= self.max_bandwidth() {
            self.max_rates[1] = self.max_rates[1].max(self.sample_rate);
        }
        if ack.newly_lost.get() > 0 {
            self.losses_in_round += 1;
        }
    }

    /// At the end of a round trip with loss the short-term bounds fall, to no less than what was delivered in it.
    fn lower_bounds(&mut self) {
        if !self.loss_round_start {
            return;
        }
        if !self.mode.accelerates() && self.losses_in_round > 0 {
            let rate =
                if self.short_term_rate == u64::MAX { self.max_bandwidth() } else { self.short_term_rate };
            let packets = if self.short_term == u64::MAX { self.window.cwnd } else { self.short_term };
            let beta = self.settings.beta;
            self.short_term_rate = self.latest_rate.max((u128::from(rate) * u128::from(beta) / 100) as u64);
            self.short_term = self.latest_delivered.max(packets * beta / 100);
        }
    }

    fn update_excess(&mut self, ack: &AckSample) {
        let acked = ack.newly_delivered.get();
        if acked == 0 {
            return;
        }
        let now_us = micros_at(ack.now);
        let elapsed = now_us.saturating_sub(self.excess_since_us);
        let mut expected = ((u128::from(self.bandwidth()) * u128::from(elapsed)) >> BANDWIDTH_SHIFT) as u64;
        if self.excess_acked <= expected {
            self.excess_acked = 0;
            self.excess_since_us = now_us;
            expected = 0;
        }
        self.excess_acked += acked;
        let extra = (self.excess_acked - expected).min(self.window.cwnd);
        self.excess.update(if self.full { EXCESS_ROUNDS } else { 1 }, self.rounds, extra);
    }

    fn check_full(&mut self, ack: &AckSample) {
        if self.full_now || !self.round_start || ack.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        if u128::from(self.sample_rate) * 100 >= u128::from(self.full_bandwidth) * u128::from(FULL_PERCENT) {
            self.reset_full();
            self.full_bandwidth = self.sample_rate;
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.full |= self.full_now;
    }

    fn check_startup(&mut self, ack: &AckSample) {
        if self.mode == Mode::Startup
            && !self.full
            && self.loss_round_start
            && self.losses_in_round >= self.settings.startup_losses
            && ack.phase == Phase::Recovery
            && self.lost_too_much(ack)
        {
            self.full = true;
            self.long_term = self.bdp(self.max_bandwidth(), 100).max(self.latest_delivered);
        }
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.in_flight.get() <= self.target(self.max_bandwidth(), 100) {
            self.start_down(ticks(ack.now));
        }
    }

    fn update_min_rtt(&mut self, ack: &AckSample) {
        let now = ticks(ack.now);
        let probe_due = now > self.probed_tick + self.settings.probe_rtt_interval;
        if let Some(rtt) = ack.rtt.map(micros)
            && (self.probed_rtt.is_none_or(|least| rtt < least) || probe_due)
        {
            self.probed_rtt = Some(rtt);
            self.probed_tick = now;
        }
        let expired = now > self.min_rtt_tick + self.settings.min_rtt_ticks;
        if let Some(probed) = self.probed_rtt
            && (self.min_rtt.is_none_or(|least| probed < least) || expired)
        {
            self.min_rtt = Some(probed);
            self.min_rtt_tick = self.probed_tick;
        }
        if probe_due && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt { done: None, round_done: false };
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if let Mode::ProbeRtt { done, round_done } = self.mode {
            if done.is_none() {
                if ack.in_flight.get() <= self.probe_rtt_cwnd() {
                    let done = Some(now + self.settings.probe_rtt_ticks);
                    self.mode = Mode::ProbeRtt { done, round_done: false };
                    self.start_round();
                }
            } else {
                let round_done = round_done || self.round_start;
                self.mode = Mode::ProbeRtt { done, round_done };
                if round_done {
                    self.end_probe_rtt(now);
                }
            }
        }
        if ack.rate.is_some_and(|rate| rate.delivered.get() > 0) {
            self.idle_restart = false;
        }
    }

    fn end_probe_rtt(&mut self, now: u64) {
        let Mode::ProbeRtt { done: Some(done), .. } = self.mode else { return };
        if now <= done {
            return;
        }
        self.probed_tick = now;
        self.window.set(self.window.cwnd.max(self.prior_cwnd));
        self.reset_short_term();
        if self.full {
            self.start_down(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.bandwidth(), self.settings.probe_rtt_cwnd_gain).max(LEAST_WINDOW)
    }

    fn save_cwnd(&mut self) {
        let good = self.phase < Phase::Recovery && !matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if good { self.window.cwnd } else { self.prior_cwnd.max(self.window.cwnd) };
    }

    fn set_pacing(&mut self, gain: u64, srtt: Option<u64>) {
        let rate = self.bytes_per_second(self.bandwidth(), gain);
        if !self.has_rtt && srtt.is_some() {
            self.begin_pacing(srtt);
        }
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, ack: &AckSample) {
        let acked = ack.newly_delivered.get();
        if acked > 0 {
            let mut cwnd = self.window.cwnd.saturating_sub(ack.newly_lost.get()).max(1);
            if self.phase >= Phase::Recovery && ack.phase < Phase::Recovery {
                cwnd = cwnd.max(self.prior_cwnd);
                self.conserves = false;
            }
            self.phase = ack.phase;
            if self.conserves {
                cwnd = cwnd.max(ack.in_flight.get() + acked);
            } else {
                let (_, gain) = self.mode.gains(&self.settings);
                let most = self.with_bursts(self.bdp(self.bandwidth(), gain) + self.excess.get());
                if self.full {
                    cwnd = (cwnd + acked).min(most);
                } else if cwnd < most || self.delivered < INITIAL_WINDOW {
                    cwnd += acked;
                }
                cwnd = cwnd.max(LEAST_WINDOW);
            }
            self.window.set(cwnd);
        }
        self.bound_cwnd();
    }

    fn bound_cwnd(&mut self) {
        let long_term = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.long_term,
            Mode::Cruise | Mode::ProbeRtt { .. } => self.with_headroom(),
            Mode::Startup | Mode::Drain => u64::MAX,
        };
        let mut most = long_term.min(self.short_term).max(LEAST_WINDOW);
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            most = most.min(self.probe_rtt_cwnd());
        }
        self.window.set(self.window.cwnd.min(most));
    }
}

impl CongestionControl for Bbr3 {
    fn on_sent(&mut self, sent: &Sent) {
        if sent.in_flight_before.get() > 0 || !sent.app_limited {
            return;
        }
        self.idle_restart = true;
        self.excess_since_us = micros_at(sent.now);
        self.excess_acked = 0;
        match self.mode {
            Mode::ProbeRtt { .. } => self.end_probe_rtt(ticks(sent.now)),
            mode if mode.probes_bandwidth() => self.set_pacing(100, None),
            _ => {}
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.delivered = self.delivered.max(ack.delivered.get());
        self.update_signals(ack);
        self.lower_bounds();
        self.update_excess(ack);
        self.check_full(ack);
        self.check_startup(ack);
        self.update_cycle(ack);
        self.update_min_rtt(ack);
        if self.loss_round_start {
            self.losses_in_round = 0;
            self.latest_rate = self.sample_rate;
            self.latest_delivered = ack.rate.map_or(0, |rate| rate.delivered.get());
        }
        let (gain, _) = self.mode.gains(&self.settings);
        self.set_pacing(gain, ack.srtt.map(micros));
        self.set_cwnd(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.save_cwnd();
        self.before = Some((self.short_term_rate, self.short_term, self.long_term));
        match event.kind {
            CongestionKind::Timeout => {
                self.window.set(event.in_flight.get() + 1);
                self.phase = Phase::Loss;
                self.conserves = false;
            }
            CongestionKind::FastRetransmit => {
                let delivered = event.newly_delivered.get();
                if delivered > 0 && self.phase != Phase::Recovery {
                    self.phase = Phase::Recovery;
                    self.conserves = true;
                    self.start_round();
                    self.window.set(event.in_flight.get() + delivered);
                }
            }
            _ => {}
        }
    }

    fn on_undo(&mut self, _undo: &Undo) {
        self.losses_in_round = 0;
        self.reset_full();
        if let Some((rate, packets, long_term)) = self.before.take() {
            self.short_term_rate = self.short_term_rate.max(rate);
            self.short_term = self.short_term.max(packets);
            self.long_term = self.long_term.max(long_term);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.window.set_mss(mss);
    }

    fn control(&self) -> Control {
        Control {
            pacing_rate: Some(Rate::bps(self.pacing_rate.saturating_mul(8))),
            send_quantum: Some(Bytes::new(self.burst() * self.window.mss())),
            mark_app_limited: matches!(self.mode, Mode::ProbeRtt { .. }),
            ..self.window.control()
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let (gain, cwnd_gain) = self.mode.gains(&self.settings);
        observer.value("cwnd_packets", self.window.cwnd as f64);
        // Without the pacing margin, as the kernel's `get_info` reports it.
        let bytes =
            (u128::from(self.bandwidth()) * u128::from(self.window.mss()) * 1_000_000) >> BANDWIDTH_SHIFT;
        observer.value("bandwidth_bps", bytes as f64 * 8.0);
        observer.value("pacing_gain_ratio", gain as f64 / 100.0);
        observer.value("cwnd_gain_ratio", cwnd_gain as f64 / 100.0);
        observer.value("full_bool", f64::from(u8::from(self.full)));
        if let Some(rtt) = self.min_rtt {
            observer.value("min_rtt_us", rtt as f64);
        }
        for (name, bound) in [("short_term_packets", self.short_term), ("long_term_packets", self.long_term)]
        {
            if bound < u64::MAX {
                observer.value(name, bound as f64);
            }
        }
    }
}
