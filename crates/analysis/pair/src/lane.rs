//! The packets of one direction of a connection: each at the near capture point with its counterpart at the far one.

use crate::alignment::Preserved;
use crate::change::Changes;
use crate::delay::Thinned;
use crate::envelope::Dot;
use crate::received::Received;
use crate::reordering::Order;
use crate::result::{Counts, LostPacket};
use crate::sighting::Sighting;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// Keys are hashes already.
#[derive(Debug, Clone, Copy, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A packet at the near point.
#[derive(Debug, Clone, Copy)]
struct Sent {
    sighting: Sighting,
    /// Place of the packet before with the same key; [`NONE`] without one.
    older: u64,
    /// How far the far capture had been read.
    far_progress: i64,
    copy: u32,
    /// How often the near capture has it.
    captured: u32,
    is_matched: bool,
}

const NONE: u64 = u64::MAX;

/// A packet at the far point that is not matched yet.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    sighting: Sighting,
    /// How far both captures had been read.
    progress: [i64; 2],
}

/// The state of reading that a lane needs: how far each capture is, in nanoseconds of its packets without long pauses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Of the near capture; [`i64::MAX`] at its end.
    pub near: i64,
    /// Of the far capture; [`i64::MAX`] at its end.
    pub far: i64,
}

/// Facts about both captures that a lane needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// The near capture is the first one.
    pub is_from_first: bool,
    /// Time of the first packet of the first capture.
    pub origin_ns: i64,
    /// Fields that identify packets.
    pub preserved: Preserved,
    /// First and last time of the near capture.
    pub near_ns: (i64, i64),
    /// First and last time of the far capture.
    pub far_ns: (i64, i64),
    /// Usual difference of times, far less near.
    pub usual_ns: i64,
    /// Half of the usual RTT between the capture points.
    pub half_rtt_ns: i64,
}

/// A packet at the far point is matched when the near capture has been read further by this time.
const SLACK_NS: i64 = 500_000_000;
/// A packet of the near capture counts as lost if the far capture does not have it within this time.
const WINDOW_NS: i64 = 10_000_000_000;
/// Limits of packets that wait, on each side.
const MOST_SENT: usize = 1 << 20;
const MOST_ARRIVED: usize = 1 << 16;
/// So many packets with the same sequence numbers are looked at.
const MOST_COPIES: usize = 256;

/// The packets of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    frame: Frame,
    sent: VecDeque<Sent>,
    /// Place of the first in `sent`.
    base: u64,
    newest: HashMap<u64, u64, BuildHasherDefault<AsItIs>>,
    arrived: VecDeque<Arrived>,
    received: Received,
    /// Sequence number in 64 bits of the far capture, less that of the near one.
    far_seq64: Option<i64>,
    highest: i64,
    /// Recent differences of times (far less near): newest, least, largest.
    recent: [i64; 3],
    order: Order,
    /// Numbers of packets.
    pub counts: Counts,
    /// Lost packets.
    pub lost: Vec<LostPacket>,
    /// Changes by devices on the path.
    pub changes: Changes,
    /// Differences of times of matched packets.
    pub differences: Thinned,
}

/// So many delays of a lane are kept.
const DELAYS: usize = 4_096;

impl Lane {
    pub(crate) fn new(frame: Frame) -> Lane {
        Lane {
            frame,
            sent: VecDeque::new(),
            base: 0,
            newest: HashMap::default(),
            arrived: VecDeque::new(),
            received: Received::default(),
            far_seq64: None,
            highest: i64::MIN,
            recent: [frame.usual_ns; 3],
            order: Order::default(),
            counts: Counts::default(),
            lost: Vec::new(),
            changes: Changes::default(),
            differences: Thinned::new(DELAYS),
        }
    }

    /// Packets that overtook each other.
    pub(crate) fn reordering(&self) -> crate::reordering::Reordering {
        self.order.found
    }

    /// A packet passes the near point.
    pub(crate) fn sent(&mut self, sighting: Sighting, progress: Progress, matched: &mut impl FnMut(Dot)) {
        let older = self.newest.get(&sighting.key).copied().filter(|&place| place >= self.base);
        if let Some(place) = older {
            let before = &mut self.sent[(place - self.base) as usize];
            if sighting.is_copy_of(&before.sighting) {
                // The later of both is the one that was transmitted.
                if !before.is_matched {
                    before.sighting.t_ns = sighting.t_ns;
                }
                before.captured += 1;
                self.counts.captured_twice += 1;
                return;
            }
        }
        let end = sighting.seq64 + i64::from(sighting.length);
        let copy = match older {
            _ if sighting.length == 0 => 0,
            Some(place) => self.sent[(place - self.base) as usize].copy + 1,
            None => 1 + u32::from(end <= self.highest),
        };
        if sighting.length > 0 {
            self.highest = self.highest.max(end);
        }
        let place = self.base + self.sent.len() as u64;
        self.newest.insert(sighting.key, place);
        let older = older.unwrap_or(NONE);
        let sent = Sent { sighting, older, far_progress: progress.far, copy, captured: 1, is_matched: false };
        self.sent.push_back(sent);
        self.match_due(progress, matched);
        self.settle_due(progress);
    }

    /// A packet passes the far point.
    pub(crate) fn arrived(&mut self, sighting: Sighting, progress: Progress, matched: &mut impl FnMut(Dot)) {
        self.received.add(sighting.seq64, sighting.seq64 + i64::from(sighting.length));
        self.arrived.push_back(Arrived { sighting, progress: [progress.near, progress.far] });
        self.match_due(progress, matched);
        self.settle_due(progress);
    }

    /// The far capture has an acknowledgment of everything before `ack64`.
    pub(crate) fn acknowledged(&mut self, ack64: i64) {
        self.received.acknowledged(ack64);
    }

    /// Decides about everything that waits.
    pub(crate) fn finish(&mut self, matched: &mut impl FnMut(Dot)) {
        while let Some(arrived) = self.arrived.pop_front() {
            self.find(&arrived.sighting, matched);
        }
        while let Some(sent) = self.sent.pop_front() {
            self.base += 1;
            self.settle(&sent);
        }
        self.newest = HashMap::default();
        (self.sent, self.arrived) = (VecDeque::new(), VecDeque::new());
        self.received = Received::default();
    }

    fn match_due(&mut self, progress: Progress, matched: &mut impl FnMut(Dot)) {
        while let Some(first) = self.arrived.front() {
            let [near, far] = first.progress;
            let is_due = progress.near.saturating_sub(near) >= SLACK_NS
                || progress.near == i64::MAX
                || progress.far.saturating_sub(far) >= 4 * SLACK_NS && progress.far != i64::MAX
                || self.arrived.len() > MOST_ARRIVED;
            if !is_due {
                break;
            }
            let sighting = first.sighting;
            self.arrived.pop_front();
            self.find(&sighting, matched);
        }
    }

    fn settle_due(&mut self, progress: Progress) {
        while let Some(first) = self.sent.front() {
            // Packets that wait at the far point may be these.
            let is_over = progress.far != i64::MAX
                && progress.far.saturating_sub(first.far_progress) >= WINDOW_NS
                || self.sent.len() > MOST_SENT;
            if !is_over {
                break;
            }
            let sent = *first;
            if self.newest.get(&sent.sighting.key) == Some(&self.base) {
                self.newest.remove(&sent.sighting.key);
            }
            self.sent.pop_front();
            self.base += 1;
            self.settle(&sent);
        }
    }

    /// Finds the counterpart of a packet at the far point.
    fn find(&mut self, far: &Sighting, matched: &mut impl FnMut(Dot)) {
        let (mut best, mut again) = (None, None);
        let mut place = self.newest.get(&far.key).copied().unwrap_or(NONE);
        for _ in 0..MOST_COPIES {
            if place == NONE || place < self.base {
                break;
            }
            let sent = &self.sent[(place - self.base) as usize];
            if far.may_be(&sent.sighting, self.frame.preserved) {
                let distance = (far.t_ns - sent.sighting.t_ns).abs_diff(self.recent[0]);
                let rank = (far.differs(&sent.sighting), distance);
                if sent.is_matched {
                    again.get_or_insert(place);
                } else if best.is_none_or(|(least, _)| rank <= least) {
                    best = Some((rank, place));
                }
            }
            place = sent.older;
        }
        match (best, again) {
            (Some((_, place)), _) => self.matched(place, far, matched),
            (None, Some(place)) => {
                let sent = &mut self.sent[(place - self.base) as usize];
                if sent.captured > 1 {
                    // Both captures have it twice: it was two packets before the near point.
                    sent.captured -= 1;
                    self.counts.captured_twice -= 1;
                    self.counts.sent += 1;
                    self.counts.data_sent += u64::from(far.payload > 0);
                    self.counts.delivered += 1;
                } else {
                    self.counts.duplicated += 1;
                }
                self.counts.arrived += 1;
            }
            (None, None) => self.unknown(far),
        }
    }

    fn matched(&mut self, place: u64, far: &Sighting, matched: &mut impl FnMut(Dot)) {
        let sent = &mut self.sent[(place - self.base) as usize];
        sent.is_matched = true;
        let near = sent.sighting;
        self.far_seq64 = Some(far.seq64 - near.seq64);
        self.counts.sent += 1;
        self.counts.data_sent += u64::from(near.payload > 0);
        self.counts.delivered += 1;
        self.counts.arrived += 1;
        self.changes.compare(&near, far);
        self.order.arrived(place, far.t_ns);
        let at_first = if self.frame.is_from_first { near.t_ns } else { far.t_ns };
        let dot = Dot { x: at_first - self.frame.origin_ns, y: far.t_ns - near.t_ns };
        self.differences.add(dot.x, dot.y);
        self.remember(dot.y);
        matched(dot);
    }

    /// The least and the largest recent difference drift towards the newest, so that a step of a clock is forgotten.
    fn remember(&mut self, difference: i64) {
        const SLOWLY: i64 = 1_024;
        let [_, least, largest] = self.recent;
        let least = difference.min(least + (difference - least) / SLOWLY);
        let largest = difference.max(largest - (largest - difference) / SLOWLY);
        self.recent = [difference, least, largest];
    }

    /// A packet at the far point that the near capture does not have.
    fn unknown(&mut self, far: &Sighting) {
        let [_, least, largest] = self.recent;
        let (first, last) = self.frame.near_ns;
        let was_before = far.t_ns - largest < first;
        let was_after = far.t_ns - least > last;
        if was_before || was_after {
            self.counts.far_outside += 1;
        } else {
            self.counts.arrived += 1;
            self.counts.missed_by_near += 1;
        }
    }

    /// Decides about a packet at the near point.
    fn settle(&mut self, sent: &Sent) {
        if sent.is_matched {
            return;
        }
        let sighting = &sent.sighting;
        let [_, least, largest] = self.recent;
        let (first, last) = self.frame.far_ns;
        let was_before = sighting.t_ns + least < first;
        // On the far clock, when it was sent.
        let was_after = sighting.t_ns + least - self.frame.half_rtt_ns > last;
        if was_before || was_after {
            self.counts.near_outside += 1;
            return;
        }
        let has_payload = u64::from(sighting.payload > 0);
        self.counts.sent += 1;
        self.counts.data_sent += has_payload;
        if sighting.t_ns + largest > last {
            self.counts.in_flight += 1;
        } else if self.is_missed(sent) {
            self.counts.missed_by_far += 1;
        } else {
            self.counts.lost += 1;
            self.counts.data_lost += has_payload;
            self.counts.lost_bytes += u64::from(sighting.payload);
            if self.lost.len() < LostPacket::MOST {
                self.lost.push(LostPacket {
                    t_ns: sighting.t_ns,
                    packet: sighting.packet,
                    start: sighting.seq64,
                    bytes: sighting.payload,
                    copy: sent.copy,
                });
            }
        }
    }

    /// The receiver has its data, and the far capture has no copy of it. Only its last copy is the one that the capture missed.
    fn is_missed(&self, sent: &Sent) -> bool {
        let Some(shift) = self.far_seq64.filter(|_| sent.sighting.length > 0) else { return false };
        let start = sent.sighting.seq64 + shift;
        let is_last = self.newest.get(&sent.sighting.key).is_none_or(|&place| place < self.base);
        is_last && self.received.is_missed(start, start + i64::from(sent.sighting.length))
    }
}
