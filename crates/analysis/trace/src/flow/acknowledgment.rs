//! Acknowledgments of the receiver.

use super::{Context, Flow, Past, REMEMBERED};
use crate::retransmission::Spurious;
use crate::scoreboard::Chunk;
use crate::sequence::{AckMarks, AckPoint, Side};
use wirespeed_capture::{Captured, Flags, Segment};

/// DSACK blocks are compared with so many recent retransmissions.
const RECENT: usize = 4_096;

/// The data that an acknowledgment acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct Advance {
    packets: u64,
    bytes: u64,
    missed: i64,
    missed_gaps: u64,
    /// The newest chunk that neither a SACK block nor a retransmission makes useless for an RTT.
    newest: Option<Chunk>,
    /// One of the chunks was retransmitted or filled a hole.
    is_repair: bool,
    /// The timestamps show that the first chunk arrived in its first transmission.
    is_eifel: Option<(i64, i64)>,
}

impl Flow {
    /// A packet of the receiver with an acknowledgment.
    pub(crate) fn acknowledgment(&mut self, captured: &Captured, segment: &Segment, context: Context) {
        let (Some(ack), t) = (captured.ack64, context.t) else { return };
        let is_syn = segment.flags.contains(Flags::SYN);
        self.mss = context.mss;
        self.acks.packets += 1;
        self.last_ns = self.last_ns.max(t);
        if segment.flags.contains(Flags::ECE) && !is_syn {
            self.acks.with_ece += 1;
            self.rounds.ece();
        }
        let is_same_window = self.last_window == Some(u64::from(segment.window));
        self.last_window = Some(u64::from(segment.window));
        if !is_syn {
            self.window(ack, context);
        }
        self.board.begin(ack);
        let una = self.board.una().unwrap_or(ack);
        let timestamps = segment.options.timestamps;
        let (duplicates, dsacks) = (self.acks.duplicate, self.acks.dsack);
        self.sack(captured, t);
        if ack > una {
            self.advance(t, ack, timestamps.map(|both| both.echo));
        } else if ack == una
            && segment.payload_bytes == 0
            && !segment.flags.intersects(Flags::SYN | Flags::FIN | Flags::RST)
            && self.board.outstanding() > 0
            && (is_same_window || !segment.options.sack.is_empty())
        {
            self.duplicate_acks += 1;
            self.acks.duplicate += 1;
        }
        let value = timestamps.map(|both| both.value);
        self.echoes.acknowledged(t, value, ack.max(una), self.edge);
        let reached = self.board.una().max(self.board.highest_sacked()).unwrap_or(ack);
        self.rounds.acknowledged(t, value, reached);
        if self.sides.is_at_sender() {
            self.rounds.in_flight(t, self.board.in_flight());
        }
        self.spacing.ack(t);
        if self.recovery.is_some_and(|recovery| self.board.una().is_some_and(|una| una >= recovery.end)) {
            self.recovery = None;
            self.awaits_after = true;
            self.recovered_ns = t;
        }
        let at_sender = self.sides.is_at_sender();
        if let Some(sequence) = &mut self.sequence {
            let mut marks = AckMarks::of(segment);
            marks.add(AckMarks::DUPLICATE, self.acks.duplicate > duplicates);
            marks.add(AckMarks::DSACK, self.acks.dsack > dsacks);
            let point = AckPoint {
                t,
                packet: captured.packet.ordinal,
                ack,
                window: context.window,
                marks,
                in_flight: at_sender.then(|| self.board.in_flight()),
            };
            sequence.add_ack(point, captured.sack64());
        }
    }

    fn window(&mut self, ack: i64, context: Context) {
        let Some(window) = context.window else { return };
        let edge = ack + window as i64;
        self.edge = Some(self.edge.map_or(edge, |known| known.max(edge)));
        let known = &mut self.receive_window;
        known.min_bytes = Some(known.min_bytes.map_or(window, |least| least.min(window)));
        known.max_bytes = Some(known.max_bytes.map_or(window, |most| most.max(window)));
        match (window, self.zero_since) {
            (0, None) => {
                known.zero_windows += 1;
                self.zero_since = Some(context.t);
            }
            (1.., Some(since)) => {
                known.zero_ns += context.t - since;
                self.zero_since = None;
            }
            _ => {}
        }
    }

    fn sack(&mut self, captured: &Captured, t: i64) {
        let Some(ack) = captured.ack64 else { return };
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for block in captured.sack64().take(4) {
            blocks[count] = block;
            count += 1;
        }
        let blocks = &blocks[..count];
        let Some(&(left, right)) = blocks.first() else { return };
        self.acks.with_sack += 1;
        let is_duplicate =
            right <= ack || blocks.get(1).is_some_and(|&(from, to)| from <= left && right <= to);
        if is_duplicate {
            self.acks.dsack += 1;
            self.duplicate_received(left, right);
        }
        let holes = &blocks[usize::from(is_duplicate)..];
        self.acks.max_holes = self.acks.max_holes.max(holes.len() as u64);
        let at_sender = self.sides.is_at_sender();
        let mut newest: Option<i64> = None;
        for &(left, right) in holes {
            if right > left && right > ack {
                self.board.sack(left, right, |chunk| {
                    if chunk.transmissions == 1 && !chunk.was_hole {
                        newest = newest.max(Some(chunk.last_ns));
                    }
                });
            }
        }
        if let Some(sent) = newest {
            self.rtt_sample(t, t - sent, at_sender);
        }
    }

    /// The receiver got `left` to `right` twice.
    fn duplicate_received(&mut self, left: i64, right: i64) {
        let recent = self.list.len().saturating_sub(RECENT);
        let mut packets = 0;
        for entry in self.list[recent..].iter_mut().rev() {
            let end = entry.start + i64::from(entry.bytes.max(1));
            let is_new = matches!(entry.spurious, None | Some(Spurious::AlreadyAcknowledged));
            if is_new && entry.start < right && left < end {
                packets = u64::from(entry.packets);
                match entry.spurious.replace(Spurious::Dsack) {
                    Some(_) => self.counts.spurious_acknowledged -= packets,
                    None if entry.original_seen => {
                        self.totals.lost_after = self.totals.lost_after.saturating_sub(packets);
                    }
                    None => {}
                }
                break;
            }
        }
        if packets > 0 {
            self.counts.add_spurious(Spurious::Dsack, packets);
        }
    }

    fn advance(&mut self, t: i64, ack: i64, echo: Option<u32>) {
        let max = self.board.max().unwrap_or(ack);
        let mut advance = Advance::default();
        let mss = self.payload_mss();
        let past = &mut self.past;
        let mut is_first = true;
        self.board.acknowledge(ack, |chunk, _| {
            advance.bytes += chunk.bytes() as u64;
            let is_missed = chunk.transmissions == 0;
            if is_missed {
                advance.missed += chunk.bytes();
                advance.missed_gaps += (chunk.bytes() as u64).div_ceil(mss as u64);
            }
            advance.packets += u64::from(chunk.packets);
            let is_repaired = chunk.transmissions > 1 || chunk.was_hole;
            advance.is_repair |= is_repaired;
            if !is_repaired && !chunk.is_sacked {
                advance.newest = Some(*chunk);
            }
            let is_echo_of_first = echo.is_some() && echo == chunk.first_value;
            if is_first
                && chunk.transmissions > 1
                && is_echo_of_first
                && chunk.first_value != chunk.last_value
            {
                advance.is_eifel = Some((chunk.start, chunk.end));
            }
            is_first = false;
            if past.len() == REMEMBERED {
                past.pop_front();
            }
            past.push_back(Past {
                start: chunk.start,
                end: chunk.end,
                t_ns: if is_missed { t } else { chunk.last_ns },
                ip_id: chunk.ip_id,
                value: chunk.last_value,
                is_missed,
            });
        });
        // Acknowledged beyond all that was captured.
        if ack > max && self.has_data() {
            advance.missed += ack - max;
            advance.missed_gaps += ((ack - max) as u64).div_ceil(mss as u64);
            advance.bytes += (ack - max) as u64;
            if self.past.len() == REMEMBERED {
                self.past.pop_front();
            }
            self.past.push_back(Past {
                start: max,
                end: ack,
                t_ns: t,
                ip_id: None,
                value: None,
                is_missed: true,
            });
        }
        self.count_advance(t, &advance);
        if advance.missed > 0 {
            self.acks.for_unseen_data += 1;
            self.totals.missed_bytes += advance.missed as u64;
            self.totals.missed_packets += advance.missed_gaps;
        }
        if let Some((start, end)) = advance.is_eifel {
            self.first_transmission_arrived(start, end);
        }
        if let Some(chunk) = advance.newest.filter(|_| !advance.is_repair) {
            self.rtt_sample(t, t - chunk.last_ns, self.sides.is_at_sender());
        }
        self.duplicate_acks = 0;
        self.last_advance = Some(t);
    }

    fn count_advance(&mut self, t: i64, advance: &Advance) {
        self.acks.advancing += 1;
        self.totals.acked_bytes += advance.bytes;
        if self.recovery.is_some() || advance.is_repair || advance.packets == 0 {
            return;
        }
        self.packets_each.add(advance.packets as i64);
        self.acks.max_packets = self.acks.max_packets.max(advance.packets);
        if let Some(last) = self.last_advance {
            self.ack_gaps.add((t - last) / advance.packets as i64);
        }
    }

    /// Eifel (RFC 3522): the retransmission of `start` to `end` was not necessary.
    fn first_transmission_arrived(&mut self, start: i64, end: i64) {
        let recent = self.list.len().saturating_sub(RECENT);
        let found = self.list[recent..].iter_mut().rev().find(|entry| {
            entry.spurious.is_none()
                && entry.start < end
                && start < entry.start + i64::from(entry.bytes.max(1))
        });
        if let Some(entry) = found {
            entry.spurious = Some(Spurious::Timestamps);
            let packets = u64::from(entry.packets);
            if entry.original_seen {
                self.totals.lost_after = self.totals.lost_after.saturating_sub(packets);
            }
            self.counts.add_spurious(Spurious::Timestamps, packets);
        }
    }

    fn rtt_sample(&mut self, t: i64, rtt: i64, at_sender: bool) {
        let rtt = rtt.max(0);
        if let Some(sequence) = &mut self.sequence {
            sequence.add_rtt(Side::Receiver, t, rtt);
        }
        self.sides.add_to_receiver(rtt);
        self.to_receiver.add(rtt);
        self.rounds.rtt(rtt);
        if at_sender {
            self.rtt.sample(rtt + self.sides.to_sender.unwrap_or(0));
        }
    }
}
