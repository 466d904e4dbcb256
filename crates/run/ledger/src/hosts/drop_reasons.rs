//! The kernel's reasons for dropping packets of the test (BPF), as counters of a host: which stage each belongs to.

use super::unseen::unseen;
use std::collections::BTreeMap;
use wirespeed_bpf::drops::Buffers;
use wirespeed_host::{Change, Changes, CounterMeaning, Delta, Place, Reading, Unit, Way};
use wirespeed_record::Stage;

/// The name of this source of counters.
pub const SOURCE: &str = "bpf";
/// How often the kernel passed over what watches its drops.
const MISSED: &str = "missed";
/// Packets in the kernel's own counters that the watch did not see.
const UNSEEN: &str = "unseen";

/// Reasons that are counted here. Those of sockets and of TCP are counters of the protocols already.
const STAGES: &[(&str, Stage, Option<Way>)] = &[
    ("NETFILTER_DROP", Stage::Netfilter, None),
    ("TC_INGRESS", Stage::Netfilter, Some(Way::Rx)),
    ("TC_EGRESS", Stage::Netfilter, Some(Way::Tx)),
    ("XDP", Stage::Netfilter, None),
    ("BPF_CGROUP_EGRESS", Stage::Netfilter, Some(Way::Tx)),
    ("SOCKET_FILTER", Stage::Netfilter, Some(Way::Rx)),
    ("XFRM_POLICY", Stage::Netfilter, Some(Way::Rx)),
    ("IP_RPFILTER", Stage::Netfilter, Some(Way::Rx)),
    ("IP_LOCAL_SOURCE", Stage::Netfilter, Some(Way::Rx)),
    ("IP_INVALID_SOURCE", Stage::Netfilter, Some(Way::Rx)),
    ("IP_INNOROUTES", Stage::Netfilter, Some(Way::Rx)),
    ("IP_INADDRERRORS", Stage::Netfilter, Some(Way::Rx)),
    ("UNICAST_IN_L2_MULTICAST", Stage::Netfilter, Some(Way::Rx)),
    ("NEIGH_CREATEFAIL", Stage::IpOut, Some(Way::Tx)),
    ("NEIGH_DEAD", Stage::IpOut, Some(Way::Tx)),
    ("NEIGH_FAILED", Stage::IpOut, Some(Way::Tx)),
    ("NEIGH_QUEUEFULL", Stage::IpOut, Some(Way::Tx)),
];

/// The kernel's names of reasons that are counted at a stage of the ledger.
pub fn drop_reasons() -> impl Iterator<Item = &'static str> {
    STAGES.iter().map(|(reason, ..)| *reason)
}

/// Reasons of queueing disciplines begin so.
const QUEUES: [&str; 4] = ["QDISC_", "FQ_", "CAKE_", "DUALPI2_"];

/// The stage at which packets that go this way are dropped for a reason; `None` if another counter has it.
pub fn stage(reason: &str, way: Way) -> Option<Stage> {
    if QUEUES.iter().any(|prefix| reason.starts_with(prefix)) {
        return (way == Way::Tx).then_some(Stage::Qdisc);
    }
    let (_, stage, only) = STAGES.iter().find(|(known, ..)| *known == reason)?;
    only.is_none_or(|only| only == way).then_some(*stage)
}

/// The drops of a host that its watch saw.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Packets of the run, by the kernel's reason and the way they went.
    pub dropped: BTreeMap<(String, Way), u64>,
    /// Packets of the run and the socket buffers they were in, by stage.
    pub sizes: BTreeMap<(Stage, Way), [u64; 2]>,
    /// How often the kernel says that it passed over the watch.
    pub missed: u64,
    /// Socket buffers of all flows, between the two readings of the kernel's other counters.
    pub all_flows: Vec<Buffers>,
}

/// The counters of a host that is watched. Places without drops have one, too. `all`: the delta of the host's other counters
/// since the watch began. `device`: the interface by which the test leaves.
pub fn changes(seen: &Seen, all: &Changes, device: &str) -> Vec<Change> {
    let looked_at = [("QDISC_DROP", Way::Tx), ("NETFILTER_DROP", Way::Tx), ("NETFILTER_DROP", Way::Rx)];
    let mut dropped = seen.dropped.clone();
    for (reason, way) in looked_at {
        dropped.entry((reason.to_owned(), way)).or_default();
    }
    let row = |((reason, way), packets): ((String, Way), u64)| {
        let sense = CounterMeaning::loss(stage(&reason, way)?, way).software();
        Some(change(reason, packets, sense))
    };
    let missed = change(MISSED.to_owned(), seen.missed, CounterMeaning::hint());
    let unseen = unseen(&seen.all_flows, all, device).into_iter().map(|unseen| {
        // As many packets in a buffer as in those that were seen.
        let [packets, buffers] = seen.sizes.get(&(unseen.stage, unseen.way)).copied().unwrap_or([1, 1]);
        let most = (unseen.buffers * packets).div_ceil(buffers.max(1));
        let sense = CounterMeaning {
            way: Some(unseen.way),
            ..CounterMeaning::hint().at(unseen.stage).unit(Unit::Packets)
        };
        change(UNSEEN.to_owned(), most, sense)
    });
    dropped.into_iter().filter_map(row).chain([missed]).chain(unseen).collect()
}

fn change(counter: String, value: u64, sense: CounterMeaning) -> Change {
    let reading = Reading::new(SOURCE, Place::Host, counter, value, sense);
    Change { reading, delta: Delta::By(value) }
}

/// How many packets a host's watch may have missed.
pub fn missed(changes: &Changes) -> i64 {
    changes.of_host(SOURCE, MISSED) as i64
}

/// Packets of any flow in the host's own counters of a stage that the watch did not see.
pub fn not_seen(changes: &Changes, stage: Stage, way: Way) -> i64 {
    let is_it = |change: &&Change| {
        let reading = &change.reading;
        reading.source == SOURCE
            && reading.counter == UNSEEN
            && (reading.sense.stage, reading.sense.way) == (Some(stage), Some(way))
    };
    changes.changes.iter().find(is_it).map_or(0, |change| change.delta.at_least() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_the_stage_of_its_direction() {
        assert_eq!(stage("NETFILTER_DROP", Way::Rx), Some(Stage::Netfilter));
        assert_eq!(stage("FQ_BAND_LIMIT", Way::Tx), Some(Stage::Qdisc));
        assert_eq!(stage("QDISC_DROP", Way::Rx), None);
        assert_eq!(stage("NEIGH_FAILED", Way::Rx), None);
        // Copies of what had arrived are no loss.
        assert_eq!(stage("TCP_OLD_DATA", Way::Rx), None);
    }

    fn seen(dropped: &[(&str, Way, u64)]) -> Seen {
        let dropped = dropped.iter().map(|(reason, way, packets)| (((*reason).to_owned(), *way), *packets));
        Seen { dropped: dropped.collect(), ..Seen::default() }
    }

    #[test]
    fn a_watched_host_has_a_row_for_what_it_did_not_drop() {
        let dropped = [("NETFILTER_DROP", Way::Rx, 7), ("TCP_OLD_DATA", Way::Rx, 9)];
        let seen = Seen { missed: 2, ..seen(&dropped) };
        let nothing = Changes { interval_ns: 0, changes: Vec::new() };
        let all = changes(&seen, &nothing, "eth0");
        let told: Vec<_> = all.iter().map(|row| (&*row.reading.counter, row.delta.at_least())).collect();
        assert_eq!(told, [("NETFILTER_DROP", 7), ("NETFILTER_DROP", 0), ("QDISC_DROP", 0), ("missed", 2)]);
        assert_eq!(missed(&Changes { interval_ns: 0, changes: all }), 2);
    }

    #[test]
    fn unseen_drops_have_the_size_of_those_seen() {
        let counted = crate::hosts::testing::changes("eth0", &[("qdisc/drops", 9)]);
        let all_flows =
            vec![Buffers { reason: "QDISC_DROP".into(), device: Some(2), namespace: Some(1), buffers: 6 }];
        let sizes = [((Stage::Qdisc, Way::Tx), [20, 4])].into();
        let seen = Seen { sizes, all_flows, ..seen(&[("QDISC_DROP", Way::Tx, 20)]) };
        let all = Changes { interval_ns: 0, changes: changes(&seen, &counted, "eth0") };
        assert_eq!(not_seen(&all, Stage::Qdisc, Way::Tx), 15);
        assert_eq!(not_seen(&all, Stage::Netfilter, Way::Rx), 0);
    }
}
