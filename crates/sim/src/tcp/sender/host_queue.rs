//! What of a socket waits in its own host's queue, and when sending goes on because of it: TCP small queues
//! (`sk_wmem_alloc`, `tcp_small_queue_check`, `tcp_wfree`, `tcp_tsq_write`).

use super::Sender;
use super::transmit::PACING_SHIFT;
use crate::due::Due;
use crate::net::Train;
use crate::tcp::PACKET_OVERHEAD;
use wirespeed_units::{SimTime, Span};

/// Packets of a socket in its host's queue.
#[derive(Debug, Default)]
pub(super) struct HostQueue {
    /// All, those of the train that is leaving included.
    packets: u64,
    /// The train whose packets are leaving now or left last.
    leaving: Departing,
    /// Packets that left within the system call that sent them: an idle line takes the first at once (`__dev_xmit_skb` calls
    /// `qdisc_run`), and the softirq that frees its memory runs as `__dev_queue_xmit` returns.
    ahead: u64,
    /// Packets are sent from the application's system call, not from a softirq.
    pub(super) in_call: bool,
    /// Sending stopped because there was more than this, in packets (`TSQ_THROTTLED`).
    limit: Option<u64>,
    /// When no more than that is there.
    pub(super) resume: Due,
}

/// A train on its way out: its packets leave one after the other.
#[derive(Debug, Default)]
struct Departing {
    first: SimTime,
    gap: Span,
    packets: u64,
}

impl Departing {
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
        self.packets.saturating_sub(self.leaving.left_by(time) + self.ahead)
    }

    /// Packets enter the queue at `time`, which leave by a line that each occupies for `line`.
    pub(super) fn enter(&mut self, packets: u32, time: SimTime, line: Span) {
        let is_idle = self.in_call
            && self.packets_at(time) == 0
            && self.leaving.end() + line <= time
            && self.ahead == 0;
        self.packets += u64::from(packets);
        self.ahead += u64::from(is_idle);
    }

    fn remove(&mut self, packets: u64, now: SimTime) {
        self.packets = self.packets.saturating_sub(packets);
        self.plan(now);
    }

    fn begin_leaving(&mut self, train: &Train) {
        self.ahead = 0;
        self.packets = self.packets.saturating_sub(self.leaving.packets);
        self.leaving = Departing { first: train.at, gap: train.gap, packets: train.packets.into() };
        self.plan(train.at);
    }

    /// Sees when few enough are left, at `now` or later, if that is known; else the next train that leaves tells.
    fn plan(&mut self, now: SimTime) {
        let Some(limit) = self.limit else { return };
        let too_many = self.packets.saturating_sub(limit);
        self.resume = match too_many {
            0 => Due::at(now),
            _ if too_many <= self.leaving.packets => {
                Due::at(now.max(self.leaving.first + self.leaving.gap * (too_many as i64 - 1)))
            }
            _ => Due::NEVER,
        };
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
        self.resume = Due::NEVER;
    }
}

impl Sender {
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

    /// A train of this socket's data leaves the host's queue: each packet gives its memory back as it goes (`tcp_wfree`).
    pub fn begin_leaving(&mut self, train: &Train) {
        self.host_queue.begin_leaving(train);
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
    use crate::net::{Body, Ecn};

    fn train(at: i64, gap: i64, packets: u32) -> Train {
        Train {
            at: SimTime::ps(at),
            gap: Span::ps(gap),
            packets,
            frame: 1514,
            flow: 0,
            ecn: Ecn::NotCapable,
            body: Body::Datagram { first: 0 },
        }
    }

    #[test]
    fn packets_of_a_leaving_train_go_one_by_one() {
        let mut queue = HostQueue::default();
        queue.enter(100, SimTime::START, Span::ZERO);
        queue.begin_leaving(&train(1000, 10, 40));
        let at = |ps| queue.packets_at(SimTime::ps(ps));
        assert_eq!([999, 1000, 1009, 1010, 1390, 5000].map(at), [100, 99, 99, 98, 60, 60]);
        queue.begin_leaving(&train(1400, 10, 40));
        assert_eq!(queue.packets_at(SimTime::ps(1400)), 59);
    }

    #[test]
    fn sending_goes_on_with_the_packet_that_makes_room() {
        let mut queue = HostQueue::default();
        queue.enter(100, SimTime::START, Span::ZERO);
        queue.stop_above(55, SimTime::START);
        assert!(!queue.resume.is_set());
        queue.begin_leaving(&train(1000, 10, 40));
        assert!(!queue.resume.is_set(), "60 are left behind it");
        queue.begin_leaving(&train(1400, 10, 40));
        assert_eq!(queue.resume, Due::at(SimTime::ps(1440)), "with the fifth, 55 are left");
    }
}
