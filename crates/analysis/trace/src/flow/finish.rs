//! The result of a flow.

use super::Flow;
use crate::algorithm::Behaviour;
use crate::artefact::{Artefacts, DuplicateCause};
use crate::capture_point::Position;
use crate::result::{FlowTrace, Losses};
use crate::slow_start::slow_start;

/// The share of packets with a copy from which on a capture counts as one that has every packet twice.
const EVERY: f64 = 0.8;

impl Flow {
    /// The result; `mss` is the payload of a full packet.
    pub(crate) fn finish(mut self, mss: u32) -> FlowTrace {
        let mss_bytes = i64::from(mss.max(1));
        self.close_round(self.last_ns);
        if let Some(since) = self.zero_since.take() {
            self.receive_window.zero_ns += (self.last_ns - since).max(0);
        }
        let point = self.sides.point();
        let mut bursts = self.spacing.finish();
        // Elsewhere a bottleneck spaces the packets, and acknowledgments do not let them out.
        bursts.is_paced &= self.sides.is_at_sender();
        let reductions = self.rounds.reductions.found().to_vec();
        let windows = self.rounds.series.samples().to_vec();
        let behaviour = Behaviour {
            losses: &self.events,
            reductions: &reductions,
            windows: &windows,
            mss: mss_bytes,
            is_paced: bursts.is_paced,
            ece_acks: self.acks.with_ece,
            is_at_sender: self.sides.is_at_sender(),
        };
        let algorithm = behaviour.guess();
        let slow_start = slow_start(&self.rounds.rounds, &self.events, &reductions, self.is_begin);
        let totals = self.totals;
        let duplicates = totals.duplicates;
        let copied = duplicates as f64 / totals.packets.max(1) as f64;
        let duplicate_cause = match point.position {
            _ if duplicates == 0 => DuplicateCause::None,
            _ if copied >= EVERY => DuplicateCause::CapturedTwice,
            Position::Sender => DuplicateCause::HardwareDuplicates,
            _ => DuplicateCause::NetworkDuplicates,
        };
        let duration_ns = self.first_ns.map_or(0, |first| self.last_ns - first);
        let mut acks = self.acks;
        acks.packets_each = self.packets_each.quantile(0.5).map(|median| median as f64);
        acks.compressed_share = self
            .ack_gaps
            .quantile(0.5)
            .filter(|_| self.ack_gaps.count() >= 32)
            .map(|usual| self.ack_gaps.share_between(0, usual / 4));
        FlowTrace {
            unique_bytes: totals.unique_bytes,
            sent_bytes: totals.sent_bytes,
            packets: totals.packets,
            derived_packets: totals.derived_packets,
            duration_ns,
            goodput_bps: match duration_ns {
                0 => 0.0,
                time => totals.acked_bytes as f64 * 8e9 / time as f64,
            },
            mss_bytes: mss,
            capture_point: point,
            rtt_to_receiver_ns: self.to_receiver.quantiles(),
            rtt_to_sender_ns: self.to_sender.quantiles(),
            max_in_flight_bytes: self.largest_in_flight.max(0) as u64,
            rounds: self.rounds.rounds,
            total_rounds: self.rounds.total,
            windows,
            slow_start,
            retransmissions: self.counts,
            each_retransmission: self.list,
            reordering: self.reordering,
            losses: Losses {
                before_capture_point: totals.lost_before,
                after_capture_point: totals.lost_after,
                unseen_reductions: self.rounds.reductions.count,
                events_100ms: totals.events_100ms,
                recoveries: totals.recoveries,
            },
            acks,
            receive_window: self.receive_window,
            bursts,
            limits: self.rounds.limits,
            algorithm,
            artefacts: Artefacts {
                duplicates,
                duplicate_cause,
                missed_bytes: totals.missed_bytes,
                missed_packets: totals.missed_packets,
                late_records: totals.late_records,
                super_packets: totals.super_packets,
                given_up: self.board.given_up,
            },
        }
    }
}
