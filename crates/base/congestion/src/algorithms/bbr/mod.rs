//! BBR version 1 (Cardwell et al., ACM Queue 14(5), 2016) in the form of Linux 6.12, and as it was in Linux 4.15.
//!
//! It paces at a gain times the largest delivery rate of ten round trips, and keeps a gain times that rate times the
//! least round-trip time of ten seconds in flight. Rates are in packets per microsecond, shifted by 24 bits; gains in
//! 1/256.

mod policer;
mod settings;
#[cfg(test)]
mod tests;

use crate::control::{CongestionControl, Control, Observer};
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase, Sent, Undo};
use crate::filter::WindowedMax;
use crate::parameter::{LARGEST, Parameter};
use crate::random::Random;
use crate::registry::{Algorithm, EcnUse, Setup};
use crate::tick::{micros, micros_at, ticks};
use crate::window::Window;
use policer::{Finding, Look, Policer};
use settings::{PARAMETERS, Settings};
use wirespeed_units::{Bytes, Rate, SimTime};

/// log2 of the scale of rates.
const BANDWIDTH_SHIFT: u32 = 24;
const BANDWIDTH_UNIT: u64 = 1 << BANDWIDTH_SHIFT;
/// One, in the scale of gains.
const UNIT: u64 = 256;
/// The cycle: probe, drain, cruise.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The cycle starts in one of so many phases, never in the draining one.
const CYCLE_STARTS: u64 = 7;
/// Excess of ACKs counts for five to ten round trips, and for at most 100 ms of data.
const EXCESS_ROUNDS: u64 = 5;
const EXCESS_MOST_US: u64 = 100_000;
const EXCESS_EPOCH_MOST: u64 = 1 << 20;
/// Window before any round-trip time is known, packets.
const INITIAL_WINDOW: u64 = 10;
/// The largest burst in bytes: GSO's size less room for headers.
const BURST_MOST: u64 = 65_536 - 1 - 320;
const BURST_MOST_PACKETS: u64 = 127;
/// Below this rate single packets are sent, bytes a second.
const SINGLE_BELOW: u64 = 1_200_000 / 8;
/// sk_pacing_rate had 32 bits until Linux 4.20, bytes a second.
const RATE_MOST_4_15: u64 = u32::MAX as u64;

pub(super) const ROW: Algorithm = Algorithm {
    name: "bbr",
    about: "Paces at the measured bandwidth, keeps twice the bandwidth-delay product in flight (version 1)",
    reference: "Cardwell et al., ACM Queue 2016; draft-cardwell-iccrg-bbr-congestion-control-00",
    linux: Some("bbr"),
    parameters: PARAMETERS,
    needs_pacing: true,
    reads_rates: true,
    ecn: EcnUse::IfNegotiated,
    draws: true,
    build: |setup, values| Ok(Box::new(Bbr::new(setup, Version::Linux6, Settings::of(values)))),
};

pub(super) const ROW_4_15: Algorithm = Algorithm {
    name: "bbr-4.15",
    about: "BBR as in Linux 4.15: no allowance for aggregated ACKs, and about 10 Gbit/s a flow at low round-trip times",
    reference: "Cardwell et al., ACM Queue 2016; observed by Hock et al., LCN 2019",
    linux: None,
    parameters: &[
        Parameter::of_model(
            "low_rtt_us",
            1000,
            0,
            LARGEST,
            "round-trip time below which the rate is limited, us; 0: never",
        ),
        Parameter::of_model("low_rtt_rate_mbit", 10_000, 1, LARGEST, "largest pacing rate there, Mbit/s"),
    ],
    needs_pacing: true,
    reads_rates: true,
    ecn: EcnUse::IfNegotiated,
    draws: true,
    build: |setup, values| {
        let version = Version::Linux4 {
            low_rtt_us: values.count("low_rtt_us"),
            most: values.count("low_rtt_rate_mbit") * 1_000_000 / 8,
        };
        Ok(Box::new(Bbr::new(setup, version, Settings::of_4_15())))
    },
};

/// Which kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// 6.12.
    Linux6,
    /// 4.15: before departure times (4.20), the pacing margin (4.20) and the allowance for aggregation (5.1).
    Linux4 {
        low_rtt_us: u64,
        /// Largest pacing rate below that round-trip time, bytes a second: observed, its cause is not modelled.
        most: u64,
    },
}

impl Version {
    fn is_6(self) -> bool {
        self == Version::Linux6
    }
}

/// BBR's mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    /// Probing for bandwidth, in this phase of the cycle.
    ProbeBandwidth(usize),
    /// Probing the round-trip time; it ends at this tick, once few packets are in flight, and after a round trip.
    ProbeRtt {
        done: Option<u64>,
        round_done: bool,
    },
}

/// Data acknowledged beyond what the rate explains.
#[derive(Debug, Clone, Default)]
struct Excess {
    most: [u64; 2],
    index: usize,
    rounds: u64,
    epoch_us: u64,
    epoch_acked: u64,
}

#[derive(Debug, Clone)]
struct Bbr {
    version: Version,
    settings: Settings,
    window: Window,
    random: Random,
    mode: Mode,
    bandwidth: WindowedMax,
    /// Round trips so far, and where the current one ends, in packets delivered.
    rounds: u64,
    round_end: u64,
    round_start: bool,
    /// Least round-trip time in microseconds, and when it was seen.
    min_rtt: Option<u64>,
    min_rtt_tick: u64,
    cycle_start_us: u64,
    /// The window to come back to.
    prior_cwnd: u64,
    /// Phase of the socket at the last ACK that delivered something.
    phase: Phase,
    conserves: bool,
    idle_restart: bool,
    has_rtt: bool,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Bytes a second.
    pacing_rate: u64,
    full_bandwidth: u64,
    full_rounds: u64,
    full: bool,
    excess: Excess,
    policer: Policer,
    delivered_at: SimTime,
    delivered: u64,
    lost: u64,
}

impl Bbr {
    fn new(setup: &Setup, version: Version, settings: Settings) -> Self {
        let window = Window { ssthresh: u64::MAX, ..setup.window() };
        let mut bbr = Bbr {
            version,
            settings,
            window,
            random: Random::new(setup.seed),
            mode: Mode::Startup,
            bandwidth: WindowedMax::default(),
            rounds: 0,
            round_end: 0,
            round_start: false,
            min_rtt: setup.handshake_rtt.map(micros),
            min_rtt_tick: ticks(setup.now),
            cycle_start_us: 0,
            prior_cwnd: 0,
            phase: Phase::Open,
            conserves: false,
            idle_restart: false,
            has_rtt: false,
            pacing_gain: settings.high_gain,
            cwnd_gain: settings.high_gain,
            pacing_rate: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            full: false,
            excess: Excess { epoch_us: micros_at(setup.now), ..Excess::default() },
            policer: Policer::default(),
            delivered_at: setup.now,
            delivered: 0,
            lost: 0,
        };
        bbr.begin_pacing(setup.handshake_rtt.map(micros));
        bbr
    }

    /// The rate in use, packets per microsecond shifted.
    fn rate(&self) -> u64 {
        self.policer.rate().unwrap_or_else(|| self.bandwidth.get())
    }

    fn bytes_per_second(&self, rate: u64, gain: u64) -> u64 {
        let scaled = u128::from(rate) * u128::from(self.window.mss()) * u128::from(gain) / u128::from(UNIT);
        // A little below, so that queues drain on average.
        let per_second = u128::from(self.settings.paced_of_million);
        u64::try_from((scaled * per_second) >> BANDWIDTH_SHIFT).unwrap_or(u64::MAX)
    }

    /// Paces the initial window over the round-trip time, a millisecond if it is not known, with the high gain.
    fn begin_pacing(&mut self, srtt: Option<u64>) {
        self.has_rtt |= srtt.is_some();
        let rate = (self.window.cwnd << BANDWIDTH_SHIFT) / srtt.unwrap_or(1_000);
        self.pacing_rate = self.bytes_per_second(rate, self.settings.high_gain);
    }

    fn set_pacing(&mut self, rate: u64, gain: u64, srtt: Option<u64>) {
        let pacing_rate = self.bytes_per_second(rate, gain);
        if !self.has_rtt && srtt.is_some() {
            self.begin_pacing(srtt);
        }
        if self.full || pacing_rate > self.pacing_rate {
            self.pacing_rate = pacing_rate;
        }
        if let Version::Linux4 { low_rtt_us, most } = self.version {
            let low = self.min_rtt.is_some_and(|rtt| rtt < low_rtt_us);
            self.pacing_rate = self.pacing_rate.min(if low { most } else { RATE_MOST_4_15 });
        }
    }

    /// Packets of one burst.
    fn burst(&self) -> u64 {
        let least = if self.pacing_rate < SINGLE_BELOW { 1 } else { 2 };
        let bytes = (self.pacing_rate >> 10).min(BURST_MOST);
        (bytes / self.window.mss()).max(least).min(BURST_MOST_PACKETS)
    }

    /// The bandwidth-delay product times a gain, packets, rounded up.
    fn bdp(&self, rate: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_WINDOW };
        let scaled = u128::from(rate) * u128::from(min_rtt) * u128::from(gain) / u128::from(UNIT);
        scaled.div_ceil(u128::from(BANDWIDTH_UNIT)) as u64
    }

    /// Room for bursts at both ends and delayed ACKs.
    fn with_bursts(&self, packets: u64) -> u64 {
        let even = (packets + 3 * self.burst()).next_multiple_of(2);
        let probes = self.version.is_6() && self.mode == Mode::ProbeBandwidth(0);
        even + if probes { 2 } else { 0 }
    }

    fn target(&self, rate: u64, gain: u64) -> u64 {
        self.with_bursts(self.bdp(rate, gain))
    }

    /// Packets in the network when the pacer lets the next one go; before Linux 4.20 those in flight now.
    fn in_network(&self, ack: &AckSample, in_flight: u64) -> u64 {
        if !self.version.is_6() {
            return in_flight;
        }
        let wait_us = (ack.earliest_departure - ack.now).picoseconds().max(0) as u64 / 1_000_000;
        let drained = ((u128::from(self.rate()) * u128::from(wait_us)) >> BANDWIDTH_SHIFT) as u64;
        let burst = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        (in_flight + burst).saturating_sub(drained)
    }

    fn save_cwnd(&mut self) {
        let good = self.phase < Phase::Recovery && !matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if good { self.window.cwnd } else { self.prior_cwnd.max(self.window.cwnd) };
    }

    fn look(&self, ack: &AckSample, losses: bool) -> Look {
        Look {
            now: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            losses,
            round_start: self.round_start,
            app_limited: ack.rate.is_some_and(|rate| rate.app_limited),
            probes_bandwidth: matches!(self.mode, Mode::ProbeBandwidth(_)),
            mss: self.window.mss(),
        }
    }

    fn police(&mut self, look: &Look) {
        match self.policer.look(look) {
            Finding::Nothing => {}
            Finding::Policed => self.pacing_gain = UNIT,
            Finding::Expired => self.enter_probe_bandwidth(),
        }
    }

    fn update_bandwidth(&mut self, ack: &AckSample) {
        self.round_start = false;
        let Some(sample) = ack.rate.filter(|rate| rate.interval.picoseconds() > 0) else { return };
        if sample.prior_delivered.get() >= self.round_end {
            self.round_end = self.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.police(&self.look(ack, ack.newly_lost.get() > 0));
        let scaled = u128::from(sample.delivered.get()) << BANDWIDTH_SHIFT;
        let rate = u64::try_from(scaled / u128::from(micros(sample.interval))).unwrap_or(u64::MAX);
        if !sample.app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(self.settings.bandwidth_rounds, self.rounds, rate);
        }
        if self.version.is_6() && ack.newly_delivered.get() > 0 {
            self.update_excess(ack.newly_delivered.get());
        }
    }

    fn update_excess(&mut self, acked: u64) {
        let now_us = micros_at(self.delivered_at);
        let expected =
            ((u128::from(self.rate()) * u128::from(now_us - self.excess.epoch_us)) >> BANDWIDTH_SHIFT) as u64;
        let excess = &mut self.excess;
        if self.round_start {
            excess.rounds += 1;
            if excess.rounds >= EXCESS_ROUNDS {
                excess.rounds = 0;
                excess.index = 1 - excess.index;
                excess.most[excess.index] = 0;
            }
        }
        let mut expected = expected;
        if excess.epoch_acked <= expected || excess.epoch_acked + acked >= EXCESS_EPOCH_MOST {
            excess.epoch_acked = 0;
            excess.epoch_us = now_us;
            expected = 0;
        }
        excess.epoch_acked = (excess.epoch_acked + acked).min(EXCESS_EPOCH_MOST - 1);
        let extra = (excess.epoch_acked - expected).min(self.window.cwnd);
        excess.most[excess.index] = excess.most[excess.index].max(extra);
    }

    /// Allowance for aggregated ACKs, packets.
    fn allowance(&self) -> u64 {
        if !self.version.is_6() || !self.full {
            return 0;
        }
        let most = ((u128::from(self.rate()) * u128::from(EXCESS_MOST_US)) >> BANDWIDTH_SHIFT) as u64;
        self.excess.most[0].max(self.excess.most[1]).min(most)
    }

    fn enter_probe_bandwidth(&mut self) {
        let before = CYCLE.len() - 1 - self.random.below(CYCLE_STARTS) as usize;
        self.advance_cycle(before);
    }

    fn advance_cycle(&mut self, index: usize) {
        self.mode = Mode::ProbeBandwidth((index + 1) % CYCLE.len());
        self.cycle_start_us = micros_at(self.delivered_at);
    }

    fn update_cycle(&mut self, ack: &AckSample) {
        let Mode::ProbeBandwidth(index) = self.mode else { return };
        let elapsed = micros_at(self.delivered_at) - self.cycle_start_us;
        let full_length = self.min_rtt.is_some_and(|rtt| elapsed > rtt);
        let in_network = self.in_network(ack, ack.prior_in_flight.get());
        let rate = self.bandwidth.get();
        let next = match self.pacing_gain {
            UNIT => full_length,
            // Probing ends when the pipe holds the gain's worth, or does not hold it.
            gain if gain > UNIT => {
                full_length && (ack.newly_lost.get() > 0 || in_network >= self.target(rate, gain))
            }
            _ => full_length || in_network <= self.target(rate, UNIT),
        };
        if next {
            self.advance_cycle(index);
        }
    }

    fn check_full(&mut self, ack: &AckSample) {
        if self.full || !self.round_start || ack.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        let rate = self.bandwidth.get();
        let grown =
            u128::from(self.full_bandwidth) * u128::from(self.settings.full_growth) / u128::from(UNIT);
        if u128::from(rate) >= grown {
            self.full_bandwidth = rate;
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
            self.full = self.full_rounds >= self.settings.full_rounds;
        }
    }

    fn check_drain(&mut self, ack: &AckSample) {
        let target = self.target(self.bandwidth.get(), UNIT);
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.window.ssthresh = target.max(2);
        }
        if self.mode == Mode::Drain && self.in_network(ack, ack.in_flight.get()) <= target {
            self.enter_probe_bandwidth();
        }
    }

    fn end_probe_rtt(&mut self, now: u64) {
        let Mode::ProbeRtt { done: Some(done), .. } = self.mode else { return };
        if now <= done {
            return;
        }
        self.min_rtt_tick = now;
        self.window.set(self.window.cwnd.max(self.prior_cwnd));
        if self.full {
            self.enter_probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_min_rtt(&mut self, ack: &AckSample) {
        let now = ticks(ack.now);
        let expired = now > self.min_rtt_tick + self.settings.min_rtt_ticks;
        if let Some(rtt) = ack.rtt.map(micros)
            && (self.min_rtt.is_none_or(|least| rtt < least) || (expired && !ack.maybe_delayed))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_tick = now;
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt { done: None, round_done: false };
        }
        if let Mode::ProbeRtt { done, round_done } = self.mode {
            if done.is_none() {
                if ack.in_flight.get() <= self.settings.least_window {
                    let done = Some(now + self.settings.probe_rtt_ticks);
                    self.mode = Mode::ProbeRtt { done, round_done: false };
                    self.round_end = self.delivered;
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

    fn update_gains(&mut self) {
        let Settings { high_gain, drain_gain, cwnd_gain, .. } = self.settings;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (high_gain, high_gain),
            Mode::Drain => (drain_gain, high_gain),
            Mode::ProbeBandwidth(index) => (if self.policer.in_use { UNIT } else { CYCLE[index] }, cwnd_gain),
            Mode::ProbeRtt { .. } => (UNIT, UNIT),
        };
    }

    /// The window during and after recovery; true if packets are conserved: one sent for each delivered.
    fn recover_or_restore(&mut self, ack: &AckSample, acked: u64) -> bool {
        let mut cwnd = self.window.cwnd.saturating_sub(ack.newly_lost.get()).max(1);
        if ack.phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.conserves = true;
            self.round_end = self.delivered;
            cwnd = ack.in_flight.get() + acked;
        } else if self.phase >= Phase::Recovery && ack.phase < Phase::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.phase = ack.phase;
        if self.conserves {
            cwnd = cwnd.max(ack.in_flight.get() + acked);
        }
        self.window.set(cwnd);
        self.conserves
    }

    fn set_cwnd(&mut self, ack: &AckSample) {
        let acked = ack.newly_delivered.get();
        if acked > 0 && !self.recover_or_restore(ack, acked) {
            let target = self.with_bursts(self.bdp(self.rate(), self.cwnd_gain) + self.allowance());
            let mut cwnd = self.window.cwnd;
            if self.full {
                cwnd = (cwnd + acked).min(target);
            } else if cwnd < target || self.delivered < INITIAL_WINDOW {
                cwnd += acked;
            }
            self.window.set(cwnd.max(self.settings.least_window));
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.window.set(self.window.cwnd.min(self.settings.least_window));
        }
    }
}

impl CongestionControl for Bbr {
    fn on_sent(&mut self, sent: &Sent) {
        if sent.in_flight_before.get() > 0 || !sent.app_limited {
            return;
        }
        self.idle_restart = true;
        self.excess.epoch_us = micros_at(sent.now);
        self.excess.epoch_acked = 0;
        match self.mode {
            Mode::ProbeBandwidth(_) => self.set_pacing(self.rate(), UNIT, None),
            Mode::ProbeRtt { .. } if self.version.is_6() => self.end_probe_rtt(ticks(sent.now)),
            _ => {}
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.delivered = self.delivered.max(ack.delivered.get());
        self.lost = self.lost.max(ack.lost.get());
        if ack.newly_delivered.get() > 0 {
            self.delivered_at = ack.now;
            // Idle time restarts the epoch at a packet's sending, which is later than the last delivery.
            self.excess.epoch_us = self.excess.epoch_us.min(micros_at(ack.now));
        }
        self.update_bandwidth(ack);
        self.update_cycle(ack);
        self.check_full(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.update_gains();
        self.set_pacing(self.rate(), self.pacing_gain, ack.srtt.map(micros));
        self.set_cwnd(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.save_cwnd();
        match event.kind {
            CongestionKind::Timeout => {
                self.window.set(event.in_flight.get() + 1);
                self.phase = Phase::Loss;
                self.full_bandwidth = 0;
                self.round_start = true;
                self.police(&self.look(&AckSample::default(), true));
            }
            CongestionKind::FastRetransmit => {
                // Linux does this with the ACK that begins recovery, whose `on_ack` came before.
                let delivered = event.newly_delivered.get();
                if delivered > 0 && self.phase != Phase::Recovery {
                    self.phase = Phase::Recovery;
                    self.conserves = true;
                    self.round_end = self.delivered;
                    self.window.set(event.in_flight.get() + delivered);
                }
            }
            _ => {}
        }
    }

    fn on_undo(&mut self, _undo: &Undo) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        let look = self.look(&AckSample::default(), false);
        self.policer.reset(&look);
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.window.set_mss(mss);
    }

    fn control(&self) -> Control {
        Control {
            pacing_rate: Some(Rate::bps(self.pacing_rate.saturating_mul(8))),
            mark_app_limited: matches!(self.mode, Mode::ProbeRtt { .. }),
            ..self.window.control()
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("cwnd_packets", self.window.cwnd as f64);
        // Without the pacing margin, as `bbr_get_info` reports it.
        let bytes = (u128::from(self.rate()) * u128::from(self.window.mss()) * 1_000_000) >> BANDWIDTH_SHIFT;
        observer.value("bandwidth_bps", bytes as f64 * 8.0);
        observer.value("pacing_gain_ratio", self.pacing_gain as f64 / UNIT as f64);
        observer.value("cwnd_gain_ratio", self.cwnd_gain as f64 / UNIT as f64);
        observer.value("full_bool", f64::from(u8::from(self.full)));
        if let Some(rtt) = self.min_rtt {
            observer.value("min_rtt_us", rtt as f64);
        }
        observer.value("excess_packets", self.excess.most[0].max(self.excess.most[1]) as f64);
    }
}
