//! What the selective part of an acknowledgement says (`tcp_sacktag_write_queue`, RFC 2018, RFC 2883).

use super::Sender;
use super::ack::{Findings, Incoming, Times};
use crate::net::{Blocks, Sack, Train};
use crate::tcp::clock;
use crate::tcp::rate::Newest;
use std::iter::once;
use std::ops::Range;
use wirespeed_congestion::Phase;

impl Sender {
    /// An acknowledgement older than others: only its selective part may say something new.
    pub(super) fn on_old_ack(&mut self, ack: &Incoming, mut found: Findings, out: &mut Vec<Train>) {
        let Some(sack) = ack.sack.filter(|_| self.settings.sack) else { return };
        let (mut times, mut newest) = (Times::default(), Newest::default());
        self.take_sack(sack, ack.next, self.una, &mut found, &mut times, &mut newest);
        if self.settings.era.forward_acks {
            // What it says is noted and no more.
            return;
        }
        let before = self.phase;
        let (reduction, repeat) = self.judge(self.una, 0, &mut found);
        if let Some(kind) = reduction {
            self.tell_congestion(kind, 0);
            self.ask_control();
        } else if before != self.phase {
            self.adopt_window();
        }
        self.repeat(repeat, out);
        self.push_new(out);
    }

    /// `tcp_sacktag_write_queue`.
    pub(super) fn take_sack(
        &mut self,
        sack: &Sack,
        next: u64,
        prior_una: u64,
        found: &mut Findings,
        times: &mut Times,
        newest: &mut Newest,
    ) {
        let mut reordered = self.nxt;
        // In the order of their numbers, as Linux walks its queue, or later data would seem to have overtaken.
        let blocks = match &sack.duplicate {
            Some(range) if !is_recognized_duplicate(range, sack, next) => {
                once(range).chain(sack.blocks.iter()).cloned().collect::<Blocks>().sorted()
            }
            duplicate => {
                if let Some(range) = duplicate {
                    self.take_duplicate(range.start, range.end, prior_una, found);
                }
                sack.blocks.sorted()
            }
        };
        let high = self.high;
        for block in blocks.iter() {
            if block.start < next.max(self.una) || block.end > self.nxt || block.is_empty() {
                continue;
            }
            let highest = self.highest_sacked();
            let (rack, delivery) = (&mut self.rack, &mut self.delivery);
            let (now, minimum) = (clock::micros(self.now), self.rtt.minimum());
            let newest_sacked = &mut self.newest_sacked;
            let mut delivered = 0;
            self.board.sack(block.start, block.end, |segment| {
                rack.advance(now, minimum, segment.sent, segment.end(), segment.was_retransmitted());
                delivery.on_delivered(segment.snapshot, segment.sent, segment.end(), newest);
                if !segment.was_retransmitted() {
                    if segment.first < highest {
                        reordered = reordered.min(segment.first);
                    }
                    found.original_delivered |= segment.end() <= high;
                    *newest_sacked = segment.sent.max(*newest_sacked);
                    times.first_sacked.get_or_insert(segment.sent);
                    times.last_sacked = Some(segment.sent);
                }
                delivered += u64::from(segment.packets);
            });
            found.data_sacked |= delivered > 0;
            self.count_delivered(delivered, found.ece);
        }
        if self.phase != Phase::Loss || self.undo_marker.is_some() {
            self.check_reordering(reordered);
        }
    }

    /// A duplicate was reported (`tcp_dsack_seen`, `tcp_check_dsack`).
    fn take_duplicate(&mut self, first: u64, end: u64, prior_una: u64, found: &mut Findings) {
        let packets = end - first;
        if packets == 1 && self.probe_end == Some(end) {
            found.duplicate_of_probe = true;
        }
        self.counts.duplicates += packets;
        if self.counts.duplicates > self.counts.retransmitted {
            return;
        }
        if self.counts.reorderings > 0 && !found.duplicate_of_probe {
            self.rack.duplicate_seen = true;
        }
        found.duplicate_reported = true;
        self.count_delivered(packets, found.ece);
        if let Some(marker) = self.undo_marker
            && self.undo_retransmissions > 0
            && end > marker
        {
            // Below what is acknowledged the packets are forgotten and only counted; above, they are still here.
            if end <= prior_una || self.board.head().is_some() {
                self.undo_retransmissions = (self.undo_retransmissions - packets as i64).max(0);
            }
        }
        self.board.duplicate(first, end);
    }
}

/// Whether a sender recognizes that the first block reports a duplicate (`tcp_check_dsack`). Beyond the ACK, it does only if
/// the second block contains the first. The receiver puts another block there if more packets have arrived. Then the first
/// block is taken for an ordinary one.
fn is_recognized_duplicate(range: &Range<u64>, sack: &Sack, next: u64) -> bool {
    let contains_it = |block: &Range<u64>| block.start <= range.start && range.end <= block.end;
    range.start < next || sack.blocks.first().is_some_and(contains_it)
}
