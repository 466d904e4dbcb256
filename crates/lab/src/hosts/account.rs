//! The loss ledger between real hosts. What the flows sent and what arrived is the flows' own count (TCP_INFO); what
//! the hosts lost is counted by host, for everybody who uses them. The network is blamed for what no host explains.

use super::merge::Total;
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{Counter, Direction, LedgerRow, Stage};
use wirespeed_scenario::run::{FlowKind, Run};

/// What the account is made from.
pub struct Evidence<'a> {
    /// What the flows came to.
    pub totals: &'a BTreeMap<u32, Total>,
    /// Counters of the hosts before and after.
    pub counters: &'a [Counter],
    /// The interface of each host that carried the test.
    pub devices: &'a BTreeMap<String, String>,
}

/// A place in a host where packets are lost, and what counts them: alternatives, of which the first that the host has
/// is the count. `DEVICE` stands for the interface.
struct Place {
    stage: Stage,
    name: &'static str,
    counters: &'static [&'static str],
}

/// On the way out (Documentation/networking/statistics.rst of the kernel).
const OUTWARD: &[Place] = &[
    Place { stage: Stage::Qdisc, name: "qdisc", counters: &["qdisc.dropped"] },
    Place { stage: Stage::TxRing, name: "DEVICE", counters: &["DEVICE.tx_dropped"] },
];

/// On the way in, below TCP.
const INWARD: &[Place] = &[
    Place { stage: Stage::RxRing, name: "DEVICE", counters: &["DEVICE.rx_missed_errors"] },
    Place { stage: Stage::SoftnetBacklog, name: "softnet backlog", counters: &["softnet.dropped"] },
];

/// In TCP, after the segment was counted as received (`tcp_segs_in`), and in UDP.
const ABOVE: &[Place] = &[
    Place { stage: Stage::TcpBacklog, name: "socket backlog", counters: &["TcpExtTCPBacklogDrop"] },
    Place { stage: Stage::TcpOfo, name: "out-of-order queue", counters: &["TcpExtTCPOFODrop"] },
    Place { stage: Stage::RcvBuf, name: "receive queue", counters: &["TcpExtTCPRcvQDrop"] },
    Place { stage: Stage::RcvBuf, name: "zero window", counters: &["TcpExtTCPZeroWindowDrop"] },
    Place { stage: Stage::RcvBuf, name: "pruned", counters: &["TcpExtRcvPruned"] },
    Place { stage: Stage::RcvBuf, name: "UDP receive buffer", counters: &["UdpRcvbufErrors"] },
];

/// Makes the account of both directions: data goes the way the flows send, ACKs come back.
pub fn ledger(run: &Run, evidence: &Evidence) -> Vec<LedgerRow> {
    let names = |of: fn(&wirespeed_scenario::run::Flow) -> &str| -> BTreeSet<&str> {
        run.flows.iter().map(of).collect()
    };
    let (senders, receivers) = (names(|flow| &flow.from), names(|flow| &flow.to));
    let data =
        Account { evidence, direction: Direction::Data, from: &senders, to: &receivers, rows: Vec::new() };
    let acks =
        Account { evidence, direction: Direction::Ack, from: &receivers, to: &senders, rows: Vec::new() };
    let mut rows = data.balance(data_packets(run, evidence));
    if run.flows.iter().any(|flow| matches!(flow.kind, FlowKind::Tcp { .. })) {
        rows.extend(acks.balance(ack_packets(evidence)));
    }
    rows
}

/// Packets that the flows put out, and that came to their other ends.
struct Packets {
    sent: i64,
    arrived: i64,
    /// Where these two come from.
    sources: [&'static str; 2],
    /// Counted by the kernel as what was dropped above, and not as arrived.
    dropped_unseen: bool,
}

fn data_packets(run: &Run, evidence: &Evidence) -> Packets {
    let sum = |of: fn(&Total) -> u64| evidence.totals.values().map(of).sum::<u64>() as i64;
    let udp = run.flows.iter().any(|flow| matches!(flow.kind, FlowKind::Udp { .. }));
    Packets {
        sent: sum(|total| total.row.data_packets_out),
        arrived: sum(|total| total.row.data_packets_in),
        sources: ["tcpi_data_segs_out, datagrams sent", "tcpi_data_segs_in, datagrams read"],
        dropped_unseen: udp,
    }
}

fn ack_packets(evidence: &Evidence) -> Packets {
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

struct Account<'a> {
    evidence: &'a Evidence<'a>,
    direction: Direction,
    from: &'a BTreeSet<&'a str>,
    to: &'a BTreeSet<&'a str>,
    rows: Vec<LedgerRow>,
}

impl Account<'_> {
    fn balance(mut self, packets: Packets) -> Vec<LedgerRow> {
        let join = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
        let (from, to) = (join(self.from), join(self.to));
        self.row("sent", None, &from, packets.sent, packets.sources[0]);
        let below: i64 = self.losses(self.from, OUTWARD) + self.losses(self.to, INWARD);
        // Above TCP only data is dropped: ACKs are taken where they are.
        let above = if self.direction == Direction::Data { self.losses(self.to, ABOVE) } else { 0 };
        let arrived = packets.arrived + if packets.dropped_unseen { above } else { 0 };
        let missing = packets.sent - arrived;
        let unseen = (missing - below).max(0);
        self.row(
            "lost",
            Some(Stage::Network),
            &format!("between {from} and {to}"),
            unseen,
            "sent less arrived, less what the hosts count",
        );
        self.row("delivered", None, &to, arrived - above, packets.sources[1]);
        self.row(
            "unexplained",
            None,
            "",
            missing - below - unseen,
            "what is left over; negative: the hosts also lost what was not ours",
        );
        self.rows
    }

    /// How much a counter of a host has grown; `None` if the host does not have it, or it was 0 all the time.
    fn grown(&self, host: &str, counter: &str) -> Option<i64> {
        let found = self.evidence.counters.iter().find(|c| c.host == host && c.counter == counter)?;
        Some(found.after.saturating_sub(found.before) as i64)
    }

    /// Packets that a host's queue dropped. The kernel counts a piece of up to 64 KiB as one drop, but what it sent packet
    /// by packet: what TCP and UDP put out less that is how many packets the drops were.
    fn dropped_by_queue(&self, host: &str) -> Option<(i64, String)> {
        const PUT_OUT: [&str; 3] = ["TcpOutSegs", "TcpRetransSegs", "UdpOutDatagrams"];
        /// Packets of 64 KiB at the smallest segment size of the internet (RFC 9293, 3.7.1).
        const MOST: i64 = 65_536 / 536;
        let drops = self.grown(host, "qdisc.dropped")?;
        let put_out: i64 = PUT_OUT.iter().filter_map(|counter| self.grown(host, counter)).sum();
        let gone = put_out - self.grown(host, "qdisc.sent_packets").unwrap_or(put_out);
        let packets = gone.clamp(drops, drops * MOST);
        let source = match packets == drops {
            true => "qdisc.dropped".to_owned(),
            false => format!("put out less qdisc.sent_packets; qdisc.dropped is {drops}, in pieces"),
        };
        Some((packets, source))
    }

    /// A row for each place that the hosts count; 0 is knowledge, a missing row is not.
    fn losses(&mut self, hosts: &BTreeSet<&str>, places: &[Place]) -> i64 {
        let mut sum = 0;
        for host in hosts {
            for place in places {
                let Some(device) = self.evidence.devices.get(*host) else { continue };
                let known = match place.stage {
                    Stage::Qdisc => self.dropped_by_queue(host),
                    _ => place.counters.iter().find_map(|counter| {
                        let counter = counter.replace("DEVICE", device);
                        Some((self.grown(host, &counter)?, counter))
                    }),
                };
                let (packets, source) = known.unwrap_or((0, place.counters[0].replace("DEVICE", device)));
                sum += packets;
                let name = format!("{host}/{}", place.name.replace("DEVICE", device));
                self.row("lost", Some(place.stage), &name, packets, &source);
            }
        }
        sum
    }

    fn row(&mut self, entry: &str, stage: Option<Stage>, place: &str, packets: i64, source: &str) {
        self.rows.push(LedgerRow {
            direction: self.direction,
            entry: entry.into(),
            stage,
            place: place.into(),
            packets,
            source: source.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::run;
    use wirespeed_record::FlowSample;
    use wirespeed_scenario::run::Congestion;

    /// A TCP flow from a to b: 1000 packets sent, so many arrived; and counters of the hosts.
    fn rows(arrived: u64, counters: &[(&str, &str, u64)]) -> Vec<(String, Option<Stage>, String, i64)> {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let congestion = Congestion { name: "cubic".into(), parameters: Default::default(), own: false };
        run.flows[0].kind = FlowKind::Tcp { congestion, window: None, max_rate: None };
        let mut row = FlowSample::empty(0, 0);
        (row.data_packets_out, row.data_packets_in) = (1000, arrived);
        let totals = [(0, Total { row, sender: [1001, 500], receiver: [501, 1000] })].into();
        let counters: Vec<Counter> = counters
            .iter()
            .map(|(host, counter, after)| Counter {
                host: (*host).into(),
                counter: (*counter).into(),
                before: 5,
                after: after + 5,
            })
            .collect();
        let devices =
            [("a", "eth0"), ("b", "eth1")].map(|(host, device)| (host.to_owned(), device.to_owned())).into();
        let rows = ledger(&run, &Evidence { totals: &totals, counters: &counters, devices: &devices });
        for direction in [Direction::Data, Direction::Ack] {
            let of = |entry: &str| -> i64 {
                rows.iter()
                    .filter(|row| row.direction == direction && row.entry == entry)
                    .map(|row| row.packets)
                    .sum()
            };
            assert_eq!(of("sent"), of("delivered") + of("lost") + of("unexplained"), "{direction:?}");
        }
        let told = rows.into_iter().filter(|row| row.direction == Direction::Data && row.packets != 0);
        told.map(|row| (row.entry, row.stage, row.place, row.packets)).collect()
    }

    fn lost(stage: Stage, place: &str, packets: i64) -> (String, Option<Stage>, String, i64) {
        ("lost".into(), Some(stage), place.into(), packets)
    }

    fn plain(entry: &str, place: &str, packets: i64) -> (String, Option<Stage>, String, i64) {
        (entry.into(), None, place.into(), packets)
    }

    #[test]
    fn what_a_host_counts_is_not_blamed_on_the_network() {
        assert_eq!(
            rows(990, &[("a", "qdisc.dropped", 4), ("b", "eth1.rx_missed_errors", 6)]),
            [
                plain("sent", "a", 1000),
                lost(Stage::Qdisc, "a/qdisc", 4),
                lost(Stage::RxRing, "b/eth1", 6),
                plain("delivered", "b", 990),
            ]
        );
    }

    #[test]
    fn a_queue_drops_pieces_and_the_account_has_packets() {
        let counters = [
            ("a", "qdisc.dropped", 4),
            ("a", "qdisc.sent_packets", 952),
            ("a", "TcpOutSegs", 900),
            ("a", "TcpRetransSegs", 101),
        ];
        assert_eq!(
            rows(950, &counters),
            [
                plain("sent", "a", 1000),
                lost(Stage::Qdisc, "a/qdisc", 49),
                lost(Stage::Network, "between a and b", 1),
                plain("delivered", "b", 950),
            ]
        );
    }

    #[test]
    fn the_network_has_what_no_host_explains() {
        assert_eq!(
            rows(990, &[("a", "qdisc.dropped", 4)]),
            [
                plain("sent", "a", 1000),
                lost(Stage::Qdisc, "a/qdisc", 4),
                lost(Stage::Network, "between a and b", 6),
                plain("delivered", "b", 990),
            ]
        );
    }

    #[test]
    fn a_host_that_lost_more_than_is_missing_lost_what_was_not_ours() {
        assert_eq!(
            rows(998, &[("b", "softnet.dropped", 9)]),
            [
                plain("sent", "a", 1000),
                lost(Stage::SoftnetBacklog, "b/softnet backlog", 9),
                plain("delivered", "b", 998),
                plain("unexplained", "", -7),
            ]
        );
    }

    #[test]
    fn what_arrived_and_was_dropped_above_is_not_delivered() {
        assert_eq!(
            rows(1000, &[("b", "TcpExtTCPBacklogDrop", 3)]),
            [
                plain("sent", "a", 1000),
                lost(Stage::TcpBacklog, "b/socket backlog", 3),
                plain("delivered", "b", 997),
            ]
        );
    }
}
