//! What the socket and its congestion control tell each other (`tcp_cong_control`, `tcp_update_pacing_rate`).

use super::Sender;
use wirespeed_congestion::{
    AckSample, CongestionEvent, CongestionKind, EvenAcks, Phase, RateSample, Restart, Timestamps, Undo,
};
use wirespeed_units::{Packets, Rate, Span};

/// `net.ipv4.tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`, in percent.
const PACING_SLOW_START: u64 = 200;
const PACING_AVOIDANCE: u64 = 120;

/// What one acknowledgement amounted to.
#[derive(Debug)]
pub(super) struct Seen {
    pub phase: Phase,
    pub acked: u64,
    pub delivered: u64,
    pub lost: u64,
    pub may_grow: bool,
    pub rtt_us: Option<i64>,
    pub prior_in_flight: u64,
    pub rate: Option<RateSample>,
    pub maybe_delayed: bool,
    pub undone: bool,
    pub stamp: u32,
    pub advanced: bool,
    /// Something new was acknowledged, in whatever way (FLAG_ANY_PROGRESS, FLAG_DSACKING_ACK).
    pub progress: bool,
    /// It went through `tcp_fastretrans_alert`.
    pub dubious: bool,
    /// Header prediction took it, or the first of several.
    pub predicted: bool,
    /// A reduction was over with it.
    pub ended: bool,
    pub together: Together,
}

/// Several acknowledgements that the socket took as one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Together {
    pub count: u32,
    pub gap: Span,
    pub stride: u64,
}

impl Sender {
    /// Takes the window over from the algorithm.
    pub(super) fn adopt_window(&mut self) {
        self.ask_control();
        self.cwnd = self.wanted_cwnd;
    }

    /// Asks the algorithm what the socket may do.
    pub(super) fn ask_control(&mut self) {
        let control = self.cc.as_ref().expect("the connection is established").control();
        // It seldom changes; divisions are slow, and so is a copy of what was written just now.
        if control == self.control {
            return;
        }
        let mss = u64::from(self.settings.mss);
        if control.cwnd != self.control.cwnd {
            self.wanted_cwnd = (control.cwnd.get() / mss).max(1);
        }
        if control.ssthresh != self.control.ssthresh {
            self.ssthresh = control.ssthresh.map_or(u64::MAX, |bytes| bytes.get() / mss);
        }
        let asks_for_other_bursts = control.send_quantum != self.control.send_quantum;
        self.control = control;
        if asks_for_other_bursts {
            self.burst = self.autosize();
        }
    }

    fn event(&self, kind: CongestionKind, delivered: u64) -> CongestionEvent {
        CongestionEvent {
            now: self.now,
            kind,
            in_flight: Packets::new(self.in_flight()),
            newly_delivered: Packets::new(delivered),
            snd_una: self.bytes(self.una),
            snd_nxt: self.bytes(self.nxt),
        }
    }

    pub(super) fn tell_congestion(&mut self, kind: CongestionKind, delivered: u64) {
        let event = self.event(kind, delivered);
        self.cc.as_mut().expect("the connection is established").on_congestion(&event);
    }

    pub(super) fn tell_restart(&mut self, restart: &Restart) {
        self.cc.as_mut().expect("the connection is established").on_restart(restart);
        self.adopt_window();
    }

    /// Tells the algorithm of an acknowledgement and sets the window.
    pub(super) fn control_congestion(&mut self, seen: &Seen, reduction: Option<CongestionKind>) {
        let snd_nxt = self.bytes(self.nxt);
        let mut sample = AckSample {
            now: self.now,
            phase: seen.phase,
            newly_acked: Packets::new(seen.acked),
            newly_delivered: Packets::new(seen.delivered),
            newly_lost: Packets::new(seen.lost),
            may_grow: seen.may_grow && !seen.phase.is_reducing(),
            cwnd_limited: self.may_grow_with(seen.prior_in_flight),
            predicted: seen.predicted || seen.together.count > 1,
            cwnd: Packets::new(self.cwnd),
            snd_una: self.bytes(self.una),
            snd_nxt,
            rtt: seen.rtt_us.map(Span::us),
            srtt: Some(Span::ps(self.rtt.smoothed8() * 125_000)).filter(|srtt| *srtt > Span::ZERO),
            prior_in_flight: Packets::new(seen.prior_in_flight),
            in_flight: Packets::new(self.in_flight()),
            sacked_out: Packets::new(self.sacked_out()),
            delivered: Packets::new(self.delivery.delivered),
            delivered_ce: Packets::new(self.delivery.delivered_ce),
            lost: Packets::new(self.delivery.lost),
            rate: seen.rate,
            maybe_delayed: seen.maybe_delayed,
            pacing_rate: Rate::bps(self.pacing_rate.saturating_mul(8)),
            paced: self.settings.paced || self.settings.algorithm.needs_pacing,
            earliest_departure: self.pace,
            timestamps: self.settings.timestamps.then(|| Timestamps {
                value: seen.stamp.wrapping_add(self.stream.peer_stamp_offset),
                echo: self.echo,
            }),
        };
        let cc = self.cc.as_mut().expect("data was acknowledged");
        if seen.undone {
            cc.on_undo(&Undo { now: self.now, snd_nxt });
        }
        // Algorithms count acknowledgements: each is told, though the socket took several at once.
        let Together { count, gap, stride } = seen.together;
        if count > 1 {
            let acks = EvenAcks {
                count: count - 1,
                gap,
                stride,
                first_predicted: seen.predicted,
                mss: u64::from(self.settings.mss),
                sent: &self.sent_times,
                next: &sample,
                next_una: self.una,
            };
            cc.on_even_acks(&acks);
            // The last one has the rest, and what is known of all.
            let told = u64::from(count - 1) * stride;
            sample.newly_acked = Packets::new(seen.acked - told);
            sample.newly_delivered = Packets::new(seen.delivered - told);
            sample.prior_in_flight = Packets::new(seen.prior_in_flight - told);
        }
        cc.on_ack(&sample);
        self.ask_control();
        let mut reduction = reduction;
        if reduction.is_none() && self.control.wants_reduction && self.phase < Phase::Cwr {
            self.may_restore = false;
            self.undo_marker = None;
            self.begin_reduction();
            self.phase = Phase::Cwr;
            reduction = Some(CongestionKind::Requested);
        }
        if let Some(kind) = reduction {
            self.tell_congestion(kind, seen.delivered);
            self.ask_control();
        }
        if self.control.mark_app_limited {
            self.delivery.limited_by_application(self.in_flight());
        }
        if self.settings.algorithm.needs_pacing || !self.phase.is_reducing() {
            let reduced = std::mem::replace(&mut self.cwnd, self.wanted_cwnd);
            if self.settings.era.halves {
                self.moderate_window(seen, reduced);
            }
        } else if self.settings.era.halves {
            self.halve_window(seen.progress);
        } else {
            self.reduce_window(seen.delivered, seen.lost, seen.advanced);
        }
        self.update_pacing_rate();
    }

    /// The host's own queue refused packets (`tcp_enter_cwr`).
    pub fn on_local_drop(&mut self, packets: u64) {
        self.counts.refused += packets;
        if self.phase >= Phase::Cwr || self.cc.is_none() {
            return;
        }
        self.may_restore = false;
        self.undo_marker = None;
        self.begin_reduction();
        self.phase = Phase::Cwr;
        self.tell_congestion(CongestionKind::LocalDrop, 0);
        self.ask_control();
        if self.settings.era.halves {
            self.hold_window();
        }
    }

    /// `tcp_update_pacing_rate`, or the algorithm's own.
    pub(super) fn update_pacing_rate(&mut self) {
        if let Some(rate) = self.wanted_pacing_rate() {
            self.pacing_rate = rate.min(self.settings.max_pacing);
        }
        self.burst = self.autosize();
    }

    /// Bytes per second; `None` as long as no round trip has been measured.
    #[inline]
    fn wanted_pacing_rate(&self) -> Option<u64> {
        Some(match self.control.pacing_rate {
            Some(rate) => rate.get() / 8,
            None => {
                let srtt8 = self.rtt.smoothed8();
                if srtt8 == 0 {
                    return None;
                }
                let slow = self.cwnd < self.ssthresh / 2;
                let percent = if slow { PACING_SLOW_START } else { PACING_AVOIDANCE };
                let window = self.cwnd.max(self.outstanding());
                let each = u64::from(self.settings.mss) * 80_000 * percent;
                match each.checked_mul(window) {
                    Some(product) => product / srtt8.unsigned_abs(),
                    None => u64::try_from(u128::from(each) * u128::from(window) / srtt8 as u128)
                        .unwrap_or(u64::MAX),
                }
            }
        })
    }
}
