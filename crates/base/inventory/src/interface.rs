//! A network interface.

use crate::interface_parts::{
    Channels, Coalescing, Driver, Feature, Fec, Interrupt, Pause, PcieLink, Qdisc, ReceiveQueue, Rings, Rss,
    TransmitQueue,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network interface with everything that decides its speed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interface {
    /// Its name, such as `eth2`.
    pub name: String,
    /// Hardware or the kind of a virtual interface.
    pub kind: InterfaceKind,
    /// Its addresses with prefix lengths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// The bond or bridge it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master: Option<String>,
    /// The interfaces below it: of a VLAN its parent, of a bond or bridge its ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lower: Vec<String>,
    /// The VLAN id of a VLAN interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// `up`, `down` and so on (RFC 2863 operational state).
    pub operational_state: Option<String>,
    /// Speed of the link in bit/s.
    pub speed_bps: Option<u64>,
    /// Whether the link carries both directions at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_full_duplex: Option<bool>,
    /// MTU in bytes.
    pub mtu_bytes: Option<u64>,
    /// Largest MTU that the driver allows, in bytes.
    pub max_mtu_bytes: Option<u64>,
    /// `txqueuelen`, in packets.
    pub tx_queue_length: Option<u64>,
    /// Its driver.
    pub driver: Option<Driver>,
    /// NUMA node of the device; absent if the firmware gives none.
    pub node: Option<u32>,
    /// Its PCI Express link.
    pub pcie: Option<PcieLink>,
    /// Descriptor rings.
    pub rings: Option<Rings>,
    /// Channels: pairs of queues with an interrupt.
    pub channels: Option<Channels>,
    /// Interrupt moderation.
    pub coalescing: Option<Coalescing>,
    /// Offloads by their ethtool name, such as `tx-tcp-segmentation` and `rx-gro`.
    pub features: BTreeMap<String, Feature>,
    /// Largest GSO packet in bytes; above 65536 is BIG TCP.
    pub gso_max_bytes: Option<u64>,
    /// Largest GRO packet in bytes.
    pub gro_max_bytes: Option<u64>,
    /// Ethernet flow control (IEEE 802.3x).
    pub pause: Option<Pause>,
    /// Priorities with priority flow control (IEEE 802.1Qbb), by DCB; absent if the driver has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_flow_control: Option<Vec<bool>>,
    /// Forward error correction of the link.
    pub fec: Option<Fec>,
    /// Error counters of link and optics since boot, such as `rx_crc_errors`. Only counters above 0.
    pub errors: BTreeMap<String, u64>,
    /// Receive side scaling.
    pub rss: Option<Rss>,
    /// Receive queues in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receive_queues: Vec<ReceiveQueue>,
    /// Transmit queues in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transmit_queues: Vec<TransmitQueue>,
    /// Its interrupt lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<Interrupt>,
    /// The qdisc tree, root first.
    pub qdiscs: Vec<Qdisc>,
}

/// Hardware, or the kind of a virtual interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterfaceKind {
    /// A device on a bus.
    #[default]
    Hardware,
    /// The loopback interface.
    Loopback,
    /// One end of a veth pair.
    Veth,
    /// A VLAN on another interface.
    Vlan,
    /// A bond or team of interfaces.
    Bond,
    /// A bridge.
    Bridge,
    /// A tunnel or another virtual interface.
    Virtual,
}

impl Interface {
    /// Whether `feature` is on. `None` if the interface does not list it.
    pub fn feature(&self, feature: &str) -> Option<bool> {
        self.features.get(feature).map(|feature| feature.is_on)
    }

    /// The root qdisc.
    pub fn root_qdisc(&self) -> Option<&Qdisc> {
        self.qdiscs.iter().find(|qdisc| qdisc.parent.is_none())
    }

    /// The qdiscs that hold packets: the leaves below a multi-queue root, otherwise the root.
    pub fn leaf_qdiscs(&self) -> Vec<&Qdisc> {
        let is_parent = |qdisc: &&Qdisc| matches!(qdisc.kind.as_str(), "mq" | "mqprio");
        self.qdiscs.iter().filter(|qdisc| !is_parent(qdisc)).collect()
    }

    /// Whether the interface can carry traffic now. Interfaces without a state count as up.
    pub fn is_up(&self) -> bool {
        self.operational_state.as_deref().is_none_or(|state| state == "up" || state == "unknown")
    }
}
