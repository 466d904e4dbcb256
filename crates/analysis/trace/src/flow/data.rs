//! Data packets: new data, retransmissions, duplicates, holes and what fills them.

use super::{Context, Flow, GROUP_NS, Past};
use crate::limit::Limit;
use crate::loss::LossEvent;
use crate::retransmission::{Recovery, Retransmission, RetransmissionKind, Situation, Spurious};
use crate::round::{NewData, SenderFacts};
use crate::scoreboard::Chunk;
use crate::sequence::{DataClass, DataMarks, DataPoint, Side};
use wirespeed_capture::{Captured, Flags, Passage, Segment};

/// A copy without an IP identification follows within this time.
const COPY_NS: i64 = 1_000_000;
/// Below this share of the shortest RTT after the hole, a packet cannot be a retransmission.
const TOO_EARLY: f64 = 0.75;
/// The same where no RTT is known.
const TOO_EARLY_NS: i64 = 3_000_000;
/// Data that no retransmission fills, and that follows its acknowledgment within this time, was captured late.
const LATE_NS: i64 = 100_000_000;

/// A data packet, or the part of it that is handled at once.
#[derive(Debug, Clone, Copy)]
struct Part {
    t: i64,
    packet: u64,
    start: i64,
    end: i64,
    payload: u64,
    packets: u32,
    wire_bytes: u32,
    value: Option<u32>,
    echo: Option<u32>,
    ip_id: Option<u16>,
    marks: DataMarks,
}

/// The relation of a packet to data that was sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The same packet was captured twice.
    Copy,
    /// It was sent before the packets that were captured before it.
    Reordered,
    /// The capture recorded it after the acknowledgment.
    LateRecord,
    /// TCP retransmitted it.
    Retransmission { original_seen: bool },
}

impl Flow {
    /// A packet of the sender.
    pub(crate) fn data(&mut self, captured: &Captured, segment: &Segment, context: Context) {
        let t = context.t;
        self.mss = context.mss;
        match captured.packet.passage {
            Passage::Outgoing => self.sides.sent_here += 1,
            Passage::Incoming => self.sides.sent_here -= 1,
            Passage::Unknown => {}
        }
        let timestamps = segment.options.timestamps;
        let (start, end) = (captured.seq64, captured.end64());
        let is_probe = self.is_probe(start, end, segment);
        if end <= start && !is_probe {
            return;
        }
        let echo = timestamps.map(|both| both.echo).filter(|_| segment.flags.contains(Flags::ACK));
        let part = Part {
            t,
            packet: captured.packet.ordinal,
            start,
            end,
            payload: u64::from(segment.payload_bytes),
            packets: captured.wire_packets.max(1),
            wire_bytes: captured.packet.wire_bytes,
            value: timestamps.map(|both| both.value),
            echo,
            ip_id: segment.ip_id,
            marks: DataMarks::of(segment),
        };
        if is_probe {
            self.point(&part, DataClass::Probe, part.marks);
            return;
        }
        self.sender_echoes(t, echo);
        self.first_ns.get_or_insert(t);
        self.last_ns = self.last_ns.max(t);
        if !self.has_data() && !self.is_begin {
            // Data before the capture is not a hole.
            self.board.continue_at(start);
        }
        self.board.begin(start);
        self.totals.captured += 1;
        let max = self.board.max().unwrap_or(start);
        if start >= max {
            self.new_data(part);
        } else if end <= max {
            self.old_data(part);
        } else {
            // Retransmitted with new data behind it.
            let share = |bytes: i64| {
                let packets = (i64::from(part.packets) * bytes / (end - start)).max(1) as u32;
                (packets, bytes.min(part.payload as i64) as u64)
            };
            let (old, new) = (share(max - start), share(end - max));
            let (first, last) = (part.marks.of_first_part(), part.marks.of_last_part());
            self.old_data(Part { end: max, packets: old.0, payload: old.1, marks: first, ..part });
            self.new_data(Part { start: max, packets: new.0, payload: new.1, marks: last, ..part });
        }
    }

    /// Probes of a zero window and keepalives are not data: they repeat a byte that is acknowledged, or have none.
    fn is_probe(&mut self, start: i64, end: i64, segment: &Segment) -> bool {
        let (Some(una), Some(max)) = (self.board.una(), self.board.max()) else { return false };
        let is_control = segment.flags.intersects(Flags::SYN | Flags::FIN | Flags::RST);
        if is_control || end - start > 1 || end > una + 1 {
            return false;
        }
        let is_before = start == una - 1 && end <= una;
        let is_first = self.zero_since.is_some() && start == una && end == una + 1;
        if self.zero_since.is_some() && (is_before || is_first) {
            self.receive_window.probes += 1;
            return true;
        }
        let is_keepalive = is_before && una == max;
        self.receive_window.keepalives += u64::from(is_keepalive);
        is_keepalive
    }

    fn sender_echoes(&mut self, t: i64, echo: Option<u32>) {
        match echo {
            Some(echo) => {
                if let Some(near) = self.echoes.echoed(t, echo) {
                    self.sides.add_to_sender(near);
                    self.to_sender.add(near);
                    if let Some(sequence) = &mut self.sequence {
                        sequence.add_rtt(Side::Sender, t, near);
                    }
                    if !self.sides.is_at_sender() {
                        self.rtt.sample(near + self.sides.to_receiver.unwrap_or(0));
                    }
                }
            }
            None => self.echoes.reached(t - self.sides.to_sender.unwrap_or(0)),
        }
    }

    fn new_data(&mut self, part: Part) {
        let t = part.t;
        self.totals.packets += u64::from(part.packets);
        self.totals.sent_bytes += part.payload;
        self.totals.unique_bytes += part.payload;
        if part.packets > 1 {
            self.totals.super_packets += 1;
            self.totals.derived_packets += u64::from(part.packets);
        }
        if part.payload > 0 {
            self.round_of(&part);
        }
        self.append(part);
        self.last_data_ns = t;
        let in_flight = self.in_flight(t, part.echo);
        self.largest_in_flight = self.largest_in_flight.max(in_flight);
        self.rounds.in_flight(t, in_flight);
        self.point(&part, DataClass::First, part.marks);
        if self.recovery.is_some() {
            self.rounds.recovery();
        } else if self.awaits_after && self.sides.is_at_sender() {
            self.awaits_after = false;
            if let Some(event) = self.events.last_mut() {
                event.after = Some(in_flight);
            }
        }
        let edge = if self.sides.is_at_sender() { self.edge } else { self.echoes.edge(part.echo) };
        if edge.is_some_and(|edge| edge - part.end < self.payload_mss()) {
            self.rounds.hit_receive_window();
        }
        if part.payload > 0 {
            let ended = self.spacing.data(t, part.packets, part.wire_bytes);
            if let (Some(sequence), Some(burst)) = (&mut self.sequence, ended) {
                sequence.add_burst(burst);
            }
        }
    }

    /// A point for figures.
    fn point(&mut self, part: &Part, class: DataClass, marks: DataMarks) {
        if self.sequence.is_none() {
            return;
        }
        let in_flight = self.in_flight(part.t, part.echo);
        if let Some(sequence) = &mut self.sequence {
            sequence.add_data(DataPoint {
                t: part.t,
                packet: part.packet,
                start: part.start,
                end: part.end,
                class,
                marks,
                packets: part.packets,
                in_flight,
            });
        }
    }

    fn append(&mut self, part: Part) {
        self.board.append(Chunk {
            start: part.start,
            end: part.end,
            first_ns: part.t,
            last_ns: part.t,
            first_value: part.value,
            last_value: part.value,
            ip_id: part.ip_id,
            number: self.totals.captured,
            transmissions: 1,
            packets: part.packets,
            is_sacked: false,
            was_hole: false,
        });
    }

    /// Begins a round, if the packet was let out by the acknowledgment of the first of the round before.
    fn round_of(&mut self, part: &Part) {
        let begins = match self.rounds.covered() {
            None => !self.rounds.is_open(),
            Some(_) if self.sides.is_at_sender() => true,
            Some((at, value)) => {
                let near = self.sides.to_sender.unwrap_or(0);
                let has_echo = match (value, part.echo) {
                    (Some(value), Some(echo)) => echo.wrapping_sub(value) as i32 >= 0,
                    _ => true,
                };
                has_echo && part.t - at >= near - near / 8
            }
        };
        if begins {
            self.close_round(part.t);
            self.rounds.begin(part.t, part.start, self.recovery.is_some());
        }
        self.rounds.data(NewData {
            t: part.t,
            payload: part.payload,
            packets: u64::from(part.packets),
            wire_bytes: u64::from(part.wire_bytes),
        });
    }

    /// Ends the open round. Away from the sender, it shows the window after a recovery: bytes in flight
    /// are not known there until all repairs are acknowledged.
    pub(super) fn close_round(&mut self, t: i64) {
        let at_sender = self.sides.is_at_sender();
        let mss = self.payload_mss();
        let facts = SenderFacts {
            is_paced: self.spacing.is_paced(),
            burst_bps: self.spacing.burst_bps(),
            least_rtt_ns: self.sides.to_receiver,
        };
        let Some(round) = self.rounds.close(t, mss, at_sender.then_some(facts)) else {
            return;
        };
        let is_after = round.start_ns >= self.recovered_ns + self.sides.to_sender.unwrap_or(0);
        if self.awaits_after && !at_sender && is_after && round.limit != Limit::Recovery {
            self.awaits_after = false;
            if let Some(event) = self.events.last_mut() {
                event.after = Some(round.bytes as i64);
            }
        }
    }

    fn old_data(&mut self, part: Part) {
        let una = self.board.una().unwrap_or(part.start);
        if part.end <= una {
            self.acknowledged_data(part);
            return;
        }
        let range = self.board.isolate(part.start.max(una), part.end);
        if range.is_empty() {
            return;
        }
        let first = *self.board.chunk_mut(range.start);
        let relation = self.relation(&part, &first);
        // The decision of a retransmission needs the state before it.
        if let Relation::Retransmission { original_seen } = relation {
            let is_sacked = range.clone().all(|at| self.board.chunk_mut(at).is_sacked);
            let spurious = is_sacked.then_some(Spurious::AlreadyAcknowledged);
            self.retransmission(&part, Some(&first), original_seen, spurious);
        }
        for at in range {
            let chunk = self.board.chunk_mut(at);
            if chunk.transmissions == 0 {
                chunk.first_ns = part.t;
                chunk.first_value = part.value;
                chunk.packets = part.packets;
            }
            if relation != Relation::Copy {
                chunk.transmissions += 1;
            }
            chunk.last_ns = part.t;
            chunk.last_value = part.value;
            chunk.ip_id = part.ip_id;
        }
        match relation {
            Relation::Copy => self.copy(&part),
            Relation::Reordered => self.reordered(&part, &first),
            Relation::LateRecord => self.point(&part, DataClass::LateRecord, part.marks),
            Relation::Retransmission { .. } => {}
        }
        if relation != Relation::Copy {
            self.totals.sent_bytes += part.payload;
            self.totals.packets += u64::from(part.packets);
            if first.transmissions == 0 {
                self.totals.unique_bytes += part.payload;
            }
            self.last_data_ns = part.t;
            self.rounds.in_flight(part.t, self.in_flight(part.t, part.echo));
        }
    }

    fn copy(&mut self, part: &Part) {
        self.totals.duplicates += u64::from(part.packets);
        self.rounds.duplicate(u64::from(part.packets));
        self.point(part, DataClass::Duplicate, part.marks);
    }

    fn reordered(&mut self, part: &Part, hole: &Chunk) {
        self.reordering.packets += u64::from(part.packets);
        let extent = self.totals.captured - hole.number;
        self.reordering.max_extent_packets = self.reordering.max_extent_packets.max(extent);
        self.reordering.max_late_ns = self.reordering.max_late_ns.max(part.t - hole.first_ns);
        self.point(part, DataClass::Reordered, part.marks);
    }

    fn relation(&self, part: &Part, chunk: &Chunk) -> Relation {
        if chunk.transmissions > 0 {
            let past = Past {
                start: chunk.start,
                end: chunk.end,
                t_ns: chunk.last_ns,
                ip_id: chunk.ip_id,
                value: chunk.last_value,
                is_missed: false,
            };
            return match self.is_copy(part, &past) {
                true => Relation::Copy,
                false => Relation::Retransmission { original_seen: true },
            };
        }
        match self.was_sent_earlier(part, chunk) {
            true => Relation::Reordered,
            false => Relation::Retransmission { original_seen: false },
        }
    }

    /// The same headers: the interface gave the packet back, or the capture has it twice, or the network duplicated it.
    fn is_copy(&self, part: &Part, past: &Past) -> bool {
        let same_value = part.value == past.value;
        let after = part.t - past.t_ns;
        match (part.ip_id, past.ip_id) {
            (Some(id), Some(other)) if id != 0 || other != 0 => {
                let is_recent = self.sides.rtt().is_none_or(|rtt| after < rtt) || part.value.is_some();
                id == other && same_value && is_recent
            }
            _ => {
                let limit = self.sides.rtt().map_or(COPY_NS, |rtt| COPY_NS.min(rtt / 4));
                same_value && part.value.is_some() && after <= limit
            }
        }
    }

    /// Whether a packet that fills a hole was sent before the packet that revealed the hole.
    fn was_sent_earlier(&self, part: &Part, hole: &Chunk) -> bool {
        if let (Some(value), Some(other)) = (part.value, hole.first_value)
            && value != other
        {
            return (value.wrapping_sub(other) as i32) < 0;
        }
        if let (Some(id), Some(other)) = (part.ip_id, hole.ip_id)
            && id != other
            && id != 0
            && other != 0
        {
            return (id.wrapping_sub(other) as i16) < 0;
        }
        let early = self.sides.rtt().map_or(TOO_EARLY_NS, |rtt| (TOO_EARLY * rtt as f64) as i64);
        part.t - hole.first_ns < early
    }

    /// Data for which the capture has an acknowledgment.
    fn acknowledged_data(&mut self, part: Part) {
        let past =
            self.past.iter().rev().find(|past| past.start < part.end && part.start < past.end).copied();
        let relation = match past {
            Some(past) if past.is_missed && part.t - past.t_ns < LATE_NS => Relation::LateRecord,
            Some(past) if !past.is_missed && self.is_copy(&part, &past) => Relation::Copy,
            _ => Relation::Retransmission { original_seen: !past.is_some_and(|past| past.is_missed) },
        };
        match relation {
            Relation::Copy | Relation::Reordered => self.copy(&part),
            Relation::LateRecord => {
                let packets = u64::from(part.packets);
                self.totals.late_records += packets;
                self.totals.missed_bytes = self.totals.missed_bytes.saturating_sub(part.payload);
                self.totals.missed_packets = self.totals.missed_packets.saturating_sub(packets);
                self.totals.sent_bytes += part.payload;
                self.totals.unique_bytes += part.payload;
                self.totals.packets += packets;
                self.point(&part, DataClass::LateRecord, part.marks);
            }
            Relation::Retransmission { original_seen } => {
                self.retransmission(&part, None, original_seen, Some(Spurious::AlreadyAcknowledged));
                self.totals.sent_bytes += part.payload;
                self.totals.packets += u64::from(part.packets);
                self.last_data_ns = part.t;
            }
        }
    }

    fn retransmission(
        &mut self,
        part: &Part,
        chunk: Option<&Chunk>,
        original_seen: bool,
        spurious: Option<Spurious>,
    ) {
        let kind = self.situation(part, chunk).kind();
        let packets = u64::from(part.packets);
        self.counts.add(kind, packets, part.payload);
        if let Some(evidence) = spurious {
            self.counts.add_spurious(evidence, packets);
        }
        if spurious.is_none() {
            let side = match original_seen {
                true => &mut self.totals.lost_after,
                false => &mut self.totals.lost_before,
            };
            *side += packets;
        }
        if self.list.len() < Retransmission::MOST {
            self.list.push(Retransmission {
                t_ns: part.t,
                packet: part.packet,
                start: part.start,
                bytes: part.payload as u32,
                packets: part.packets,
                kind,
                original_seen,
                spurious,
            });
        }
        let group = (part.t - self.first_ns.unwrap_or(0)) / GROUP_NS;
        if self.last_group.is_none_or(|last| last != group) {
            self.totals.events_100ms += 1;
            self.last_group = Some(group);
        }
        self.enter_recovery(part.t, kind);
        self.rounds.retransmitted(packets);
        let mut marks = part.marks;
        if !original_seen {
            marks = marks.with(DataMarks::FIRST_SEEN);
        }
        if spurious.is_some() {
            marks = marks.with(DataMarks::ACKNOWLEDGED);
        }
        self.point(part, kind.into(), marks);
    }

    fn enter_recovery(&mut self, t: i64, kind: RetransmissionKind) {
        let after_timeout = kind == RetransmissionKind::Timeout;
        let begins = match kind {
            RetransmissionKind::Fast | RetransmissionKind::Rack => self.recovery.is_none(),
            RetransmissionKind::Timeout => self.recovery.is_none_or(|recovery| !recovery.after_timeout),
            _ => false,
        };
        let end = self.board.max().unwrap_or(0);
        if begins {
            self.totals.recoveries += 1;
            self.recovery_began = t;
            if self.events.len() < LossEvent::MOST {
                let before = match self.sides.is_at_sender() {
                    true => self.board.in_flight(),
                    false => self.rounds.bytes_before() as i64,
                };
                self.events.push(LossEvent { t_ns: t, kind, before, after: None });
                self.awaits_after = false;
            }
        }
        if begins || after_timeout {
            self.recovery = Some(Recovery { end, after_timeout });
        }
    }

    fn situation(&self, part: &Part, chunk: Option<&Chunk>) -> Situation {
        let near = self.sides.to_sender.unwrap_or(0);
        let advanced = self.last_advance.map_or(i64::MIN / 2, |t| t + near);
        let own = chunk.filter(|chunk| chunk.transmissions > 0).map_or(i64::MIN / 2, |chunk| chunk.last_ns);
        let restart = advanced.max(own).max(self.first_ns.unwrap_or(part.t));
        let is_repeated = chunk.is_some_and(|chunk| {
            let retransmitted =
                chunk.transmissions + u32::from(chunk.was_hole) >= 2 && chunk.transmissions > 0;
            retransmitted && chunk.last_ns >= self.recovery_began
        });
        let sacked_above = match self.board.highest_sacked() {
            Some(highest) if highest > part.end => self.board.sacked_bytes().min(highest - part.end),
            _ => 0,
        };
        Situation {
            duplicate_acks: self.duplicate_acks,
            sacked_above,
            mss: self.payload_mss(),
            is_head: self.board.una().is_none_or(|una| part.start <= una),
            is_tail: self.board.max() == Some(part.end),
            is_repeated,
            recovery: self.recovery.filter(|recovery| part.start < recovery.end),
            since_restart: part.t - restart,
            since_data: part.t - self.last_data_ns,
            srtt: self.rtt.smoothed,
            rttvar: self.rtt.variation,
        }
    }
}
