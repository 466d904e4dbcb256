//! Hosts as they are written.

use super::{
    AppsChoice, BusChoice, CongestionChoice, CoreSet, CostsTable, IrqChoice, LoadTable, MachineTable,
};
use crate::run::{Family, Qdisc, Rss};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use wirespeed_units::{Bytes, Rate, Span};

/// Settings of a host. What is left out comes from the preset, then from Linux 6.12.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostTable {
    /// A named set of settings that this table's own lines override; `tuned` if left out, whose socket buffers
    /// never limit a flow. `linux-6.12` leaves the kernel's defaults. A name that ends with `.toml` is a file, found from the
    /// scenario's folder, such as `wirespeed calibrate` writes.
    #[expect(dead_code, reason = "taken from the tree when the preset is laid under it")]
    pub preset: Option<String>,
    /// Another name for the host; flows then use that.
    pub name: Option<String>,
    /// Substrate `hosts`: the machine's name for ssh, as in your own configuration (user, port, jump host, key).
    pub ssh: Option<String>,
    /// Substrate `hosts`: address of its interface that carries the test. Needed where it has several.
    pub address: Option<IpAddr>,
    /// Substrate `hosts`: the version of IP that carries the test, where no address says it. Default: `ipv4` where all hosts of
    /// the scenario have it.
    pub family: Option<Family>,
    /// Substrate `hosts`: port of the first flow to it; each further flow has the next. Default 5001.
    pub port: Option<u16>,
    /// Index of the router it is attached to, 0 is the leftmost; needed for a host the topology does not have.
    pub router: Option<usize>,
    /// Role: an `end` (default) sends and receives flows, a `splitter` splits the TCP connections that pass its router.
    pub role: Option<HostRole>,
    /// With `role = "splitter"`: the most that it holds of a flow between its two sockets, from the MTU to 1 GiB. Default
    /// 64 KiB, the capacity of a pipe in Linux.
    pub relay_buffer: Option<Bytes>,
    /// With `role = "splitter"`: congestion control of the connections that it opens. Default: that of the flow.
    pub congestion: Option<CongestionChoice>,
    /// Rate of the network interface; never the limit if left out.
    pub nic_rate: Option<Rate>,
    /// One-way delay between host and router, each way, on top of the links' delay. Default 0.
    pub access_delay: Option<Span>,
    /// Interface MTU in IP bytes, 68 B to 65535 B. Default 1500 B.
    pub mtu: Option<Bytes>,
    /// Root queueing discipline. Default `pfifo_fast`.
    pub qdisc: Option<Qdisc>,
    /// Settings of `qdisc = "fq"`, named as in tc-fq(8).
    pub fq: Option<FqTable>,
    /// Queue length of the interface, packets. Default 1000.
    pub txqueuelen: Option<u32>,
    /// TCP segmentation offload. Default off, as are `gso` and `gro`: loss and queue limits then count packets,
    /// while with offloads one loss takes up to 64 KiB.
    pub tso: Option<bool>,
    /// Generic segmentation offload. Default off.
    pub gso: Option<bool>,
    /// Generic receive offload. Default off.
    pub gro: Option<bool>,
    /// Least, initial and largest receive buffer. Linux: 4 KiB, 128 KiB, 6 MiB.
    pub tcp_rmem: Option<[Bytes; 3]>,
    /// Least, initial and largest send buffer. Linux: 4 KiB, 16 KiB, 4 MiB.
    pub tcp_wmem: Option<[Bytes; 3]>,
    /// The third value of `tcp_rmem` alone, over `tcp_rmem` if both are given; can be swept.
    pub tcp_rmem_max: Option<Bytes>,
    /// The third value of `tcp_wmem` alone, over `tcp_wmem` if both are given; can be swept.
    pub tcp_wmem_max: Option<Bytes>,
    /// `net.core.rmem_max`. Linux: 212992 B.
    pub rmem_max: Option<Bytes>,
    /// `net.core.wmem_max`. Linux: 212992 B.
    pub wmem_max: Option<Bytes>,
    /// RFC 7323 timestamps. Default on.
    pub timestamps: Option<bool>,
    /// RFC 2018 selective acknowledgements. Default on.
    pub sack: Option<bool>,
    /// RFC 7323 window scaling. Default on.
    pub window_scaling: Option<bool>,
    /// Explicit congestion notification: 0 off, 1 on (RFC 3168), 2 only when the other side asks, 3 Accurate ECN (RFC 9768).
    /// With 3 on one side only, ECN is that of RFC 3168. 3 needs the model, or `run.kernel = "7.2"` on substrate kernel. Default 2.
    #[schemars(range(min = 0, max = 3))]
    pub ecn: Option<u8>,
    /// Do not carry ssthresh and round-trip time over from earlier connections. Default on, unlike Linux, so
    /// that flows do not depend on those before them.
    pub no_metrics_save: Option<bool>,
    /// Model only: a socket lets only so much wait in its own host's queue (TCP small queues). Linux before 3.6 had
    /// none. Default on.
    pub small_queues: Option<bool>,
    /// Model only: an ACK that covers several packets counts as all of them where a window grows by the number
    /// acknowledged. Off: as one, as in congestion avoidance of Linux before 4.0. Default on.
    pub stretch_acks: Option<bool>,
    /// Initial window in packets (route attribute `initcwnd`); the model follows it. Linux before 2.6.39 had 3.
    /// Default 10.
    #[schemars(range(min = 1, max = 1000))]
    pub initial_window: Option<u32>,
    /// `net.core.netdev_max_backlog`, packets. Default 1000.
    pub netdev_max_backlog: Option<u32>,
    /// Further sysctls by dotted name, applied last.
    #[serde(default)]
    pub sysctls: BTreeMap<String, Setting>,
    /// `tcp_adv_win_scale` of kernels before 6.6: a window is the buffer less its 2^n-th part. Default: the newer
    /// way, by the payload that packets turn out to carry. On the model, and on the kernel where `run.kernel` is older than 6.6.
    #[schemars(range(min = 1, max = 31))]
    pub adv_win_scale: Option<u8>,

    /// Sockets, cores and caches. A host without this table is infinitely fast. Model only, as all below.
    pub machine: Option<MachineTable>,
    /// What work costs on this machine.
    pub costs: Option<CostsTable>,
    /// Other work that keeps cores busy.
    pub load: Option<Vec<LoadTable>>,
    /// Speed as a part of the nominal one (governor, frequency); every cost is divided by it. Default 1.
    #[schemars(range(min = 0.01, max = 10.0))]
    pub speed: Option<f64>,
    /// Receive descriptors of each queue (`ethtool -G rx`). Default 1024.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub rx_ring: Option<u32>,
    /// Bytes of a receive work-queue entry that packets share (striding receive queue, as mlx5 has it until Linux 4.16);
    /// `rx_ring` then counts packets of 1500 B, whatever the MTU. A descriptor for each packet if left out.
    pub rx_wqe: Option<Bytes>,
    /// Transmit descriptors (`ethtool -G tx`). Default 1024.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub tx_ring: Option<u32>,
    /// Receive queues (`ethtool -L`); a flow's packets all go to one. Default: one for each core.
    #[schemars(range(min = 1, max = 4096))]
    pub rx_queues: Option<u32>,
    /// How flows come to queues: by a `hash` (default), two may meet on one; or `spread`, flow i on queue i.
    pub rss: Option<Rss>,
    /// What serves interrupts: "balanced" (irqbalance), "one-cpu" (core 0), or queue i on core i of "node 1" or of
    /// a list such as "0-3,8". Default: the interface's node.
    pub irq: Option<IrqChoice>,
    /// How often irqbalance moves interrupts, with `irq = "balanced"`. Default 10 s.
    pub irqbalance_interval: Option<Span>,
    /// Where applications run: "free" (default), free on "node 1", or flow i pinned to core i of a list.
    pub apps: Option<AppsChoice>,
    /// A packet capture (`tcpdump`) looks at every packet, on this core; none if left out.
    pub capture_core: Option<u32>,
    /// Cores that packets' protocol work is handed to (`rps_cpus`); that of the interrupt if left out.
    pub rps: Option<CoreSet>,
    /// `ethtool -C rx-usecs`. With `coalesce_frames`: how long a packet waits for its interrupt at most. Without: the
    /// least time from one interrupt of a queue to the next, as ixgbe and e1000 throttle. Default 0: each packet may
    /// raise one. On a host without a machine, all packets of an interrupt are received at that instant.
    pub coalesce: Option<Span>,
    /// An interrupt comes when so many packets wait (`ethtool -C rx-frames`), or `coalesce` after the first of them.
    /// Default 0: a queue's interrupts are kept apart by `coalesce`.
    pub coalesce_frames: Option<u32>,
    /// Interrupts are kept apart by `coalesce` only once so many packets came since the last one (dynamic mode of e1000);
    /// says nothing beside `coalesce_frames`. Default 0: always.
    pub coalesce_from: Option<u32>,
    /// Moderation adapts to the load (`ethtool -C adaptive-rx on`, as `net_dim` does it); the other three then say
    /// nothing. Default false.
    pub adaptive_rx: Option<bool>,
    /// Interrupts stay off while packets are polled. Default true; `false`: one interrupt a packet, and a backlog.
    pub napi: Option<bool>,
    /// `net.core.netdev_budget`: packets that softirq takes in one round on a core before it ends for others. Default 300.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub netdev_budget: Option<u32>,
    /// `net.core.netdev_budget_usecs`: the time of such a round, counted in ticks of 4 ms as the kernel does. Default: of
    /// the machine's kernel, two ticks (2 ms from 4.12 to 5.6). Kernels before 4.12 have no such setting.
    pub netdev_budget_usecs: Option<Span>,
    /// `net.core.dev_weight`: packets that one poll takes out of the backlog between interface and stack (`rps`,
    /// `napi = false`). Polls of the interface take 64, the drivers' own. Default 64.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub dev_weight: Option<u32>,
    /// Memory of a receive buffer; every packet occupies one, whatever its length. As large as the packet if left
    /// out.
    pub rx_buffer: Option<Bytes>,
    /// The node that the interface's bus is on. Default 0.
    pub nic_node: Option<u32>,
    /// Rate of that bus each way after its own overhead, or its build: `{ kind = "pcie", generation = 3, lanes = 16 }`,
    /// `{ kind = "pci", mhz = 133, bits = 64 }`. Never the limit if left out.
    pub nic_bus: Option<BusChoice>,
}

/// The role of a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HostRole {
    /// It sends and receives flows.
    #[default]
    End,
    /// It ends the TCP connections of flows that pass its router, and sends their data on by connections of its own.
    Splitter,
}

/// Settings of a host's `fq`. Each one left out has the default of Linux.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FqTable {
    /// Packets of one flow that may wait; GSO packets where the host hands over such. Default 100.
    #[schemars(range(min = 1, max = 10_000))]
    pub flow_limit: Option<u32>,
    /// Bytes that a flow may send in its turn, 256 B to 1 MiB. Default: two frames of the MTU.
    pub quantum: Option<Bytes>,
    /// The highest rate of each flow, at most 34 Gbit/s. Default: unlimited.
    pub maxrate: Option<Rate>,
}

/// The value of a sysctl: text, a number or a truth value (1 or 0).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting(pub String);

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Setting;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a whole number or a truth value")
            }
            fn visit_bool<E: de::Error>(self, v: bool) -> Result<Setting, E> {
                Ok(Setting(u8::from(v).to_string()))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Setting, E> {
                Ok(Setting(v.to_string()))
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Setting, E> {
                Ok(Setting(v.to_owned()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

impl JsonSchema for Setting {
    fn schema_name() -> Cow<'static, str> {
        "Setting".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer", "boolean"], "description": "The value of a sysctl." })
    }
}
