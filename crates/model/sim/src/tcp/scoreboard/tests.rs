//! The scoreboard against a model that knows every packet by itself.

use super::*;
use crate::tcp::rate::Delivery;
use proptest::prelude::*;
use std::collections::VecDeque;

fn snapshot() -> Snapshot {
    Delivery::default().on_send(SimTime::START, 0, 1, 0)
}

fn fresh(first: u64, packets: u32, sent: SimTime) -> Segment {
    Segment::fresh(first, packets, sent, snapshot())
}

fn at(tick: u32) -> SimTime {
    SimTime::ps(i64::from(tick) * 1_000_000)
}

/// A board with the segments `sizes`, one sent per tick.
fn board(first: u64, sizes: &[u32]) -> Scoreboard {
    let mut board = Scoreboard::default();
    let mut next = first;
    for (tick, packets) in sizes.iter().enumerate() {
        board.push(fresh(next, *packets, at(tick as u32)));
        next += u64::from(*packets);
    }
    board
}

/// The numbers of the segments and what is known of them: `.` nothing, `S`, `L`, `R`; a small letter for "was
/// retransmitted before".
fn drawn(board: &Scoreboard) -> String {
    let flags = |s: &Segment| {
        let mut text = format!("{}+{}", s.first, s.packets);
        for (is, letter) in [
            (s.sacked, 'S'),
            (s.lost, 'L'),
            (s.retransmitted, 'R'),
            (s.ever_retransmitted && !s.retransmitted, 'r'),
        ] {
            if is {
                text.push(letter);
            }
        }
        text
    };
    board.all().iter().map(flags).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_selective_acknowledgement_cuts_where_it_begins_and_ends() {
    let mut board = board(0, &[10, 10]);
    let mut seen = Vec::new();
    board.sack(5, 12, |part| seen.push((part.first, part.packets, part.sacked)));
    assert_eq!(drawn(&board), "0+5 5+7S 12+8");
    assert_eq!(seen, [(5, 5, false), (10, 2, false)], "parts are seen as they were before");
    assert_eq!((board.sacked, board.highest_sacked), (7, 12));
    board.sack(5, 12, |_| panic!("nothing new"));
    board.verify();
}

#[test]
fn neighbours_of_the_same_history_become_one() {
    let mut board = board(0, &[4, 4, 4, 4]);
    board.sack(4, 8, |_| ());
    board.sack(12, 16, |_| ());
    assert_eq!(drawn(&board), "0+4 4+4S 8+4 12+4S");
    board.sack(8, 12, |_| ());
    assert_eq!(drawn(&board), "0+4 4+12S");
    board.verify();
}

#[test]
fn a_selective_acknowledgement_in_the_middle_of_thousands_reaches_its_end() {
    let mut board = board(0, &[1; 3000]);
    board.sack(1000, 2000, |_| ());
    assert_eq!((board.sacked, board.len()), (1000, 2001));
    board.verify();
}

#[test]
fn a_retransmission_keeps_its_neighbours_apart() {
    let mut board = board(0, &[4, 4, 4]);
    board.detect(|_| true, |s| s.first == 4);
    board.retransmit(4, 4, at(9), snapshot());
    board.sack(0, 12, |_| ());
    // Both the original and the retransmission may have been delivered; only a loss takes the latter out of flight.
    assert_eq!(drawn(&board), "0+4S 4+4Sr 8+4S");
    board.verify();
}

#[test]
fn an_acknowledgement_within_a_segment_leaves_the_rest() {
    let mut board = board(100, &[10]);
    let mut seen = Vec::new();
    board.acknowledge(103, |part| seen.push((part.first, part.packets)));
    assert_eq!(seen, [(100, 3)]);
    assert_eq!(drawn(&board), "103+7");
    board.acknowledge(110, |_| ());
    assert!(board.is_empty() && board.head().is_none() && board.tail().is_none());
}

#[test]
fn losses_are_found_in_the_order_of_sending_and_a_lost_retransmission_too() {
    let mut board = board(0, &[1, 1, 1, 1]);
    assert_eq!(board.detect(|s| s.sent < at(2), |_| true), 2, "what left later is not judged");
    assert_eq!(drawn(&board), "0+1L 1+1L 2+1 3+1");
    assert_eq!(board.next_lost().map(|s| s.first), Some(0));
    board.retransmit(0, 1, at(5), snapshot());
    assert_eq!(board.next_lost().map(|s| s.first), Some(1));
    assert_eq!(board.detect(|s| s.sent < at(2), |_| true), 0);
    assert_eq!(board.detect(|s| s.sent < at(6), |s| s.sent == at(5)), 1, "its retransmission is lost");
    assert_eq!(drawn(&board), "0+1Lr 1+1L 2+1 3+1");
    assert_eq!(board.next_lost().map(|s| s.first), Some(0), "the search begins again where it is");
    board.verify();
}

#[test]
fn a_wait_for_reordering_does_not_hide_what_is_to_be_judged_later() {
    let mut board = board(0, &[1, 1, 1]);
    assert_eq!(board.detect(|_| true, |s| s.first == 2), 1);
    assert_eq!(board.detect(|_| true, |s| s.first == 0), 1);
    assert_eq!(board.detect(|_| true, |_| true), 1);
    assert_eq!(drawn(&board), "0+1L 1+1L 2+1L");
}

#[test]
fn a_duplicate_takes_the_needless_retransmission_out_of_flight() {
    let mut board = board(0, &[1, 1]);
    board.retransmit(0, 1, at(5), snapshot());
    board.sack(0, 1, |_| ());
    assert_eq!(board.retransmitted, 1, "not presumed lost: the original may have been delivered");
    board.duplicate(0, 1);
    assert_eq!(board.retransmitted, 0);
    board.verify();
}

#[test]
fn after_a_timeout_selective_acknowledgements_can_be_forgotten() {
    let mut board = board(0, &[2, 2, 2]);
    board.sack(2, 4, |_| ());
    assert_eq!(board.mark_after_timeout(false, |_| true), 4);
    assert_eq!(drawn(&board), "0+2L 2+2S 4+2L");
    assert_eq!(board.mark_after_timeout(true, |_| true), 2);
    assert_eq!((drawn(&board).as_str(), board.highest_sacked), ("0+2L 2+2L 4+2L", 0));
    board.forget_losses();
    assert_eq!(drawn(&board), "0+2 2+2 4+2");
    board.verify();
}

#[test]
fn without_selective_acknowledgements_the_head_alone_is_lost() {
    let mut board = board(7, &[3]);
    assert_eq!(board.mark_head(), 1);
    assert_eq!(board.mark_head(), 0);
    assert_eq!(drawn(&board), "7+1L 8+2");
    assert_eq!(board.next_lost().map(|s| (s.first, s.packets)), Some((7, 1)));
    board.verify();
}

/// What is known of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    sacked: bool,
    lost: bool,
    retransmitted: bool,
    ever: bool,
    sent: SimTime,
    /// Detection may still find it: it is in Linux' `tsorted_sent_queue`.
    listed: bool,
}

impl Packet {
    fn flags(&self) -> [bool; 4] {
        [self.sacked, self.lost, self.retransmitted, self.ever]
    }

    /// Linux `tcp_mark_skb_lost`: the first time the original is lost, the second time its retransmission.
    fn mark(&mut self) -> u64 {
        let marked = !self.lost || self.retransmitted;
        self.retransmitted &= !self.lost;
        self.lost = true;
        u64::from(marked)
    }
}

/// Every packet by itself, and nothing else.
#[derive(Debug, Default)]
struct Naive {
    una: u64,
    packets: VecDeque<Packet>,
}

impl Naive {
    fn nxt(&self) -> u64 {
        self.una + self.packets.len() as u64
    }

    fn range(&mut self, first: u64, end: u64) -> impl Iterator<Item = (u64, &mut Packet)> {
        let una = self.una;
        self.packets.iter_mut().zip(una..).map(|(p, n)| (n, p)).filter(move |(n, _)| (first..end).contains(n))
    }

    fn push(&mut self, packets: u32, sent: SimTime) {
        let packet =
            Packet { sacked: false, lost: false, retransmitted: false, ever: false, sent, listed: true };
        self.packets.extend(std::iter::repeat_n(packet, packets as usize));
    }

    fn sack(&mut self, first: u64, end: u64) -> Vec<(u64, [bool; 4])> {
        let mut seen = Vec::new();
        for (number, packet) in self.range(first, end).filter(|(_, p)| !p.sacked) {
            seen.push((number, packet.flags()));
            packet.retransmitted &= !packet.lost;
            (packet.sacked, packet.lost) = (true, false);
        }
        seen
    }

    fn acknowledge(&mut self, una: u64) -> Vec<(u64, [bool; 4])> {
        let mut seen = Vec::new();
        while self.una < una {
            let packet = self.packets.pop_front().expect("only what was sent is acknowledged");
            seen.push((self.una, packet.flags()));
            self.una += 1;
        }
        seen
    }

    /// Linux `tcp_rack_detect_loss`, packet by packet.
    fn detect(&mut self, left_before: SimTime, lost_until: SimTime) -> u64 {
        let mut marked = 0;
        for packet in &mut self.packets {
            let waits = packet.lost && !packet.retransmitted;
            let judged = packet.listed && !packet.sacked && !waits && packet.sent < left_before;
            if judged && packet.sent <= lost_until {
                marked += packet.mark();
                packet.listed = false;
            }
        }
        marked
    }

    fn count(&self, what: fn(&Packet) -> bool) -> u64 {
        self.packets.iter().filter(|p| what(p)).count() as u64
    }

    fn next_lost(&self) -> Option<u64> {
        if self.count(|p| p.retransmitted) >= self.count(|p| p.lost) {
            return None;
        }
        let waits = |p: &Packet| p.lost && !p.sacked && !p.retransmitted;
        Some(self.una + self.packets.iter().position(waits)? as u64)
    }

    fn highest_sacked(&self) -> u64 {
        self.packets.iter().rposition(|p| p.sacked).map_or(0, |index| self.una + index as u64 + 1)
    }
}

/// What a sender does to its board. Fractions are of what is outstanding, in 1/1000.
#[derive(Debug, Clone)]
enum Step {
    Push(u32),
    Acknowledge(u16),
    Sack(u16, u16),
    Duplicate(u16, u16),
    /// Judges what left before the first, marks what left until the second, both in ticks before now.
    Detect(u8, u8),
    Retransmit(u32),
    /// The last packet again: a tail loss probe.
    Probe,
    MarkHead,
    /// Marks what left until so many ticks ago, or all and forgets selective acknowledgements.
    Timeout(Option<u8>),
    ForgetLosses,
}

fn steps(with_forgetting: bool) -> impl Strategy<Value = Vec<Step>> {
    let part = || 0u16..=1000;
    let forget = if with_forgetting { 2 } else { 0 };
    let step = prop_oneof![
        8 => (1u32..60).prop_map(Step::Push),
        3 => part().prop_map(Step::Acknowledge),
        12 => (part(), part()).prop_map(|(a, b)| Step::Sack(a, b)),
        2 => (part(), part()).prop_map(|(a, b)| Step::Duplicate(a, b)),
        6 => (any::<u8>(), any::<u8>()).prop_map(|(a, b)| Step::Detect(a % 16, b % 16)),
        8 => (1u32..50).prop_map(Step::Retransmit),
        1 => Just(Step::Probe),
        1 => Just(Step::MarkHead),
        1 => prop::option::of(0u8..16).prop_map(Step::Timeout),
        forget => Just(Step::ForgetLosses),
    ];
    prop::collection::vec(step, 1..120)
}

struct Both {
    board: Scoreboard,
    naive: Naive,
    tick: u32,
    /// Whether detection is comparable: after a reduction that was taken back it is not (see the test).
    compares_detection: bool,
}

impl Both {
    fn new(first: u64) -> Both {
        let naive = Naive { una: first, ..Naive::default() };
        Both { board: Scoreboard::default(), naive, tick: 0, compares_detection: true }
    }

    fn number(&self, part: u16) -> u64 {
        self.naive.una + self.naive.packets.len() as u64 * u64::from(part) / 1000
    }

    fn numbers(&self, a: u16, b: u16) -> (u64, u64) {
        (self.number(a.min(b)), self.number(a.max(b)))
    }

    fn apply(&mut self, step: &Step) {
        self.tick += 1;
        let now = at(self.tick);
        let before = |ticks: u8| at(self.tick.saturating_sub(u32::from(ticks)));
        let flatten = |into: &mut Vec<(u64, [bool; 4])>, s: &Segment| {
            let flags = [s.sacked, s.lost, s.retransmitted, s.ever_retransmitted];
            into.extend((s.first..s.end()).map(|number| (number, flags)));
        };
        let mut seen = Vec::new();
        match *step {
            Step::Push(packets) => {
                self.board.push(fresh(self.naive.nxt(), packets, now));
                self.naive.push(packets, now);
            }
            Step::Acknowledge(part) => {
                let una = self.number(part);
                self.board.acknowledge(una, |s| flatten(&mut seen, s));
                assert_eq!(seen, self.naive.acknowledge(una));
            }
            Step::Sack(a, b) => {
                // The sender passes no empty block on.
                let (first, end) = self.numbers(a, b);
                if first < end {
                    self.board.sack(first, end, |s| flatten(&mut seen, s));
                }
                assert_eq!(seen, self.naive.sack(first, end));
            }
            Step::Duplicate(a, b) => {
                // Only whole segments are taken out, so that the model takes over what became of it.
                let (first, end) = self.numbers(a, b);
                self.board.duplicate(first, end);
                let left = self
                    .board
                    .all()
                    .into_iter()
                    .flat_map(|s| (s.first..s.end()).map(move |_| s.retransmitted));
                for (packet, retransmitted) in self.naive.packets.iter_mut().zip(left) {
                    assert!(packet.retransmitted == retransmitted || (packet.sacked && packet.retransmitted));
                    packet.retransmitted = retransmitted;
                }
            }
            Step::Detect(a, b) => {
                let (judge, lose) = (before(a.min(b)), before(a.max(b)));
                let marked = self.board.detect(|s| s.sent < judge, |s| s.sent <= lose);
                if self.compares_detection {
                    assert_eq!(marked, self.naive.detect(judge, lose));
                } else {
                    self.adopt();
                }
            }
            Step::Retransmit(most) => {
                let next = self.board.next_lost();
                assert_eq!(next.map(|s| s.first), self.naive.next_lost());
                if let Some(segment) = next {
                    self.retransmit(segment.first, segment.packets.min(most), now);
                }
            }
            Step::Probe => {
                if let Some(tail) = self.board.tail().copied().filter(|s| !s.sacked && !s.lost) {
                    self.retransmit(tail.end() - 1, 1, now);
                }
            }
            Step::MarkHead => {
                let expected = match self.naive.packets.front_mut() {
                    Some(head) if !head.lost && !head.sacked => head.mark(),
                    _ => return,
                };
                assert_eq!(self.board.mark_head(), expected);
            }
            Step::Timeout(ticks) => {
                let until = ticks.map(before);
                let marked = self
                    .board
                    .mark_after_timeout(until.is_none(), |s| until.is_none_or(|until| s.sent <= until));
                let mut expected = 0;
                for packet in &mut self.naive.packets {
                    packet.sacked &= until.is_some();
                    if !packet.sacked && until.is_none_or(|until| packet.sent <= until) {
                        expected += packet.mark();
                    }
                }
                assert_eq!(marked, expected);
            }
            Step::ForgetLosses => {
                self.board.forget_losses();
                self.naive.packets.iter_mut().for_each(|packet| packet.lost = false);
                self.compares_detection = false;
            }
        }
    }

    fn retransmit(&mut self, first: u64, packets: u32, now: SimTime) {
        self.board.retransmit(first, packets, now, snapshot());
        for (_, packet) in self.naive.range(first, first + u64::from(packets)) {
            (packet.retransmitted, packet.ever, packet.sent, packet.listed) = (true, true, now, true);
        }
    }

    /// Takes over what the board knows.
    fn adopt(&mut self) {
        let all = self.board.all().into_iter().flat_map(|s| std::iter::repeat_n(s, s.packets as usize));
        for (packet, segment) in self.naive.packets.iter_mut().zip(all) {
            (packet.lost, packet.retransmitted) = (segment.lost, segment.retransmitted);
        }
    }

    fn compare(&self) {
        let (board, naive) = (&self.board, &self.naive);
        board.verify();
        assert_eq!(board.sacked, naive.count(|p| p.sacked));
        assert_eq!(board.lost, naive.count(|p| p.lost));
        assert_eq!(board.retransmitted, naive.count(|p| p.retransmitted));
        assert_eq!(board.highest_sacked, naive.highest_sacked());
        assert_eq!(board.head().map(|s| s.first), Some(naive.una).filter(|_| !naive.packets.is_empty()));
        assert_eq!(board.tail().map_or(naive.una, Segment::end), naive.nxt());
        let mut packets = naive.packets.iter();
        for segment in board.all() {
            assert!(segment.packets > 0, "no segment is empty");
            for packet in packets.by_ref().take(segment.packets as usize) {
                let flags = [segment.sacked, segment.lost, segment.retransmitted, segment.ever_retransmitted];
                assert_eq!(flags, packet.flags(), "in {}", drawn(board));
                assert!(segment.sacked || segment.snapshot.is_some() || !self.compares_detection);
                // Joined segments keep the time of one of them; nobody asks for it while they are acknowledged.
                assert!(segment.sacked || segment.sent == packet.sent);
            }
        }
    }
}

fn play(first: u64, steps: &[Step]) {
    let mut both = Both::new(first);
    for step in steps {
        if let Step::Timeout(None) = step {
            // What was joined while it was acknowledged has one time and no snapshot; all of it is marked lost and
            // leaves again, so that only the times differ.
            both.apply(step);
            let sent: Vec<_> = both
                .board
                .all()
                .into_iter()
                .flat_map(|s| std::iter::repeat_n(s.sent, s.packets as usize))
                .collect();
            both.naive.packets.iter_mut().zip(sent).for_each(|(packet, sent)| packet.sent = sent);
            both.compares_detection = false;
        } else {
            both.apply(step);
        }
        both.compare();
    }
}

proptest! {
    #[test]
    fn it_knows_of_every_packet_what_a_list_of_packets_does(
        steps in steps(false),
        first in prop_oneof![Just(0u64), Just(u64::from(u32::MAX) - 100), Just(1u64 << 40)],
    ) {
        play(first, &steps);
    }

    /// When a reduction is taken back, the losses are forgotten. What detection finds after that is left open here:
    /// Linux does not look again at packets that it once marked, unless a timeout did.
    #[test]
    fn its_counts_hold_when_losses_are_forgotten(steps in steps(true)) {
        play(0, &steps);
    }
}

/// Ten gigabytes in flight, one packet in a thousand lost, found by RACK, retransmitted, some lost again.
#[test]
fn a_window_of_ten_gigabytes() {
    const PACKETS: u64 = 10_000_000_000 / 1_448;
    const GSO: u32 = 45;
    let first = 3 << 32;
    let mut board = Scoreboard::default();
    let mut nxt = first;
    let mut tick = 0;
    while nxt < first + PACKETS {
        tick += 1;
        board.push(fresh(nxt, GSO, at(tick)));
        nxt += u64::from(GSO);
    }
    let total = nxt - first;
    let is_lost = |number: u64| (number - first) % 1_000 == 500;
    let holes: Vec<u64> = (first..nxt).filter(|n| is_lost(*n)).collect();
    let mut edges = holes.iter().map(|hole| hole + 1).peekable();
    board.acknowledge(holes[0], |_| ());
    while let Some(begin) = edges.next() {
        board.sack(begin, edges.peek().map_or(nxt, |end| end - 1), |_| ());
    }
    let lost = holes.len() as u64;
    assert_eq!(board.sacked, nxt - holes[0] - lost);
    assert_eq!(board.len() as u64, 2 * lost, "acknowledged packets between two holes are one segment");
    assert_eq!(board.detect(|_| true, |_| true), lost);
    let mut retransmitted = 0;
    for round in 1..=2 {
        while let Some(segment) = board.next_lost() {
            assert!(is_lost(segment.first) && segment.packets == 1);
            board.retransmit(segment.first, 1, at(tick + round), snapshot());
            retransmitted += 1;
        }
        if round == 1 {
            // Every tenth retransmission is lost, too.
            let again = |s: &Segment| ((s.first - first) / 1_000).is_multiple_of(10);
            assert_eq!(board.detect(|s| s.sent <= at(tick + 1), again), lost.div_ceil(10));
        }
    }
    assert_eq!(retransmitted, lost + lost.div_ceil(10));
    assert_eq!((board.lost, board.retransmitted), (lost, lost));
    board.verify();
    let mut acknowledged = 0;
    board.acknowledge(nxt, |part| acknowledged += u64::from(part.packets));
    assert_eq!(acknowledged, total - (holes[0] - first));
    assert!(board.is_empty());
    board.verify();
}
