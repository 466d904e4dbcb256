//! A [`Run`]: one experiment with nothing left to decide. No default is open, every factor has one value, there
//! is one seed. Substrates take a `Run` and nothing else; it is stored in the run directory as it was executed.

mod application;
mod change;
mod dscp;
mod ecn;
mod fec;
mod group;
mod hardware;
mod kernel_choice;
mod kernel_version;
mod link;
mod reach;
mod read;
mod route;
mod series;
mod splitter;
mod traffic;

pub use application::{Application, CONFIRMATION, DataSet, EXCHANGE_HEADER, LARGEST_REQUEST};
pub use change::{Change, LinkState};
pub use dscp::Dscp;
pub use ecn::{EcnFeedback, EcnField};
pub use fec::Fec;
pub use hardware::{Apps, Costs, Hardware, Irq, Load, Machine, Moderation, Nic, Rss, Softirq};
pub use kernel_choice::{KERNEL_KEY, KernelChoice};
pub use kernel_version::KernelVersion;
pub use link::{
    Direction, DualPi2, Duplicate, Emulator, Link, LossModel, Overload, Policer, PortLimit, Queue, Reorder,
    Step,
};
pub use reach::{FIRST_PORT, Family, Reach};
pub use read::RunError;
pub use route::Crossing;
pub(crate) use route::crossed;
pub use series::Series;
pub use splitter::{Leg, Side, Splitter};
pub(crate) use splitter::{count_legs, into_legs, side_name};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use wirespeed_units::{Bytes, Rate, Span};

/// The key by which a run has the flows of one group only, as factors name it.
pub const ONLY_KEY: &str = "run.only";
/// The value of [`ONLY_KEY`] with which all groups run.
pub const ALL_GROUPS: &str = "all";

/// One fully resolved experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The study (scenario name) it belongs to.
    pub study: String,
    /// What the study asks, in the author's words.
    pub about: String,
    /// Stable function of `study`, `factors` and `repeat`; also the run directory's name.
    pub id: String,
    /// The swept factors with the value they have here, by their path in the scenario file.
    pub factors: BTreeMap<String, Factor>,
    /// Which repetition this is, from 0.
    pub repeat: u32,
    /// The only source of randomness of this run. Derived from the study's seed, the factors and the repetition.
    pub seed: u64,
    /// How long it lasts, in the substrate's time.
    pub duration: Span,
    /// Metrics leave out everything before this time.
    pub omit: Span,
    /// The sampling grid.
    pub sample: Span,
    /// How much of the series is kept. Recordings have it elsewhere ([`Run::recorded`]). Stored only if it is not all.
    #[serde(default, skip_serializing_if = "Series::is_all")]
    pub series: Series,
    /// Whether the model may move several packets of a flow as one event (a train), as Linux does with offloads;
    /// `false` is its reference mode, one event a packet. Other substrates have no such choice. Stored only if
    /// `false`, so that a recorded run of an older file is still known as the same run.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub trains: bool,
    /// The Linux that substrate `kernel` runs; `None`: its default. Stored only if given, so that a recorded run of an
    /// older file is still known as the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelChoice>,
    /// How hosts and links are laid out.
    pub topology: TopologyKind,
    /// The end hosts, left ones first.
    pub hosts: Vec<Host>,
    /// The links between routers, left to right: one for `direct` and `dumbbell`, n for `parking-lot`.
    /// Router `i` is the left end of link `i`; there is one router more than links of this chain. Links beside the chain,
    /// which join two of its routers as well, stand behind all of those.
    pub links: Vec<Link>,
    /// The transfers, in the order of the file; their index is their number everywhere.
    pub flows: Vec<Flow>,
    /// Data sets, whose files flows send. Stored only if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_sets: Vec<DataSet>,
    /// Packet captures asked for.
    pub captures: Vec<Capture>,
}

/// The value of one swept factor, as written in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Factor {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A word or a quantity with its unit.
    Text(String),
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Factor::Bool(v) => f.pad(&v.to_string()),
            Factor::Integer(v) => f.pad(&v.to_string()),
            Factor::Float(v) if *v != 0.0 && v.abs() < 1e-3 => f.pad(&format!("{v:e}")),
            Factor::Float(v) => f.pad(&v.to_string()),
            Factor::Text(v) => f.pad(v),
        }
    }
}

/// How hosts and links are laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TopologyKind {
    /// One sender, one receiver, and the path between them.
    #[default]
    Direct,
    /// n hosts on the left, m on the right, one shared link.
    Dumbbell,
    /// A chain of links; hosts attach to any router of the chain.
    ParkingLot,
}

/// An end host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Unique name.
    pub name: String,
    /// Index of the router it is attached to (0 is the leftmost).
    pub router: usize,
    /// Rate of its network interface. `None`: the interface is never the limit.
    pub nic_rate: Option<Rate>,
    /// One-way delay between the host and its router, each way, on top of the links' delay.
    pub access_delay: Span,
    /// Interface MTU (IP bytes).
    pub mtu: Bytes,
    /// Root queueing discipline of the interface.
    pub qdisc: Qdisc,
    /// Settings of `fq`; `None`: those of Linux. Stored only if there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fq: Option<Fq>,
    /// Queue length of the interface in packets (`pfifo_fast` drops beyond it).
    pub txqueuelen: u32,
    /// Segmentation and merging offloads.
    pub offloads: Offloads,
    /// TCP and socket-memory settings.
    pub tcp: TcpSettings,
    /// `net.core.netdev_max_backlog`, packets.
    pub netdev_max_backlog: u32,
    /// Further sysctls, by dotted name, applied last.
    pub sysctls: BTreeMap<String, String>,
    /// Where it is, for substrate `hosts`. Stored only if there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    /// When the interface of a host without hardware interrupts; `None`: with each packet. Stored only if there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moderation: Option<Moderation>,
    /// Its inside, where the model is to show what happens there; `None`: infinitely fast. Stored only if there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Box<Hardware>>,
    /// The interface of a splitter that it is; `None`: flows begin and end here. Stored only if there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splitter: Option<Box<Splitter>>,
}

/// Root queueing discipline of a host's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Qdisc {
    /// Three-band FIFO bounded by `txqueuelen` packets.
    PfifoFast,
    /// Fair queue with pacing.
    Fq,
    /// Fair queue with CoDel.
    FqCodel,
}

impl Qdisc {
    /// Its name in scenarios and in Linux (tc(8)).
    pub fn name(self) -> &'static str {
        match self {
            Qdisc::PfifoFast => "pfifo_fast",
            Qdisc::Fq => "fq",
            Qdisc::FqCodel => "fq_codel",
        }
    }
}

/// Settings of a host's `fq` (tc-fq(8), net/sched/sch_fq.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fq {
    /// Packets of one flow that may wait; GSO packets where the host hands over such.
    pub flow_limit: u32,
    /// Bytes that a flow may send in its turn.
    pub quantum: Bytes,
    /// The highest rate of each flow; `None`: unlimited.
    pub maxrate: Option<Rate>,
}

/// Segmentation and merging offloads of a host's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offloads {
    /// TCP segmentation offload: the stack hands over up to 64 KiB at once, the interface cuts it into packets.
    pub tso: bool,
    /// Generic segmentation offload: the same, cut just before the interface.
    pub gso: bool,
    /// Generic receive offload: consecutive packets are merged before the stack.
    pub gro: bool,
}

/// TCP and socket-memory settings of a host (Documentation/networking/ip-sysctl.rst of the kernel).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpSettings {
    /// `tcp_rmem`: least, initial and largest receive buffer.
    pub rmem: [Bytes; 3],
    /// `tcp_wmem`: least, initial and largest send buffer.
    pub wmem: [Bytes; 3],
    /// `net.core.rmem_max`: ceiling of SO_RCVBUF.
    pub rmem_max: Bytes,
    /// `net.core.wmem_max`: ceiling of SO_SNDBUF.
    pub wmem_max: Bytes,
    /// RFC 7323 timestamps.
    pub timestamps: bool,
    /// RFC 2018 selective acknowledgements.
    pub sack: bool,
    /// RFC 7323 window scaling.
    pub window_scaling: bool,
    /// Explicit congestion notification: 0 off, 1 on (RFC 3168), 2 only when asked, 3 Accurate ECN (RFC 9768) on.
    pub ecn: u8,
    /// Do not carry ssthresh and RTT over from earlier connections.
    pub no_metrics_save: bool,
    /// `tcp_adv_win_scale` of kernels before 6.6: the window is the buffer less its 2^n-th part. `None`: the newer
    /// way, by the payload that packets turn out to carry. Stored only if there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adv_win_scale: Option<u8>,
    /// A socket lets only so much wait in its own host's queue (TCP small queues; Linux before 3.6 had none).
    /// Stored only if `false`.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub small_queues: bool,
    /// An ACK that covers several packets counts as all of them in congestion avoidance; `false`: as one, as in Linux
    /// before 4.0 ("tcp: fix stretch ACK bugs in Reno", 2015). Stored only if `false`.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub stretch_acks: bool,
    /// Initial window in packets (route attribute `initcwnd`); `None`: 10 (RFC 6928). Linux before 2.6.39 had 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
}

/// One transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique label, for legends.
    pub label: String,
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
    /// When it starts.
    pub start: Span,
    /// When it stops sending at the latest; not after the run's end.
    pub stop: Span,
    /// How much it sends at most.
    pub bytes: Option<Bytes>,
    /// TCP or UDP.
    pub kind: FlowKind,
    /// The code point of its packets, both ways; `None`: the kernel's default, 0. Stored only if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Dscp>,
    /// ECN field of its data; `None`: see [`Run::ecn_field`]. Stored only if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnField>,
    /// Names of the links that its data crosses, in order; empty: those of the chain between its hosts. Stored only if
    /// given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// The same for its way back; empty: the links of its way out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route_back: Vec<String>,
    /// Its place among the connections of a flow, if splitters cut that. Stored only if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leg: Option<Leg>,
    /// Its application; `None`: a transfer of `bytes`, or without an end. Stored only if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
}

/// What carries a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FlowKind {
    /// A bulk TCP transfer.
    Tcp {
        /// Congestion control and its parameters.
        congestion: Congestion,
        /// Send and receive buffer are fixed so that this much can be outstanding; `None`: the kernel tunes them.
        window: Option<Bytes>,
        /// Ceiling on the pacing rate (SO_MAX_PACING_RATE).
        max_rate: Option<Rate>,
        /// What is sent is not copied into the socket (sendfile(2)).
        #[serde(default)]
        zero_copy: bool,
    },
    /// Datagrams at a constant rate.
    Udp {
        /// Rate of UDP payload.
        rate: Rate,
        /// Payload of one datagram.
        datagram: Bytes,
        /// Receive buffer (SO_RCVBUF); `None`: the kernel's default.
        rcvbuf: Option<Bytes>,
    },
}

/// A congestion control by its name, with parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Congestion {
    /// Name; one that Linux has goes by its name in `net.ipv4.tcp_available_congestion_control`. [`HOST_DEFAULT`]: the
    /// one that sockets of a real host use.
    pub name: String,
    /// Parameters by name; on a kernel they are module parameters.
    pub parameters: BTreeMap<String, Factor>,
    /// The scenario declares it with a C file of the user's own (`[congestion.NAME]`), so that a kernel has it
    /// whatever it is called. Stored only if `true`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub own: bool,
}

/// Stands for the congestion control that sockets of a real host use unless told otherwise.
pub const HOST_DEFAULT: &str = "default";

/// A packet capture at a named point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The host whose interface is captured.
    pub at: String,
    /// Bytes kept of each packet.
    pub snaplen: u32,
}

impl Run {
    /// The host of that name; a resolved run names only hosts it has.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn host(&self, name: &str) -> &Host {
        self.hosts.iter().find(|h| h.name == name).expect("a resolved run names only its own hosts")
    }

    /// The run as JSON, as recordings have it: without how its series are kept, since the run is the same with fewer rows.
    ///
    /// # Panics
    /// Never: a run is plain data.
    pub fn recorded(&self) -> serde_json::Value {
        let mut recorded = serde_json::to_value(self).expect("a run is plain data");
        if let Some(all) = recorded.as_object_mut() {
            all.remove("series");
        }
        recorded
    }

    /// The run as JSON without some of its fields; two runs are the same but for these if their texts are.
    ///
    /// # Panics
    /// Never: a run is plain data.
    pub fn settings_but(&self, fields: &[&str]) -> String {
        let mut settings = serde_json::to_value(self).expect("a run is plain data");
        if let Some(all) = settings.as_object_mut() {
            all.retain(|name, _| !fields.contains(&name.as_str()));
        }
        settings.to_string()
    }

    /// Seed of what is random on one direction of a link. Each direction of each link has its own stream, whatever
    /// else is in the run, and every substrate has the same: the same packets are lost.
    pub fn link_seed(&self, index: usize, forward: bool) -> u64 {
        let stream = (index as u64) << 1 | u64::from(forward);
        self.seed ^ (stream + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Base round-trip time of a flow: propagation only, both ways.
    pub fn base_rtt(&self, flow: &Flow) -> Span {
        let (from, to) = (self.host(&flow.from), self.host(&flow.to));
        let out = Run::delay_over(&self.links, &self.way_out(flow));
        let back = Run::delay_over(&self.links, &self.way_back(flow));
        out + back + (from.access_delay + to.access_delay) * 2
    }
}

fn yes() -> bool {
    true
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}
