//! The experiment file as it is written: the structs that decode it and that its JSON schema is made of.
//!
//! Everything is optional that a preset or a default can give; [`crate::resolve`] knows the defaults. The doc
//! comments here are the schema's descriptions.

mod congestion;
mod link;

pub(crate) use congestion::CongestionChoice;
pub(crate) use link::{BucketTable, DirectionTable, LinkTable, LossTable, PathTable, QueueTable};

use crate::room::Room;
use crate::run::{Factor, Qdisc, TopologyKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, de};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use wirespeed_units::{Bytes, Rate, Span};

/// A wirespeed scenario: one experiment, or a sweep of it. Quantities are strings with their unit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "wirespeed scenario")]
pub(crate) struct File {
    /// The version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    #[expect(dead_code, reason = "checked before anything else is decoded")]
    pub schema: u32,
    /// Short name, also that of the output folder: letters, digits, `-`, `_` and `.`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: String,
    /// The question the scenario asks, in a sentence.
    #[serde(default)]
    pub about: String,
    /// The link between the routers; in a parking lot the default of each link.
    #[expect(dead_code, reason = "decoded again after its preset is laid under it")]
    pub path: Option<PathTable>,
    /// Settings of hosts, by name. `sender` and `receiver` stand for all senders and receivers of a dumbbell,
    /// `cross` for all cross-traffic hosts of a parking lot. Another name with `router = k` adds a host.
    #[serde(default)]
    #[expect(dead_code, reason = "decoded again after its preset is laid under it")]
    pub host: BTreeMap<String, HostTable>,
    /// How hosts and links are laid out; `direct` if left out.
    #[serde(default)]
    pub topology: TopologyTable,
    /// The links of a parking lot, left to right; what one leaves out comes from `path`.
    #[serde(default)]
    #[expect(dead_code, reason = "decoded again after the path is laid under it")]
    pub link: Vec<LinkTable>,
    /// The transfers.
    #[serde(default)]
    pub flow: Vec<FlowTable>,
    /// Duration, repetitions, seed, sampling.
    pub run: RunTable,
    /// Factors and their values: dotted paths into this file, each with a list. Every combination is a run.
    /// `flow.KEY` sets all flows, `flow.0.KEY` or `flow.LABEL.KEY` one.
    #[serde(default)]
    #[expect(dead_code, reason = "read from the tree, in the order of the file")]
    pub sweep: BTreeMap<String, Vec<Factor>>,
    /// Bounds by metric; `wirespeed list metrics` names them. A missed bound makes the exit code 1.
    #[serde(default)]
    #[expect(dead_code, reason = "read from the tree, with its places")]
    pub expect: BTreeMap<String, Bounds>,
    /// Packet captures.
    #[serde(default)]
    pub capture: Vec<CaptureTable>,
    /// Congestion controls of your own, by the name that flows use.
    #[serde(default)]
    pub congestion: BTreeMap<String, OwnControl>,
}

/// A congestion control that is compiled into the kernel: see docs/how-to/compile-your-own-congestion-control.md.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnControl {
    /// Its C file, from the scenario's folder. `wirespeed kernel build --cc FILE` compiles it.
    pub source: PathBuf,
}

/// How hosts and links are laid out.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopologyTable {
    /// `direct`: hosts `sender` and `receiver`. `dumbbell`: `sender1`.. and `receiver1`.. around one link.
    /// `parking-lot`: a chain of links between `sender` and `receiver`, and at link i the hosts `crossI-sender`
    /// (before it) and `crossI-receiver` (after it).
    #[serde(default)]
    pub kind: TopologyKind,
    /// Dumbbell: how many senders.
    #[schemars(range(min = 1, max = 1000))]
    pub senders: Option<u32>,
    /// Dumbbell: how many receivers; as many as senders if left out.
    #[schemars(range(min = 1, max = 1000))]
    pub receivers: Option<u32>,
    /// Parking lot: how many links; as many as there are [[link]] tables if left out.
    #[schemars(range(min = 1, max = 100))]
    pub hops: Option<u32>,
}

/// Settings of a host. What is left out comes from the preset, then from Linux 6.12.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostTable {
    /// A named set of settings that this table's own lines override; `tuned` if left out, whose socket buffers
    /// never limit a flow. `linux-6.12` leaves the kernel's defaults.
    #[expect(dead_code, reason = "taken from the tree when the preset is laid under it")]
    pub preset: Option<String>,
    /// Another name for the host; flows then use that.
    pub name: Option<String>,
    /// Index of the router it is attached to, 0 is the leftmost; needed for a host the topology does not have.
    pub router: Option<usize>,
    /// Rate of the network interface; never the limit if left out.
    pub nic_rate: Option<Rate>,
    /// One-way delay between host and router, each way, on top of the links' delay. Default 0.
    pub access_delay: Option<Span>,
    /// Interface MTU in IP bytes, 68 B to 65535 B. Default 1500 B.
    pub mtu: Option<Bytes>,
    /// Root queueing discipline. Default `pfifo_fast`.
    pub qdisc: Option<Qdisc>,
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
    /// RFC 3168 explicit congestion notification: 0 off, 1 on, 2 only when the other side asks. Default 2.
    #[schemars(range(min = 0, max = 2))]
    pub ecn: Option<u8>,
    /// Do not carry ssthresh and round-trip time over from earlier connections. Default on, unlike Linux, so
    /// that flows do not depend on those before them.
    pub no_metrics_save: Option<bool>,
    /// `net.core.netdev_max_backlog`, packets. Default 1000.
    pub netdev_max_backlog: Option<u32>,
    /// Further sysctls by dotted name, applied last.
    #[serde(default)]
    pub sysctls: BTreeMap<String, Setting>,
}

/// A transfer, or `count` of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTable {
    /// Sending host. Default `sender`; in a dumbbell `sender1`, `sender2`, ... in turn.
    pub from: Option<String>,
    /// Receiving host. Default `receiver`; in a dumbbell `receiver1`, `receiver2`, ... in turn.
    pub to: Option<String>,
    /// How many flows of this kind. Default 1.
    #[schemars(range(min = 1, max = 10000))]
    pub count: Option<u32>,
    /// When the first starts. Default 0 s.
    pub start: Option<Span>,
    /// How much later each next one of `count` starts. Default 0 s.
    pub stagger: Option<Span>,
    /// How long each sends; to the run's end if left out.
    pub duration: Option<Span>,
    /// How much each sends at most.
    pub bytes: Option<Bytes>,
    /// `tcp` (default): a bulk transfer. `udp`: datagrams at a constant rate.
    #[serde(default)]
    pub kind: Carrier,
    /// TCP: congestion control. Default `cubic`.
    pub congestion: Option<CongestionChoice>,
    /// TCP: fixed window, in bytes or "1 bdp" (slowest link x base round-trip time of the flow); the kernel
    /// tunes the buffers if left out.
    pub window: Option<Room>,
    /// TCP: ceiling on the pacing rate.
    pub max_rate: Option<Rate>,
    /// UDP: rate of payload.
    pub rate: Option<Rate>,
    /// UDP: payload of one datagram; fills the smaller MTU of the two hosts if left out.
    pub datagram: Option<Bytes>,
    /// UDP: receive buffer; the kernel's default if left out.
    pub rcvbuf: Option<Bytes>,
    /// Name in legends; the congestion control's if left out. Numbered where `count` makes several.
    pub label: Option<String>,
}

/// What carries a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Carrier {
    #[default]
    Tcp,
    Udp,
}

/// Duration, repetitions, seed, sampling.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTable {
    /// How long a run lasts, in the substrate's time; up to 30 days.
    pub duration: Span,
    /// How often each combination is run, with another seed each time. Default 1.
    #[schemars(range(min = 1, max = 10000))]
    pub repeat: Option<u32>,
    /// What all random numbers derive from. Default 1.
    pub seed: Option<u64>,
    /// Sampling grid, at least 1 ms. Default 10 ms.
    pub sample: Option<Span>,
    /// Metrics leave out everything before this time. Default 0 s.
    pub omit: Option<Span>,
    /// Model only: move several packets of a flow as one event where they stay together. `false` is its reference
    /// mode, one event a packet, slower; other substrates have no such choice. Default true.
    pub trains: Option<bool>,
}

/// A packet capture.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaptureTable {
    /// The host whose interface is captured.
    pub at: String,
    /// Bytes kept of each packet, 64 B to 262144 B. Default 128 B.
    pub snaplen: Option<Bytes>,
}

/// One bound on a metric, or several.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its schema only; values are read from the tree")]
pub(crate) enum Bounds {
    One(Bound),
    Several(Vec<Bound>),
}

/// A bound on a metric: `min`, `max` or both.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "its schema only; values are read from the tree")]
pub(crate) struct Bound {
    /// Least value that is good.
    min: Option<Limit>,
    /// Largest value that is good.
    max: Option<Limit>,
    /// Only runs in which these swept factors have these values; all runs if left out.
    #[serde(rename = "where")]
    filter: Option<BTreeMap<String, Factor>>,
}

/// A number in the metric's unit, or a quantity: a rate for `*_bps`, a time for `*_ns`, a size for `*_bytes`.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its schema only; values are read from the tree")]
pub(crate) enum Limit {
    Number(f64),
    Quantity(String),
}

/// Stands in for what is read from the tree; accepts anything.
impl<'de> Deserialize<'de> for Bounds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        de::IgnoredAny::deserialize(deserializer)?;
        Ok(Bounds::Several(Vec::new()))
    }
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

/// The JSON schema of the experiment file, made from the structs that decode it.
pub fn json_schema() -> serde_json::Value {
    SchemaGenerator::default().into_root_schema_for::<File>().to_value()
}
