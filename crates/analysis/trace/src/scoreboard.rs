//! Data that was sent and is not acknowledged yet, as the capture point sees it.

use std::collections::VecDeque;
use std::ops::Range;

/// So many chunks are tracked; of a capture without acknowledgments, older ones are discarded.
const MOST_CHUNKS: usize = 1 << 20;

/// A chunk of the stream that left in one captured packet, or that was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// First sequence number.
    pub start: i64,
    /// Sequence number after the last.
    pub end: i64,
    /// First transmission that was seen. Of a hole: when a later packet revealed it.
    pub first_ns: i64,
    /// Newest transmission, hardware duplicates included.
    pub last_ns: i64,
    /// Timestamp value of the first transmission. Of a hole: that of the packet that revealed it.
    pub first_value: Option<u32>,
    /// Timestamp value of the newest transmission.
    pub last_value: Option<u32>,
    /// IP identification of the newest transmission. Of a hole: that of the packet that revealed it.
    pub ip_id: Option<u16>,
    /// Number of the packet among all data packets of its direction. Of a hole: that of the packet that revealed it.
    pub number: u64,
    /// Transmissions seen at the capture point, without hardware duplicates: 0 for a hole.
    pub transmissions: u32,
    /// Packets after segmentation.
    pub packets: u32,
    /// A SACK block covered it.
    pub is_sacked: bool,
    /// The first transmission did not pass the capture point, or passed it late.
    pub was_hole: bool,
}

impl Chunk {
    pub(crate) fn bytes(&self) -> i64 {
        self.end - self.start
    }
}

/// Chunks from the first that is not acknowledged to the newest, without gaps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoreboard {
    chunks: VecDeque<Chunk>,
    una: Option<i64>,
    max: Option<i64>,
    sacked_bytes: i64,
    highest_sacked: i64,
    /// Blocks of recent acknowledgments, so that only changes are marked.
    blocks: [(i64, i64); 4],
    /// Chunks that were discarded without an acknowledgment.
    pub given_up: u64,
}

impl Scoreboard {
    /// First sequence number that is not acknowledged.
    pub(crate) fn una(&self) -> Option<i64> {
        self.una
    }

    /// Sequence number after the newest.
    pub(crate) fn max(&self) -> Option<i64> {
        self.max
    }

    /// Bytes that neither an acknowledgment nor a SACK block covers.
    pub(crate) fn in_flight(&self) -> i64 {
        self.outstanding() - self.sacked_bytes
    }

    /// Bytes that no cumulative acknowledgment covers.
    pub(crate) fn outstanding(&self) -> i64 {
        match (self.una, self.max) {
            (Some(una), Some(max)) => (max - una).max(0),
            _ => 0,
        }
    }

    pub(crate) fn sacked_bytes(&self) -> i64 {
        self.sacked_bytes
    }

    /// Right edge of the highest SACK block that is above the cumulative acknowledgment.
    pub(crate) fn highest_sacked(&self) -> Option<i64> {
        (self.sacked_bytes > 0).then_some(self.highest_sacked)
    }

    /// The stream begins at `start`, if nothing is known yet.
    pub(crate) fn begin(&mut self, start: i64) {
        self.una.get_or_insert(start);
        self.max.get_or_insert(start);
    }

    /// The capture begins within the stream. Data before `start` was sent before.
    pub(crate) fn continue_at(&mut self, start: i64) {
        self.una = Some(self.una.map_or(start, |una| una.min(start)));
        self.max = Some(self.max.map_or(start, |max| max.max(start)));
    }

    /// Adds a chunk that begins at [`Self::max`] or above it. Returns the bytes of the hole before it, which is a chunk, too.
    pub(crate) fn append(&mut self, chunk: Chunk) -> i64 {
        self.begin(chunk.start);
        let max = self.max.unwrap_or(chunk.start);
        let hole = chunk.start - max;
        if hole > 0 {
            let gap = Chunk {
                start: max,
                end: chunk.start,
                transmissions: 0,
                packets: 0,
                was_hole: true,
                is_sacked: false,
                ..chunk
            };
            self.chunks.push_back(gap);
        }
        self.chunks.push_back(chunk);
        self.max = Some(chunk.end);
        if self.chunks.len() > MOST_CHUNKS {
            self.give_up();
        }
        hole.max(0)
    }

    fn give_up(&mut self) {
        if let Some(oldest) = self.chunks.pop_front() {
            self.given_up += 1;
            if oldest.is_sacked {
                self.sacked_bytes -= oldest.bytes();
            }
            self.una = self.chunks.front().map(|chunk| chunk.start).or(self.max);
        }
    }

    /// Everything below `ack` is acknowledged. Each chunk, or the part of it below `ack`, goes to `acknowledged` in order.
    pub(crate) fn acknowledge(&mut self, ack: i64, mut acknowledged: impl FnMut(&Chunk, bool)) {
        while let Some(front) = self.chunks.front_mut() {
            if front.start >= ack {
                break;
            }
            let end = front.end.min(ack);
            let part = Chunk { end, ..*front };
            if part.is_sacked {
                self.sacked_bytes -= part.bytes();
            }
            acknowledged(&part, end == front.end);
            if end == front.end {
                self.chunks.pop_front();
            } else {
                front.start = end;
            }
        }
        self.una = Some(self.una.map_or(ack, |una| una.max(ack)));
        self.max = Some(self.max.map_or(ack, |max| max.max(ack)));
    }

    /// A SACK block covers `left` to `right`. Chunks that no block covered before go to `sacked`.
    pub(crate) fn sack(&mut self, left: i64, right: i64, mut sacked: impl FnMut(&Chunk)) {
        let left = left.max(self.una.unwrap_or(left));
        let right = right.min(self.max.unwrap_or(right));
        if left >= right {
            return;
        }
        let known = self.blocks.iter().position(|&(from, to)| from <= right && left <= to && from < to);
        let (mut parts, mut count) = ([(left, right), (0, 0)], 1);
        if let Some(known) = known {
            let (from, to) = self.blocks[known];
            parts = [(left, from.min(right)), (to.max(left), right)];
            count = 2;
            self.blocks[known] = (left.min(from), right.max(to));
        } else {
            self.blocks.rotate_right(1);
            self.blocks[0] = (left, right);
        }
        for &(left, right) in &parts[..count] {
            if left < right {
                self.mark(left, right, &mut sacked);
            }
        }
        self.highest_sacked = match self.sacked_bytes {
            0 => 0,
            _ => self.highest_sacked.max(right),
        };
    }

    fn mark(&mut self, left: i64, right: i64, sacked: &mut impl FnMut(&Chunk)) {
        for at in self.isolate(left, right) {
            let chunk = &mut self.chunks[at];
            if !chunk.is_sacked {
                chunk.is_sacked = true;
                self.sacked_bytes += chunk.bytes();
                sacked(chunk);
            }
        }
    }

    /// The chunks of `start` to `end`, as far as they are tracked. Chunks that reach beyond are divided.
    pub(crate) fn isolate(&mut self, start: i64, end: i64) -> Range<usize> {
        self.divide(start);
        self.divide(end);
        let from = self.chunks.partition_point(|chunk| chunk.start < start);
        let to = self.chunks.partition_point(|chunk| chunk.start < end);
        from..to.max(from)
    }

    /// A chunk by its place.
    pub(crate) fn chunk_mut(&mut self, at: usize) -> &mut Chunk {
        &mut self.chunks[at]
    }

    fn divide(&mut self, at: i64) {
        let next = self.chunks.partition_point(|chunk| chunk.start < at);
        let Some(place) = next.checked_sub(1) else { return };
        let chunk = &mut self.chunks[place];
        if chunk.end <= at {
            return;
        }
        let share = |bytes: i64, chunk: &Chunk| {
            let packets = i64::from(chunk.packets) * bytes / chunk.bytes().max(1);
            (packets as u32).clamp(1, chunk.packets.max(1))
        };
        let packets = if chunk.packets == 0 { 0 } else { share(at - chunk.start, chunk) };
        let rest = Chunk { start: at, packets: chunk.packets.saturating_sub(packets), ..*chunk };
        chunk.end = at;
        chunk.packets = packets;
        self.chunks.insert(next, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(start: i64, end: i64) -> Chunk {
        Chunk {
            start,
            end,
            first_ns: 0,
            last_ns: 0,
            first_value: None,
            last_value: None,
            ip_id: None,
            number: 0,
            transmissions: 1,
            packets: ((end - start) / 100).max(1) as u32,
            is_sacked: false,
            was_hole: false,
        }
    }

    #[test]
    fn packet_beyond_the_newest_leaves_a_hole() {
        let mut board = Scoreboard::default();
        assert_eq!(board.append(chunk(1, 101)), 0);
        assert_eq!(board.append(chunk(301, 401)), 200);
        assert_eq!((board.outstanding(), board.in_flight()), (400, 400));
        let mut seen = Vec::new();
        board.acknowledge(401, |chunk, _| seen.push((chunk.start, chunk.end, chunk.transmissions)));
        assert_eq!(seen, [(1, 101, 1), (101, 301, 0), (301, 401, 1)]);
        assert_eq!(board.outstanding(), 0);
    }

    #[test]
    fn blocks_count_each_byte_once_and_acknowledgments_take_it_back() {
        let mut board = Scoreboard::default();
        for start in (0..10).map(|i| i * 100) {
            board.append(chunk(start, start + 100));
        }
        let mut newly = 0;
        board.sack(200, 300, |chunk| newly += chunk.bytes());
        board.sack(200, 500, |chunk| newly += chunk.bytes());
        board.sack(200, 500, |chunk| newly += chunk.bytes());
        board.sack(700, 800, |chunk| newly += chunk.bytes());
        board.sack(150, 500, |chunk| newly += chunk.bytes());
        assert_eq!((newly, board.sacked_bytes(), board.in_flight()), (450, 450, 550));
        assert_eq!(board.highest_sacked(), Some(800));
        board.acknowledge(500, |_, _| {});
        assert_eq!((board.sacked_bytes(), board.in_flight()), (100, 400));
        board.acknowledge(1000, |_, _| {});
        assert_eq!((board.sacked_bytes(), board.in_flight(), board.highest_sacked()), (0, 0, None));
    }

    #[test]
    fn super_packet_is_divided_where_a_part_is_retransmitted() {
        let mut board = Scoreboard::default();
        board.append(chunk(0, 1000));
        let range = board.isolate(200, 400);
        assert_eq!(range, 1..2);
        let part = *board.chunk_mut(1);
        assert_eq!((part.start, part.end, part.packets), (200, 400, 2));
        let mut ends = Vec::new();
        board.acknowledge(300, |chunk, whole| ends.push((chunk.end, whole)));
        assert_eq!(ends, [(200, true), (300, false)]);
    }
}
