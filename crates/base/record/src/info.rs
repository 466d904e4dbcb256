//! `run.json`: what was run, by what, and what it cost.

use crate::host_model::HostModel;
use crate::kept_series::KeptSeries;
use crate::path_check::PathCheck;
use crate::placement::{Placement, Topology};
use crate::stage::Direction;
use crate::substrate_kind::SubstrateKind;
use crate::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use wirespeed_inventory::Inventory;

/// Version of the run directory's format. A reader refuses newer ones and fixes up older ones. A directory has version 2 only if its
/// series were not kept as a whole, and [`FORMAT_VERSION_OF_WHOLE_SERIES`] otherwise.
pub const FORMAT_VERSION: u32 = 2;

/// Version of the format of directories with whole series, which older programs read as well.
pub const FORMAT_VERSION_OF_WHOLE_SERIES: u32 = 1;

/// Everything about a run that is not a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the format.
    pub format_version: u32,
    /// Name of the run within its study; a stable function of its factors.
    pub id: String,
    /// The study (scenario name).
    pub study: String,
    /// What the study asks, in the author's words.
    pub about: String,
    /// Swept factors and their values here.
    pub factors: BTreeMap<String, Value>,
    /// Repetition, from 0.
    pub repeat: u32,
    /// Seed of all randomness.
    pub seed: u64,
    /// Whether another seed could have given another result. If not, the repeats of the run are one observation. Absent in
    /// recordings made before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on_seed: Option<bool>,
    /// The substrate it ran on.
    pub substrate: SubstrateKind,
    /// When the controller began it, in UTC (RFC 3339). Absent where time is computed, and in recordings made before this was
    /// kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// It was ended before its time; what was measured until then is whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Length of the run.
    pub duration_ns: i64,
    /// Metrics leave out everything before this time.
    pub omit_ns: i64,
    /// Sampling grid.
    pub sample_ns: i64,
    /// How much of the series the directory has.
    #[serde(default, skip_serializing_if = "KeptSeries::is_all")]
    pub series: KeptSeries,
    /// The shared links.
    pub links: Vec<LinkInfo>,
    /// The end hosts.
    pub hosts: Vec<HostInfo>,
    /// The transfers; a flow's number is its index.
    pub flows: Vec<FlowInfo>,
    /// The resolved scenario, whole. It documents the run, `compare` lists where two of them differ, and a run is complete if
    /// it is the same. No reader takes a single fact from it: such facts have fields of their own, as in [`HostInfo`].
    pub scenario: Value,
    /// What was measured of the emulated path before the run, where it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_checks: Vec<PathCheck>,
    /// Where on the hosts the flows were worked on, where that could be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placement: Vec<Placement>,
    /// The program that made this.
    pub tool: ToolInfo,
    /// The kernel it ran on, where there was one.
    pub kernel: Option<KernelInfo>,
    /// What the reader of the numbers has to know.
    pub warnings: Vec<String>,
    /// What the run cost.
    pub cost: Cost,
    /// The command that repeats it.
    pub command: String,
    /// The run that this is a copy of, since nothing in either draws: then the cost is that of copying, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
    /// Of a run on the model: whether it lies within what the validation compared with the kernel. `None` on other
    /// substrates, and in recordings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validated_region: Option<ValidatedRegion>,
}

/// Whether a run on the model lies within the region in which the validation compared the model with the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ValidatedRegion {
    /// Whether every factor lies within the section's levels.
    pub is_inside: bool,
    /// The section of the validation that covers the run, or comes nearest to it.
    pub section: String,
    /// The factors that are outside that section, in words; empty inside.
    pub outside: Vec<String>,
}

impl fmt::Display for ValidatedRegion {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.is_inside {
            true => write!(f, "Validated region: inside (section {})", self.section),
            false => write!(f, "Validated region: outside ({})", self.outside.join("; ")),
        }
    }
}

impl RunInfo {
    /// What of its times no run has: sums and differences of such times would not be what they seem.
    #[cfg(feature = "files")]
    pub(crate) fn impossible(&self) -> Option<String> {
        /// Ten years, before and after.
        const FAR_NS: i64 = 315_360_000_000_000_000;
        let flows = self.flows.iter().flat_map(|flow| [flow.start_ns, flow.stop_ns, flow.base_rtt_ns]);
        let lasting = [self.duration_ns, self.omit_ns, self.sample_ns];
        let mut all = flows.chain(lasting).chain(self.links.iter().map(|link| link.rtt_ns));
        let far = all.find(|time_ns| !(-FAR_NS..=FAR_NS).contains(time_ns));
        let negative = lasting.into_iter().find(|time_ns| *time_ns < 0);
        far.or(negative).map(|time_ns| format!("{time_ns} ns is no time of a run"))
    }

    /// What the packets of a direction of the ledger are, in words. Against the direction of data go acknowledgements, unless
    /// some flows run that way themselves: then the data of these is among them.
    pub fn packets_of(&self, direction: Direction) -> &'static str {
        if direction == Direction::Data {
            return "data packets";
        }
        let acknowledged = self.flows.is_empty() || self.flows.iter().any(|flow| flow.kind == Transport::Tcp);
        let receivers: BTreeSet<&str> = self.flows.iter().map(|flow| flow.to.as_str()).collect();
        let run_both_ways = self.flows.iter().any(|flow| receivers.contains(flow.from.as_str()));
        if acknowledged && !run_both_ways { "ACKs" } else { "reverse packets" }
    }
}

/// A shared link, as metrics and figures need it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkInfo {
    /// Name of the link.
    pub name: String,
    /// Capacity left to right.
    pub rate_bps: u64,
    /// Room in the queue before it, left to right.
    pub buffer_bytes: u64,
    /// Round-trip propagation over this link.
    pub rtt_ns: i64,
    /// The queue (column `queue` of the queue table) that feeds it left to right.
    pub forward_queue: String,
    /// The queue that feeds it right to left.
    pub reverse_queue: String,
    /// The rate is what the scenario says of a real path, and no interface at its ends has a rate that bears it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_assumed: bool,
    /// Its later states in order of time, if it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LinkChange>,
}

/// State of a link from a time of the run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkChange {
    /// From then on.
    pub t_ns: i64,
    /// Capacity left to right; 0: it stands still.
    pub rate_bps: u64,
    /// Room in the queue before it, left to right.
    pub buffer_bytes: u64,
    /// Round-trip propagation.
    pub rtt_ns: i64,
}

/// An end host: what was set and what was found, by name of the setting.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostInfo {
    /// Name.
    pub name: String,
    /// Settings as read back from the host after they were applied (sysctls, MTU, qdisc, offloads, ...).
    pub settings: BTreeMap<String, String>,
    /// Its cores and nodes, where they are real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Number of the router that it is attached to, from 0 at the left of the chain. Unknown for an imported run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<u32>,
    /// Whether the run asked it for TCP timestamps (RFC 7323). A real host keeps its own setting, so nothing was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_timestamps: Option<bool>,
    /// Its host model, if the run gave it one. A real host has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_model: Option<HostModel>,
    /// Its processors, interfaces and settings before the run, if it is real. Absent in recordings made before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
}

/// A transfer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FlowInfo {
    /// Unique label.
    pub label: String,
    /// `tcp` or `udp`.
    pub kind: Transport,
    /// Congestion control, for TCP.
    pub congestion: Option<String>,
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// When it was to start.
    pub start_ns: i64,
    /// When it was to stop at the latest.
    pub stop_ns: i64,
    /// Propagation both ways.
    pub base_rtt_ns: i64,
    /// Names of the links it crosses.
    pub links: Vec<String>,
    /// The group of flows that it belongs to. Absent in imported recordings and those made before groups were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How much it sends at most; absent if it sends until it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its place among the connections of a flow, if splitters cut that. The last one has the label of the flow, and what its receiver
    /// gets is what the flow delivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leg: Option<Leg>,
    /// Its application; absent of plain transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationInfo>,
}

/// The application of a flow that is more than one transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ApplicationInfo {
    /// Files of a data set, which the flow shares with the other streams of the set.
    DataSet {
        /// Number of the data set in the run, from 0.
        set: u32,
        /// How many files the whole set has.
        files: u64,
        /// Bytes of all of them.
        bytes: u64,
    },
    /// Responses to requests of the receiver.
    Requests {
        /// How many requests there are; absent if the receiver sends them until the flow stops.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
}

/// One connection of a flow that splitters (split-connection proxies, RFC 3135, section 2.4) cut into several.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Leg {
    /// Label of the flow.
    pub of: String,
    /// Number of the connection, from 1 at the sender.
    pub number: u32,
    /// How many connections the flow has.
    pub legs: u32,
}

/// The program that made a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolInfo {
    /// Version of wirespeed.
    pub version: String,
    /// Git commit it was built from, with `-dirty` if the tree was changed.
    pub git: String,
    /// What identifies the code that computed the results; absent where a kernel has them, and in recordings made before
    /// this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// The kernel a run was made on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KernelInfo {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// SHA-256 of source version, configuration, edits and added sources: names the cached build.
    pub build: String,
    /// What the build changed in the kernel's own sources, one line each.
    pub edits: Vec<String>,
}

/// What a run cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Wall-clock time of the whole run.
    pub wall_s: f64,
    /// CPU time of the whole run.
    pub cpu_s: f64,
    /// Data packets sent by all flows, retransmissions included.
    pub packets: u64,
    /// Peak resident memory of the process that ran it.
    pub peak_rss_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inventory_of_a_host_is_read_as_written_and_older_recordings_have_none() {
        let inventory = Inventory { host: "dtn1".into(), ..Inventory::default() };
        let host = HostInfo { name: "a".into(), inventory: Some(inventory), ..HostInfo::default() };
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<HostInfo>(&text).unwrap(), host);
        let older: HostInfo = serde_json::from_str(r#"{"name": "a", "settings": {}}"#).unwrap();
        assert_eq!(older.inventory, None);
        assert!(!serde_json::to_string(&older).unwrap().contains("inventory"));
    }

    #[test]
    fn against_the_data_go_acknowledgements_unless_flows_run_that_way() {
        let of = |flows: &[(Transport, &str, &str)]| {
            let flow = |(kind, from, to): &(Transport, &str, &str)| FlowInfo {
                kind: *kind,
                from: from.to_string(),
                to: to.to_string(),
                ..Default::default()
            };
            let info = RunInfo { flows: flows.iter().map(flow).collect(), ..Default::default() };
            assert_eq!(info.packets_of(Direction::Data), "data packets");
            info.packets_of(Direction::Ack)
        };
        assert_eq!(of(&[(Transport::Tcp, "a", "b"), (Transport::Udp, "a", "c")]), "ACKs");
        assert_eq!(of(&[(Transport::Tcp, "a", "b"), (Transport::Tcp, "b", "a")]), "reverse packets");
        assert_eq!(of(&[(Transport::Udp, "a", "b")]), "reverse packets");
    }
}
