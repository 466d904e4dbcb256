//! A flow that lives through a lot: queues that stay short or long for many round trips, losses, timeouts, marks,
//! reductions that turn out mistakes. Random, from a seed.

use wirespeed_congestion::{AckSample, CongestionControl, CongestionEvent, CongestionKind, Phase, Undo};
use wirespeed_units::{Packets, SimTime, Span};

const MSS: u64 = 1_448;
/// A window beyond this costs a loss, so that round trips stay short.
const LARGEST_WINDOW: u64 = 3_000;

/// One flow, shown to several controls at a time.
pub struct Flow {
    random: u64,
    base_us: u64,
    queue_us: u64,
    /// Round trips between changes of the queue, and between losses, on average.
    calm: u64,
    healthy: u64,
    now: SimTime,
    una: u64,
    nxt: u64,
    round_end: u64,
    phase: Phase,
    recover: u64,
}

impl Flow {
    pub fn new(seed: u64) -> Flow {
        let mut flow = Flow {
            random: seed | 1,
            base_us: 0,
            queue_us: 0,
            calm: 0,
            healthy: 0,
            now: SimTime::START,
            una: 0,
            nxt: 0,
            round_end: 0,
            phase: Phase::Open,
            recover: 0,
        };
        flow.base_us =
            [300, 5_000, 12_000, 26_000, 47_000, 210_000][flow.below(6) as usize] + flow.below(5_000);
        flow.calm = [2, 10, 60][flow.below(3) as usize];
        flow.healthy = [5, 25, 120][flow.below(3) as usize];
        flow
    }

    /// The delay of the path without queue.
    pub fn base(&self) -> Span {
        Span::us(self.base_us as i64)
    }

    fn below(&mut self, limit: u64) -> u64 {
        // Knuth's multiplier (TAOCP 2, 3.3.4); the upper bits are the good ones.
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit.max(1)
    }

    /// The next acknowledgement and what comes with it, for each control.
    pub fn step(&mut self, controls: &mut [Box<dyn CongestionControl>]) {
        let cwnd = (controls[0].control().cwnd.get() / MSS).max(1);
        let stride = (1 + self.below(3)).min(cwnd);
        self.una += stride * MSS;
        self.nxt = self.nxt.max(self.una + cwnd * MSS);
        let new_round = self.una > self.round_end;
        if new_round {
            self.round_end = self.nxt;
            if self.below(self.calm) == 0 {
                let base = self.base_us;
                let levels = [0, 0, base / 150, base / 9, base / 3, 2 * base, 18_000, 7_000];
                self.queue_us = levels[self.below(8) as usize];
            }
        }
        let rtt_us = self.base_us + self.queue_us + self.below(self.queue_us / 4 + 2);
        self.now = self.now + Span::us((rtt_us * stride / cwnd).max(1) as i64);
        if self.phase != Phase::Open && self.una > self.recover {
            self.phase = Phase::Open;
        }
        let rtt = (self.below(20) > 0).then_some(Span::us(rtt_us as i64));
        let ack = AckSample {
            now: self.now,
            phase: self.phase,
            newly_acked: Packets::new(stride),
            newly_delivered: Packets::new(stride),
            may_grow: true,
            cwnd_limited: self.below(50) > 0,
            snd_una: self.una,
            snd_nxt: self.nxt,
            rtt,
            srtt: Some(Span::us(rtt_us as i64)),
            ..AckSample::default()
        };
        controls.iter_mut().for_each(|control| control.on_ack(&ack));
        let loses = new_round && (cwnd > LARGEST_WINDOW || self.below(self.healthy) == 0);
        if loses && self.phase == Phase::Open {
            self.lose(cwnd, controls);
        }
    }

    fn lose(&mut self, cwnd: u64, controls: &mut [Box<dyn CongestionControl>]) {
        let (kind, phase) = match self.below(8) {
            0 => (CongestionKind::Timeout, Phase::Loss),
            1 => (CongestionKind::EcnEcho, Phase::Cwr),
            _ => (CongestionKind::FastRetransmit, Phase::Recovery),
        };
        let event = CongestionEvent {
            now: self.now,
            kind,
            in_flight: Packets::new(cwnd / 3),
            newly_delivered: Packets::new(0),
            snd_una: self.una,
            snd_nxt: self.nxt,
        };
        controls.iter_mut().for_each(|control| control.on_congestion(&event));
        self.phase = phase;
        self.recover = self.nxt;
        if self.below(4) == 0 {
            let undo = Undo { now: self.now, snd_nxt: self.nxt };
            controls.iter_mut().for_each(|control| control.on_undo(&undo));
        }
    }
}
