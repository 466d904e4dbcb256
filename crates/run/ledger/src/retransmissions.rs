//! Matches retransmissions with drops, by sequence numbers and times: which drop each retransmission makes good, which
//! retransmissions were spurious, and which have no recorded cause.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use wirespeed_record::{Counter, DUPLICATES, SENT_AGAIN_FOR, SENT_AGAIN_SPURIOUS, SENT_AGAIN_UNMATCHED};

/// A direction of a flow: where its packets come from and go to.
pub type Way = (SocketAddr, SocketAddr);

/// Payload that was dropped or retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// When, since the start of the run.
    pub t_ns: i64,
    /// Number of its first byte.
    pub sequence: u32,
    /// How many bytes.
    pub bytes: u32,
    /// In how many packets.
    pub packets: u32,
}

/// Payload of a direction of a flow that had the same fate at a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pieces {
    /// The host.
    pub host: String,
    /// The direction of a flow.
    pub way: Way,
    /// The kernel's reason for dropping them; `None`: retransmitted.
    pub reason: Option<String>,
    /// In order of time.
    pub pieces: Vec<Piece>,
}

/// The kernel's reason for a GSO packet of which it has dropped every segment already.
const NO_REASON: &str = "NOT_SPECIFIED";

/// Payload that was dropped and has not been sent since.
#[derive(Debug, Clone, Copy)]
struct Open<'a> {
    /// After its last byte.
    to: u64,
    t_ns: i64,
    host: &'a str,
    reason: &'a str,
}

/// A drop of payload that the receiver had.
struct Duplicate {
    from: u64,
    to: u64,
    t_ns: i64,
}

/// Retransmitted packets without a drop so far, by their first byte: when each was sent, and its end.
#[derive(Default)]
struct Unmatched(BTreeMap<u64, Vec<(i64, u64)>>);

/// State of one direction of a flow.
struct Matching<'a> {
    /// By the first byte; they do not overlap.
    open: BTreeMap<u64, Open<'a>>,
    unmatched: Unmatched,
    duplicates: Vec<Duplicate>,
    /// The last sequence number, continued in 64 bits.
    last: u64,
}

/// Retransmitted packets, as counters: of the host that dropped them before, by reason; otherwise of the sender.
/// `clocks_ns`: by how much hosts' clocks may differ.
pub fn matched(all: &[Pieces], clocks_ns: i64) -> Vec<Counter> {
    let sent_again = all.iter().filter(|pieces| pieces.reason.is_none());
    let senders: BTreeMap<Way, &str> = sent_again.map(|pieces| (pieces.way, pieces.host.as_str())).collect();
    let mut ways: BTreeMap<Way, Vec<(&Piece, &Pieces)>> = BTreeMap::new();
    for pieces in all.iter().filter(|pieces| senders.contains_key(&pieces.way)) {
        ways.entry(pieces.way).or_default().extend(pieces.pieces.iter().map(|piece| (piece, pieces)));
    }
    let mut counters: BTreeMap<(&str, String), u64> = BTreeMap::new();
    let mut count = |host, counter, packets: u64| {
        if packets > 0 {
            *counters.entry((host, counter)).or_default() += packets;
        }
    };
    for (way, mut events) in ways {
        let sender = senders[&way];
        events.sort_by_key(|(piece, pieces)| (piece.t_ns, pieces.reason.is_none()));
        let mut matching = Matching::new();
        for (piece, pieces) in events {
            match &pieces.reason {
                Some(reason) => matching.dropped(piece, &pieces.host, reason),
                None => {
                    for drop in matching.sent_again(piece) {
                        count(drop.host, format!("{SENT_AGAIN_FOR}{}", drop.reason), 1);
                    }
                }
            }
        }
        for (drop, packets) in matching.dropped_before_by_clocks(sender, clocks_ns) {
            count(drop.host, format!("{SENT_AGAIN_FOR}{}", drop.reason), packets);
        }
        count(sender, SENT_AGAIN_SPURIOUS.to_owned(), matching.spurious(clocks_ns));
        count(sender, SENT_AGAIN_UNMATCHED.to_owned(), matching.unmatched.packets());
    }
    let row = |((host, counter), after): ((&str, String), u64)| Counter {
        host: host.to_owned(),
        counter,
        before: 0,
        after,
    };
    counters.into_iter().map(row).collect()
}

impl<'a> Matching<'a> {
    fn new() -> Self {
        let (open, unmatched) = (BTreeMap::new(), Unmatched::default());
        Matching { open, unmatched, duplicates: Vec::new(), last: 1 << 32 }
    }

    /// A sequence number in 64 bits: the one next to the last.
    fn continued(&mut self, sequence: u32) -> u64 {
        let step = sequence.wrapping_sub(self.last as u32) as i32;
        self.last = self.last.saturating_add_signed(i64::from(step));
        self.last
    }

    fn dropped(&mut self, piece: &Piece, host: &'a str, reason: &'a str) {
        let from = self.continued(piece.sequence);
        let (to, t_ns) = (from + u64::from(piece.bytes), piece.t_ns);
        if DUPLICATES.contains(&reason) {
            self.duplicates.push(Duplicate { from, to, t_ns });
            return;
        }
        if reason == NO_REASON && self.first_open(from, to).is_some() {
            return;
        }
        self.close(from, to);
        self.open.insert(from, Open { to, t_ns, host, reason });
    }

    /// The earlier drops that packets sent again make good, packet by packet.
    fn sent_again(&mut self, piece: &Piece) -> Vec<Open<'a>> {
        /// A piece of the kernel has no more (gso_segs, include/linux/skbuff.h): another number is not counted out.
        const MOST: u32 = u16::MAX as u32;
        let from = self.continued(piece.sequence);
        let (packets, bytes) = (u64::from(piece.packets.clamp(1, MOST)), u64::from(piece.bytes));
        let size = bytes.div_ceil(packets).max(1);
        let borders = (0..packets)
            .map(|packet| (from + (packet * size).min(bytes), from + ((packet + 1) * size).min(bytes)));
        let mut drops = Vec::new();
        for (from, to) in borders {
            match self.first_open(from, to) {
                Some(drop) => drops.push(drop),
                None => self.unmatched.add(from, to, piece.t_ns),
            }
            self.close(from, to);
        }
        drops
    }

    /// Drops for which nothing was sent afterwards, each with the number of packets that it explains all the same: those sent
    /// so little earlier that clocks may be wrong about the order. A drop that something followed needs no such explanation:
    /// it may have been the earlier retransmission itself that was dropped.
    fn dropped_before_by_clocks(&mut self, sender: &str, clocks_ns: i64) -> Vec<(Open<'a>, u64)> {
        let mut explained = Vec::new();
        for (from, drop) in self.open.iter().filter(|(_, drop)| drop.host != sender) {
            let times = drop.t_ns.saturating_sub(clocks_ns)..=drop.t_ns;
            explained.push((*drop, self.unmatched.take(*from, drop.to, &times)));
        }
        explained
    }

    /// Packets sent for no drop, of which the receiver dropped a copy because it had their payload.
    fn spurious(&mut self, clocks_ns: i64) -> u64 {
        let mut packets = 0;
        for Duplicate { from, to, t_ns } in &self.duplicates {
            let times = i64::MIN..=t_ns.saturating_add(clocks_ns);
            packets += self.unmatched.take(*from, *to, &times);
        }
        packets
    }

    fn first_open(&self, from: u64, to: u64) -> Option<Open<'a>> {
        let (_, open) = self.open.range(..to).next_back()?;
        (open.to > from).then_some(*open)
    }

    /// Nothing in there is open any more.
    fn close(&mut self, from: u64, to: u64) {
        while let Some((start, open)) = self.open.range(..to).next_back().map(|(start, open)| (*start, *open))
            && open.to > from
        {
            self.open.remove(&start);
            if open.to > to {
                self.open.insert(to, open);
            }
            if start < from {
                self.open.insert(start, Open { to: from, ..open });
            }
        }
    }
}

impl Unmatched {
    fn add(&mut self, from: u64, to: u64, t_ns: i64) {
        self.0.entry(from).or_default().push((t_ns, to));
    }

    /// Takes the packets that overlap `from..to` and were sent within `times`, of each first byte the last one.
    fn take(&mut self, from: u64, to: u64, times: &RangeInclusive<i64>) -> u64 {
        /// No packet has more payload.
        const LONGEST: u64 = 1 << 16;
        let mut taken = 0;
        for (_, sent) in self.0.range_mut(from.saturating_sub(LONGEST)..to) {
            let is_one = |(t_ns, end): &(i64, u64)| *end > from && times.contains(t_ns);
            if let Some(index) = sent.iter().rposition(is_one) {
                sent.remove(index);
                taken += 1;
            }
        }
        taken
    }

    fn packets(&self) -> u64 {
        self.0.values().map(|sent| sent.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(host: &str, reason: Option<&str>, pieces: &[(i64, u32, u32, u32)]) -> Pieces {
        let end = |last| SocketAddr::from(([10, 0, 0, last], 5001));
        let piece = |(t_ns, sequence, bytes, packets): &(i64, u32, u32, u32)| Piece {
            t_ns: *t_ns,
            sequence: *sequence,
            bytes: *bytes,
            packets: *packets,
        };
        Pieces {
            host: host.into(),
            way: (end(1), end(2)),
            reason: reason.map(str::to_owned),
            pieces: pieces.iter().map(piece).collect(),
        }
    }

    fn told(all: &[Pieces]) -> Vec<(String, String, u64)> {
        matched(all, 10).into_iter().map(|row| (row.host, row.counter, row.after)).collect()
    }

    fn expected(rows: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
        rows.iter().map(|(host, counter, n)| ((*host).to_owned(), (*counter).to_owned(), *n)).collect()
    }

    #[test]
    fn each_packet_sent_again_is_matched_with_the_drop_of_its_bytes() {
        let all = [
            // A train of three packets in the sender's queue, one packet at the receiver.
            pieces("a", Some("QDISC_DROP"), &[(100, 1000, 300, 3)]),
            pieces("b", Some("SOCKET_RCVBUFF"), &[(105, 2000, 100, 1)]),
            // Two of the train in one piece, what the receiver dropped, and one that nobody dropped.
            pieces("a", None, &[(200, 1100, 200, 2), (210, 2000, 100, 1), (220, 5000, 100, 1)]),
        ];
        assert_eq!(
            told(&all),
            expected(&[
                ("a", "bpf/sent_again for QDISC_DROP", 2),
                ("a", SENT_AGAIN_UNMATCHED, 1),
                ("b", "bpf/sent_again for SOCKET_RCVBUFF", 1),
            ])
        );
    }

    #[test]
    fn a_drop_is_made_good_once_and_comes_before_even_by_a_fast_clock() {
        let all = [
            pieces("b", Some("SOCKET_RCVBUFF"), &[(205, 7, 100, 1)]),
            pieces("a", None, &[(200, 7, 100, 1), (300, 7, 100, 1)]),
        ];
        assert_eq!(
            told(&all),
            expected(&[("a", SENT_AGAIN_UNMATCHED, 1), ("b", "bpf/sent_again for SOCKET_RCVBUFF", 1)])
        );
        // A drop that comes later by far explains nothing.
        let late = [pieces("b", Some("X"), &[(500, 7, 100, 1)]), pieces("a", None, &[(200, 7, 100, 1)])];
        assert_eq!(told(&late), expected(&[("a", SENT_AGAIN_UNMATCHED, 1)]));
    }

    #[test]
    fn repeated_drops_are_matched_again_and_sequence_numbers_may_wrap() {
        let near_the_end = u32::MAX - 49;
        let all = [
            pieces("a", Some("QDISC_DROP"), &[(1, near_the_end, 100, 1), (3, near_the_end, 100, 1)]),
            pieces("a", None, &[(2, near_the_end, 100, 1), (4, near_the_end, 50, 1), (5, 0, 50, 1)]),
        ];
        assert_eq!(told(&all), expected(&[("a", "bpf/sent_again for QDISC_DROP", 3)]));
    }

    #[test]
    fn payload_that_the_receiver_had_explains_no_retransmission_and_shows_a_spurious_one() {
        for reason in ["TCP_OLD_SEQUENCE", "TCP_OLD_DATA", "TCP_OFOMERGE"] {
            // The first copy is dropped after it was sent, and does not explain the second.
            let all = [
                pieces("b", Some(reason), &[(120, 7, 100, 1)]),
                pieces("a", None, &[(100, 7, 100, 1), (200, 7, 100, 1)]),
            ];
            assert_eq!(
                told(&all),
                expected(&[("a", SENT_AGAIN_SPURIOUS, 1), ("a", SENT_AGAIN_UNMATCHED, 1)])
            );
        }
    }

    #[test]
    fn a_retransmission_that_a_drop_explains_is_not_spurious() {
        // The packet at 7 was dropped, those at 107 and 207 only came late; GRO merges the copies.
        let all = [
            pieces("a", Some("QDISC_DROP"), &[(50, 7, 100, 1)]),
            pieces("a", None, &[(100, 7, 300, 3)]),
            pieces("b", Some("TCP_OLD_DATA"), &[(120, 107, 200, 2)]),
        ];
        assert_eq!(
            told(&all),
            expected(&[("a", "bpf/sent_again for QDISC_DROP", 1), ("a", SENT_AGAIN_SPURIOUS, 2)])
        );
    }

    #[test]
    fn a_retransmission_is_not_explained_by_its_own_drop_within_the_error_of_clocks() {
        // Lost in the network; its first copy is dropped by the receiver 5 ns later, its second arrives.
        let all = [
            pieces("a", None, &[(100, 7, 100, 1), (300, 7, 100, 1)]),
            pieces("b", Some("SOCKET_BACKLOG"), &[(105, 7, 100, 1)]),
        ];
        assert_eq!(
            told(&all),
            expected(&[("a", SENT_AGAIN_UNMATCHED, 1), ("b", "bpf/sent_again for SOCKET_BACKLOG", 1)])
        );
        // The cause of the first is known: it stays that, though the receiver's drop may be the earlier one by the clocks.
        let all = [all[0].clone(), all[1].clone(), pieces("a", Some("QDISC_DROP"), &[(50, 7, 100, 1)])];
        assert_eq!(
            told(&all),
            expected(&[
                ("a", "bpf/sent_again for QDISC_DROP", 1),
                ("b", "bpf/sent_again for SOCKET_BACKLOG", 1)
            ])
        );
        // Nothing was sent after the drop, so it came before: the receiver's clock is ahead.
        let all = [
            pieces("a", None, &[(100, 7, 100, 1)]),
            pieces("b", Some("SOCKET_BACKLOG"), &[(105, 7, 100, 1)]),
        ];
        assert_eq!(told(&all), expected(&[("b", "bpf/sent_again for SOCKET_BACKLOG", 1)]));
        // A host's own clock is right.
        let all =
            [pieces("a", None, &[(100, 7, 100, 1)]), pieces("a", Some("QDISC_DROP"), &[(105, 7, 100, 1)])];
        assert_eq!(told(&all), expected(&[("a", SENT_AGAIN_UNMATCHED, 1)]));
    }

    #[test]
    fn a_train_whose_packets_were_dropped_one_by_one_keeps_their_reason() {
        let all = [
            pieces("a", Some("QDISC_DROP"), &[(1, 0, 100, 1), (1, 100, 100, 1)]),
            pieces("a", Some("NOT_SPECIFIED"), &[(2, 0, 200, 2)]),
            pieces("a", None, &[(30, 0, 200, 2)]),
        ];
        assert_eq!(told(&all), expected(&[("a", "bpf/sent_again for QDISC_DROP", 2)]));
    }
}
