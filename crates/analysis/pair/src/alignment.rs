//! How the files of two captures lie beside each other, from a sample of packets that both have.

use crate::connections::{Link, in_second};
use crate::sample::Sample;
use crate::survey::Survey;
use std::collections::HashMap;
use std::net::IpAddr;
use wirespeed_capture::Direction;

/// A packet with its numbers in both files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Anchor {
    packets: [i64; 2],
    /// Time in the second capture less that in the first.
    difference_ns: i64,
}

/// Fields of packets that the path leaves as they are, so that they identify a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preserved {
    /// The timestamp value.
    pub value: bool,
    /// The identification of IPv4.
    pub ip_id: bool,
}

/// The relation of two files.
#[derive(Debug, Clone)]
pub(crate) struct Alignment {
    anchors: Vec<Anchor>,
    /// Fields that identify packets.
    pub preserved: Preserved,
    /// By packets that go from the first capture point to the second, and back: usual difference of times (second less first).
    pub usual_ns: [Option<i64>; 2],
}

impl Alignment {
    /// From packets that both captures have. Without any, from the first packets of connections that both have.
    pub(crate) fn new(
        common: &[(Sample, Sample)],
        links: &[Link],
        surveys: [&Survey; 2],
    ) -> Option<Alignment> {
        let mut anchors: Vec<Anchor> = common
            .iter()
            .map(|(one, other)| Anchor {
                packets: [one.packet as i64, other.packet as i64],
                difference_ns: other.t_ns - one.t_ns,
            })
            .collect();
        if anchors.is_empty() {
            anchors.extend(links.iter().filter_map(|link| {
                let [one, other] =
                    [surveys[0].connection(link.numbers[0])?, surveys[1].connection(link.numbers[1])?];
                Some(Anchor {
                    packets: [one.first_packet as i64, other.first_packet as i64],
                    difference_ns: other.connection.first_ns - one.connection.first_ns,
                })
            }));
        }
        let anchors = rising(anchors);
        (!anchors.is_empty()).then(|| Alignment {
            anchors,
            preserved: preserved(common),
            usual_ns: [None, None],
        })
    }

    /// The number in the second file of the packet that lies beside one of the first file.
    pub(crate) fn beside(&self, packet: u64) -> i64 {
        let packet = packet as i64;
        let next = self.anchors.partition_point(|anchor| anchor.packets[0] <= packet);
        let (Some(before), after) = (next.checked_sub(1).map(|at| self.anchors[at]), self.anchors.get(next))
        else {
            let first = self.anchors[0].packets;
            return first[1] + packet - first[0];
        };
        let passed = packet - before.packets[0];
        match after {
            Some(after) => {
                let [across, along] = [0, 1].map(|file| after.packets[file] - before.packets[file]);
                before.packets[1]
                    + (i128::from(passed) * i128::from(along) / i128::from(across.max(1))) as i64
            }
            None => before.packets[1] + passed,
        }
    }

    /// The median difference of times (second less first).
    pub(crate) fn median_ns(&self) -> i64 {
        let mut all: Vec<i64> = self.anchors.iter().map(|anchor| anchor.difference_ns).collect();
        median(&mut all).unwrap_or(0)
    }
}

/// The most anchors that rise in both files: others are packets that met by chance, or overtook each other.
fn rising(mut anchors: Vec<Anchor>) -> Vec<Anchor> {
    anchors.sort_unstable();
    // Ends of the best rising sequences by length, and who comes before each (patience sorting).
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) =
        (Vec::new(), Vec::with_capacity(anchors.len()));
    for (at, anchor) in anchors.iter().enumerate() {
        let length = ends.partition_point(|&end| anchors[end].packets[1] < anchor.packets[1]);
        before.push(length.checked_sub(1).map(|length| ends[length]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let (mut chosen, mut next) = (Vec::new(), ends.last().copied());
    while let Some(at) = next {
        chosen.push(anchors[at]);
        next = before[at];
    }
    chosen.reverse();
    chosen.dedup_by_key(|anchor| anchor.packets[0]);
    chosen
}

/// A field is preserved if most common packets that have it agree in it.
fn preserved(common: &[(Sample, Sample)]) -> Preserved {
    let agrees = |same: &dyn Fn(&(Sample, Sample)) -> Option<bool>| {
        let (mut agreeing, mut all) = (0, 0);
        for pair in common {
            if let Some(same) = same(pair) {
                (agreeing, all) = (agreeing + usize::from(same), all + 1);
            }
        }
        agreeing * 2 > all
    };
    Preserved {
        value: agrees(&|(one, other)| Some(one.value? == other.value?)),
        ip_id: agrees(&|(one, other)| Some(one.ip_id? == other.ip_id?)),
    }
}

/// For each link whether its client is on the side of the first capture, and thus its packets pass the first capture first.
///
/// Packets of that direction have the larger difference of times: by the RTT between the capture points. A connection
/// with common packets in one direction only follows other connections of its hosts. At last the user does, who named the
/// sender's capture first.
pub(crate) fn sides(links: &[Link], common: &[(Sample, Sample)], surveys: [&Survey; 2]) -> Vec<bool> {
    let of_numbers: HashMap<u64, usize> =
        links.iter().enumerate().map(|(at, link)| (link.numbers[0], at)).collect();
    let mut differences: Vec<[Vec<i64>; 2]> = vec![Default::default(); links.len()];
    for (one, other) in common {
        if let Some(&at) = of_numbers.get(&one.connection)
            && links[at].numbers[1] == other.connection
            && in_second(&links[at], one.direction) == other.direction
        {
            differences[at][one.direction.index()].push(other.t_ns - one.t_ns);
        }
    }
    let mut near: HashMap<IpAddr, i64> = HashMap::new();
    let mut decided = vec![None; links.len()];
    for (at, [from_client, from_server]) in differences.iter_mut().enumerate() {
        let (Some(one), Some(other)) = (median(from_client), median(from_server)) else { continue };
        let is_client_first = one > other;
        decided[at] = Some(is_client_first);
        if let Some(found) = surveys[0].connection(links[at].numbers[0]) {
            let vote = if is_client_first { 1 } else { -1 };
            *near.entry(found.connection.client.ip).or_default() += vote;
            *near.entry(found.connection.server.ip).or_default() -= vote;
        }
    }
    let side = |at: usize| {
        let Some(found) = surveys[0].connection(links[at].numbers[0]) else { return true };
        let connection = &found.connection;
        let vote = |ip: &IpAddr| near.get(ip).copied().unwrap_or(0);
        match vote(&connection.client.ip) - vote(&connection.server.ip) {
            0 => {
                let sent = |direction: Direction| connection.sender(direction).payload_bytes;
                sent(Direction::ClientToServer) >= sent(Direction::ServerToClient)
            }
            votes => votes > 0,
        }
    };
    (0..links.len()).map(|at| decided[at].unwrap_or_else(|| side(at))).collect()
}

/// The usual difference of times of packets from the first capture point to the second, and of those back.
pub(crate) fn usual_ns(links: &[Link], sides: &[bool], common: &[(Sample, Sample)]) -> [Option<i64>; 2] {
    let of_numbers: HashMap<u64, usize> =
        links.iter().enumerate().map(|(at, link)| (link.numbers[0], at)).collect();
    let mut differences: [Vec<i64>; 2] = Default::default();
    for (one, other) in common {
        if let Some(&at) = of_numbers.get(&one.connection) {
            let is_forward = sides[at] == (one.direction == Direction::ClientToServer);
            differences[usize::from(!is_forward)].push(other.t_ns - one.t_ns);
        }
    }
    differences.map(|mut all| median(&mut all))
}

fn median(values: &mut [i64]) -> Option<i64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(one: i64, other: i64) -> Anchor {
        Anchor { packets: [one, other], difference_ns: 0 }
    }

    #[test]
    fn chance_meetings_are_left_out_and_places_between_anchors_are_in_proportion() {
        let anchors =
            rising(vec![anchor(10, 20), anchor(20, 900), anchor(30, 60), anchor(40, 5), anchor(50, 70)]);
        assert_eq!(anchors, [anchor(10, 20), anchor(30, 60), anchor(50, 70)]);
        let preserved = Preserved { value: true, ip_id: true };
        let alignment = Alignment { anchors, preserved, usual_ns: [None, None] };
        assert_eq!(alignment.beside(20), 40);
        assert_eq!(alignment.beside(40), 65);
        assert_eq!((alignment.beside(1), alignment.beside(60)), (11, 80));
    }
}
