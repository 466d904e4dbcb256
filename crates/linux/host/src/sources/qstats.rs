//! Statistics of each queue in names that all drivers share (generic netlink `netdev`, QSTATS_GET).

use super::row_of;
use crate::collector::Collector;
use crate::netlink::{attribute, attributes, family, find, generic_request, messages, u32_at, unsigned};
use crate::reading::{CounterMeaning, Device, Place, Row, Unit, Way, row};
use crate::root::Root;
use crate::source::Source;
use std::collections::HashMap;
use std::io;
use wirespeed_record::Stage;

/// The source `qstats`.
pub struct QueueStatistics;

const NAME: &str = "qstats";
const REMEDY: &str = "Linux 6.9 or later; older kernels have the same per driver, in source ethtool";

/// NETDEV_A_QSTATS_* of linux/netdev.h with their numbers.
const FIELDS: &[(u16, Row)] = &[
    (8, row("rx-packets", CounterMeaning::packets(Way::Rx))),
    (9, row("rx-bytes", CounterMeaning::bytes(Way::Rx))),
    (10, row("tx-packets", CounterMeaning::packets(Way::Tx))),
    (11, row("tx-bytes", CounterMeaning::bytes(Way::Tx))),
    (
        12,
        row("rx-alloc-fail", CounterMeaning::hint().at(Stage::RxRing).rx().software())
            .about("no memory for a buffer; not each one loses a packet"),
    ),
    (
        13,
        row("rx-hw-drops", CounterMeaning::lost(Way::Rx).hardware())
            .duplicate_of(&["qstats/rx-hw-drop-overruns"])
            .about("dropped by the device, whatever the reason; overruns are among them"),
    ),
    (
        14,
        row("rx-hw-drop-overruns", CounterMeaning::loss(Stage::RxRing, Way::Rx).hardware())
            .duplicate_of(REPEATED)
            .about("the device found no descriptor or no room"),
    ),
    (15, row("rx-csum-complete", CounterMeaning::work().rx())),
    (16, row("rx-csum-unnecessary", CounterMeaning::work().rx())),
    (17, row("rx-csum-none", CounterMeaning::work().rx())),
    (
        18,
        row("rx-csum-bad", CounterMeaning::hint().rx().unit(Unit::Packets))
            .about("wrong checksum; the stack drops and counts it"),
    ),
    (19, row("rx-hw-gro-packets", CounterMeaning::work().rx())),
    (20, row("rx-hw-gro-bytes", CounterMeaning::work().rx().unit(Unit::Bytes))),
    (21, row("rx-hw-gro-wire-packets", CounterMeaning::work().rx())),
    (22, row("rx-hw-gro-wire-bytes", CounterMeaning::work().rx().unit(Unit::Bytes))),
    (
        23,
        row("rx-hw-drop-ratelimits", CounterMeaning::loss(Stage::Network, Way::Rx).hardware())
            .about("the device's limit of rate was exceeded: a cloud's or hypervisor's"),
    ),
    (
        24,
        row("tx-hw-drops", CounterMeaning::loss(Stage::TxRing, Way::Tx).hardware())
            .about("dropped by the device"),
    ),
    (
        25,
        row("tx-hw-drop-errors", CounterMeaning::loss(Stage::TxRing, Way::Tx).hardware())
            .duplicate_of(&["qstats/tx-hw-drops"])
            .about("malformed"),
    ),
    (26, row("tx-csum-none", CounterMeaning::work().tx())),
    (27, row("tx-needs-csum", CounterMeaning::work().tx())),
    (28, row("tx-hw-gso-packets", CounterMeaning::work().tx())),
    (29, row("tx-hw-gso-bytes", CounterMeaning::work().tx().unit(Unit::Bytes))),
    (30, row("tx-hw-gso-wire-packets", CounterMeaning::work().tx())),
    (31, row("tx-hw-gso-wire-bytes", CounterMeaning::work().tx().unit(Unit::Bytes))),
    (
        32,
        row("tx-hw-drop-ratelimits", CounterMeaning::loss(Stage::Network, Way::Tx).hardware())
            .about("the device's limit of rate was exceeded: a cloud's or hypervisor's"),
    ),
    (
        33,
        row("tx-stop", CounterMeaning::hint().at(Stage::TxRing).tx().software())
            .about("the transmit ring was full"),
    ),
    (
        34,
        row("tx-wake", CounterMeaning::hint().at(Stage::TxRing).tx().software()).about("and had room again"),
    ),
];

/// What the drivers that fill it count under their own names.
const REPEATED: &[&str] = &["ethtool/rx_total_ring_discards"];

const ROWS: [Row; FIELDS.len()] = {
    let mut rows = [FIELDS[0].1; FIELDS.len()];
    let mut at = 0;
    while at < FIELDS.len() {
        rows[at] = FIELDS[at].1;
        at += 1;
    }
    rows
};

impl Source for QueueStatistics {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "statistics of each queue in names that all drivers share, by generic netlink (netdev, QSTATS_GET)"
    }

    fn needs(&self) -> &'static str {
        "Linux 6.9 and a driver that fills it (bnxt_en, mlx5, virtio_net, gve and others)"
    }

    fn documented(&self) -> &'static str {
        "Documentation/netlink/specs/netdev.yaml"
    }

    fn rows(&self) -> &'static [Row] {
        &ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        match ask(root) {
            Ok((answer, devices)) => report(&answer, &devices, into),
            Err(error) => into.unavailable(NAME, "statistics of queues", &error, REMEDY),
        }
    }
}

fn ask(root: &mut Root) -> io::Result<(Vec<u8>, HashMap<u32, Device>)> {
    const QSTATS_GET: u8 = 12; // NETDEV_CMD_QSTATS_GET
    const SCOPE: u16 = 4; // NETDEV_A_QSTATS_SCOPE
    const QUEUE: u32 = 1; // NETDEV_QSTATS_SCOPE_QUEUE
    let family = family(root, "netdev")?;
    let scope = attribute(SCOPE, &QUEUE.to_ne_bytes());
    let answer = root.ask(&generic_request("qstats", family, QSTATS_GET, true, &[scope]))?;
    let devices = root.interfaces()?.into_iter().map(|found| (found.device.index, found.device)).collect();
    Ok((answer, devices))
}

fn report(answer: &[u8], devices: &HashMap<u32, Device>, into: &mut Collector) {
    for queue in parse(answer) {
        let Some(device) = devices.get(&queue.index) else { continue };
        let place = Place::Queue { device: device.clone(), queue: queue.number };
        for (name, value) in queue.values {
            into.push_row(NAME, place.clone(), name, value, row_of(self::rows(), name));
        }
    }
}

fn rows() -> &'static [Row] {
    static TABLE: [Row; FIELDS.len()] = ROWS;
    &TABLE
}

/// A queue in the kernel's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Index of the interface.
    pub index: u32,
    /// Number of the queue, from 0, for each way its own.
    pub number: u32,
    /// Names and values; those that we do not know are left out.
    pub values: Vec<(&'static str, u64)>,
}

/// The queues in an answer to QSTATS_GET.
pub fn parse(answer: &[u8]) -> Vec<Queue> {
    const IFINDEX: u16 = 1;
    const QUEUE_ID: u16 = 3;
    let queue = |inside: &[u8]| {
        let number = |kind| u32_at(find(inside, kind)?, 0);
        let values = attributes(inside).filter_map(|(kind, value)| {
            let (_, row) = FIELDS.iter().find(|(number, _)| *number == kind)?;
            Some((row.pattern, unsigned(value)?))
        });
        Some(Queue { index: number(IFINDEX)?, number: number(QUEUE_ID)?, values: values.collect() })
    };
    messages(answer).filter_map(|message| queue(message.payload.get(4..)?)).collect()
}
