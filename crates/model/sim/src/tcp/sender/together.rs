//! Acknowledgements that are taken as one: those that follow each other evenly and only advance the window.

use super::transmit::WINDOW_DIVISOR;
use super::{Incoming, Sender, TRAIN_PACKETS};
use crate::net::{Ack, Train};
use crate::tcp::rtt::Even;
use crate::tcp::{Feedback, clock};
use wirespeed_congestion::Phase;
use wirespeed_units::{SimTime, Span};

/// The part of the window that may leave as one train.
const LITTLE: u64 = 4;

/// When what several acknowledgements let go leaves: each GSO packet with the acknowledgement that makes room for it.
#[derive(Debug, Clone, Copy)]
pub struct Leaving {
    /// The first acknowledgement.
    at: SimTime,
    /// From one to the next.
    gap: Span,
    /// Packets that each acknowledges.
    stride: u32,
    /// Packets that the window had room for before.
    room: u64,
    /// Packets that have left since.
    left: u64,
}

impl Leaving {
    /// All at `at`.
    pub(super) fn at_once(at: SimTime) -> Leaving {
        Leaving { at, gap: Span::ZERO, stride: 1, room: 0, left: 0 }
    }

    /// When the next `packets` would leave.
    pub(super) fn next(mut self, packets: u64) -> SimTime {
        self.depart(packets)
    }

    /// When the next `packets` leave.
    pub(super) fn depart(&mut self, packets: u64) -> SimTime {
        self.left += packets;
        let acks = acks_for(self.left.saturating_sub(self.room), self.stride).max(1);
        self.at + self.gap * (acks as i64 - 1)
    }
}

/// How many acknowledgements are taken as one.
struct Taken {
    acks: u32,
    /// The first of them that lets packets go, counted from 1; the last if all leave at once.
    first: u32,
}

/// Acknowledgements that are taken as one.
struct Taking {
    /// Number of the last of them in the train.
    last: u32,
    count: u32,
    leaving: Option<Leaving>,
    /// [`Incoming::by_first`].
    by_first: bool,
}

impl Sender {
    /// Acknowledgements arrive. Several that only advance the window are taken together up to the one that lets a
    /// GSO packet leave, or several of them, unless every one of them counts (slow start, loss recovery).
    pub fn on_acks(&mut self, at: SimTime, gap: Span, count: u32, ack: &Ack, out: &mut Vec<Train>) {
        let mut left = count;
        let mut index = 0;
        while left > 0 {
            let is_open = self.cwnd >= LITTLE * self.burst;
            let taken = if left > 1 && is_open && self.may_take_together(ack, index) {
                self.worth_taking(ack.stride, at + gap * i64::from(index), gap, left)
            } else {
                Taken { acks: 1, first: 1 }
            };
            let leaving = (taken.first < taken.acks).then(|| Leaving {
                at: at + gap * i64::from(index),
                gap,
                stride: ack.stride,
                room: self.cwnd.saturating_sub(self.in_flight()),
                left: 0,
            });
            index += taken.acks;
            left -= taken.acks;
            let now = at + gap * i64::from(index - 1);
            // What is due between two acknowledgements of a train comes between them.
            if index > 1 && self.deadline().has_come(now) {
                self.on_timer(self.deadline().time(), out);
            }
            let taken = Taking { last: index - 1, count: taken.acks, leaving, by_first: false };
            self.take((now, gap), taken, ack, out);
        }
    }

    /// Takes acknowledgements of a train, the last of them at `now`, as one.
    #[inline]
    fn take(&mut self, (now, gap): (SimTime, Span), taking: Taking, ack: &Ack, out: &mut Vec<Train>) {
        self.on_ack(
            Incoming {
                now,
                next: ack.next + u64::from(ack.stride) * u64::from(taking.last),
                window: ack.window,
                echo: ack.echo,
                stamp: ack.stamp,
                ece: ack.ece,
                marks: ack.marks,
                sack: ack.sack.as_deref(),
                count: taking.count,
                gap,
                stride: ack.stride,
                leaving: taking.leaving,
                by_first: taking.by_first,
            },
            out,
        );
    }

    /// As many acknowledgements arrive as [`Sender::acks_before_sending`] has said.
    pub fn on_acks_before_sending(
        &mut self,
        at: SimTime,
        gap: Span,
        count: u32,
        ack: &Ack,
        out: &mut Vec<Train>,
    ) {
        let taking = Taking { last: count - 1, count, leaving: None, by_first: true };
        self.take((at + gap * i64::from(count - 1), gap), taking, ack, out);
    }

    /// How many of `count` acknowledgements, the first at `at`, are taken as one: what the next one lets go may depend on
    /// what the host's queue says of what these do. None but the first is later than `until`, or as late as a timer of the socket's
    /// own.
    pub fn acks_before_sending(&self, at: SimTime, gap: Span, count: u32, ack: &Ack, until: SimTime) -> u32 {
        let moves_limit = self.host_queue.is_throttling() && !self.is_limit_fixed();
        if moves_limit || !self.may_take_together(ack, 0) {
            return 1;
        }
        let taken = self.worth_taking(ack.stride, at, gap, count).acks;
        let latest = until.picoseconds().min(self.deadline().time().picoseconds() - 1);
        let left = (latest - at.picoseconds()).max(0);
        let gap = gap.picoseconds();
        if gap * i64::from(taken - 1) <= left {
            return taken;
        }
        (left / gap) as u32 + 1
    }

    fn may_take_together(&self, ack: &Ack, index: u32) -> bool {
        let burst = self.burst;
        self.phase == Phase::Open
            && !self.settings.algorithm.reads_rates
            // Each may report a mark.
            && self.settings.feedback != Feedback::Accurate
            // Only where the congestion window is the limit: a writer or a receiver's window that is, each
            // acknowledgement lets go on.
            && self.written >= self.nxt + 2 * burst
            && self.window_end >= self.nxt + 2 * burst
            && !ack.ece
            && self.board.sacked == 0
            && self.board.retransmitted == 0
            && self.probe_end.is_none()
            // In slow start each makes the window grow, unless it is not the window that limits.
            && (self.cwnd >= self.ssthresh || self.host_queue.is_throttling() && !self.is_window_limited())
            && ack.next + u64::from(ack.stride) * u64::from(index) > self.una
    }

    /// How many of `left` acknowledgements until the next GSO packet can leave, or as many as make a train where a GSO
    /// packet is less.
    fn worth_taking(&self, stride: u32, at: SimTime, gap: Span, left: u32) -> Taken {
        if self.host_queue.is_throttling() {
            // What the host's own queue holds back goes on when that empties.
            return Taken { acks: left, first: left };
        }
        if !self.may_wait(at) {
            return Taken { acks: 1, first: 1 };
        }
        let room = self.cwnd.saturating_sub(self.in_flight());
        let acks_until =
            |packets: u64| acks_for(packets.saturating_sub(room), stride).clamp(1, u64::from(left)) as u32;
        let burst = self.burst;
        // A third of a small window is worth sending.
        let third = self.cwnd.min(self.window_packets).div_ceil(WINDOW_DIVISOR);
        let next = burst.min(self.pieces.head()).min(third).max(1);
        let first = acks_until(next);
        if first < left && gap <= self.settings.line * i64::from(stride) && self.comes_as_expected(at) {
            let acks = self.acks_of_bursts(room, stride, left).max(first);
            return Taken { acks, first };
        }
        let all = acks_until(next + (self.pieces_of_train(burst) - 1) * burst);
        Taken { acks: all, first }
    }

    /// Whether an acknowledgement that arrives at `at` changes nothing in what is expected of the next ones. A late one
    /// lets less than a GSO packet leave (`tcp_tso_should_defer`), as do those after it while the round-trip time comes
    /// down again.
    fn comes_as_expected(&self, at: SimTime) -> bool {
        let longest = self.longest_wait();
        self.until_ack(at).is_some_and(|early| early <= longest && early + longest >= Span::ZERO)
    }

    /// GSO packets that leave as one train: one, but several of few large frames, as long as that is little of the
    /// window.
    fn pieces_of_train(&self, burst: u64) -> u64 {
        let train = u64::from(self.settings.train_packets.min(TRAIN_PACKETS));
        if 2 * burst > train || burst != u64::from(self.settings.gso_packets) {
            return 1;
        }
        let pieces = train / burst.max(1);
        let little = LITTLE * pieces * burst;
        let is_open =
            self.cwnd >= little && self.written >= self.nxt + little && self.window_end >= self.nxt + little;
        if is_open { pieces.max(1) } else { 1 }
    }

    /// How many of `left` acknowledgements are taken where GSO packets follow each other on the host's line without a
    /// pause: what leaves is then the same as if each had been sent by itself, but for when the packets of one come to
    /// that line. 0 if that is not to be.
    fn acks_of_bursts(&self, room: u64, stride: u32, left: u32) -> u32 {
        let burst = self.burst;
        let most = u64::from(self.settings.train_packets)
            .min(self.cwnd / LITTLE)
            .min((self.written - self.nxt) / 2)
            .min((self.window_end - self.nxt) / 2);
        if 2 * burst > most || self.settings.paced {
            return 0;
        }
        if room + u64::from(left) * u64::from(stride) <= most {
            return left;
        }
        let whole = most - most % burst;
        acks_for(whole.saturating_sub(room), stride).min(u64::from(left)) as u32
    }

    /// Round-trip times of all but the last of several acknowledgements that were taken together.
    pub(super) fn measure_each(&mut self, ack: &Incoming) {
        let (gap, stride) = (ack.gap.picoseconds(), u64::from(ack.stride));
        let mut now = ack.now.picoseconds() - gap * i64::from(ack.count - 1);
        let mut una = self.una - stride * u64::from(ack.count - 1);
        let mut left = ack.count - 1;
        let mut measured = false;
        let ahead = ack.ahead();
        for (end, sent) in &self.sent_times {
            if left == 0 {
                break;
            }
            let end = end + ahead;
            if end < una {
                continue;
            }
            // Those up to the segment's end measure the same segment.
            let of_segment = (per_stride((end - una) as i64, ack.stride) + 1).min(left.into()) as u32;
            let each = Even { first: now, gap, count: of_segment, una, stride };
            self.rtt.measure_each(&each, clock::micros(*sent), self.nxt);
            measured = true;
            left -= of_segment;
            now += gap * i64::from(of_segment);
            una += stride * u64::from(of_segment);
        }
        if measured {
            self.rtt.set_timeout();
        }
    }
}

impl Incoming<'_> {
    /// So many packets beyond its segment's last one an acknowledgement still measures that segment.
    fn ahead(&self) -> u64 {
        if self.by_first { u64::from(self.stride).saturating_sub(1) } else { 0 }
    }

    /// When what the last of several acknowledgements measures had left, of segments that end and left so.
    pub(super) fn measured(&self, sent_times: &[(u64, SimTime)]) -> Option<SimTime> {
        let measured = sent_times.iter().find(|(end, _)| end + self.ahead() >= self.next);
        measured.map(|(_, sent)| *sent)
    }
}

/// What a number, not negative, is for each of `stride` packets, rounded down.
#[inline]
fn per_stride(of_all: i64, stride: u32) -> i64 {
    // Every packet or every other is what receivers acknowledge; divisions are slow.
    match stride {
        0 | 1 => of_all,
        2 => of_all >> 1,
        _ => of_all / i64::from(stride),
    }
}

/// Acknowledgements of `stride` packets each that acknowledge `packets`.
#[inline]
fn acks_for(packets: u64, stride: u32) -> u64 {
    match stride {
        0 | 1 => packets,
        2 => packets.div_ceil(2),
        _ => packets.div_ceil(u64::from(stride)),
    }
}
