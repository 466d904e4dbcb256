//! Queueing disciplines, whole trees of them (rtnetlink, RTM_GETQDISC).

use super::{qdisc_rows, row_of};
use crate::collector::Collector;
use crate::netlink::{Request, attributes, find, messages, text, u32_at, u64_at};
use crate::reading::{CounterMeaning, Device, Place, Row, Unit, Way, row};
use crate::root::Root;
use crate::source::Source;
use std::collections::HashMap;
use wirespeed_record::Stage;

/// The source `qdisc`.
pub struct Qdiscs;

const NAME: &str = "qdisc";

const ROWS: &[Row] = &[
    row("sent_bytes", CounterMeaning::bytes(Way::Tx).at(Stage::Qdisc).software()),
    row("sent_packets", CounterMeaning::packets(Way::Tx).at(Stage::Qdisc).software()).about("segments of a buffer counted one by one"),
    row("drops", CounterMeaning::loss(Stage::Qdisc, Way::Tx).unit(Unit::Buffers).software())
        .about("of a root, which shows what is dropped below it as its own: no room, or the algorithm said so; a buffer of \
                several segments counts once"),
    row("inner_drops", CounterMeaning::loss(Stage::Qdisc, Way::Tx).unit(Unit::Buffers).software())
        .duplicate_of(&["qdisc/drops"])
        .about("`drops` of a qdisc below another"),
    row("ingress_drops", CounterMeaning::lost(Way::Rx).unit(Unit::Buffers).software())
        .about("`drops` of ingress or clsact: a filter of this host dropped what arrived"),
    row("requeues", CounterMeaning::hint().at(Stage::TxRing).tx().unit(Unit::Buffers).software())
        .about("given back by a busy device: the transmit ring was full"),
    row("overlimits", CounterMeaning::hint().at(Stage::Qdisc).tx().software()).about("had to wait for its rate, or was over its limit"),
    row("backlog_bytes", CounterMeaning::gauge(Unit::Bytes).at(Stage::Qdisc).tx()),
    row("backlog_packets", CounterMeaning::gauge(Unit::Buffers).at(Stage::Qdisc).tx()),
];

impl Source for Qdiscs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "queueing disciplines, whole trees of them, by rtnetlink (RTM_GETQDISC, TCA_STATS2)"
    }

    fn needs(&self) -> &'static str {
        "a kernel with CONFIG_NET_SCHED"
    }

    fn documented(&self) -> &'static str {
        "include/uapi/linux/gen_stats.h, include/uapi/linux/pkt_sched.h"
    }

    fn rows(&self) -> &'static [Row] {
        ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        let remedy = "a kernel with CONFIG_NET_SCHED";
        let found = match root.ask(&request()) {
            Ok(answer) => parse(&answer),
            Err(error) => return into.unavailable(NAME, "qdiscs", &error, remedy),
        };
        let names: HashMap<u32, Device> = match root.interfaces() {
            Ok(interfaces) => interfaces.into_iter().map(|i| (i.device.index, i.device)).collect(),
            Err(error) => return into.unavailable(NAME, "interfaces", &error, remedy),
        };
        for qdisc in &found {
            // An interface that came between the two answers is left for the next time.
            let Some(device) = names.get(&qdisc.index) else { continue };
            qdisc.report(device, into);
        }
    }
}

/// A qdisc as the kernel lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// Index of the interface.
    pub index: u32,
    /// Its handle.
    pub handle: u32,
    /// Handle of its parent; [`Place::ROOT`] for a root.
    pub parent: u32,
    /// The kernel's name of its kind.
    pub kind: String,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent, segments counted one by one.
    pub sent_packets: u64,
    /// Bytes waiting.
    pub backlog_bytes: u32,
    /// Buffers waiting.
    pub backlog_packets: u32,
    /// Buffers dropped, modulo 2^32.
    pub drops: u32,
    /// Buffers given back by a busy device, modulo 2^32.
    pub requeues: u32,
    /// Times it had to wait for its rate, or was over its limit, modulo 2^32.
    pub overlimits: u32,
    /// Private statistics of its kind; empty if it has none.
    pub private: Vec<u8>,
    /// How it is set, as its kind encodes that; empty if it has nothing to set.
    pub options: Vec<u8>,
}

impl Qdisc {
    /// Whether it is the interface's root.
    pub fn is_root(&self) -> bool {
        self.parent == Place::ROOT
    }

    fn report(&self, device: &Device, into: &mut Collector) {
        const INGRESS: u32 = 0xffff_fff1; // TC_H_INGRESS
        let place = Place::Qdisc {
            device: device.clone(),
            kind: self.kind.as_str().into(),
            handle: self.handle,
            parent: self.parent,
        };
        // A drop is counted in every qdisc above it too (qdisc_tree_reduce_backlog and the return codes of enqueue in
        // net/sched), and mq shows the sum of its queues.
        let drops = match self.parent {
            Place::ROOT => "drops",
            INGRESS => "ingress_drops",
            _ => "inner_drops",
        };
        let mut wide = |name: &'static str, value| {
            into.push_row(NAME, place.clone(), name, value, row_of(ROWS, name));
        };
        wide("sent_bytes", self.sent_bytes);
        wide("sent_packets", self.sent_packets);
        wide("backlog_bytes", u64::from(self.backlog_bytes));
        wide("backlog_packets", u64::from(self.backlog_packets));
        for (name, value) in
            [(drops, self.drops), ("requeues", self.requeues), ("overlimits", self.overlimits)]
        {
            into.push_row32(NAME, place.clone(), name, value, row_of(ROWS, name));
        }
        for field in qdisc_rows::fields(&self.kind) {
            let Some(value) = field.value(&self.private) else { continue };
            match u32::try_from(value) {
                Ok(value) if field.is_32_bits() => {
                    into.push_row32(NAME, place.clone(), field.row.pattern, value, Some(&field.row));
                }
                _ => into.push_row(NAME, place.clone(), field.row.pattern, value, Some(&field.row)),
            }
        }
    }
}

/// Bytes of `struct tcmsg` (linux/rtnetlink.h).
const TCMSG: usize = 20;

/// Asks for all qdiscs of the namespace, those that come with an interface included.
pub fn request() -> Request {
    Request::dump("qdisc", libc::NETLINK_ROUTE, libc::RTM_GETQDISC, vec![0; TCMSG])
}

/// The qdiscs in an answer to [`request`].
pub fn parse(answer: &[u8]) -> Vec<Qdisc> {
    const TCA_KIND: u16 = 1;
    const TCA_OPTIONS: u16 = 2;
    const TCA_STATS2: u16 = 7;
    messages(answer)
        .filter(|message| message.kind == libc::RTM_NEWQDISC)
        .filter_map(|message| {
            let mut qdisc = Qdisc {
                index: u32_at(message.payload, 4)?,
                handle: u32_at(message.payload, 8)?,
                parent: u32_at(message.payload, 12)?,
                ..Qdisc::default()
            };
            let inside = message.payload.get(TCMSG..)?;
            qdisc.kind = text(find(inside, TCA_KIND)?);
            qdisc.options = find(inside, TCA_OPTIONS).unwrap_or_default().to_vec();
            for (kind, value) in find(inside, TCA_STATS2).into_iter().flat_map(attributes) {
                statistics(&mut qdisc, kind, value);
            }
            Some(qdisc)
        })
        .collect()
}

/// A part of TCA_STATS2 (linux/gen_stats.h). The packets of 64 bits come after those of 32.
fn statistics(qdisc: &mut Qdisc, kind: u16, value: &[u8]) {
    const BASIC: u16 = 1;
    const QUEUE: u16 = 3;
    const APP: u16 = 4;
    const PACKETS64: u16 = 8;
    let word = |n: usize| u32_at(value, 4 * n).unwrap_or(0);
    match kind {
        BASIC => {
            qdisc.sent_bytes = u64_at(value, 0).unwrap_or(0);
            qdisc.sent_packets = u64::from(word(2));
        }
        PACKETS64 => qdisc.sent_packets = u64_at(value, 0).unwrap_or(qdisc.sent_packets),
        QUEUE => {
            qdisc.backlog_packets = word(0);
            qdisc.backlog_bytes = word(1);
            qdisc.drops = word(2);
            qdisc.requeues = word(3);
            qdisc.overlimits = word(4);
        }
        APP => qdisc.private = value.to_vec(),
        _ => {}
    }
}
