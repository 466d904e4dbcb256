//! The experiment file as it is written: the structs that decode it and that its JSON schema is made of.
//!
//! Everything is optional that a preset or a default can give; [`crate::resolve`] knows the defaults. The doc
//! comments here are the schema's descriptions.

mod application;
mod arrivals;
mod bus;
mod change;
mod congestion;
mod fec;
mod hardware;
mod host;
mod link;

pub(crate) use application::{FilesChoice, FilesTable, RequestsTable};
pub(crate) use arrivals::{ArrivalsTable, SizesTable, Spacing};
pub(crate) use bus::{BusChoice, BusKind, BusTable};
pub(crate) use change::{ChangeTable, ScheduleTable, WayTable};
pub(crate) use congestion::CongestionChoice;
pub(crate) use fec::FecTable;
pub(crate) use hardware::{
    AppsChoice, CoreSet, CostsTable, HARDWARE_KEYS, IrqChoice, LoadTable, MachineTable,
};
pub(crate) use host::{FqTable, HostRole, HostTable};
pub(crate) use link::{
    BucketTable, DirectionTable, DuplicateTable, LinkTable, LossTable, PathTable, QueueTable, ReorderTable,
};

use crate::figure::FigureRequest;
use crate::room::Room;
use crate::run::{Dscp, EcnField, Factor, KernelChoice, TopologyKind};
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
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
    /// The links of a parking lot, left to right, and in any topology links beside them (`between`); what one leaves out
    /// comes from `path`.
    #[serde(default)]
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
    /// Factors of your own: NAME, its levels, and what each sets (dotted paths, as in `sweep`). `NAME = ["LEVEL", ...]` in
    /// `sweep` or `--set NAME=LEVEL` then chooses.
    #[serde(default)]
    #[expect(dead_code, reason = "taken from the tree before anything is decoded")]
    pub variant: BTreeMap<String, BTreeMap<String, BTreeMap<String, serde_json::Value>>>,
    /// Bounds by metric; `wirespeed list metrics` names them. `"flow.LABEL.METRIC"` is that of one flow, and
    /// `"group.LABEL.METRIC"` that of a group of flows. A missed bound makes the exit code 1.
    #[serde(default)]
    #[expect(dead_code, reason = "read from the tree, with its places")]
    pub expect: BTreeMap<String, Bounds>,
    /// Figures that the report has besides those it chooses itself.
    #[serde(default)]
    #[expect(dead_code, reason = "read from the tree, with its places")]
    pub figure: Vec<FigureRequest>,
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
    /// Each starts later than that by a random time of up to this, drawn from the run's seed: another in every
    /// repetition. Default 0 s.
    pub start_jitter: Option<Span>,
    /// How long each sends; to the run's end if left out.
    pub duration: Option<Span>,
    /// How much each sends at most.
    pub bytes: Option<Bytes>,
    /// Instead of `bytes`: each sends an amount that is drawn from the run's seed.
    pub sizes: Option<SizesTable>,
    /// Instead of `count`: flows begin at random times, from `start` on. Each ends by its `bytes`, `sizes` or `duration`. The times
    /// are drawn from the run's seed: others in every repetition.
    pub arrivals: Option<ArrivalsTable>,
    /// Instead of `bytes`: a data set, as a list of sizes such as `["1 GB", "20 MB"]` or a table. Its files are sent in that order by
    /// `streams` connections, which stay open. Each takes the next file when the receiver has confirmed its last one.
    pub files: Option<FilesChoice>,
    /// How many connections send the `files`. Default 1.
    #[schemars(range(min = 1, max = 10000))]
    pub streams: Option<u32>,
    /// Instead of `bytes`: the receiver sends requests over the connection, one at a time, and the sender answers each.
    pub requests: Option<RequestsTable>,
    /// `tcp` (default): a bulk transfer. `udp`: datagrams at a constant rate.
    #[serde(default)]
    pub kind: Carrier,
    /// Differentiated services code point of its packets, both ways: 0 to 63, or a name such as "ef", "af11", "cs1". Not on the
    /// model. Default 0.
    pub dscp: Option<Dscp>,
    /// ECN field of its data: "not-ect", "ect0" or "ect1". Default: ECT(1) for congestion controls of L4S (`prague`), ECT(0) for
    /// other TCP flows that negotiate ECN, not ECN-capable for the rest. TCP flows that do not negotiate ECN must leave it out.
    /// Model; on substrate kernel, UDP flows only.
    pub ecn: Option<EcnField>,
    /// Names of the links that its data crosses, in order. Default: those between its routers. Model only.
    pub route: Option<Vec<String>>,
    /// Names of the links that its acknowledgements cross, in order from the receiver on. Default: the links of the way
    /// out. Model only.
    pub route_back: Option<Vec<String>>,
    /// TCP: congestion control. Default `cubic`.
    pub congestion: Option<CongestionChoice>,
    /// TCP: fixed window, in bytes or "1 bdp" (slowest link x base round-trip time of the flow); the kernel
    /// tunes the buffers if left out.
    pub window: Option<Room>,
    /// TCP: ceiling on the pacing rate.
    pub max_rate: Option<Rate>,
    /// TCP: what is sent is not copied into the socket but taken by reference (`sendfile`). On substrates netns and hosts.
    /// Default false.
    pub zero_copy: Option<bool>,
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
    /// Swept factors whose levels have the same seed in each repetition, such as `["flow.congestion"]`. The levels then meet the
    /// same random losses, and reports compare them in pairs. Default none: all runs have seeds of their own.
    pub same_seed: Option<Vec<String>>,
    /// Only the flows of this [group](../how-to/write-a-scenario.md#groups-of-flows) run; `"all"` for all. Swept over `"all"` and
    /// the labels of groups, it shows the [harm](../how-to/write-a-scenario.md#harm) that groups do to each other. Its levels have
    /// the same seed. Default `"all"`.
    pub only: Option<String>,
    /// Sampling grid, at least 1 ms. Default 10 ms.
    pub sample: Option<Span>,
    /// Metrics leave out everything before this time. Default 0 s.
    pub omit: Option<Span>,
    /// Rows that are kept of the tables `flows`, `queues`, `hosts`, `cores` and `threads`. `thin`: the first row of each interval
    /// of `series_every`, and the last, of each flow, queue, interface, core and thread. `thin` and `none` do not keep `datagrams`.
    /// Metrics and findings do not depend on it. Default `all`.
    pub series: Option<SeriesChoice>,
    /// With `series = "thin"`: length of the intervals, at least `sample`. Default 1 s.
    pub series_every: Option<Span>,
    /// Model only: move several packets of a flow as one event where they stay together. `false` is its reference
    /// mode, one event a packet, slower; other substrates have no such choice. Default true.
    pub trains: Option<bool>,
    /// Kernel only: the Linux that runs, as a version such as "6.1" or "6.1.192", or as the path of a tarball or tree of its
    /// source, from the scenario's folder. `wirespeed kernel build --version 6.1` builds it. The model follows Linux 6.12 and
    /// refuses others; netns and hosts run the kernel of the machine. Default: the newest build of Linux 6.12.
    pub kernel: Option<KernelChoice>,
}

/// How much of the series is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SeriesChoice {
    All,
    Thin,
    None,
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

/// The JSON schema of the experiment file, made from the structs that decode it.
pub fn json_schema() -> serde_json::Value {
    SchemaGenerator::default().into_root_schema_for::<File>().to_value()
}
