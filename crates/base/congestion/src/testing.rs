//! A flow for tests: an ACK clock without network around one algorithm of the registry.

pub mod path;

use crate::control::{CongestionControl, Control, Observer};
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase, RateSample, Sent, Undo};
use crate::registry::{Setup, build};
use std::collections::BTreeMap;
use wirespeed_units::{Bytes, Packets, SimTime, Span};

pub const MSS: u64 = 1_448;

/// One algorithm, the time and the counters a socket would keep.
#[derive(Debug)]
pub struct Flow {
    pub control: Box<dyn CongestionControl>,
    name: &'static str,
    parameters: BTreeMap<String, i64>,
    setup: Setup,
    pub now: SimTime,
    pub una: u64,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost: u64,
    pub phase: Phase,
    pub app_limited: bool,
    /// Packets that one ACK covers.
    pub stretch: u64,
}

impl Flow {
    pub fn new(name: &'static str) -> Self {
        Self::with(name, &[])
    }

    pub fn with(name: &'static str, parameters: &[(&str, i64)]) -> Self {
        let parameters = parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let setup = Setup::new(Bytes::new(MSS), 10);
        Flow {
            control: build(name, &setup, &parameters).unwrap(),
            name,
            parameters,
            setup,
            now: SimTime::START,
            una: 0,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            phase: Phase::Open,
            app_limited: false,
            stretch: 1,
        }
    }

    /// In congestion avoidance with this window.
    pub fn at(self, cwnd: u64) -> Self {
        let setup = Setup { initial_window: cwnd, ssthresh: Some(cwnd), ..self.setup };
        self.rebuilt(setup)
    }

    /// With this round-trip time of the handshake.
    pub fn after_handshake(self, rtt: Span) -> Self {
        let setup = Setup { handshake_rtt: Some(rtt), ..self.setup };
        self.rebuilt(setup)
    }

    fn rebuilt(self, setup: Setup) -> Self {
        // Large windows are acknowledged as GRO would have it, or tests would take seconds.
        let stretch = if setup.initial_window > 100_000 { 1_000 } else { 1 };
        Flow { control: build(self.name, &setup, &self.parameters).unwrap(), setup, stretch, ..self }
    }

    /// Each ACK covers this many packets.
    pub fn stretched(self, packets: u64) -> Self {
        Flow { stretch: packets, ..self }
    }

    pub fn output(&self) -> Control {
        self.control.control()
    }

    pub fn cwnd(&self) -> u64 {
        self.output().cwnd.get() / MSS
    }

    pub fn ssthresh(&self) -> Option<u64> {
        self.output().ssthresh.map(|s| s.get() / MSS)
    }

    pub fn nxt(&self) -> u64 {
        self.una + self.cwnd() * MSS
    }

    /// The sample of an ACK for `packets`, sent when a full window was out, now.
    pub fn sample(&self, packets: u64, rtt: Span) -> AckSample {
        let cwnd = self.cwnd();
        let in_flight = cwnd.saturating_sub(packets);
        AckSample {
            now: self.now,
            phase: self.phase,
            newly_acked: Packets::new(packets),
            newly_delivered: Packets::new(packets),
            may_grow: !self.phase.is_reducing(),
            cwnd_limited: !self.app_limited,
            cwnd: Packets::new(cwnd),
            snd_una: self.una + packets * MSS,
            snd_nxt: self.una + (cwnd + packets) * MSS,
            rtt: Some(rtt),
            srtt: Some(rtt),
            prior_in_flight: Packets::new(cwnd),
            in_flight: Packets::new(in_flight),
            delivered: Packets::new(self.delivered + packets),
            delivered_ce: Packets::new(self.delivered_ce),
            lost: Packets::new(self.lost),
            rate: Some(RateSample {
                delivered: Packets::new(cwnd),
                interval: rtt,
                prior_delivered: Packets::new((self.delivered + packets).saturating_sub(cwnd)),
                in_flight_at_send: Packets::new(cwnd),
                lost: Packets::new(0),
                app_limited: self.app_limited,
            }),
            earliest_departure: self.now,
            ..AckSample::default()
        }
    }

    /// Hands a sample to the algorithm and keeps the counters.
    pub fn give(&mut self, ack: AckSample) {
        self.una = self.una.max(ack.snd_una);
        self.delivered = ack.delivered.get();
        self.control.on_ack(&ack);
    }

    /// One ACK for `packets`.
    pub fn ack(&mut self, packets: u64, rtt: Span) {
        self.give(self.sample(packets, rtt));
    }

    pub fn wait(&mut self, span: Span) {
        self.now = self.now + span;
    }

    /// A window's worth of ACKs, evenly over one round trip.
    pub fn round(&mut self, rtt: Span) {
        let (cwnd, start) = (self.cwnd(), self.now);
        let mut acked = 0;
        while acked < cwnd {
            let packets = self.stretch.min(cwnd - acked);
            acked += packets;
            self.now = start
                + Span::ps((i128::from(rtt.picoseconds()) * i128::from(acked) / i128::from(cwnd)) as i64);
            self.ack(packets, rtt);
        }
    }

    pub fn event(&self, kind: CongestionKind) -> CongestionEvent {
        CongestionEvent {
            now: self.now,
            kind,
            in_flight: Packets::new(0),
            newly_delivered: Packets::new(0),
            snd_una: self.una,
            snd_nxt: self.nxt(),
        }
    }

    /// A congestion event, and the phase that follows.
    pub fn congest(&mut self, kind: CongestionKind) {
        let event = self.event(kind);
        self.control.on_congestion(&event);
        self.phase = match kind {
            CongestionKind::FastRetransmit => Phase::Recovery,
            CongestionKind::Timeout => Phase::Loss,
            _ => Phase::Cwr,
        };
    }

    /// Everything out is acknowledged and the phase is Open again; the ACK does not make the window grow.
    pub fn recover(&mut self) {
        self.phase = Phase::Open;
        let nxt = self.nxt().max(self.una + MSS);
        let sample = AckSample { may_grow: false, rtt: None, rate: None, ..self.sample(1, Span::ms(1)) };
        self.give(AckSample { snd_una: nxt, snd_nxt: nxt + self.cwnd() * MSS, ..sample });
    }

    /// A loss found by duplicate ACKs, and recovery to its end.
    pub fn lose(&mut self) {
        let nxt = self.nxt();
        self.lost += 1;
        self.congest(CongestionKind::FastRetransmit);
        self.una = nxt;
        self.recover();
    }

    pub fn undo(&mut self) {
        let undo = Undo { now: self.now, snd_nxt: self.nxt() };
        self.control.on_undo(&undo);
    }

    /// The first packets after a pause with nothing in flight.
    pub fn start_sending(&mut self, since_last: Span) {
        let sent = Sent {
            now: self.now,
            packets: Packets::new(1),
            in_flight_before: Packets::new(0),
            since_last,
            app_limited: true,
            snd_nxt: self.nxt(),
        };
        self.control.on_sent(&sent);
    }

    /// A value the algorithm reports.
    pub fn see(&self, name: &str) -> f64 {
        struct Find<'a>(&'a str, Option<f64>);
        impl Observer for Find<'_> {
            fn value(&mut self, name: &'static str, value: f64) {
                if name == self.0 {
                    self.1 = Some(value);
                }
            }
        }
        let mut find = Find(name, None);
        self.control.observe(&mut find);
        find.1.unwrap_or_else(|| panic!("{} does not report {name}", self.name))
    }
}
