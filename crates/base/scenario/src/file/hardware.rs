//! The inside of a host as it is written: machine, costs, and words for sets of cores.

use crate::run::KernelVersion;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use wirespeed_units::{Bytes, Rate, Span};

/// More cores than any machine has; keeps "0-4000000000" from being a list.
pub(crate) const MOST_CORES: u32 = 4096;

/// Sockets, cores and caches of a host. Core `c` is on node `c / cores_per_node`; with hyper-threads its twin is
/// core `c + nodes * cores_per_node`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineTable {
    /// NUMA nodes (sockets). Default 1.
    #[schemars(range(min = 1, max = 64))]
    pub nodes: Option<u32>,
    /// Cores of each node, without hyper-threads. Needed.
    #[schemars(range(min = 1, max = 1024))]
    pub cores_per_node: Option<u32>,
    /// Speed of a hyper-thread while its twin works, as a part of its full speed. Default 0: no hyper-threads.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub twin_speed: Option<f64>,
    /// Received data that stays in the cache until the application reads it; beyond it comes from memory. Needed.
    pub cache: Option<Bytes>,
    /// Rate of the link between nodes (QPI, UPI), each way; never the limit if left out.
    pub interlink: Option<Rate>,
    /// What the memory of a node carries, copies out of it and the interface's writes together; never the limit if
    /// left out.
    pub memory: Option<Rate>,
    /// The scheduler's least time slice: a thread runs so long before another of its core may. Default 3 ms
    /// (Linux, 8 cores and more).
    pub granularity: Option<Span>,
    /// The Linux version, for the rules of softirq and scheduler, such as "4.15". Default: today's.
    pub kernel: Option<KernelVersion>,
}

/// What work of a host costs at its nominal speed. All of them are needed, from the preset or here.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CostsTable {
    /// One interrupt: entry, exit, scheduling the poll.
    pub interrupt: Option<Span>,
    /// One NAPI poll, whatever it finds.
    pub poll: Option<Span>,
    /// Receiving one packet from the ring: descriptor, buffer, header, merging.
    pub rx_packet: Option<Span>,
    /// The same in addition if the polling core is not on the interface's node.
    pub rx_packet_remote: Option<Span>,
    /// New memory for a page of a shared work-queue entry (`rx_wqe`): allocation, mapping, freeing. Default 0.
    pub rx_page: Option<Span>,
    /// TCP's work for one packet or what GRO merged.
    pub rx_segment: Option<Span>,
    /// UDP's work for one datagram.
    pub rx_datagram: Option<Span>,
    /// TCP's work for one ACK at the sender.
    pub rx_ack: Option<Span>,
    /// Looking at one packet in flight for what an ACK reports selectively: kernels until 2.6.24 walk through them.
    /// Default 0.
    pub sack_walk: Option<Span>,
    /// Sending one ACK.
    pub tx_ack: Option<Span>,
    /// Sending one piece of up to 64 KiB (TSO, GSO), or a datagram: TCP, qdisc, driver, completion.
    pub tx_segment: Option<Span>,
    /// The same for a packet of TCP where there is no such offload.
    pub tx_packet: Option<Span>,
    /// One call of the application, read or write.
    pub syscall: Option<Span>,
    /// Waking a thread, for the waker; and switching to it, for the woken.
    pub wakeup: Option<Span>,
    /// Copying one byte to or from an application while it is in the cache.
    pub copy_cached: Option<Span>,
    /// The same from the memory of the own node.
    pub copy_memory: Option<Span>,
    /// The same from another node.
    pub copy_remote: Option<Span>,
    /// One packet for a capture.
    pub capture: Option<Span>,
    /// Handing one packet to a capture where it passes (`dev_queue_xmit_nit`, `packet_rcv`): clock, clone, filter, queue.
    /// Default 0.
    pub capture_tap: Option<Span>,
    /// Bytes that the application asks for in one call.
    pub call: Option<Bytes>,
}

/// Work that has nothing to do with the network.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadTable {
    /// The core it is pinned to.
    pub core: u32,
    /// The part of that core that it wants, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
}

/// Cores as an operator names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CoreSet {
    /// "node 1": all cores of a node, hyper-threads included, as in the kernel's `node1/cpulist`.
    Node(u32),
    /// "0-3,8", as in `smp_affinity_list` and `taskset -c`.
    List(Vec<u32>),
}

/// What serves the interface's interrupts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IrqChoice {
    /// irqbalance moves them.
    Balanced,
    /// All on core 0.
    OneCpu,
    /// Queue i on core i of the set, in turn.
    Cores(CoreSet),
}

/// Where applications run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AppsChoice {
    /// Anywhere.
    Free,
    /// Flow i on core i of a list, in turn; anywhere on a node.
    Cores(CoreSet),
}

const CORES: &str = "write for example \"node 1\" or a list of cores such as \"0-3,8\"";

impl FromStr for CoreSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if let Some(node) = trimmed.strip_prefix("node") {
            let number = node.trim().parse().map_err(|_| format!("`{text}` names no node: {CORES}"))?;
            return Ok(CoreSet::Node(number));
        }
        let mut cores: Vec<u32> = Vec::new();
        for part in trimmed.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |word: &str| word.trim().parse::<u32>().ok().filter(|core| *core < MOST_CORES);
            let (Some(first), Some(last)) = (number(first), number(last)) else {
                return Err(format!("`{text}` is not a list of cores: {CORES}"));
            };
            if first > last {
                return Err(format!(
                    "`{text}` is not a list of cores: write the smaller core first in {part}"
                ));
            }
            if let Some(twice) = (first..=last).find(|core| cores.contains(core)) {
                return Err(format!("`{text}` names core {twice} twice: name each core once"));
            }
            cores.extend(first..=last);
        }
        Ok(CoreSet::List(cores))
    }
}

impl FromStr for IrqChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "balanced" => Ok(IrqChoice::Balanced),
            "one-cpu" => Ok(IrqChoice::OneCpu),
            other if other.starts_with(|c: char| c.is_ascii_digit()) || other.starts_with("node") => {
                other.parse().map(IrqChoice::Cores)
            }
            _ => Err(format!(
                "`{text}` does not say which cores serve interrupts: write \"balanced\" (irqbalance), \"one-cpu\", \
                 \"node 1\" or a list of cores such as \"0-3,8\""
            )),
        }
    }
}

impl FromStr for AppsChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "free" => Ok(AppsChoice::Free),
            other if other.starts_with(|c: char| c.is_ascii_digit()) || other.starts_with("node") => {
                other.parse().map(AppsChoice::Cores)
            }
            _ => Err(format!(
                "`{text}` does not say where applications run: write \"free\", \"node 1\" or, to pin flow after flow, \
                 a list of cores such as \"0-3,8\""
            )),
        }
    }
}

/// A word or list as text, one core as a plain number.
macro_rules! words {
    ($type:ident, $about:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Words;
                impl Visitor<'_> for Words {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("cores as a string such as \"0-3,8\", or the number of one")
                    }
                    fn visit_i64<E: de::Error>(self, v: i64) -> Result<$type, E> {
                        self.visit_str(&v.to_string())
                    }
                    fn visit_str<E: de::Error>(self, v: &str) -> Result<$type, E> {
                        v.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Words)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": ["string", "integer"], "description": $about })
            }
        }
    };
}

words!(CoreSet, "Cores: \"node 1\", a list such as \"0-3,8\", or the number of one.");
words!(
    IrqChoice,
    "\"balanced\", \"one-cpu\", \"node 1\", a list of cores such as \"0-3,8\", or the number of one."
);
words!(AppsChoice, "\"free\", \"node 1\", a list of cores such as \"0-3,8\", or the number of one.");

/// The keys of a host that say what its inside is like; they mean something only if it has a machine.
pub(crate) const HARDWARE_KEYS: &[&str] = &[
    "costs",
    "load",
    "rx_ring",
    "rx_wqe",
    "tx_ring",
    "rx_queues",
    "rss",
    "irq",
    "irqbalance_interval",
    "apps",
    "capture_core",
    "rps",
    "coalesce_from",
    "adaptive_rx",
    "napi",
    "netdev_budget",
    "netdev_budget_usecs",
    "dev_weight",
    "speed",
    "rx_buffer",
    "nic_node",
    "nic_bus",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_read_as_operators_write_them() {
        assert_eq!("0-3,8".parse(), Ok(CoreSet::List(vec![0, 1, 2, 3, 8])));
        assert_eq!(" node 1 ".parse(), Ok(CoreSet::Node(1)));
        assert_eq!("node1".parse(), Ok(CoreSet::Node(1)));
        assert_eq!("one-cpu".parse(), Ok(IrqChoice::OneCpu));
        assert_eq!("8".parse(), Ok(AppsChoice::Cores(CoreSet::List(vec![8]))));
        for wrong in ["", "3-1", "0,0", "0-3,2", "-1", "0-4000000000", "0-", "node", "node x", "a"] {
            assert!(wrong.parse::<CoreSet>().is_err(), "{wrong}");
        }
    }
}
