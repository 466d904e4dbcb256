//! The ledger between real hosts. The flows count the packets that were sent and that arrived (TCP_INFO). Each host counts
//! its losses, those of other traffic included. Losses that no host explains are the network's.

mod attribution;
pub mod borders;
pub mod drop_reasons;
mod gso;
mod places;
mod unseen;

use crate::Balance;
use attribution::{Rest, attribute};
use places::{Lost, Own, inward, outward};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use wirespeed_host::Changes;
use wirespeed_record::{Direction, FlowSample, LedgerRow, Stage};
use wirespeed_scenario::run::{Flow, FlowKind, Run};

/// Totals of a flow, as both ends count it.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// The last state.
    pub row: FlowSample,
    /// All segments, those without data included: sent and received by the sender.
    pub sender: [u32; 2],
    /// The same by the receiver.
    pub receiver: [u32; 2],
}

/// Evidence of the account.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// Totals of the flows.
    pub totals: &'a BTreeMap<u32, Total>,
    /// Changes of the counters of each host.
    pub changes: &'a BTreeMap<String, Changes>,
    /// The interface of each host that carried the test.
    pub devices: &'a BTreeMap<String, String>,
    /// The interface by which packets of the test leave each host.
    pub outs: &'a BTreeMap<String, String>,
    /// The address of each host that carried the test.
    pub addresses: &'a BTreeMap<String, IpAddr>,
    /// Each packet of the test has one of these ports.
    pub ports: &'a [RangeInclusive<u16>],
    /// The machine that each host is or is a namespace of (its boot ID).
    pub machines: &'a BTreeMap<String, String>,
    /// The host that is an iperf3 server, which all flows go to or come from.
    pub server: Option<&'a str>,
}

/// Makes the account of both directions: data from the senders of the flows, ACKs from their receivers.
pub fn ledger(run: &Run, evidence: &Evidence) -> Vec<LedgerRow> {
    let names = |of: fn(&Flow) -> &str| -> BTreeSet<&str> { run.flows.iter().map(of).collect() };
    let (senders, receivers) = (names(|flow| &flow.from), names(|flow| &flow.to));
    let account = |direction, from, to| Direct { run, evidence, direction, from, to };
    let tcp = run.flows.iter().any(Flow::is_tcp);
    let (data, packets) = (account(Direction::Data, &senders, &receivers), data_packets(run, evidence));
    match evidence.server {
        Some(server) if tcp && senders.contains(server) => {
            let mut rows = data.begin_at_receiver(&packets);
            let acks = account(Direction::Ack, &receivers, &senders);
            rows.extend(
                acks.end_at_sender(&Packets { sent: segments_out(evidence), ..ack_packets(evidence) }),
            );
            return rows;
        }
        Some(_) if tcp => return data.end_at_sender(&packets),
        _ => {}
    }
    let mut rows = data.balance(packets);
    if tcp {
        rows.extend(account(Direction::Ack, &receivers, &senders).balance(ack_packets(evidence)));
    }
    rows
}

/// Packets that the flows sent, and that arrived at their other ends.
pub struct Packets {
    /// Sent.
    pub sent: i64,
    /// Arrived at the other end.
    pub arrived: i64,
    /// Sources of these two numbers.
    sources: [&'static str; 2],
    /// Whether packets dropped above IP are missing from those that arrived: UDP counts only datagrams that were read.
    pub dropped_unseen: bool,
}

/// The data of all flows.
pub fn data_packets(run: &Run, evidence: &Evidence) -> Packets {
    // Duplicates are delivered once.
    let arrived = |(index, total): (&u32, &Total)| match run.flows.get(*index as usize).map(|flow| &flow.kind)
    {
        Some(FlowKind::Udp { datagram, .. }) => {
            total.row.delivered_bytes.unwrap_or(0) / datagram.get().max(1)
        }
        _ => total.row.data_packets_in.unwrap_or(0),
    };
    let ours = ["tcpi_data_segs_out, datagrams sent", "tcpi_data_segs_in, datagrams read"];
    let sends = |server: &str| run.flows.iter().any(|flow| flow.from == server);
    let sources = match evidence.server {
        None => ours,
        Some(server) if sends(server) => ["datagrams that iperf3's server says it sent", ours[1]],
        Some(_) => [ours[0], "bytes that iperf3's server says it read, by size of datagram"],
    };
    Packets {
        sent: evidence.totals.values().filter_map(|total| total.row.data_packets_out).sum::<u64>() as i64,
        arrived: evidence.totals.iter().map(arrived).sum::<u64>() as i64,
        sources,
        dropped_unseen: run.flows.iter().any(|flow| matches!(flow.kind, FlowKind::Udp { .. })),
    }
}

/// ACKs to the senders of TCP.
pub fn ack_packets(evidence: &Evidence) -> Packets {
    // A receiver that was accepted has not counted its SYN-ACK, which went out before there was a socket.
    const SYN_ACK: i64 = 1;
    let of_tcp = || evidence.totals.values().filter(|total| total.receiver[0] > 0);
    Packets {
        sent: of_tcp().map(|total| i64::from(total.receiver[0]) + SYN_ACK).sum(),
        arrived: of_tcp().map(|total| i64::from(total.sender[1])).sum(),
        sources: ["tcpi_segs_out of the receivers", "tcpi_segs_in of the senders"],
        dropped_unseen: false,
    }
}

/// All segments that receivers of an iperf3 server's data have sent: they have connected, so that their sockets have
/// counted the SYN as well.
fn segments_out(evidence: &Evidence) -> i64 {
    evidence.totals.values().map(|total| i64::from(total.receiver[0])).sum()
}

/// A direction of the test: from which hosts to which.
struct Direct<'a> {
    run: &'a Run,
    evidence: &'a Evidence<'a>,
    direction: Direction,
    from: &'a BTreeSet<&'a str>,
    to: &'a BTreeSet<&'a str>,
}

impl Direct<'_> {
    fn balance(self, packets: Packets) -> Vec<LedgerRow> {
        let join = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
        let (from, to) = (join(self.from), join(self.to));
        let mut balance = Balance::new(self.direction);
        balance.sent(&from, packets.sent, packets.sources[0]);
        let (mut below, above) = self.places();
        let above_sum: i64 = above.iter().map(|lost| lost.packets).sum();
        let arrived = packets.arrived + if packets.dropped_unseen { above_sum } else { 0 };
        let missing = packets.sent - arrived;
        let rest = attribute(missing, &mut below);
        for lost in below.iter().chain(&above) {
            balance.lost(Some(lost.stage), &lost.place, lost.packets, &lost.source);
        }
        let (network, why) = match rest {
            Rest::Network(packets) => (packets, "what is left over"),
            Rest::Unexplained(why) => (0, why),
        };
        // A server has no counters: its losses cannot be separated from those of the network.
        let (stage, unseen) = match self.evidence.server {
            Some(server) => (Stage::NetworkOrHost, format!(", or at {server}")),
            None => (Stage::Network, String::new()),
        };
        let between = format!("between {from} and {to}{unseen}");
        balance.lost(Some(stage), &between, network, "sent less arrived, less what the hosts count");
        balance.delivered(&to, arrived - above_sum, packets.sources[1]);
        balance.close(why)
    }

    /// The account of a path whose receiver counts no packets: their fate is unseen.
    fn end_at_sender(self, packets: &Packets) -> Vec<LedgerRow> {
        let from = self.from.iter().copied().collect::<Vec<_>>().join(", ");
        let mut balance = Balance::new(self.direction);
        balance.sent(&from, packets.sent, packets.sources[0]);
        let (below, _) = self.places();
        for lost in &below {
            let pieces =
                if lost.is_exact() { String::new() } else { format!(", at most {} packets", lost.most) };
            let source = format!("{}{pieces}", lost.source);
            balance.lost(Some(lost.stage), &lost.place, lost.packets, &source);
        }
        balance.close_unseen("an iperf3 server counts bytes, not packets")
    }

    /// The account of a path whose sender counts no packets: arrivals, and losses of the receiving host. Packets sent, and
    /// losses before, have no rows.
    fn begin_at_receiver(self, packets: &Packets) -> Vec<LedgerRow> {
        let to = self.to.iter().copied().collect::<Vec<_>>().join(", ");
        let mut balance = Balance::new(self.direction);
        let (below, above) = self.places();
        for lost in below.iter().chain(&above) {
            balance.lost(Some(lost.stage), &lost.place, lost.packets, &lost.source);
        }
        let above: i64 = above.iter().map(|lost| lost.packets).sum();
        balance.delivered(&to, packets.arrived - above, packets.sources[1]);
        balance.leave_open()
    }

    /// Losses of the hosts: before the packets were counted as received, and after.
    fn places(&self) -> (Vec<Lost>, Vec<Lost>) {
        let (mut below, mut above) = (Vec::new(), Vec::new());
        let known = |host: &str| Some((self.evidence.changes.get(host)?, self.evidence.devices.get(host)?));
        let machine = |host: &str| self.evidence.machines.get(host);
        // A virtual pair is within one machine, whose backlog the sender's interface has counted already.
        let mut counted_by_pairs = BTreeSet::new();
        for host in self.from {
            let Some((changes, device)) = known(host) else { continue };
            let out = self.evidence.outs.get(*host).unwrap_or(device);
            let lost = outward(host, out, changes, &self.own(host));
            if lost.iter().any(|lost| lost.stage == Stage::SoftnetBacklog) {
                counted_by_pairs.insert(machine(host));
            }
            below.extend(lost);
        }
        for host in self.to {
            let Some((changes, device)) = known(host) else { continue };
            for lost in inward(host, device, changes, self.mss()) {
                match lost.stage {
                    Stage::SoftnetBacklog if counted_by_pairs.contains(&machine(host)) => {}
                    Stage::TcpBacklog | Stage::TcpOfo | Stage::RcvBuf | Stage::App => {
                        // Above TCP only data is dropped: ACKs are taken where they are.
                        above.extend((self.direction == Direction::Data).then_some(lost));
                    }
                    _ => below.push(lost),
                }
            }
        }
        (below, above)
    }

    /// Packets that sockets of the flows sent at a host.
    fn own(&self, host: &str) -> Own {
        let (mut segments, mut datagrams) = (0, 0);
        for (index, total) in self.evidence.totals {
            let Some(flow) = self.run.flows.get(*index as usize) else { continue };
            if let FlowKind::Udp { .. } = flow.kind {
                let sent = total.row.data_packets_out.unwrap_or(0) as i64;
                datagrams += if flow.from == host { sent } else { 0 };
            } else if flow.from == host {
                segments += i64::from(total.sender[0]);
            } else if flow.to == host {
                segments += i64::from(total.receiver[0]);
            }
        }
        let address = self.evidence.addresses.get(host).copied();
        Own { segments, datagrams, mss: self.mss(), address, ports: self.evidence.ports.to_vec() }
    }

    /// The smallest maximum segment size of the flows, in bytes.
    fn mss(&self) -> Option<u32> {
        self.evidence.totals.values().filter_map(|total| total.row.mss_bytes).min()
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests {
    use super::testing::{UNKNOWN, changes, evidence};
    use super::*;
    use wirespeed_record::Entry;
    use wirespeed_scenario::run::Congestion;
    use wirespeed_scenario::testing::run;

    type Told = (Entry, Option<Stage>, String, i64);

    /// A TCP flow from a to b: 1000 packets sent, so many arrived.
    fn sent(arrived: u64) -> (Run, BTreeMap<u32, Total>) {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let congestion = Congestion { name: "cubic".into(), parameters: Default::default(), own: false };
        run.flows[0].kind = FlowKind::Tcp { congestion, window: None, max_rate: None, zero_copy: false };
        let mut row = FlowSample::empty(0, 0);
        (row.data_packets_out, row.data_packets_in) = (Some(1000), Some(arrived));
        let totals = [(0, Total { row, sender: [1001, 500], receiver: [501, 1000] })].into();
        (run, totals)
    }

    /// A TCP flow from a to b: 1000 packets sent, so many arrived; and what counters of the hosts grew by.
    fn rows(arrived: u64, a: &[(&'static str, u64)], b: &[(&'static str, u64)]) -> Vec<Told> {
        rows_on(&UNKNOWN, arrived, a, b)
    }

    /// The same of hosts that are on these machines.
    fn rows_on(
        machines: &BTreeMap<String, String>,
        arrived: u64,
        a: &[(&'static str, u64)],
        b: &[(&'static str, u64)],
    ) -> Vec<Told> {
        let (run, totals) = sent(arrived);
        let changes = [("a".to_owned(), changes("eth0", a)), ("b".to_owned(), changes("eth1", b))].into();
        let devices =
            [("a", "eth0"), ("b", "eth1")].map(|(host, device)| (host.to_owned(), device.to_owned())).into();
        let rows = ledger(&run, &Evidence { machines, ..evidence(&totals, &changes, &devices) });
        for direction in [Direction::Data, Direction::Ack] {
            let here = || rows.iter().filter(|row| row.direction == direction);
            let of = |entry: Entry| -> i64 {
                here().filter(|row| row.entry == entry).map(|row| row.packets).sum()
            };
            assert_eq!(
                of(Entry::Sent),
                of(Entry::Delivered) + of(Entry::Lost) + of(Entry::Unexplained),
                "{direction:?}"
            );
        }
        let told = rows.into_iter().filter(|row| row.direction == Direction::Data && row.packets != 0);
        told.map(|row| (row.entry, row.stage, row.place, row.packets)).collect()
    }

    #[test]
    fn fate_of_packets_to_an_iperf3_server_is_unseen() {
        let (run, totals) = sent(990);
        let changes = [("a".to_owned(), changes("eth0", &[("link/tx_carrier_errors", 4)]))].into();
        let devices = [("a".to_owned(), "eth0".to_owned())].into();
        let evidence = Evidence { server: Some("b"), ..evidence(&totals, &changes, &devices) };
        let rows = ledger(&run, &evidence);
        let told: Vec<_> = rows.iter().map(|row| (row.direction, row.entry, row.packets)).collect();
        let data = Direction::Data;
        assert_eq!(told, [(data, Entry::Sent, 1000), (data, Entry::Lost, 4), (data, Entry::Unseen, 996)]);
    }

    #[test]
    fn of_packets_from_an_iperf3_server_is_known_what_came() {
        let (run, totals) = sent(990);
        let counters = [("protocols/TcpExtTCPBacklogDrop", 3), ("link/tx_carrier_errors", 2)];
        let changes = [("b".to_owned(), changes("eth1", &counters))].into();
        let devices = [("b".to_owned(), "eth1".to_owned())].into();
        let evidence = Evidence { server: Some("a"), ..evidence(&totals, &changes, &devices) };
        let rows = ledger(&run, &evidence);
        let told: Vec<_> = rows.iter().map(|row| (row.direction, row.entry, row.packets)).collect();
        let (data, ack) = (Direction::Data, Direction::Ack);
        // Acknowledgements: what left this host's sockets, and what of it was lost here.
        assert_eq!(
            told,
            [
                (data, Entry::Lost, 3),
                (data, Entry::Delivered, 987),
                (ack, Entry::Sent, 501),
                (ack, Entry::Lost, 2),
                (ack, Entry::Unseen, 499)
            ]
        );
    }

    fn lost(stage: Stage, place: &str, packets: i64) -> Told {
        (Entry::Lost, Some(stage), place.into(), packets)
    }

    fn plain(entry: Entry, place: &str, packets: i64) -> Told {
        (entry, None, place.into(), packets)
    }

    #[test]
    fn losses_that_a_host_counts_are_not_the_networks() {
        assert_eq!(
            rows(990, &[("link/tx_carrier_errors", 4)], &[("link/rx_missed_errors", 6)]),
            [
                plain(Entry::Sent, "a", 1000),
                lost(Stage::Network, "a/eth0", 4),
                lost(Stage::RxRing, "b/eth1", 6),
                plain(Entry::Delivered, "b", 990),
            ]
        );
    }

    #[test]
    fn packets_too_large_for_the_interface_are_not_the_networks() {
        assert_eq!(
            rows(838, &[("protocols/IpFragFails", 162)], &[]),
            [
                plain(Entry::Sent, "a", 1000),
                lost(Stage::IpOut, "a/IpFragFails", 162),
                plain(Entry::Delivered, "b", 838)
            ]
        );
    }

    #[test]
    fn the_network_has_what_no_host_explains() {
        assert_eq!(
            rows(990, &[], &[("link/rx_missed_errors", 6)]),
            [
                plain(Entry::Sent, "a", 1000),
                lost(Stage::RxRing, "b/eth1", 6),
                lost(Stage::Network, "between a and b", 4),
                plain(Entry::Delivered, "b", 990),
            ]
        );
    }

    #[test]
    fn one_place_that_counts_pieces_has_what_is_missing() {
        assert_eq!(
            rows(900, &[], &[("softnet/dropped", 3)]),
            [
                plain(Entry::Sent, "a", 1000),
                lost(Stage::SoftnetBacklog, "b/softnet backlog", 100),
                plain(Entry::Delivered, "b", 900),
            ]
        );
    }

    #[test]
    fn a_backlog_is_counted_twice_only_within_one_machine() {
        let machines = |b: &str| [("a".to_owned(), "one".to_owned()), ("b".to_owned(), b.to_owned())].into();
        let rows = |b| rows_on(&machines(b), 990, &[("veth/tx_dropped", 6)], &[("softnet/dropped", 4)]);
        let [sent, delivered] = [plain(Entry::Sent, "a", 1000), plain(Entry::Delivered, "b", 990)];
        let at_a = |packets| lost(Stage::SoftnetBacklog, "a/eth0", packets);
        assert_eq!(rows("one"), [sent.clone(), at_a(10), delivered.clone()]);
        let at_b = lost(Stage::SoftnetBacklog, "b/softnet backlog", 4);
        assert_eq!(rows("another"), [sent, at_a(6), at_b, delivered]);
    }

    #[test]
    fn a_queue_drops_pieces_and_what_it_sent_says_how_many_packets() {
        let counters = [
            ("qdisc/drops", 4),
            ("qdisc/sent_packets", 952),
            ("protocols/TcpOutSegs", 900),
            ("protocols/TcpRetransSegs", 101),
        ];
        assert_eq!(
            rows(950, &counters, &[]),
            [
                plain(Entry::Sent, "a", 1000),
                lost(Stage::Qdisc, "a/qdisc", 49),
                lost(Stage::Network, "between a and b", 1),
                plain(Entry::Delivered, "b", 950),
            ]
        );
    }

    #[test]
    fn a_host_that_lost_more_than_is_missing_lost_what_was_not_ours() {
        assert_eq!(
            rows(998, &[], &[("link/rx_missed_errors", 9)]),
            [
                plain(Entry::Sent, "a", 1000),
                lost(Stage::RxRing, "b/eth1", 9),
                plain(Entry::Delivered, "b", 998),
                plain(Entry::Unexplained, "", -7),
            ]
        );
    }

    #[test]
    fn packets_dropped_above_ip_are_not_delivered() {
        assert_eq!(
            rows(1000, &[], &[("protocols/TcpExtTCPBacklogDrop", 3)]),
            [
                plain(Entry::Sent, "a", 1000),
                lost(Stage::TcpBacklog, "b/TcpExtTCPBacklogDrop", 3),
                plain(Entry::Delivered, "b", 997),
            ]
        );
    }
}
