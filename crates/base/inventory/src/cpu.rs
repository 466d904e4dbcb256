//! Processors and memory.

use crate::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The processors of a host (/sys/devices/system/cpu, /proc/cpuinfo).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cpu {
    /// `model name` of /proc/cpuinfo.
    pub model: String,
    /// CPUs that are online.
    pub online: CpuSet,
    /// CPUs that the scheduler leaves out (`isolcpus`).
    pub isolated: CpuSet,
    /// CPUs without a periodic tick (`nohz_full`).
    pub nohz_full: CpuSet,
    /// Sockets.
    pub packages: Vec<CpuPackage>,
    /// Logical CPUs that share a physical core, in groups of at least two.
    pub siblings: Vec<CpuSet>,
    /// Caches, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<Cache>,
    /// Frequency scaling; empty without frequency policies, as in most virtual machines.
    pub frequency: Vec<FrequencyPolicy>,
    /// Whether turbo frequencies are allowed.
    pub boost: Option<bool>,
    /// Idle states of CPU 0, shallowest first.
    pub idle_states: Vec<IdleState>,
    /// The state of each mitigation (/sys/devices/system/cpu/vulnerabilities).
    pub mitigations: BTreeMap<String, String>,
}

/// A socket.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CpuPackage {
    /// Its number (`physical_package_id`).
    pub id: u32,
    /// Its logical CPUs.
    pub cpus: CpuSet,
}

/// A NUMA node (/sys/devices/system/node).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its logical CPUs.
    pub cpus: CpuSet,
    /// Its memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Relative memory latency to each node, 10 is local (ACPI SLIT).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<u32>,
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cache {
    /// 1, 2 or 3.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// CPUs that share it.
    pub cpus: CpuSet,
}

/// CPUs with one frequency policy (/sys/devices/system/cpu/cpufreq/policyN).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FrequencyPolicy {
    /// The CPUs.
    pub cpus: CpuSet,
    /// `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq`, ...
    pub driver: String,
    /// The governor in force, such as `performance`.
    pub governor: String,
    /// The governors that can be chosen.
    pub governors: Vec<String>,
    /// Lowest frequency allowed now, in kHz.
    pub min_khz: Option<u64>,
    /// Highest frequency allowed now, in kHz.
    pub max_khz: Option<u64>,
    /// Highest frequency of the hardware, in kHz.
    pub hardware_max_khz: Option<u64>,
}

/// An idle state (C-state) of a CPU (Documentation/admin-guide/pm/cpuidle.rst).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// Exit latency in microseconds.
    pub exit_latency_us: u64,
    /// Whether the kernel may not choose it.
    pub is_disabled: bool,
}

/// The memory of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// `MemTotal` of /proc/meminfo in bytes.
    pub total_bytes: Option<u64>,
    /// `MemAvailable` of /proc/meminfo in bytes.
    pub available_bytes: Option<u64>,
    /// Bytes of a page.
    pub page_bytes: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Modules (DMI type 17), which only root can read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<MemoryModule>,
}

/// A memory module as the firmware describes it (SMBIOS, type 17).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryModule {
    /// Slot, such as `DIMM_A1`.
    pub locator: String,
    /// Bank or channel, in the firmware's words.
    pub bank: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Configured transfers per second, in millions.
    pub megatransfers_per_s: Option<u64>,
}
