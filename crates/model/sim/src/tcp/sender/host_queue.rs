//! What of a socket waits in its own host's queue, and when sending goes on because of it: TCP small queues
//! (`sk_wmem_alloc`, `tcp_small_queue_check`, `tcp_wfree`, `tcp_tsq_write`).

use super::Sender;
use super::transmit::{PACING_SHIFT, TRAIN_PACKETS};
use crate::due::Due;
use crate::net::{Arrival, Train};
use crate::tcp::PACKET_OVERHEAD;
use std::collections::VecDeque;
use wirespeed_units::{SimTime, Span};

/// Packets of a socket in its host's queue.
#[derive(Debug, Default)]
pub(super) struct HostQueue {
    /// All, those of `leaving` included.
    packets: u64,
    /// Trains of which it is known when they leave, in their order: the one that left last or is leaving now, and behind it those that a
    /// first-in-first-out queue has accepted.
    leaving: VecDeque<Departing>,
    /// Packets that left within the system call that sent them: an idle line takes the first at once (`__dev_xmit_skb` calls
    /// `qdisc_run`), and the softirq that frees its memory runs as `__dev_queue_xmit` returns.
    ahead: u64,
    /// Packets are sent from the application's system call, not from a softirq.
    pub(super) in_call: bool,
    /// Sending stopped because there was more than this, in packets (`TSQ_THROTTLED`).
    limit: Option<u64>,
    /// When no more than that is there.
    pub(super) resume: Due,
    /// It has refused packets of this socket before.
    has_refused: bool,
    /// A part of what may leave was sent, and the rest waits for its answer ([`Sender::asks`]).
    is_asked: bool,
}

/// A train on its way out: its packets leave one after the other.
#[derive(Debug, Clone, Copy)]
struct Departing {
    first: SimTime,
    gap: Span,
    packets: u64,
}

impl Departing {
    fn of(arrival: Arrival, packets: u32) -> Departing {
        Departing { first: arrival.at, gap: arrival.gap, packets: packets.into() }
    }

    /// When its last packet leaves.
    fn end(&self) -> SimTime {
        self.first + self.gap * (self.packets.max(1) as i64 - 1)
    }

    /// How many of its packets have left by `time`.
    fn left_by(&self, time: SimTime) -> u64 {
        let gap = self.gap.picoseconds();
        match (time - self.first).picoseconds() {
            ..0 => 0,
            since if gap > 0 => ((since / gap) as u64 + 1).min(self.packets),
            _ => self.packets,
        }
    }
}

impl HostQueue {
    /// Packets that are there at `time`, as far as is known.
    fn packets_at(&self, time: SimTime) -> u64 {
        let begun = self.leaving.iter().take_while(|train| train.first <= time);
        let left: u64 = begun.map(|train| train.left_by(time)).sum();
        self.packets.saturating_sub(left + self.ahead)
    }

    /// Packets enter the queue at `time`, which leave by a line that each occupies for `line`.
    pub(super) fn enter(&mut self, packets: u32, time: SimTime, line: Span) {
        let is_idle = self.in_call
            && self.packets_at(time) == 0
            && self.leaving.back().is_none_or(|last| last.end() + line <= time)
            && self.ahead == 0;
        self.packets += u64::from(packets);
        self.ahead += u64::from(is_idle);
    }

    fn remove(&mut self, packets: u64, now: SimTime) {
        self.packets = self.packets.saturating_sub(packets);
        self.plan(now);
    }

    /// A train begins to leave: those before it have left.
    fn begin_leaving(&mut self, train: Departing) {
        let before: u64 = self.leaving.drain(..).map(|train| train.packets).sum();
        self.packets = self.packets.saturating_sub(before);
        self.leave(train, train.first);
    }

    /// A train that has entered at `now` will leave behind those before it.
    fn will_leave(&mut self, train: Departing, now: SimTime) {
        while let Some(front) = self.leaving.front()
            && front.end() <= now
            && self.leaving.len() > 1
        {
            self.packets = self.packets.saturating_sub(front.packets);
            self.leaving.pop_front();
        }
        self.leave(train, now);
    }

    fn leave(&mut self, train: Departing, now: SimTime) {
        self.ahead = 0;
        self.leaving.push_back(train);
        self.plan(now);
    }

    /// Sees when few enough are left, at `now` or later, if that is known; else the next train that leaves tells.
    fn plan(&mut self, now: SimTime) {
        let Some(limit) = self.limit else { return };
        let mut too_many = self.packets.saturating_sub(limit);
        self.resume = Due::NEVER;
        if too_many == 0 {
            self.resume = Due::at(now);
            return;
        }
        for train in &self.leaving {
            if too_many <= train.packets {
                self.resume = Due::at(now.max(train.first + train.gap * (too_many as i64 - 1)));
                return;
            }
            too_many -= train.packets;
        }
    }

    fn stop_above(&mut self, limit: u64, now: SimTime) {
        self.limit = Some(limit);
        self.plan(now);
    }

    /// Sending has stopped because of what waits here.
    pub(super) fn is_throttling(&self) -> bool {
        self.limit.is_some()
    }

    /// Sending goes on, or stopped for another reason.
    pub(super) fn release(&mut self) {
        self.limit = None;
        self.is_asked = false;
        self.resume = Due::NEVER;
    }

    /// It refused packets: sending stops.
    pub(super) fn refuse(&mut self) {
        self.release();
        self.has_refused = true;
    }

    /// Something waits for its answer.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }
}

impl Sender {
    /// Of what may leave now, `sent` packets have been sent. An fq that has refused before is asked about a train's worth before
    /// the rest follows, in the same instant: a full one refuses the first packet, and with each acknowledgement all that a
    /// large window lets go behind it would be taken back. Answers whether the rest waits.
    pub(super) fn asks(&mut self, sent: u64) -> bool {
        let queue = &mut self.host_queue;
        if self.settings.held && queue.has_refused && sent >= TRAIN_PACKETS.into() {
            (queue.is_asked, queue.resume) = (true, Due::at(self.now));
        }
        queue.is_asked
    }

    /// Too much of this socket waits in the host's own queue to send a GSO packet of `packets` (`tcp_small_queue_check`).
    /// Retransmissions may have `1 << factor` times as much there.
    pub(super) fn is_throttled(&mut self, packets: u64, factor: u32) -> bool {
        if !self.settings.queued || !self.settings.small_queues {
            return false;
        }
        let at = self.leaving.map_or(self.now, |leaving| leaving.next(packets).min(self.now));
        let truesize = packets * u64::from(self.settings.mss) + PACKET_OVERHEAD;
        let mut limit = (2 * truesize).max(self.pacing_rate >> PACING_SHIFT);
        let era = &self.settings.era;
        if !self.is_paced() || era.limits_paced_output {
            limit = limit.min(era.output_limit);
        }
        let allowed = (limit << factor) / self.settings.queued_packet_memory();
        if self.host_queue.packets_at(at) > allowed && self.board.len() > 1 {
            self.host_queue.stop_above(allowed, at);
            true
        } else {
            self.host_queue.release();
            false
        }
    }

    /// Whether small queues allow the same whatever the next acknowledgements make of the pacing rate.
    pub(super) fn is_limit_fixed(&self) -> bool {
        let era = &self.settings.era;
        (!self.is_paced() || era.limits_paced_output) && self.pacing_rate >> PACING_SHIFT > era.output_limit
    }

    /// A train of this socket's data leaves the host's queue: each packet gives its memory back as it goes (`tcp_wfree`).
    pub fn begin_leaving(&mut self, train: &Train) {
        self.host_queue.begin_leaving(Departing::of(train.arrival(), train.packets));
    }

    /// A first-in-first-out queue of the host has accepted packets that came at `entered`: they leave from `departure` on.
    pub fn will_leave(&mut self, entered: SimTime, departure: Arrival, packets: u32) {
        self.host_queue.will_leave(Departing::of(departure, packets), entered);
    }

    /// The host's queue refused packets, dropped them, or was not asked because it refused what was before them.
    pub fn take_back(&mut self, packets: u64, now: SimTime) {
        self.host_queue.remove(packets, now);
    }

    /// The host's own queue has room again, since `at`. Acknowledgements that arrived later may have been taken already.
    pub(super) fn resume(&mut self, at: SimTime, out: &mut Vec<Train>) {
        self.host_queue.release();
        self.leaving = (at < self.now).then(|| super::together::Leaving::at_once(at));
        self.push(out);
        self.leaving = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(at: i64, gap: i64, packets: u64) -> Departing {
        Departing { first: SimTime::ps(at), gap: Span::ps(gap), packets }
    }

    #[test]
    fn packets_of_a_leaving_train_go_one_by_one() {
        let mut queue = HostQueue::default();
        queue.enter(100, SimTime::START, Span::ZERO);
        queue.begin_leaving(train(1000, 10, 40));
        let at = |ps| queue.packets_at(SimTime::ps(ps));
        assert_eq!([999, 1000, 1009, 1010, 1390, 5000].map(at), [100, 99, 99, 98, 60, 60]);
        queue.begin_leaving(train(1400, 10, 40));
        assert_eq!(queue.packets_at(SimTime::ps(1400)), 59);
    }

    #[test]
    fn sending_goes_on_with_the_packet_that_makes_room() {
        let mut queue = HostQueue::default();
        queue.enter(100, SimTime::START, Span::ZERO);
        queue.stop_above(55, SimTime::START);
        assert!(!queue.resume.is_set());
        queue.begin_leaving(train(1000, 10, 40));
        assert!(!queue.resume.is_set(), "60 are left behind it");
        queue.begin_leaving(train(1400, 10, 40));
        assert_eq!(queue.resume, Due::at(SimTime::ps(1440)), "with the fifth, 55 are left");
    }

    #[test]
    fn trains_whose_departures_are_known_leave_one_behind_the_other() {
        let mut queue = HostQueue::default();
        let at = SimTime::ps;
        for first in [1000, 1400, 1800] {
            queue.enter(40, at(900), Span::ZERO);
            queue.will_leave(train(first, 10, 40), at(900));
        }
        assert_eq!(
            [900, 1000, 1390, 1400, 1800, 2190].map(|ps| queue.packets_at(at(ps))),
            [120, 119, 80, 79, 39, 0]
        );
        queue.stop_above(55, at(1100));
        assert_eq!(queue.resume, Due::at(at(1640)), "with the 65th, 55 are left");
        queue.enter(40, at(1640), Span::ZERO);
        queue.will_leave(train(2200, 10, 40), at(1640));
        assert_eq!(queue.resume, Due::at(at(2040)));
        assert_eq!(queue.packets_at(at(2040)), 55);
    }
}
