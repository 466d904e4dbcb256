//! A host, whole, and its snapshot.

use crate::{Cpu, Interface, Memory, Node};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the snapshot format. A reader rejects newer ones.
pub const FORMAT_VERSION: u32 = 1;

/// A host at one instant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inventory {
    /// [`FORMAT_VERSION`] of the program that wrote it.
    pub format_version: u32,
    /// Version of that program.
    pub tool: String,
    /// When it was read, in UTC (RFC 3339).
    pub taken: Option<String>,
    /// Name of the host.
    pub host: String,
    /// Kernel, firmware and clock.
    pub system: System,
    /// Processors.
    pub cpu: Cpu,
    /// NUMA nodes; empty where the kernel has none.
    pub nodes: Vec<Node>,
    /// Memory.
    pub memory: Memory,
    /// Network interfaces of the namespace in which it was read.
    pub interfaces: Vec<Interface>,
    /// Settings of the kernel below /proc/sys, by dotted name. Those of networking, and few others.
    pub sysctls: BTreeMap<String, String>,
    /// Routes of the main table.
    pub routes: Vec<Route>,
    /// Neighbours: the physical ports at the far end (LLDP), as a daemon reports them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
    /// Congestion control algorithms.
    pub congestion: CongestionControls,
    /// Programs that change settings themselves: irqbalance, TuneD, NetworkManager, bpftune.
    pub managers: Vec<Manager>,
    /// Everything that could not be read.
    pub missing: Vec<Missing>,
}

/// Kernel, firmware and clock.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct System {
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// /proc/cmdline.
    pub command_line: Option<String>,
    /// `PRETTY_NAME` of /etc/os-release.
    pub distribution: Option<String>,
    /// Vendor and product in the firmware (DMI).
    pub product: Option<String>,
    /// The hypervisor, if the host is a virtual machine: `kvm`, `vmware`, `xen`, ...
    pub hypervisor: Option<String>,
    /// The container runtime, if it was read in a container.
    pub container: Option<String>,
    /// The clock source in use, such as `tsc`.
    pub clock_source: Option<String>,
    /// Whether the process that read it was root (CAP_NET_ADMIN).
    pub is_privileged: bool,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Route {
    /// Its prefix, or `default`.
    pub destination: String,
    /// The next hop; absent for a connected network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// The interface.
    pub interface: String,
    /// Its metrics by the names of ip-route(8): `mtu`, `window`, `initcwnd`, `congctl`, ...
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, String>,
}

/// The port at the far end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Neighbour {
    /// Our interface.
    pub interface: String,
    /// Name of the switch.
    pub system: String,
    /// Name of its port.
    pub port: String,
}

/// Congestion control algorithms of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CongestionControls {
    /// The default of new connections.
    pub default: String,
    /// Those that are loaded.
    pub available: Vec<String>,
    /// Those that a process without privileges may choose.
    pub allowed: Vec<String>,
    /// Modules on disk that are not loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loadable: Vec<String>,
}

/// A program that changes settings of the host by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manager {
    /// `irqbalance`, `tuned`, `NetworkManager`, `bpftune`, ...
    pub name: String,
    /// Its process.
    pub pid: Option<u32>,
    /// Its setting, such as the TuneD profile.
    pub detail: Option<String>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Missing {
    /// The part of the inventory, such as `eth0: rings`.
    pub what: String,
    /// The kernel's answer.
    pub reason: String,
    /// The step that makes it readable, if there is one.
    pub remedy: String,
}

/// A snapshot that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The text is not an inventory.
    #[error("not an inventory of wirespeed: {0}; write one with `wirespeed inventory --json`")]
    Syntax(#[from] serde_json::Error),
    /// A newer program wrote it.
    #[error("written in format {0}, newer than format {FORMAT_VERSION} of this program; update wirespeed")]
    Newer(u32),
}

impl Inventory {
    /// The interface of a name.
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    /// The words of a setting below /proc/sys, such as the three of `net.ipv4.tcp_rmem`, as numbers.
    pub fn sysctl_numbers(&self, name: &str) -> Option<Vec<u64>> {
        self.sysctls.get(name)?.split_whitespace().map(|word| word.parse().ok()).collect()
    }

    /// A setting below /proc/sys that is one number.
    pub fn sysctl_number(&self, name: &str) -> Option<u64> {
        self.sysctls.get(name)?.trim().parse().ok()
    }

    /// The manager of a name.
    pub fn manager(&self, name: &str) -> Option<&Manager> {
        self.managers.iter().find(|manager| manager.name == name)
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// If the text is not an inventory, or was written in a newer format.
    pub fn from_json(text: &str) -> Result<Inventory, SnapshotError> {
        #[derive(Deserialize)]
        struct Version {
            format_version: u32,
        }
        let version: Version = serde_json::from_str(text)?;
        if version.format_version > FORMAT_VERSION {
            return Err(SnapshotError::Newer(version.format_version));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Text of a snapshot.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("an inventory is plain data");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_read_as_written() {
        let mut inventory =
            Inventory { format_version: FORMAT_VERSION, host: "a".into(), ..Default::default() };
        inventory.cpu.online = "0-3".parse().unwrap();
        inventory.interfaces.push(Interface { name: "eth0".into(), ..Default::default() });
        inventory.sysctls.insert("net.ipv4.tcp_rmem".into(), "4096 131072 6291456".into());
        let read = Inventory::from_json(&inventory.to_json()).unwrap();
        assert_eq!(read, inventory);
        assert_eq!(read.sysctl_numbers("net.ipv4.tcp_rmem"), Some(vec![4096, 131_072, 6_291_456]));
        assert_eq!(read.sysctl_number("net.ipv4.tcp_rmem"), None);
    }

    #[test]
    fn wrong_snapshots_are_rejected_with_the_place_and_the_remedy() {
        let reason = |text: &str| Inventory::from_json(text).unwrap_err().to_string();
        assert!(reason("{").contains("line 1 column"), "{}", reason("{"));
        assert!(reason("{}").contains("wirespeed inventory --json"));
        assert!(reason(r#"{"format_version": 9, "new": 1}"#).contains("update wirespeed"));
        assert!(reason(r#"{"format_version": 1, "hots": "a"}"#).contains("unknown field `hots`"));
    }
}
