//! Connections of one capture and the same connections in the other.

use crate::sample::Sample;
use crate::survey::{Survey, Surveyed};
use std::collections::{BTreeMap, HashMap, HashSet};
use wirespeed_capture::{Connection, Direction, FlowKey};

/// A connection that both captures have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its numbers in both captures, from 1.
    pub numbers: [u64; 2],
    /// The second capture takes the other end for the client: neither has the handshake.
    pub is_flipped: bool,
}

/// Pairs connections, best evidence first: addresses and initial sequence numbers, initial sequence numbers alone (behind a
/// device that translates addresses), addresses and time, packets in common.
///
/// `offset_ns`: what the second clock shows more than the first, roughly.
pub(crate) fn pair(surveys: [&Survey; 2], common: &[(Sample, Sample)], offset_ns: Option<i64>) -> Vec<Link> {
    let mut pairing = Pairing { surveys, taken: [HashSet::new(), HashSet::new()], links: Vec::new() };
    pairing.by_key(|connection| Some((Some(connection.0), isns(connection.1)?)), offset_ns);
    pairing.by_common(common);
    pairing.by_key(|connection| Some((Some(connection.0), None)), offset_ns);
    pairing.by_key(|connection| Some((None, isns(connection.1)?)), offset_ns);
    let mut links = pairing.links;
    links.sort_by_key(|link| link.numbers);
    links
}

type Isns = (u32, u32);
type Key = (Option<FlowKey>, Option<Isns>);

/// Both initial sequence numbers, wrapped in the form of a key. `None` if one is not captured.
#[expect(clippy::option_option, reason = "the inner one is the part of a key")]
fn isns(connection: &Connection) -> Option<Option<Isns>> {
    let [client, server] = connection.ends;
    Some(Some((client.isn?, server.isn?)))
}

struct Pairing<'a> {
    surveys: [&'a Survey; 2],
    taken: [HashSet<u64>; 2],
    links: Vec<Link>,
}

impl Pairing<'_> {
    /// Pairs those that are left and have the same key. Of several, those that begin at the same time.
    fn by_key(&mut self, key: impl Fn((FlowKey, &Connection)) -> Option<Key>, offset_ns: Option<i64>) {
        let left = |file: usize| {
            let mut by_key: BTreeMap<Key, Vec<(u64, Surveyed)>> = BTreeMap::new();
            for (number, found) in self.surveys[file].numbered() {
                let connection = &found.connection;
                let flow = FlowKey::new(connection.transport, connection.client, connection.server);
                if !self.taken[file].contains(&number)
                    && let Some(key) = key((flow, connection))
                {
                    by_key.entry(key).or_default().push((number, *found));
                }
            }
            by_key
        };
        let (first, second) = (left(0), left(1));
        for (key, ones) in first {
            let Some(others) = second.get(&key) else { continue };
            for (one, other) in in_order_of_time(&ones, others, offset_ns) {
                // Without addresses the ends are those of the handshake.
                let is_flipped = key.0.is_some() && one.1.connection.client != other.1.connection.client;
                self.link(Link { numbers: [one.0, other.0], is_flipped });
            }
        }
    }

    fn by_common(&mut self, common: &[(Sample, Sample)]) {
        let mut votes: HashMap<(u64, u64, bool), u64> = HashMap::new();
        for (one, other) in common {
            *votes
                .entry((one.connection, other.connection, one.direction != other.direction))
                .or_default() += 1;
        }
        let mut found: Vec<_> = votes.into_iter().collect();
        found.sort_by_key(|&(link, votes)| (std::cmp::Reverse(votes), link));
        for ((one, other, is_flipped), votes) in found {
            // One packet in common may be chance, such as a SYN without options.
            if votes >= 2 {
                self.link(Link { numbers: [one, other], is_flipped });
            }
        }
    }

    fn link(&mut self, link: Link) {
        let [one, other] = link.numbers;
        if !self.taken[0].contains(&one) && !self.taken[1].contains(&other) {
            self.taken[0].insert(one);
            self.taken[1].insert(other);
            self.links.push(link);
        }
    }
}

type Numbered = (u64, Surveyed);

/// Each connection with the one that begins nearest in time, and that it overlaps with. Without an offset: in their order.
fn in_order_of_time<'a>(
    ones: &'a [Numbered],
    others: &'a [Numbered],
    offset_ns: Option<i64>,
) -> Vec<(&'a Numbered, &'a Numbered)> {
    let Some(offset_ns) = offset_ns else { return ones.iter().zip(others).collect() };
    /// More than a path takes, or than a rough offset is wrong.
    const NEAR_NS: i64 = 10_000_000_000;
    let mut left: Vec<&Numbered> = others.iter().collect();
    let mut pairs = Vec::new();
    for one in ones {
        let span = |found: &Numbered, by: i64| {
            let connection = &found.1.connection;
            (connection.first_ns.saturating_sub(by), connection.last_ns.saturating_sub(by))
        };
        let (from, to) = span(one, 0);
        let distance = |other: &Numbered| {
            let (begin, end) = span(other, offset_ns);
            let overlaps = begin <= to.saturating_add(NEAR_NS) && from <= end.saturating_add(NEAR_NS);
            overlaps.then(|| begin.abs_diff(from))
        };
        let best = left.iter().enumerate().filter_map(|(at, other)| Some((distance(other)?, at))).min();
        if let Some((_, at)) = best {
            pairs.push((one, left.remove(at)));
        }
    }
    pairs
}

/// The direction of the second capture for one of the first.
pub(crate) fn in_second(link: &Link, direction: Direction) -> Direction {
    if link.is_flipped { direction.reverse() } else { direction }
}
