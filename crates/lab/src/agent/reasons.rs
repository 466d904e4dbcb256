//! The kernel's reasons for dropping packets of the test (BPF), as counters of a host: which stage each belongs to.

use wirespeed_host::{Change, Changes, Growth, Place, Reading, Sense, Way};
use wirespeed_record::Stage;

/// The name of this source of counters.
pub const SOURCE: &str = "bpf";
/// How often the kernel passed over what watches its drops.
const MISSED: &str = "missed";

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

/// Packets that a host dropped, by the kernel's reason and the way they went.
pub type Dropped = Vec<(String, Way, u64)>;

/// The counters of a host that is watched; what is looked at and dropped nothing has one too.
pub fn changes(dropped: &Dropped, missed: u64) -> Vec<Change> {
    let looked_at = [("QDISC_DROP", Way::Tx), ("NETFILTER_DROP", Way::Tx), ("NETFILTER_DROP", Way::Rx)];
    let known = |reason: &str, way: Way| dropped.iter().any(|(other, of, _)| other == reason && *of == way);
    let idle = looked_at.iter().filter(|(reason, way)| !known(reason, *way));
    let idle = idle.map(|(reason, way)| ((*reason).to_owned(), *way, 0));
    let row = |(reason, way, packets): (String, Way, u64)| {
        let sense = Sense::loss(stage(&reason, way)?, way).software();
        Some(change(reason, packets, sense))
    };
    let missed = change(MISSED.to_owned(), missed, Sense::hint());
    dropped.iter().cloned().chain(idle).filter_map(row).chain([missed]).collect()
}

fn change(counter: String, value: u64, sense: Sense) -> Change {
    let reading = Reading::new(SOURCE, Place::Host, counter, value, sense);
    Change { reading, growth: Growth::By(value) }
}

/// How many packets a host's watch may have missed.
pub fn missed(changes: &Changes) -> i64 {
    let is_it = |change: &&Change| change.reading.source == SOURCE && change.reading.counter == MISSED;
    changes.changes.iter().find(is_it).map_or(0, |change| change.growth.at_least() as i64)
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

    #[test]
    fn a_watched_host_has_a_row_for_what_it_did_not_drop() {
        let all =
            changes(&vec![("NETFILTER_DROP".into(), Way::Rx, 7), ("TCP_OLD_DATA".into(), Way::Rx, 9)], 2);
        let told: Vec<_> = all.iter().map(|row| (&*row.reading.counter, row.growth.at_least())).collect();
        assert_eq!(told, [("NETFILTER_DROP", 7), ("QDISC_DROP", 0), ("NETFILTER_DROP", 0), ("missed", 2)]);
        assert_eq!(missed(&Changes { interval_ns: 0, changes: all }), 2);
    }
}
