//! Controlled delay (RFC 8289; names and branches follow its section 5, what Linux adds is said where it is).

use super::settings::CoDelSettings;
use super::store::Store;
use super::train::{Ecn, Train};

/// What a queue decided, for the link's counters and for the sockets of its host.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub dropped: u64,
    pub marked: u64,
    /// What was dropped, where somebody is to be told.
    pub gone: Vec<Dropped>,
    tells: bool,
}

/// What a host's queue dropped after it had come, or when it came at a time of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The packets.
    pub train: Train,
    /// Their socket heard of it from its call (NET_XMIT_DROP, NET_XMIT_CN).
    pub told: bool,
}

impl Tally {
    /// Nothing yet; `tells`: what is dropped is kept for who sent it.
    pub(crate) fn new(tells: bool) -> Tally {
        Tally { tells, ..Tally::default() }
    }

    /// Packets are dropped; `told`: while their own socket enqueued.
    pub(crate) fn drop(&mut self, train: Train, told: bool) {
        self.dropped += u64::from(train.packets);
        if self.tells {
            self.gone.push(Dropped { train, told });
        }
    }
}

/// Parameters in the clock's unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameters {
    /// Picoseconds.
    pub target: i64,
    pub interval: i64,
    pub ecn: bool,
}

impl From<&CoDelSettings> for Parameters {
    fn from(settings: &CoDelSettings) -> Parameters {
        Parameters {
            target: settings.target.picoseconds(),
            interval: settings.interval.picoseconds(),
            ecn: settings.ecn,
        }
    }
}

/// The control of one queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control {
    /// When the delay will have been above the target for an interval; none while it is below.
    first_above: Option<i64>,
    dropping: bool,
    /// When to drop next, if dropping; when the last dropping ended, if not.
    drop_next: i64,
    /// Drops since dropping began, and what it was when it last began.
    count: u64,
    last_count: u64,
    /// The largest frame seen, bytes: a backlog of that much is no standing queue.
    largest: u32,
}

/// The time of the next drop: they come closer with the square root of their number.
fn control_law(at: i64, interval: i64, count: u64) -> i64 {
    at + (interval as f64 / (count as f64).sqrt()) as i64
}

impl Control {
    /// The next packet for the transmitter at `now`; or several of one train, at most `stretch`, if each of them
    /// would be sent as a matter of course at intervals of `service`.
    pub(crate) fn dequeue(
        &mut self,
        p: &Parameters,
        store: &mut Store,
        now: i64,
        (service, stretch): (i64, u32),
        tally: &mut Tally,
    ) -> Option<Train> {
        if !self.dropping
            && stretch > 1
            && let Some(packets) = below_target(p, store.front(), now, (service, stretch))
        {
            self.first_above = None;
            let taken = store.take(packets)?;
            self.largest = self.largest.max(taken.frame);
            return Some(taken);
        }
        let (mut packet, mut above) = self.next(p, store, now);
        if packet.is_none() {
            self.dropping = false;
            return None;
        }
        if self.dropping {
            if !above {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if self.mark(p, &mut packet, tally) {
                    self.drop_next = control_law(self.drop_next, p.interval, self.count);
                    break;
                }
                // `drop_func` frees the packet and tells nobody.
                packet.into_iter().for_each(|packet| tally.drop(packet, false));
                (packet, above) = self.next(p, store, now);
                if above {
                    self.drop_next = control_law(self.drop_next, p.interval, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if above {
            if !self.mark(p, &mut packet, tally) {
                packet.into_iter().for_each(|packet| tally.drop(packet, false));
                (packet, _) = self.next(p, store, now);
            }
            self.dropping = true;
            // If it has not been long since dropping ended, begin at the rate that controlled the queue then.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now - self.drop_next < 16 * p.interval;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = control_law(now, p.interval, self.count);
            self.last_count = self.count;
        }
        packet
    }

    /// A frame has passed the empty queue.
    pub(crate) fn passed(&mut self, frame: u32) {
        self.largest = self.largest.max(frame);
        self.first_above = None;
        self.dropping = false;
    }

    /// Packets were dropped from outside because the queue was full: drop faster (Linux fq_codel).
    pub(crate) fn overflowed(&mut self, packets: u64) {
        self.count += packets;
    }

    /// Takes a packet; whether the delay has been above the target for an interval.
    fn next(&mut self, p: &Parameters, store: &mut Store, now: i64) -> (Option<Train>, bool) {
        let Some(packet) = store.take_piece() else {
            self.first_above = None;
            return (None, false);
        };
        self.largest = self.largest.max(packet.frame);
        let delay = now - packet.at.picoseconds();
        // As Linux: the backlog without this packet.
        if delay < p.target || store.bytes() <= u64::from(self.largest) {
            self.first_above = None;
            return (Some(packet), false);
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + p.interval);
                (Some(packet), false)
            }
            Some(time) => (Some(packet), now >= time),
        }
    }

    /// Marks instead of dropping, if that is wanted and possible (RFC 8289 section 5, Linux).
    fn mark(&self, p: &Parameters, packet: &mut Option<Train>, tally: &mut Tally) -> bool {
        match packet {
            Some(packet) if p.ecn && packet.ecn.can_be_marked() => {
                packet.ecn = Ecn::Marked;
                tally.marked += u64::from(packet.packets);
                true
            }
            _ => false,
        }
    }
}

/// How many of the train in front would all find the delay below the target.
fn below_target(
    p: &Parameters,
    front: Option<&Train>,
    now: i64,
    (service, stretch): (i64, u32),
) -> Option<u32> {
    let front = front?;
    let packets = front.packets.min(stretch);
    // The delay changes evenly from packet to packet.
    let first = now - front.at.picoseconds();
    let last = first + (service - front.gap.picoseconds()) * i64::from(packets - 1);
    (first < p.target && last < p.target).then_some(packets)
}
