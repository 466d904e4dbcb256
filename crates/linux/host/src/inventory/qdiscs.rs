//! Qdisc trees.

use super::Notes;
use crate::netlink::{find, u32_at};
use crate::reading::Place;
use crate::root::Root;
use crate::sources::qdisc::{self, Qdisc as Found};
use std::collections::BTreeMap;
use wirespeed_inventory::Qdisc;

/// The qdiscs by the index of their interface, the root first.
pub(super) fn read(root: &mut Root, notes: &mut Notes) -> BTreeMap<u32, Vec<Qdisc>> {
    let found = match root.ask(&qdisc::request()) {
        Ok(answer) => qdisc::parse(&answer),
        Err(error) => {
            notes.error("qdiscs", &error, "a kernel with CONFIG_NET_SCHED");
            return BTreeMap::new();
        }
    };
    let mut trees: BTreeMap<u32, Vec<Qdisc>> = BTreeMap::new();
    let (roots, others): (Vec<&Found>, Vec<&Found>) = found.iter().partition(|qdisc| qdisc.is_root());
    for qdisc in roots.into_iter().chain(others) {
        trees.entry(qdisc.index).or_default().push(Qdisc {
            kind: qdisc.kind.clone(),
            handle: format!("{:x}:", qdisc.handle >> 16),
            parent: (qdisc.parent != Place::ROOT).then(|| class(qdisc.parent)),
            limit_packets: limit(&qdisc.kind, &qdisc.options).map(u64::from),
        });
    }
    trees
}

/// A class as tc prints it: `8001:1`, or `:1` without a handle.
fn class(parent: u32) -> String {
    let (major, minor) = (parent >> 16, parent & 0xffff);
    match major {
        0 => format!(":{minor:x}"),
        _ => format!("{major:x}:{minor:x}"),
    }
}

/// The limit in packets among the options of a kind (linux/pkt_sched.h).
fn limit(kind: &str, options: &[u8]) -> Option<u32> {
    let attribute = |number: u16| u32_at(find(options, number)?, 0);
    match kind {
        // struct tc_fifo_qopt. That of bfifo is in bytes, that of pfifo_fast is txqueuelen.
        "pfifo" => u32_at(options, 0),
        // struct tc_netem_qopt: latency, limit, ...
        "netem" => u32_at(options, 4),
        // struct tc_sfq_qopt: quantum, perturb period, limit, ...
        "sfq" => u32_at(options, 8),
        "fq" | "fq_pie" => attribute(1),
        "fq_codel" | "codel" | "pie" => attribute(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;

    #[test]
    fn limits_are_found_in_the_options_of_each_kind() {
        let number = |value: u32| value.to_ne_bytes();
        assert_eq!(limit("fq", &attribute(1, &number(10_000))), Some(10_000));
        assert_eq!(
            limit("fq_codel", &[attribute(1, &number(5)), attribute(2, &number(7))].concat()),
            Some(7)
        );
        assert_eq!(limit("netem", &[number(1), number(1000)].concat()), Some(1000));
        assert_eq!(
            (limit("pfifo", &number(3)), limit("bfifo", &number(3)), limit("fq", &[])),
            (Some(3), None, None)
        );
        assert_eq!((class(0x8001_0001).as_str(), class(1).as_str()), ("8001:1", ":1"));
    }
}
