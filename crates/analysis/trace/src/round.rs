//! Rounds of a flow: each lasts from a data packet to the first that its acknowledgment lets out.

use crate::limit::{Limit, Limits, RoundFacts};
use crate::series::{WindowSample, WindowSeries};
use serde::Serialize;

/// A round, about one RTT.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Round {
    /// Number, from 1.
    pub number: u64,
    /// Time of its first data packet.
    pub start_ns: i64,
    /// Time of the first data packet of the next round, or of the last packet of the flow.
    pub end_ns: i64,
    /// New data packets after segmentation.
    pub packets: u64,
    /// New payload in bytes.
    pub bytes: u64,
    /// Packets retransmitted.
    pub retransmitted: u64,
    /// Packets that were captured again with the same headers.
    pub duplicates: u64,
    /// Number of the packet of the round that was captured again first, from 1.
    pub first_duplicate: Option<u64>,
    /// Largest number of bytes in flight.
    pub max_in_flight_bytes: u64,
    /// Shortest RTT from the capture point to the receiver, in nanoseconds.
    pub rtt_ns: Option<i64>,
    /// First to last new data packet, in nanoseconds.
    pub sending_ns: i64,
    /// Rate of new data packets from the first to the last, frames with headers, in bits per second. `None` for a single packet,
    /// and for packets that no link spaced: a socket sent them at once.
    pub rate_bps: Option<f64>,
    /// The same of the packets before the first duplicate, if at least 16 packets were.
    pub rate_before_duplicates_bps: Option<f64>,
    /// An acknowledgment with ECE arrived.
    pub has_ece: bool,
    /// Limiting factor.
    pub limit: Limit,
}

impl Round {
    /// So many rounds of a flow are listed.
    pub const MOST: usize = 512;

    /// Nanoseconds from its start to its end.
    pub fn duration_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

/// Facts that only a capture at the sender shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SenderFacts {
    /// Recent bursts were even and did not follow acknowledgments.
    pub is_paced: bool,
    /// Rate within bursts so far, bits per second.
    pub burst_bps: Option<f64>,
    /// Least round-trip time to the receiver so far, in nanoseconds.
    pub least_rtt_ns: Option<i64>,
}

/// A round in which packets left for so much of its time, at so much of the rate within bursts, was as full as an interface lets it be.
const SATURATED: f64 = 0.9;
/// A round whose least round-trip time exceeds that of the connection by this factor, and by this time, fills a queue behind the capture
/// point. The slowest link is there then, and not the interface before it. Interrupt moderation alone delays by tens of microseconds.
const QUEUED: f64 = 1.1;
const QUEUED_NS: i64 = 100_000;
/// A rate of fewer packets is not reliable.
const FEW: u64 = 32;

impl Open {
    /// Whether packets left one after the other until `t`, and filled no queue behind the capture point.
    fn is_saturated(&self, t: i64, sender: SenderFacts) -> bool {
        let time = self.last_data_ns - self.start_ns;
        let Some(rate) = rate(self.wire_bytes.saturating_sub(self.first_wire_bytes), time) else {
            return false;
        };
        self.packets >= FEW
            && time as f64 >= SATURATED * (t - self.start_ns) as f64
            && sender.burst_bps.is_some_and(|burst| rate >= SATURATED * burst)
            && !self.fills_queue(sender.least_rtt_ns)
    }

    fn fills_queue(&self, least_rtt_ns: Option<i64>) -> bool {
        self.rtt_ns
            .zip(least_rtt_ns)
            .is_some_and(|(rtt, least)| rtt as f64 > QUEUED * least as f64 && rtt > least + QUEUED_NS)
    }
}

/// The fastest Ethernet (IEEE 802.3df-2024), in bits per second.
const FASTEST_LINK_BPS: f64 = 800e9;

/// Bits per second of `bytes` within `time` nanoseconds, if a link can have spaced them.
fn rate(bytes: u64, time: i64) -> Option<f64> {
    let rate = bytes as f64 * 8e9 / time as f64;
    (time > 0 && bytes > 0 && rate <= FASTEST_LINK_BPS).then_some(rate)
}

/// The open round.
#[derive(Debug, Clone)]
struct Open {
    start_ns: i64,
    first_seq: i64,
    packets: u64,
    bytes: u64,
    wire_bytes: u64,
    first_wire_bytes: u64,
    last_data_ns: i64,
    retransmitted: u64,
    duplicates: u64,
    first_duplicate: Option<(u64, u64, i64)>,
    max_in_flight: i64,
    rtt_ns: Option<i64>,
    has_ece: bool,
    in_recovery: bool,
    hit_receive_window: bool,
    /// Bytes in flight by time.
    area: f64,
    event_ns: i64,
    in_flight: i64,
    idle_ns: i64,
    /// When the acknowledgment of its first packet was seen, with the timestamp value of that.
    covered: Option<(i64, Option<u32>)>,
}

/// Finds rounds, and follows the window from one to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundTracker {
    open: Option<Open>,
    pub rounds: Vec<Round>,
    pub total: u64,
    pub series: WindowSeries,
    pub limits: Limits,
    pub reductions: ReductionWatch,
    max_before: i64,
    bytes_before: u64,
}

/// A new data packet, for [`RoundTracker::data`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewData {
    pub t: i64,
    pub payload: u64,
    pub packets: u64,
    pub wire_bytes: u64,
}

impl RoundTracker {
    /// An acknowledgment arrived: everything below `reached` is known to the receiver.
    pub(crate) fn acknowledged(&mut self, t: i64, value: Option<u32>, reached: i64) {
        if let Some(open) = &mut self.open
            && open.covered.is_none()
            && reached > open.first_seq
        {
            open.covered = Some((t, value));
        }
    }

    /// When the first packet of the round was acknowledged, with the timestamp value of the acknowledgment.
    pub(crate) fn covered(&self) -> Option<(i64, Option<u32>)> {
        self.open.as_ref().and_then(|open| open.covered)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Begins a round with the data packet that comes next.
    pub(crate) fn begin(&mut self, t: i64, first_seq: i64, in_recovery: bool) {
        self.open = Some(Open {
            start_ns: t,
            first_seq,
            packets: 0,
            bytes: 0,
            wire_bytes: 0,
            first_wire_bytes: 0,
            last_data_ns: t,
            retransmitted: 0,
            duplicates: 0,
            first_duplicate: None,
            max_in_flight: 0,
            rtt_ns: None,
            has_ece: false,
            in_recovery,
            hit_receive_window: false,
            area: 0.0,
            event_ns: t,
            in_flight: 0,
            idle_ns: 0,
            covered: None,
        });
    }

    pub(crate) fn data(&mut self, new: NewData) {
        let Some(open) = &mut self.open else { return };
        if open.packets == 0 {
            open.first_wire_bytes = new.wire_bytes;
        }
        open.packets += new.packets;
        open.bytes += new.payload;
        open.wire_bytes += new.wire_bytes;
        open.last_data_ns = new.t;
    }

    pub(crate) fn retransmitted(&mut self, packets: u64) {
        if let Some(open) = &mut self.open {
            open.retransmitted += packets;
            open.in_recovery = true;
        }
    }

    pub(crate) fn duplicate(&mut self, packets: u64) {
        if let Some(open) = &mut self.open {
            open.duplicates += packets;
            let place = (open.packets, open.wire_bytes, open.last_data_ns);
            open.first_duplicate.get_or_insert(place);
        }
    }

    pub(crate) fn rtt(&mut self, rtt: i64) {
        if let Some(open) = &mut self.open {
            open.rtt_ns = Some(open.rtt_ns.map_or(rtt, |least| least.min(rtt)));
        }
    }

    pub(crate) fn ece(&mut self) {
        if let Some(open) = &mut self.open {
            open.has_ece = true;
        }
    }

    pub(crate) fn recovery(&mut self) {
        if let Some(open) = &mut self.open {
            open.in_recovery = true;
        }
    }

    pub(crate) fn hit_receive_window(&mut self) {
        if let Some(open) = &mut self.open {
            open.hit_receive_window = true;
        }
    }

    /// Bytes in flight from `t` on.
    pub(crate) fn in_flight(&mut self, t: i64, in_flight: i64) {
        let Some(open) = &mut self.open else { return };
        let passed = (t - open.event_ns).max(0);
        if open.in_flight > 0 {
            open.area += open.in_flight as f64 * passed as f64;
        } else if open.packets > 0 {
            open.idle_ns += passed;
        }
        open.event_ns = open.event_ns.max(t);
        open.in_flight = in_flight;
        open.max_in_flight = open.max_in_flight.max(in_flight);
    }

    /// New payload of the last whole round, in bytes.
    pub(crate) fn bytes_before(&self) -> u64 {
        self.bytes_before
    }

    /// Ends the open round. With the facts of a sender, bytes in flight are known exactly.
    pub(crate) fn close(&mut self, t: i64, mss: i64, sender: Option<SenderFacts>) -> Option<Round> {
        self.in_flight(t, 0);
        let open = self.open.take()?;
        self.total += 1;
        let busy = (t - open.start_ns - open.idle_ns).max(0);
        let facts = RoundFacts {
            in_recovery: open.in_recovery,
            hit_receive_window: open.hit_receive_window,
            is_saturated: sender.is_some_and(|sender| open.is_saturated(t, sender)),
            mean_in_flight: open.area / (busy.max(1) as f64),
            max_in_flight: open.max_in_flight,
            max_before: self.max_before,
            mss,
            is_paced: sender.is_some_and(|sender| sender.is_paced),
        };
        let limit = facts.limit();
        self.limits.add(limit, busy);
        self.limits.add(Limit::Application, open.idle_ns);
        (self.max_before, self.bytes_before) = (open.max_in_flight, open.bytes);
        let after_first = |bytes: u64| bytes.saturating_sub(open.first_wire_bytes);
        let round = Round {
            number: self.total,
            start_ns: open.start_ns,
            end_ns: t,
            packets: open.packets,
            bytes: open.bytes,
            retransmitted: open.retransmitted,
            duplicates: open.duplicates,
            first_duplicate: open.first_duplicate.map(|(packets, ..)| packets),
            max_in_flight_bytes: open.max_in_flight.max(0) as u64,
            rtt_ns: open.rtt_ns,
            sending_ns: open.last_data_ns - open.start_ns,
            rate_bps: rate(after_first(open.wire_bytes), open.last_data_ns - open.start_ns),
            rate_before_duplicates_bps: open
                .first_duplicate
                .filter(|&(packets, ..)| packets >= 16)
                .and_then(|(_, bytes, at)| rate(after_first(bytes), at - open.start_ns)),
            has_ece: open.has_ece,
            limit,
        };
        self.series.add(WindowSample {
            t_ns: round.start_ns,
            in_flight_bytes: round.max_in_flight_bytes,
            rtt_ns: round.rtt_ns,
            in_recovery: open.in_recovery,
        });
        let window = if sender.is_some() { round.max_in_flight_bytes } else { round.bytes };
        let confirmed = self.reductions.round(&round, window, busy, mss);
        if self.rounds.len() < Round::MOST {
            self.rounds.push(round);
        }
        // It was the window that shrank, not the application that sent less.
        if let Some((number, time)) = confirmed {
            self.limits.add(Limit::Application, -time);
            self.limits.add(Limit::CongestionWindow, time);
            if let Some(falling) = self.rounds.get_mut(number as usize - 1) {
                falling.limit = Limit::CongestionWindow;
            }
        }
        Some(round)
    }
}

/// Finds reductions of the window that no loss and no mark explains.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReductionWatch {
    /// The largest window since the last reduction, while the congestion window limited the flow.
    level: u64,
    last: u64,
    /// A round in which less was in flight on average than at its start: the application sent less, or the window shrank.
    /// Its number and duration.
    falling: Option<(u64, i64)>,
    found: Vec<Reduction>,
    pub count: u64,
}

/// A reduction of the window that was not caused by a loss or a mark that the capture shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reduction {
    /// Number of the first round with the smaller window.
    pub round: u64,
    /// The window after it, as a share of that before.
    pub factor: f64,
}

/// A window that shrank by less is not seen as reduced.
const REDUCED: f64 = 0.88;
/// Windows of two rounds that differ by less are the same.
const STEADY: f64 = 0.03;

impl ReductionWatch {
    /// Adds a round with its window in bytes, which was busy for `busy_ns`. Returns the falling round of a reduction that it
    /// confirms, with its duration.
    fn round(&mut self, round: &Round, window: u64, busy_ns: i64, mss: i64) -> Option<(u64, i64)> {
        let is_falling = round.limit == Limit::Application && self.falling.is_none() && self.level > 0;
        if is_falling && !round.has_ece {
            self.falling = Some((round.number, busy_ns));
            self.last = 0;
            return None;
        }
        let is_limited = matches!(round.limit, Limit::CongestionWindow | Limit::Pacing | Limit::Interface);
        if !is_limited || round.has_ece {
            (self.level, self.last, self.falling) = (0, 0, None);
            return None;
        }
        let margin = (STEADY * self.last as f64) as u64 + 2 * mss.max(0) as u64;
        let is_steady = self.last > 0 && window.abs_diff(self.last) <= margin;
        let mut confirmed = None;
        // Below some packets, rounding to packets looks like a reduction.
        if is_steady && window > 8 * mss.max(0) as u64 && (window as f64) < REDUCED * self.level as f64 {
            self.count += 1;
            if self.found.len() < Round::MOST {
                let factor = window as f64 / self.level as f64;
                let first = self.falling.map_or(round.number - 1, |(number, _)| number);
                self.found.push(Reduction { round: first, factor });
            }
            self.level = window;
            confirmed = self.falling;
        }
        if is_steady {
            self.falling = None;
        }
        self.level = self.level.max(window);
        self.last = window;
        confirmed
    }

    pub(crate) fn found(&self) -> &[Reduction] {
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of 100 packets at 1 Gbit/s, by the interface or behind acknowledgments, with this round-trip time.
    fn round_with_rtt(rtt_ns: i64) -> Limit {
        let mut tracker = RoundTracker::default();
        tracker.begin(0, 0, false);
        for packet in 0..100 {
            tracker.data(NewData { t: packet * 12_112, payload: 1448, packets: 1, wire_bytes: 1514 });
            tracker.in_flight(packet * 12_112, 144_800);
        }
        tracker.rtt(rtt_ns);
        let sender = SenderFacts { is_paced: false, burst_bps: Some(1e9), least_rtt_ns: Some(1_200_000) };
        tracker.close(1_211_200, 1448, Some(sender)).unwrap().limit
    }

    #[test]
    fn an_interface_is_no_limit_while_a_queue_behind_the_capture_point_fills() {
        assert_eq!(round_with_rtt(1_290_000), Limit::Interface, "less than 0.1 ms more");
        assert_eq!(round_with_rtt(2_400_000), Limit::CongestionWindow);
    }

    #[test]
    fn packets_that_a_socket_sent_at_once_have_no_rate() {
        assert_eq!(rate(13_626, 1), None);
        assert_eq!(rate(13_626, 0), None);
        assert_eq!(rate(0, 1_000), None);
        assert_eq!(rate(100_000, 1_000), Some(800e9));
        assert_eq!(rate(1_250, 1_000), Some(10e9));
    }
}
