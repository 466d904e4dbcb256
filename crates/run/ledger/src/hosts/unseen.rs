//! Drops in the kernel's own counters that the watch (BPF) did not see. A kernel may run no programs while a process that it
//! protects is interrupted, and does not report this (docs/reference/bpf.md).

use super::drop_reasons;
use wirespeed_bpf::drops::Buffers;
use wirespeed_host::{Changes, Place, Way};
use wirespeed_record::Stage;

/// Socket buffers of any flow that were dropped at a stage and not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen {
    /// The stage.
    pub stage: Stage,
    /// Sent or received.
    pub way: Way,
    /// Their number, at most.
    pub buffers: u64,
}

/// Compares the drops of all flows that were seen with the delta of the counters since then. The kernel counts independently
/// of the watch in the queues of `device`, and where packets enter and leave IP.
pub fn unseen(seen: &[Buffers], changes: &Changes, device: &str) -> Vec<Unseen> {
    let queue = [(Stage::Qdisc, Way::Tx, queue(seen, changes, device))];
    let ip = [(Stage::Netfilter, Way::Rx, into_ip(seen, changes))];
    let out = out_of_ip(seen, changes).map(|buffers| (Stage::Netfilter, Way::Tx, buffers));
    let row = |(stage, way, buffers): (Stage, Way, i64)| {
        u64::try_from(buffers).ok().filter(|buffers| *buffers > 0).map(|buffers| Unseen {
            stage,
            way,
            buffers,
        })
    };
    queue.into_iter().chain(ip).chain(out).filter_map(row).collect()
}

/// Drops of the root queue, less those seen at the device for a reason of a queue.
fn queue(seen: &[Buffers], changes: &Changes, device: &str) -> i64 {
    let root = changes.changes.iter().find_map(|change| match &change.reading.place {
        Place::Qdisc { device: found, parent: Place::ROOT, .. }
            if *found.name == *device && change.reading.counter == "drops" =>
        {
            Some((found.index, change.delta.at_least() as i64))
        }
        _ => None,
    });
    let Some((index, dropped)) = root else { return 0 };
    let is_there = |row: &&Buffers| {
        row.device == Some(index) && drop_reasons::stage(&row.reason, Way::Tx) == Some(Stage::Qdisc)
    };
    dropped - sum(seen.iter().filter(is_there))
}

/// Buffers that IP received and did not deliver, forward or count as an error, less those seen.
fn into_ip(seen: &[Buffers], changes: &Changes) -> i64 {
    let of = |names: &[&str]| protocols(changes, names);
    let came = of(&["IpInReceives", "Ip6InReceives", "IpReasmOKs", "Ip6ReasmOKs"]);
    let went = of(&["IpInDelivers", "Ip6InDelivers", "IpForwDatagrams", "Ip6OutForwDatagrams"]);
    let failed = of(&["IpReasmReqds", "Ip6ReasmReqds"])
        + of(&["IpInHdrErrors", "IpInAddrErrors", "IpInUnknownProtos", "IpInDiscards", "IpExtInNoRoutes"])
        + of(&["IpExtInTruncatedPkts", "IpExtInCsumErrors", "TcpExtIPReversePathFilter"])
        + of(&["Ip6InHdrErrors", "Ip6InAddrErrors", "Ip6InUnknownProtos", "Ip6InDiscards", "Ip6InNoRoutes"])
        + of(&["Ip6InTruncatedPkts", "Ip6InTooBigErrors"]);
    came - went - failed - sum(seen.iter().filter(|row| !is_elsewhere(&row.reason)))
}

/// Buffers that IP was asked to send and did not transmit, less those seen. `None` before Linux 6.7, which does not count
/// transmitted buffers.
fn out_of_ip(seen: &[Buffers], changes: &Changes) -> Option<i64> {
    let of = |names: &[&str]| protocols(changes, names);
    let sent = of(&["IpOutTransmits", "Ip6OutTransmits"]);
    let asked = of(&["IpOutRequests", "Ip6OutRequests", "IpForwDatagrams", "Ip6OutForwDatagrams"]);
    let failed = of(&["IpOutDiscards", "Ip6OutDiscards", "IpOutNoRoutes", "Ip6OutNoRoutes"]);
    let seen = sum(seen.iter().filter(|row| !is_elsewhere(&row.reason)));
    (sent > 0).then_some(asked - sent - failed - seen)
}

/// Whether packets are dropped for a reason above or below IP. Other reasons count as drops of IP.
fn is_elsewhere(reason: &str) -> bool {
    const ABOVE_OR_BELOW: [&str; 7] = ["TCP_", "UDP_", "SOCKET_", "NO_SOCKET", "NEIGH_", "TC_", "XDP"];
    drop_reasons::stage(reason, Way::Tx) == Some(Stage::Qdisc)
        || ABOVE_OR_BELOW.iter().any(|prefix| reason.starts_with(prefix))
}

/// The delta of several protocol counters together.
fn protocols(changes: &Changes, names: &[&str]) -> i64 {
    names.iter().map(|name| changes.of_host("protocols", name) as i64).sum()
}

fn sum<'a>(rows: impl Iterator<Item = &'a Buffers>) -> i64 {
    rows.map(|row| row.buffers as i64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::testing::changes;

    fn seen(reason: &str, device: u32, buffers: u64) -> Buffers {
        Buffers { reason: reason.into(), device: Some(device), namespace: Some(1), buffers }
    }

    fn at(stage: Stage, way: Way, buffers: u64) -> Unseen {
        Unseen { stage, way, buffers }
    }

    #[test]
    fn a_queue_that_counts_more_than_was_seen_tells_how_many() {
        let counters = changes("eth0", &[("qdisc/drops", 30)]);
        // The device of the test has number 2; what TCP dropped is not the queue's.
        let rows = [seen("QDISC_DROP", 2, 20), seen("FQ_BAND_LIMIT", 2, 6), seen("QDISC_DROP", 3, 9)];
        assert_eq!(unseen(&rows, &counters, "eth0"), [at(Stage::Qdisc, Way::Tx, 4)]);
        assert_eq!(unseen(&rows, &counters, "eth1"), []);
        let more = [seen("QDISC_DROP", 2, 31), seen("TCP_OLD_DATA", 2, 5)];
        assert_eq!(unseen(&more, &counters, "eth0"), []);
    }

    #[test]
    fn packets_that_ip_did_not_forward_were_filtered_or_seen() {
        let counters = [
            ("protocols/IpInReceives", 1000),
            ("protocols/IpInDelivers", 980),
            ("protocols/IpInAddrErrors", 2),
            ("protocols/IpOutRequests", 500),
            ("protocols/IpOutTransmits", 500),
        ];
        let counters = changes("eth0", &counters);
        let rows = [seen("NETFILTER_DROP", 2, 17), seen("TCP_OFOMERGE", 2, 40)];
        assert_eq!(unseen(&rows, &counters, "eth0"), [at(Stage::Netfilter, Way::Rx, 1)]);
        let all = [seen("NETFILTER_DROP", 2, 18)];
        assert_eq!(unseen(&all, &counters, "eth0"), []);
    }

    #[test]
    fn a_kernel_that_does_not_count_what_left_says_nothing_of_it() {
        let counters = changes("eth0", &[("protocols/IpOutRequests", 500)]);
        assert_eq!(unseen(&[], &counters, "eth0"), []);
        let newer = changes("eth0", &[("protocols/IpOutRequests", 500), ("protocols/IpOutTransmits", 497)]);
        assert_eq!(unseen(&[], &newer, "eth0"), [at(Stage::Netfilter, Way::Tx, 3)]);
    }
}
