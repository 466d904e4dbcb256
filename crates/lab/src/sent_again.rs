//! Matches what TCP sent again with what was dropped, by sequence numbers: which drop each retransmission made good, and
//! which none that was seen.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use wirespeed_record::Counter;

/// Before the name of a counter of packets sent again, by the kernel's reason for dropping them before, at the host that did.
pub const SENT_AGAIN_FOR: &str = "bpf/sent_again for ";
/// Packets sent again of which no host that was watched has dropped the ones before: they were lost elsewhere, or sent for
/// nothing. At the sender.
pub const SENT_AGAIN_UNMATCHED: &str = "bpf/sent_again unmatched";

/// A direction of a flow: where its packets come from and go to.
pub type Way = (SocketAddrV4, SocketAddrV4);

/// Payload that was dropped or sent again.
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

/// Pieces of a direction of a flow that had the same fate at a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pieces {
    /// The host.
    pub host: String,
    /// Whose they were.
    pub way: Way,
    /// The kernel's reason for dropping them; `None`: they were sent again.
    pub reason: Option<String>,
    /// In order of time.
    pub pieces: Vec<Piece>,
}

/// Dropped because the receiver had it already: nothing was lost, and nothing is sent again for it.
const HAD_ALREADY: [&str; 2] = ["TCP_OLD_DATA", "TCP_OFOMERGE"];
/// What the kernel says of a train of which it has dropped every packet already.
const NO_REASON: &str = "NOT_SPECIFIED";

/// A drop that nothing has been sent again for: to its last byte, and where and why it was.
type Open<'a> = (u64, (&'a str, &'a str));

/// What one direction of a flow came to.
struct Matching<'a> {
    /// By the first byte; they do not overlap.
    open: BTreeMap<u64, Open<'a>>,
    /// The last sequence number, continued in 64 bits.
    last: u64,
}

/// Packets that were sent again, as counters of the host that dropped them before, by reason; those that no host dropped
/// are the sender's. `clocks_ns`: by how much hosts' clocks may differ.
pub fn matched(all: &[Pieces], clocks_ns: i64) -> Vec<Counter> {
    let sent_again = all.iter().filter(|pieces| pieces.reason.is_none());
    let senders: BTreeMap<Way, &str> = sent_again.map(|pieces| (pieces.way, pieces.host.as_str())).collect();
    let mut ways: BTreeMap<Way, Vec<(i64, &Piece, &Pieces)>> = BTreeMap::new();
    let had_already = |reason: &String| HAD_ALREADY.contains(&reason.as_str());
    for pieces in all.iter().filter(|pieces| !pieces.reason.as_ref().is_some_and(had_already)) {
        let Some(sender) = senders.get(&pieces.way) else { continue };
        // A drop comes before what is sent for it, even if another host's clock is ahead.
        let early = if pieces.host == *sender { 0 } else { clocks_ns };
        let events = pieces.pieces.iter().map(|piece| (piece.t_ns.saturating_sub(early), piece, pieces));
        ways.entry(pieces.way).or_default().extend(events);
    }
    let mut counters: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for mut events in ways.into_values() {
        events.sort_by_key(|(t_ns, _, pieces)| (*t_ns, pieces.reason.is_none()));
        let mut matching = Matching { open: BTreeMap::new(), last: 1 << 32 };
        for (_, piece, pieces) in events {
            let from = matching.continued(piece.sequence);
            match &pieces.reason {
                Some(reason) => matching.dropped(from, piece.bytes, (&pieces.host, reason)),
                None => {
                    for drop in matching.sent_again(from, piece.bytes, piece.packets) {
                        let key = match drop {
                            Some((host, reason)) => (host, format!("{SENT_AGAIN_FOR}{reason}")),
                            None => (pieces.host.as_str(), SENT_AGAIN_UNMATCHED.to_owned()),
                        };
                        *counters.entry(key).or_default() += 1;
                    }
                }
            }
        }
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
    /// A sequence number in 64 bits: the one next to the last.
    fn continued(&mut self, sequence: u32) -> u64 {
        let step = sequence.wrapping_sub(self.last as u32) as i32;
        self.last = self.last.saturating_add_signed(i64::from(step));
        self.last
    }

    fn dropped(&mut self, from: u64, bytes: u32, whose: (&'a str, &'a str)) {
        let to = from + u64::from(bytes);
        if whose.1 == NO_REASON && self.first_open(from, to).is_some() {
            return;
        }
        self.close(from, to);
        self.open.insert(from, (to, whose));
    }

    /// The drops that packets sent again make good, packet by packet.
    fn sent_again(&mut self, from: u64, bytes: u32, packets: u32) -> Vec<Option<(&'a str, &'a str)>> {
        /// A piece of the kernel has no more (gso_segs, include/linux/skbuff.h): another number is not counted out.
        const MOST: u32 = u16::MAX as u32;
        let (packets, bytes) = (u64::from(packets.clamp(1, MOST)), u64::from(bytes));
        let size = bytes.div_ceil(packets).max(1);
        let borders = (0..packets)
            .map(|packet| (from + (packet * size).min(bytes), from + ((packet + 1) * size).min(bytes)));
        let mut drops = Vec::new();
        for (from, to) in borders {
            drops.push(self.first_open(from, to));
            self.close(from, to);
        }
        drops
    }

    fn first_open(&self, from: u64, to: u64) -> Option<(&'a str, &'a str)> {
        let (_, (end, whose)) = self.open.range(..to).next_back()?;
        (*end > from).then_some(*whose)
    }

    /// Nothing in there is open any more.
    fn close(&mut self, from: u64, to: u64) {
        while let Some((start, (end, whose))) =
            self.open.range(..to).next_back().map(|(start, open)| (*start, *open))
            && end > from
        {
            self.open.remove(&start);
            if end > to {
                self.open.insert(to, (end, whose));
            }
            if start < from {
                self.open.insert(start, (from, whose));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn pieces(host: &str, reason: Option<&str>, pieces: &[(i64, u32, u32, u32)]) -> Pieces {
        let end = |last| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), 5001);
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
    fn what_is_dropped_again_is_matched_again_and_numbers_may_begin_anew() {
        let near_the_end = u32::MAX - 49;
        let all = [
            pieces("a", Some("QDISC_DROP"), &[(1, near_the_end, 100, 1), (3, near_the_end, 100, 1)]),
            pieces("a", None, &[(2, near_the_end, 100, 1), (4, near_the_end, 50, 1), (5, 0, 50, 1)]),
        ];
        assert_eq!(told(&all), expected(&[("a", "bpf/sent_again for QDISC_DROP", 3)]));
    }

    #[test]
    fn what_the_receiver_had_already_was_not_lost() {
        let all =
            [pieces("b", Some("TCP_OLD_DATA"), &[(100, 7, 100, 1)]), pieces("a", None, &[(200, 7, 100, 1)])];
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
