//! Where one host lost packets of a direction, from how its counters changed.

use std::collections::BTreeMap;
use wirespeed_host::{Change, Changes, Meaning, Place, Unit, Way};
use wirespeed_record::Stage;

/// Packets lost at a place of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The stage.
    pub stage: Stage,
    /// The host and what in it.
    pub place: String,
    /// How many; at least so many if it is not exact.
    pub packets: i64,
    /// Whether packets were counted, and not pieces or events.
    pub exact: bool,
    /// The counters.
    pub source: String,
}

/// Packets of a piece of 64 KiB at the smallest segment size of the internet (RFC 9293, 3.7.1).
const PIECE: i64 = 65_536 / 536;

impl Lost {
    /// The most packets that it can stand for.
    pub fn most(&self) -> i64 {
        if self.exact { self.packets } else { most_packets(self.packets) }
    }
}

/// The most packets that were in so many pieces.
pub fn most_packets(pieces: i64) -> i64 {
    pieces * PIECE
}

/// What a host lost of what it sent by an interface. Places that were looked at and lost nothing are among them.
pub fn outward(host: &str, device: &str, changes: &Changes) -> Vec<Lost> {
    let mut places = counted_outward(host, device, changes);
    let stopped_before =
        places.iter().filter(|lost| lost.stage == Stage::IpOut).map(|lost| lost.packets).sum();
    // A queue counts pieces, but what it sent packet by packet.
    if let Some(queue) = places.iter_mut().find(|lost| lost.stage == Stage::Qdisc && lost.packets > 0)
        && let Some(packets) = dropped_by_queue(device, changes, stopped_before, queue.packets)
    {
        queue.source = format!("put out less sent; {} counts {} pieces", queue.source, queue.packets);
        (queue.packets, queue.exact) = (packets, true);
    }
    places
}

/// The same as the host counts it, pieces as pieces.
pub fn counted_outward(host: &str, device: &str, changes: &Changes) -> Vec<Lost> {
    gather(host, device, changes, Way::Tx)
}

/// What a host lost of what came, as it counts it.
pub fn counted_inward(host: &str, device: &str, changes: &Changes) -> Vec<Lost> {
    gather(host, device, changes, Way::Rx)
}

fn gather(host: &str, device: &str, changes: &Changes, way: Way) -> Vec<Lost> {
    let mut places: BTreeMap<(Stage, String, String), (i64, bool)> = BTreeMap::new();
    for change in &changes.changes {
        let reading = &change.reading;
        let here = match &reading.place {
            // A socket's drops are the protocol's as well.
            Place::Socket(_) | Place::Interrupt { .. } => false,
            place => place.device().is_none_or(|found| *found.name == *device),
        };
        let Some(stage) = reading.sense.stage.filter(|_| here && reading.is_the_count_of_a_loss()) else {
            continue;
        };
        if reading.sense.way != Some(way) {
            continue;
        }
        let what = match (&reading.place, stage) {
            (_, Stage::Qdisc) => "qdisc".to_owned(),
            (Place::Device(found) | Place::Queue { device: found, .. }, _) => found.name.to_string(),
            (Place::Cpu(_), Stage::SoftnetBacklog) => "softnet backlog".to_owned(),
            _ => reading.counter.to_string(),
        };
        let source = format!("{}/{}", reading.source, reading.counter);
        let sum = places.entry((stage, format!("{host}/{what}"), source)).or_insert((0, true));
        let grown = change.growth.at_least() as i64;
        sum.0 += grown;
        // Whoever lost nothing need not say in what unit.
        sum.1 &= grown == 0 || reading.sense.unit == Unit::Packets;
    }
    let found = places.into_iter().map(|((stage, place, source), (packets, exact))| Lost {
        stage,
        place,
        packets,
        exact,
        source,
    });
    merge_idle(found.collect())
}

/// Places with several counters, none of which grew, are one row.
fn merge_idle(found: Vec<Lost>) -> Vec<Lost> {
    let mut kept: Vec<Lost> = Vec::new();
    for lost in found {
        let same = |other: &Lost| (other.stage, &other.place) == (lost.stage, &lost.place);
        match kept.iter_mut().find(|other| same(other) && (other.packets == 0 || lost.packets == 0)) {
            Some(other) if lost.packets > 0 => *other = lost,
            Some(_) => {}
            None => kept.push(lost),
        }
    }
    kept
}

/// Packets that the root queue of an interface dropped: what TCP and UDP put out, less what was stopped before the queue,
/// less what it sent.
fn dropped_by_queue(device: &str, changes: &Changes, stopped_before: i64, drops: i64) -> Option<i64> {
    const PUT_OUT: [&str; 3] = ["TcpOutSegs", "TcpRetransSegs", "UdpOutDatagrams"];
    let grown = |change: &Change| change.growth.at_least() as i64;
    let of = |name: &str| {
        changes.changes.iter().find(|c| c.reading.source == "protocols" && c.reading.counter == name)
    };
    let put_out = PUT_OUT.iter().filter_map(|name| of(name)).map(grown).sum::<i64>() - stopped_before;
    let is_root = |change: &&Change| {
        let reading = &change.reading;
        matches!(&reading.place, Place::Qdisc { device: found, parent: Place::ROOT, .. } if *found.name == *device)
            && reading.counter == "sent_packets"
            && reading.sense.meaning == Meaning::Traffic
    };
    let sent = changes.changes.iter().find(is_root).map(grown)?;
    // Other packets that passed make it less, what left by another interface more.
    (drops..=drops * PIECE).contains(&(put_out - sent)).then_some(put_out - sent)
}

#[cfg(test)]
pub mod testing {
    use super::*;
    use wirespeed_host::{Device, Growth, Reading, drivers, source};

    /// Counters of a host whose interface is `device`, as SOURCE/COUNTER, and what they grew by.
    pub fn changes(device: &str, grown: &[(&'static str, u64)]) -> Changes {
        let change = |(name, grown): &(&'static str, u64)| {
            let (source_name, counter) = name.split_once('/').expect("SOURCE/COUNTER");
            let device = Device { index: 2, name: device.into() };
            let place = match source_name {
                "link" | "veth" => Place::Device(device),
                "softnet" => Place::Cpu(0),
                "qdisc" => Place::Qdisc { device, kind: "tbf".into(), handle: 1, parent: Place::ROOT },
                _ => Place::Host,
            };
            // What a driver's interface counts has a meaning of its own.
            let (source_name, rows) = match source_name {
                "veth" => ("link", drivers::driver("veth").expect("a driver of crate host").link),
                _ => (source_name, source(source_name).expect("a source of crate host").rows()),
            };
            // A name that no host gives would make a test that says nothing.
            let row = rows.iter().find(|row| row.pattern == counter).expect("a counter of that source");
            Change {
                reading: Reading::new(source_name, place, counter, *grown, row.sense),
                growth: Growth::By(*grown),
            }
        };
        Changes { interval_ns: 0, changes: grown.iter().map(change).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::changes;
    use super::*;

    #[test]
    fn what_is_known_of_no_interface_of_the_test_is_left_out() {
        let all = changes("eth0", &[("link/rx_missed_errors", 5)]);
        assert_eq!(counted_inward("b", "eth0", &all)[0].packets, 5);
        assert_eq!(counted_inward("b", "eth1", &all), []);
    }

    #[test]
    fn a_place_without_losses_is_one_row_however_many_counters_it_has() {
        let all = changes(
            "eth0",
            &[("link/rx_missed_errors", 0), ("link/rx_over_errors", 0), ("softnet/dropped", 0)],
        );
        let found = counted_inward("b", "eth0", &all);
        let told: Vec<_> = found.iter().map(|lost| (lost.stage, lost.place.as_str(), lost.packets)).collect();
        assert_eq!(told, [(Stage::RxRing, "b/eth0", 0), (Stage::SoftnetBacklog, "b/softnet backlog", 0)]);
    }

    #[test]
    fn what_was_stopped_before_the_queue_is_not_the_queues() {
        let all = changes(
            "eth0",
            &[
                ("qdisc/drops", 2),
                ("qdisc/sent_packets", 950),
                ("protocols/TcpOutSegs", 1000),
                ("protocols/IpFragFails", 30),
            ],
        );
        let found = outward("a", "eth0", &all);
        let told: Vec<_> = found.iter().map(|lost| (lost.stage, lost.packets, lost.exact)).collect();
        assert_eq!(told, [(Stage::IpOut, 30, true), (Stage::Qdisc, 20, true)]);
    }

    #[test]
    fn a_queue_that_sent_more_than_was_put_out_tells_no_packets() {
        let all = changes(
            "eth0",
            &[("qdisc/drops", 4), ("qdisc/sent_packets", 1200), ("protocols/TcpOutSegs", 1000)],
        );
        let found = outward("a", "eth0", &all);
        assert_eq!((found[0].packets, found[0].exact), (4, false));
    }
}
