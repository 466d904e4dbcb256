//! The ledger of a path whose queues are all visible: on one kernel, or in the model. Every packet that left a TCP or UDP
//! socket is accounted for.

use crate::Balance;
use std::collections::BTreeMap;
use wirespeed_record::{Cause, Counter, Direction, Entry, HostSample, LedgerRow, QueueSample, Stage};
use wirespeed_scenario::layout::{Egress, End, Layout, is_left};
use wirespeed_scenario::run::{Host, Qdisc, Run};

/// Evidence of the account: the state at the end of the run, or at a border between intervals.
pub struct Evidence<'a> {
    /// Protocol counters before and after.
    pub counters: &'a [Counter],
    /// The last sample of every queue.
    pub queues: BTreeMap<&'a str, &'a QueueSample>,
    /// The last sample of every interface.
    pub interfaces: BTreeMap<(&'a str, &'a str), &'a HostSample>,
    /// Packets in flight, by queue.
    pub in_flight: &'a BTreeMap<String, u64>,
    /// Packets dropped and lost by queue and cause, where causes are distinguished.
    pub drops: &'a BTreeMap<String, Vec<(Cause, u64)>>,
    /// Datagrams that hosts have sent, where their own count is known: the kernel counts a piece of several as one.
    pub datagrams: BTreeMap<&'a str, i64>,
}

/// The last of each queue's samples.
pub fn by_queue<'a>(rows: impl Iterator<Item = &'a QueueSample>) -> BTreeMap<&'a str, &'a QueueSample> {
    rows.map(|row| (row.queue.as_str(), row)).collect()
}

/// The last of each interface's samples.
pub fn by_interface<'a>(
    rows: impl Iterator<Item = &'a HostSample>,
) -> BTreeMap<(&'a str, &'a str), &'a HostSample> {
    rows.map(|row| ((row.host.as_str(), row.device.as_str()), row)).collect()
}

/// Packets that a sender's sockets sent. OutSegs leaves retransmissions out (net/ipv4/tcp_output.c); a datagram that
/// the own qdisc drops counts as SndbufErrors instead of OutDatagrams (net/ipv4/udp.c).
const SENT: &[&str] = &["TcpOutSegs", "TcpRetransSegs", "UdpOutDatagrams", "UdpSndbufErrors"];
/// How many of them are TCP's.
const OF_TCP: usize = 2;

/// Packets that arrive at a receiver's IP. Each packet of a merged one counts (net/ipv4/ip_input.c).
const ARRIVED: &[&str] = &["IpExtInNoECTPkts", "IpExtInECT1Pkts", "IpExtInECT0Pkts", "IpExtInCEPkts"];

/// Packets thrown away out of order. Linux counts how often it did so (`OfoPruned`), not how many: only the model has it,
/// and without it there is no row.
const OFO_PRUNED: &str = "TcpOfoPrunedPackets";

/// Packets that arrived at IP and were dropped above it, by the place.
const DROPPED_ABOVE_IP: &[(&str, Stage)] = &[
    ("TcpExtTCPBacklogDrop", Stage::TcpBacklog),
    ("TcpExtTCPOFODrop", Stage::TcpOfo),
    (OFO_PRUNED, Stage::TcpOfo),
    ("TcpExtTCPRcvQDrop", Stage::RcvBuf),
    ("TcpExtTCPZeroWindowDrop", Stage::RcvBuf),
    ("TcpExtBeyondWindow", Stage::RcvBuf),
    ("UdpRcvbufErrors", Stage::RcvBuf),
];

/// Makes the account of both directions. Data goes left to right, ACKs go back.
pub fn ledger(run: &Run, layout: &Layout, evidence: &Evidence) -> Vec<LedgerRow> {
    [(Direction::Data, true), (Direction::Ack, false)]
        .into_iter()
        .flat_map(|(direction, forward)| Direct::new(run, layout, evidence, direction, forward).rows())
        .collect()
}

/// Hosts that send to both sides: the direction does not separate their data from their ACKs.
pub fn ambiguous_hosts(run: &Run) -> Vec<&str> {
    let side = |name: &str| run.host(name).router;
    let sends = |name: &str, right: bool| {
        run.flows.iter().any(|flow| {
            let (from, to) = (side(&flow.from), side(&flow.to));
            (flow.from == name && (from < to) == right) || (flow.to == name && (to < from) == right)
        })
    };
    run.hosts.iter().map(|h| h.name.as_str()).filter(|name| sends(name, true) && sends(name, false)).collect()
}

/// The account of one direction while it is made.
struct Direct<'a> {
    run: &'a Run,
    layout: &'a Layout,
    evidence: &'a Evidence<'a>,
    /// Whether packets go left to right.
    forward: bool,
    balance: Balance,
}

impl<'a> Direct<'a> {
    fn new(
        run: &'a Run,
        layout: &'a Layout,
        evidence: &'a Evidence,
        direction: Direction,
        forward: bool,
    ) -> Self {
        Direct { run, layout, evidence, forward, balance: Balance::new(direction) }
    }

    fn rows(mut self) -> Vec<LedgerRow> {
        let (senders, receivers): (Vec<&str>, Vec<&str>) = {
            let (left, right): (Vec<_>, Vec<_>) = self.run.hosts.iter().partition(|h| is_left(self.run, h));
            let names = |hosts: Vec<&'a Host>| hosts.iter().map(|h| h.name.as_str()).collect();
            if self.forward { (names(left), names(right)) } else { (names(right), names(left)) }
        };
        let sent: i64 = senders.iter().map(|host| self.sent(host)).sum();
        self.balance.sent(&senders.join(", "), sent, &SENT.join(" + "));
        self.queues();
        self.interfaces();
        let arrived = self.total(&receivers, ARRIVED);
        let dropped = self.above_ip(&receivers);
        self.balance.delivered(&receivers.join(", "), arrived - dropped, "IpExtIn*Pkts less drops above IP");
        self.in_flight();
        self.balance.close("what is left over")
    }

    /// Ends of wires that packets of this direction leave.
    fn ends(&self) -> impl Iterator<Item = &'a End> + use<'a> {
        let forward = self.forward;
        self.layout.ends().filter(move |end| end.forward == forward)
    }

    fn counter(&self, host: &str, name: &str) -> i64 {
        let found = self.evidence.counters.iter().find(|c| c.host == host && c.counter == name);
        found.map_or(0, |c| c.after as i64 - c.before as i64)
    }

    fn sent(&self, host: &str) -> i64 {
        match self.evidence.datagrams.get(host) {
            Some(datagrams) => self.total(&[host], &SENT[..OF_TCP]) + datagrams,
            None => self.total(&[host], SENT),
        }
    }

    fn total(&self, hosts: &[&str], names: &[&str]) -> i64 {
        hosts.iter().flat_map(|host| names.iter().map(|name| self.counter(host, name))).sum()
    }

    /// Drops above IP at the receivers. Returns how many packets.
    fn above_ip(&mut self, receivers: &[&str]) -> i64 {
        let mut dropped = 0;
        for host in receivers {
            for (counter, stage) in DROPPED_ABOVE_IP {
                let packets = self.counter(host, counter);
                if packets > 0 || *counter != OFO_PRUNED {
                    self.balance.lost(Some(*stage), host, packets, counter);
                    dropped += packets;
                }
            }
        }
        dropped
    }

    /// Drops at qdiscs of sending hosts and at links, and losses on links.
    fn queues(&mut self) {
        for end in self.ends() {
            let queue = end.egress.queue(self.run);
            let Some(sample) = self.evidence.queues.get(queue.as_str()) else { continue };
            let host = match end.egress {
                Egress::Host(host) => self.run.hosts.get(host),
                _ => None,
            };
            let stage = if host.is_some() { Stage::Qdisc } else { Stage::Network };
            let copied = sample.copied_packets.unwrap_or(0) as i64;
            self.balance.copied(Stage::Network, &queue, copied, "copies of the link");
            for (entry, packets, source) in [
                (Entry::Repair, sample.repair_packets, "repair packets of the encoder"),
                (Entry::Recovered, sample.recovered_packets, "packets recovered by the decoder"),
                (Entry::Decoded, sample.decoded_packets, "repair packets at the decoder"),
            ] {
                self.balance.corrected(entry, &queue, packets.unwrap_or(0) as i64, source);
            }
            let (dropped, lost) = (sample.dropped_packets, sample.lost_packets.unwrap_or(0));
            let drops: Vec<(Option<Cause>, u64)> = match (self.evidence.drops.get(&queue), host) {
                (Some(drops), _) => drops.iter().map(|(cause, packets)| (Some(*cause), *packets)).collect(),
                // fq and fq_codel have several reasons to drop, and one counter.
                (None, Some(host)) if host.qdisc != Qdisc::PfifoFast => vec![(None, dropped)],
                (None, _) => vec![(Some(Cause::QueueFull), dropped), (Some(Cause::RandomLoss), lost)],
            };
            for (cause, packets) in drops {
                let is_behind = cause.is_some_and(Cause::is_behind_queue);
                let source = match host {
                    // Nothing is lost between a host's queue and its interface.
                    Some(_) if is_behind => continue,
                    Some(_) => "qdisc drops",
                    None if is_behind => "losses of the link",
                    None => "drops of the link's queue",
                };
                self.balance.lost_by(cause, stage, &queue, packets as i64, source);
            }
            if let Some(host) = host.filter(|host| host.hardware.is_some()) {
                let place = format!("{}/tx", host.name);
                self.balance.lost(
                    Some(Stage::TxRing),
                    &place,
                    0,
                    "a full ring sends packets back to the qdisc",
                );
            }
        }
    }

    /// Drops where a packet enters a node: the softnet backlog, and the queue of an encoder.
    fn interfaces(&mut self) {
        let layout = self.layout;
        for wire in &layout.wires {
            for (from, to) in [(0, 1), (1, 0)] {
                let (from, to) = (&wire.ends[from], &wire.ends[to]);
                if from.forward != self.forward {
                    continue;
                }
                self.tunnel(from);
                let host = layout.nodes[to.node].name.as_str();
                self.rx_rings(host);
                let sample = self.evidence.interfaces.get(&(host, to.device.as_str()));
                let dropped = sample.and_then(|s| s.softnet_dropped).unwrap_or(0) as i64;
                let stage =
                    if to.node < self.run.hosts.len() { Stage::SoftnetBacklog } else { Stage::Network };
                self.balance.lost(
                    Some(stage),
                    &format!("{host}/{}: softnet backlog", to.device),
                    dropped,
                    "tx_dropped of the peer",
                );
            }
        }
    }

    /// Packets that found the queue before an encoder full, where it is a TUN device.
    fn tunnel(&mut self, end: &End) {
        let (node, device) = (self.layout.nodes[end.node].name.as_str(), end.tunnel());
        let Some(sample) = self.evidence.interfaces.get(&(node, device.as_str())) else { return };
        if end.egress.fec().is_some() {
            let dropped = sample.tx_dropped as i64;
            let place = format!("{node}/{device}: queue of the encoder");
            self.balance.lost(Some(Stage::Network), &place, dropped, "tx_dropped of the TUN device");
        }
    }

    /// Packets that found no receive descriptor, where the rings of a host can be seen.
    fn rx_rings(&mut self, host: &str) {
        let prefix = format!("{host}/rx");
        let rings = self.evidence.queues.range(prefix.as_str()..);
        let rings = rings.take_while(|(name, _)| name.starts_with(&prefix));
        let found: Vec<(&str, i64)> = rings
            .filter(|(_, sample)| sample.kind == "rx_ring")
            .map(|(name, sample)| (*name, sample.dropped_packets as i64))
            .collect();
        for (ring, dropped) in found {
            self.balance.lost(Some(Stage::RxRing), ring, dropped, "no receive descriptor");
        }
    }

    fn in_flight(&mut self) {
        for host in &self.run.hosts {
            // Packets from the left are data, packets from the right ACKs.
            let key = format!("{}/rx", host.name);
            let packets = self.evidence.in_flight.get(&key).copied().unwrap_or(0) as i64;
            if is_left(self.run, host) != self.forward {
                self.balance.in_flight(Stage::RxRing, &key, packets, "receive rings and backlogs");
            }
        }
        for end in self.ends() {
            let queue = end.egress.queue(self.run);
            let packets = self.evidence.in_flight.get(&queue).copied().unwrap_or(0) as i64;
            let stage = match end.egress {
                Egress::Host(_) => Stage::Qdisc,
                _ => Stage::Network,
            };
            self.balance.in_flight(stage, &queue, packets, "qdisc backlog and propagation");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::testing::run;

    fn counter(host: &str, counter: &str, after: u64) -> Counter {
        Counter { host: host.into(), counter: counter.into(), before: 0, after }
    }

    fn queue(name: &str, dropped_packets: u64, lost_packets: Option<u64>) -> QueueSample {
        QueueSample {
            t_ns: 0,
            queue: name.into(),
            kind: "wire".into(),
            backlog_bytes: 0,
            backlog_packets: 0,
            sent_bytes: 0,
            sent_packets: 0,
            dropped_packets,
            lost_packets,
            copied_packets: None,
            repair_packets: None,
            decoded_packets: None,
            recovered_packets: None,
            requeues: 0,
            overlimits: 0,
            marked_packets: None,
        }
    }

    /// Direction data; `drops` are those of the link, where causes are distinguished.
    fn rows(arrived: u64, drops: &[(Cause, u64)]) -> Vec<LedgerRow> {
        let run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let layout = Layout::of(&run);
        let counters = [
            counter("a", "TcpOutSegs", 100),
            counter("a", "TcpRetransSegs", 10),
            counter("b", "IpExtInNoECTPkts", arrived),
            counter("b", "TcpExtTCPBacklogDrop", 2),
        ];
        let queues = [queue("a/qdisc", 3, None), queue("link0/forward", 4, Some(5))];
        let in_flight = BTreeMap::from([("link0/forward".to_string(), 6)]);
        let told = (!drops.is_empty()).then(|| ("link0/forward".to_string(), drops.to_vec()));
        let evidence = Evidence {
            counters: &counters,
            queues: queues.iter().map(|q| (q.queue.as_str(), q)).collect(),
            interfaces: BTreeMap::new(),
            in_flight: &in_flight,
            drops: &told.into_iter().collect(),
            datagrams: BTreeMap::new(),
        };
        let rows = ledger(&run, &layout, &evidence).into_iter();
        rows.filter(|r| r.direction == Direction::Data).collect()
    }

    fn account(arrived: u64) -> Vec<(Entry, Option<Stage>, i64)> {
        rows(arrived, &[]).into_iter().map(|r| (r.entry, r.stage, r.packets)).collect()
    }

    #[test]
    fn each_loss_stands_at_its_own_stage_and_the_account_balances() {
        // 110 sent; 3 dropped at the host, 4 at the queue, 5 on the link, 6 under way: 92 arrive, 2 of them in vain.
        let rows = account(92);
        let find = |entry: Entry, stage| {
            rows.iter().filter(|r| r.0 == entry && r.1 == stage).map(|r| r.2).sum::<i64>()
        };
        assert_eq!(find(Entry::Sent, None), 110);
        assert_eq!(find(Entry::Delivered, None), 90);
        assert_eq!(find(Entry::Lost, Some(Stage::Qdisc)), 3);
        assert_eq!(find(Entry::Lost, Some(Stage::Network)), 9);
        assert_eq!(find(Entry::Lost, Some(Stage::TcpBacklog)), 2);
        assert_eq!(find(Entry::InFlight, Some(Stage::Network)), 6);
        assert_eq!(find(Entry::Unexplained, None), 0);
    }

    #[test]
    fn drops_of_a_link_have_their_causes_and_the_account_balances() {
        let of = |drops: &[(Cause, u64)]| {
            let rows = rows(92, drops);
            assert!(rows.iter().any(|r| r.entry == Entry::Unexplained && r.packets == 0), "{rows:?}");
            let lost = rows.into_iter().filter(|r| r.stage == Some(Stage::Network) && r.entry == Entry::Lost);
            let lost = lost.filter(|r| r.place == "link0/forward");
            lost.map(|r| (r.cause, r.packets)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[]), [(Some(Cause::QueueFull), 4), (Some(Cause::RandomLoss), 5)]);
        let told = [(Cause::Policer, 1), (Cause::QueueFull, 3), (Cause::PortLimit, 0), (Cause::Outage, 5)];
        assert_eq!(of(&told), told.map(|(cause, packets)| (Some(cause), packets as i64)));
    }

    #[test]
    fn unexplained_packets_have_a_row() {
        assert!(account(90).contains(&(Entry::Unexplained, None, 2)));
    }

    #[test]
    fn the_interfaces_of_a_splitter_are_on_one_side_each() {
        let run = run(
            2,
            &[("a", 0), ("box-left", 1), ("box-right", 1), ("b", 2)],
            &[("b", "box-right"), ("box-left", "a")],
        );
        let left: Vec<&str> =
            run.hosts.iter().filter(|host| is_left(&run, host)).map(|host| host.name.as_str()).collect();
        assert_eq!(left, ["a", "box-right"]);
        assert!(ambiguous_hosts(&run).is_empty());
    }

    #[test]
    fn a_host_that_sends_both_ways_is_named() {
        let two_way = run(1, &[("a", 0), ("b", 1)], &[("a", "b"), ("b", "a")]);
        assert!(ambiguous_hosts(&two_way).is_empty(), "data and ACKs of both flows go the same way");
        let middle = run(2, &[("a", 0), ("b", 1), ("c", 2)], &[("a", "b"), ("b", "c")]);
        assert_eq!(ambiguous_hosts(&middle), ["b"]);
    }
}
