//! Losses of one host in a direction, from the changes of its counters.

use super::drop_reasons;
use super::gso::{GsoSize, most_packets};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use wirespeed_host::{Change, Changes, Meaning, Place, Socket, Unit, Way};
use wirespeed_record::Stage;

/// Packets lost at a place of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The stage.
    pub stage: Stage,
    /// The host and what in it.
    pub place: String,
    /// How many, at least.
    pub packets: i64,
    /// How many at most: more than at least where GSO packets or events were counted, or other traffic is among them.
    pub most: i64,
    /// How many packets were in so many GSO packets on average, where GSO packets were counted and their mean size is known.
    pub likely: Option<i64>,
    /// The counters.
    pub source: String,
}

impl Lost {
    /// Whether the number of packets is known.
    pub fn is_exact(&self) -> bool {
        self.most == self.packets
    }
}

/// Packets that sockets of the test sent at a host, and how to distinguish those sockets from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    /// Segments of TCP, those without data included.
    pub segments: i64,
    /// Datagrams.
    pub datagrams: i64,
    /// Maximum segment size of its TCP in bytes, the smallest of all flows.
    pub mss: Option<u32>,
    /// The address that carries the test, if it is known.
    pub address: Option<IpAddr>,
    /// One of these is at one end of each connection of the test.
    pub ports: Vec<RangeInclusive<u16>>,
}

impl Own {
    fn packets(&self) -> i64 {
        self.segments + self.datagrams
    }

    fn has(&self, socket: &Socket) -> bool {
        let ends = [socket.local.port(), socket.remote.port()];
        self.ports.iter().any(|range| ends.iter().any(|port| range.contains(port)))
    }
}

/// Losses of packets that a host sent by an interface. Places that were examined and lost nothing are included.
pub fn outward(host: &str, device: &str, changes: &Changes, own: &Own) -> Vec<Lost> {
    let mut places = gather(host, device, changes, Way::Tx, GsoSize::of(changes, Way::Tx, own.mss));
    let stopped_before = places
        .iter()
        .filter(|lost| matches!(lost.stage, Stage::IpOut | Stage::Netfilter))
        .map(|lost| lost.packets)
        .sum();
    // The kernel names no reason for packets that a change of the queue discards.
    if let Some(queue) =
        places.iter_mut().find(|lost| lost.stage == Stage::Qdisc && lost.packets > 0 && lost.is_exact())
        && let Some([least, _]) = dropped_by_queue(device, changes, own, stopped_before)
        && (queue.packets + 1..=most_packets(queue.packets)).contains(&least)
    {
        queue.source =
            format!("packets of the test less packets sent; {} counts {}", queue.source, queue.packets);
        (queue.packets, queue.most, queue.likely) = (least, least, None);
    }
    // A queue counts GSO packets, and a watch the drops that it saw, but sent packets are counted exactly.
    if let Some(queue) = places.iter_mut().find(|lost| lost.stage == Stage::Qdisc && !lost.is_exact())
        && let Some([least, most]) = dropped_by_queue(device, changes, own, stopped_before)
    {
        // Without other traffic all that was dropped was the test's. Drops that the watch saw always were.
        let is_certain = least == most || is_watched(changes);
        let least = if is_certain { least.max(queue.packets) } else { least.max(0) };
        let most = most.min(queue.most);
        if least <= most {
            let counts = if is_watched(changes) {
                queue.source.clone()
            } else {
                format!("{} counts {} GSO packets", queue.source, queue.packets)
            };
            let others = if least == most {
                String::new()
            } else {
                format!("; {} packets of other traffic may be among those sent", most - least)
            };
            let likely = queue.likely.filter(|_| is_watched(changes)).map(|likely| likely.clamp(least, most));
            (queue.packets, queue.most, queue.likely) = (least, most, likely);
            queue.source = format!("packets of the test less packets sent; {counts}{others}");
        }
    }
    places
}

/// Whether a host's kernel reported its reasons for drops.
fn is_watched(changes: &Changes) -> bool {
    changes.changes.iter().any(|change| change.reading.source == drop_reasons::SOURCE)
}

/// The same as the host counts it, GSO packets as such.
pub fn counted_outward(host: &str, device: &str, changes: &Changes) -> Vec<Lost> {
    gather(host, device, changes, Way::Tx, GsoSize::UNKNOWN)
}

/// Losses of arriving packets. `mss`: maximum segment size of the test in bytes, if it is known.
pub fn inward(host: &str, device: &str, changes: &Changes, mss: Option<u32>) -> Vec<Lost> {
    gather(host, device, changes, Way::Rx, GsoSize::of(changes, Way::Rx, mss))
}

/// The same in the host's own counts.
pub fn counted_inward(host: &str, device: &str, changes: &Changes) -> Vec<Lost> {
    gather(host, device, changes, Way::Rx, GsoSize::UNKNOWN)
}

fn gather(host: &str, device: &str, changes: &Changes, way: Way, size: GsoSize) -> Vec<Lost> {
    // Reasons are counted for packets of the test only. The counter of a queue includes other traffic.
    let is_watched = is_watched(changes);
    let missed = drop_reasons::missed(changes);
    let mut places: BTreeMap<(Stage, String, String), Counts> = BTreeMap::new();
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
        if reading.sense.way != Some(way) || is_watched && stage == Stage::Qdisc && reading.source == "qdisc"
        {
            continue;
        }
        let what = match (&reading.place, stage) {
            (_, Stage::Qdisc) => "qdisc".to_owned(),
            (Place::Device(found) | Place::Queue { device: found, .. }, _) => found.name.to_string(),
            (Place::Cpu(_), Stage::SoftnetBacklog) => "softnet backlog".to_owned(),
            _ if reading.source == drop_reasons::SOURCE => stage.word().to_owned(),
            _ => reading.counter.to_string(),
        };
        let source = format!("{}/{}", reading.source, reading.counter);
        let sum = places.entry((stage, format!("{host}/{what}"), source)).or_default();
        let grown = change.delta.at_least() as i64;
        sum.packets += grown;
        match reading.sense.unit {
            Unit::Packets if reading.source == drop_reasons::SOURCE && grown > 0 => {
                sum.most += grown + missed
            }
            Unit::Packets => sum.most += grown,
            _ => {
                sum.most += size.most(grown);
                sum.gso_packets += grown;
            }
        }
    }
    let found = places.into_iter().map(|((stage, place, source), sum)| Lost {
        stage,
        place,
        packets: sum.packets,
        most: sum.most,
        likely: size.likely(sum.gso_packets).map(|packets| packets + sum.packets - sum.gso_packets),
        source,
    });
    let mut found = merge_idle(found.collect());
    let of_watch = format!("{}/", drop_reasons::SOURCE);
    for stage in [Stage::Qdisc, Stage::Netfilter] {
        let unseen = drop_reasons::not_seen(changes, stage, way);
        let of_stage = |lost: &&mut Lost| lost.stage == stage && lost.source.starts_with(&of_watch);
        if let Some(lost) =
            found.iter_mut().filter(of_stage).max_by_key(|lost| lost.packets).filter(|_| unseen > 0)
        {
            // Unseen drops may have been larger buffers than those seen. The count has the size of the latter.
            (lost.most, lost.likely) = (lost.most + size.most(unseen), Some(lost.packets + unseen));
            lost.source =
                format!("{}; the host's own counters have {unseen} that were not seen", lost.source);
        }
    }
    found
}

/// The counts of a place.
#[derive(Default)]
struct Counts {
    /// Packets, at least.
    packets: i64,
    /// Packets, at most.
    most: i64,
    /// How many of `packets` are GSO packets.
    gso_packets: i64,
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

/// Packets that the root queue of an interface dropped, at least and at most. They are those that sockets of the test sent
/// and that nothing stopped before the queue, less those that the queue sent. Other traffic by this interface lowers the
/// difference. It is known as far as its sockets count it. Traffic from another address is left out.
fn dropped_by_queue(device: &str, changes: &Changes, own: &Own, stopped_before: i64) -> Option<[i64; 2]> {
    let grown = |change: &Change| change.delta.at_least() as i64;
    let of = |name: &str| changes.of_host("protocols", name) as i64;
    let is_root = |change: &&Change| {
        let reading = &change.reading;
        matches!(&reading.place, Place::Qdisc { device: found, parent: Place::ROOT, .. } if *found.name == *device)
            && reading.counter == "sent_packets"
            && reading.sense.meaning == Meaning::Traffic
    };
    let sent = changes.changes.iter().find(is_root).map(grown)?;
    // Packets of others, by whichever interface they left.
    let segments = of("TcpOutSegs") + of("TcpRetransSegs") - own.segments;
    let others = segments.max(0) + (of("UdpOutDatagrams") - own.datagrams).max(0);
    let (mut here, mut elsewhere) = (0, 0);
    for change in changes.changes.iter().filter(|change| change.reading.counter == "tcpi_segs_out") {
        match &change.reading.place {
            Place::Socket(socket) if own.has(socket) => {}
            Place::Socket(socket) if own.address == Some(socket.local.ip().to_canonical()) => {
                here += grown(change)
            }
            Place::Socket(_) if own.address.is_some() => elsewhere += grown(change),
            _ => {}
        }
    }
    // None of theirs, or all of theirs, may be among those that the queue sent.
    let least = own.packets() - stopped_before - sent;
    Some([least, least + (others - elsewhere).max(here)])
}

#[cfg(test)]
mod tests {
    use super::super::attribution::{Rest, attribute};
    use super::super::testing::changes;
    use super::*;
    use wirespeed_bpf::drops::Buffers;
    use wirespeed_host::{CounterMeaning, Delta, Reading};

    fn own(segments: i64) -> Own {
        Own { segments, ..Own::default() }
    }

    #[test]
    fn other_traffic_widens_what_a_queue_dropped() {
        let counters = [("qdisc/drops", 4), ("qdisc/sent_packets", 960), ("protocols/TcpOutSegs", 1030)];
        let found = outward("a", "eth0", &changes("eth0", &counters), &own(1000));
        assert_eq!((found[0].packets, found[0].most), (40, 70));
        // A socket of the control connection, from another address; one of others, from the test's.
        let mut all = changes("eth0", &counters);
        for (local, segments) in [("10.0.0.9:22", 12), ("10.0.0.1:80", 15), ("10.0.0.1:5001", 900)] {
            let socket = Socket {
                protocol: "tcp".into(),
                local: local.parse().unwrap(),
                remote: "10.0.0.3:4000".parse().unwrap(),
                cookie: 1,
            };
            let reading = Reading::new(
                "sockets",
                Place::Socket(socket.into()),
                "tcpi_segs_out",
                segments,
                CounterMeaning::packets(Way::Tx),
            );
            all.changes.push(Change { reading, delta: Delta::By(segments) });
        }
        let address = Some("10.0.0.1".parse().unwrap());
        let own = Own { address, ports: vec![5001..=5001], ..own(1000) };
        let found = outward("a", "eth0", &all, &own);
        assert_eq!((found[0].packets, found[0].most), (40, 58));
    }

    /// Adds what a watch saw: of the test, by reason; and in how many buffers queues dropped something of anybody's.
    fn watched(all: &mut Changes, dropped: &[(&str, Way, u64)], of_queues: u64) {
        let buffers = of_queues;
        let all_flows =
            vec![Buffers { reason: "QDISC_DROP".into(), device: Some(2), namespace: Some(1), buffers }];
        let dropped = dropped.iter().map(|(reason, way, packets)| (((*reason).to_owned(), *way), *packets));
        let seen = drop_reasons::Seen { dropped: dropped.collect(), all_flows, ..Default::default() };
        let reasons = drop_reasons::changes(&seen, all, "eth0");
        all.changes.extend(reasons);
    }

    #[test]
    fn a_watched_queue_may_have_dropped_what_only_its_own_counter_has() {
        let mut all = changes(
            "eth0",
            &[("qdisc/drops", 900), ("qdisc/sent_packets", 1200), ("protocols/TcpOutSegs", 1300)],
        );
        watched(&mut all, &[("QDISC_DROP", Way::Tx, 43)], 888);
        let found = outward("a", "eth0", &all, &own(1000));
        assert_eq!((found[0].stage, found[0].packets, found[0].most), (Stage::Qdisc, 43, 100));
        // The 12 that were not seen are packets of their own by the mean of those seen, and may be more: 1000 of the test
        // and at most 300 of others left, less 1200 that the queue sent.
        assert_eq!(found[0].likely, Some(43 + 12));
        assert!(found[0].source.contains("12 that were not seen"), "{}", found[0].source);
    }

    #[test]
    fn what_is_missing_beyond_the_mean_of_unseen_drops_is_not_the_networks() {
        // As a short `tbf` beside other traffic: 905 packets were seen, 131 buffers were not, and 1041 packets are missing.
        let counters =
            [("qdisc/drops", 1136), ("qdisc/sent_packets", 99_000), ("protocols/TcpOutSegs", 101_000)];
        let mut all = changes("eth0", &counters);
        watched(&mut all, &[("QDISC_DROP", Way::Tx, 905)], 1005);
        let mut found = outward("a", "eth0", &all, &own(62_678));
        assert_eq!((found[0].packets, found[0].likely), (905, Some(905 + 131)));
        assert_eq!(attribute(1041, &mut found), Rest::Network(0));
        assert_eq!(found[0].packets, 1041);
    }

    #[test]
    fn drops_that_a_watch_did_not_see_may_be_larger_than_those_it_saw() {
        // As `etf` on a late machine: 271 packets in 232 buffers were seen, and 264 in 206 buffers were not.
        let counters = [("qdisc/drops", 438), ("qdisc/sent_packets", 476), ("protocols/TcpOutSegs", 1011)];
        let mut all = changes("eth0", &counters);
        watched(&mut all, &[("QDISC_DROP", Way::Tx, 271)], 232);
        let found = outward("a", "eth0", &all, &own(1011));
        assert_eq!((found[0].packets, found[0].most), (535, 535), "{}", found[0].source);
    }

    #[test]
    fn a_watched_queue_dropped_what_the_kernel_says_of_the_test() {
        let mut all = changes("eth0", &[("qdisc/drops", 900), ("qdisc/sent_packets", 1200)]);
        let dropped = [("QDISC_DROP", Way::Tx, 43), ("NETFILTER_DROP", Way::Rx, 5)];
        watched(&mut all, &dropped, 900);
        let out: Vec<_> = outward("a", "eth0", &all, &own(1000))
            .into_iter()
            .map(|l| (l.stage, l.packets, l.most))
            .collect();
        assert_eq!(out, [(Stage::Qdisc, 43, 43), (Stage::Netfilter, 0, 0)]);
        let inward = counted_inward("a", "eth0", &all);
        assert_eq!((inward[0].place.as_str(), inward[0].packets), ("a/netfilter", 5));
    }

    #[test]
    fn counters_of_other_interfaces_are_left_out() {
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
    fn drops_before_the_queue_are_not_the_queues() {
        let all = changes(
            "eth0",
            &[
                ("qdisc/drops", 2),
                ("qdisc/sent_packets", 950),
                ("protocols/TcpOutSegs", 1000),
                ("protocols/IpFragFails", 30),
            ],
        );
        let found = outward("a", "eth0", &all, &own(1000));
        let told: Vec<_> = found.iter().map(|lost| (lost.stage, lost.packets, lost.is_exact())).collect();
        assert_eq!(told, [(Stage::IpOut, 30, true), (Stage::Qdisc, 20, true)]);
    }

    #[test]
    fn a_queue_that_sent_more_than_was_put_out_tells_no_packets() {
        let all = changes(
            "eth0",
            &[("qdisc/drops", 4), ("qdisc/sent_packets", 1200), ("protocols/TcpOutSegs", 1000)],
        );
        let found = outward("a", "eth0", &all, &own(1000));
        assert_eq!((found[0].packets, found[0].is_exact()), (4, false));
    }
}
