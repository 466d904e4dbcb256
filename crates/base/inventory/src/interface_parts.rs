//! Parts of a network interface.

use crate::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A driver (`ethtool -i`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Driver {
    /// Its name, such as `mlx5_core`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Version of the device's firmware.
    pub firmware: String,
    /// Address on the bus, such as `0000:81:00.0`.
    pub bus: String,
}

/// A PCI Express link (/sys/bus/pci/devices).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PcieLink {
    /// Address of the device.
    pub address: String,
    /// `vendor:device` in hexadecimal, such as `15b3:1019`.
    pub id: String,
    /// Negotiated speed of a lane in GT/s.
    pub speed_gt_s: Option<f64>,
    /// Negotiated number of lanes.
    pub width: Option<u32>,
    /// Highest lane speed of the device in GT/s.
    pub max_speed_gt_s: Option<f64>,
    /// Largest number of lanes of the device.
    pub max_width: Option<u32>,
    /// The slowest link between device and root port, if it is slower than the device's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<String>,
}

impl PcieLink {
    /// Bandwidth of the negotiated link in bit/s: lanes, GT/s and line code multiplied. Headers cost 1 Gbit/s.
    /// 16 lanes at 8 GT/s have about 125 Gbit/s (kit-2019, section 4).
    pub fn bandwidth_bps(&self) -> Option<f64> {
        Some(bandwidth(self.speed_gt_s?, self.width?))
    }

    /// The same for the best link that the device supports.
    pub fn max_bandwidth_bps(&self) -> Option<f64> {
        Some(bandwidth(self.max_speed_gt_s?, self.max_width?))
    }
}

fn bandwidth(speed_gt_s: f64, width: u32) -> f64 {
    // PCI Express Base Specification: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, FLITs of 242 bytes in 256 at 64 GT/s.
    let code = match speed_gt_s {
        speed if speed <= 5.0 => 0.8,
        speed if speed <= 32.0 => 128.0 / 130.0,
        _ => 242.0 / 256.0,
    };
    const TRANSACTION_HEADERS_BPS: f64 = 1e9;
    (speed_gt_s * 1e9 * f64::from(width) * code - TRANSACTION_HEADERS_BPS).max(0.0)
}

/// Descriptor rings in descriptors (`ethtool -g`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rings {
    /// Receive descriptors of a queue.
    pub rx: u64,
    /// The most that the device allows.
    pub rx_max: u64,
    /// Transmit descriptors of a queue.
    pub tx: u64,
    /// The most that the device allows.
    pub tx_max: u64,
}

/// Channels (`ethtool -l`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// Channels with a receive and a transmit queue.
    pub combined: u64,
    /// The most that the device allows.
    pub combined_max: u64,
    /// Channels with a receive queue only.
    pub rx: u64,
    /// The most that the device allows.
    pub rx_max: u64,
    /// Channels with a transmit queue only.
    pub tx: u64,
    /// The most that the device allows.
    pub tx_max: u64,
}

/// Interrupt moderation (`ethtool -c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Coalescing {
    /// Microseconds from a received packet to its interrupt, at most.
    pub rx_usecs: Option<u64>,
    /// Received packets before an interrupt, at most.
    pub rx_frames: Option<u64>,
    /// Microseconds from a sent packet to its interrupt, at most.
    pub tx_usecs: Option<u64>,
    /// Sent packets before an interrupt, at most.
    pub tx_frames: Option<u64>,
    /// Whether the driver adapts receive moderation to the load.
    pub adaptive_rx: Option<bool>,
    /// Whether the driver adapts transmit moderation to the load.
    pub adaptive_tx: Option<bool>,
}

/// An offload (`ethtool -k`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Feature {
    /// Whether it is on.
    pub is_on: bool,
    /// Whether it cannot be changed.
    pub is_fixed: bool,
}

/// Ethernet flow control (`ethtool -a`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pause {
    /// Whether both ends negotiate it.
    pub autonegotiation: bool,
    /// Whether the interface stops when it receives pause frames.
    pub rx: bool,
    /// Whether the interface sends pause frames.
    pub tx: bool,
}

/// Forward error correction of the link (`ethtool --show-fec`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fec {
    /// The encoding in use, such as `RS`.
    pub active: String,
    /// Blocks with errors that were corrected.
    pub corrected_blocks: Option<u64>,
    /// Blocks with errors that could not be corrected: each loses packets.
    pub uncorrectable_blocks: Option<u64>,
}

/// Receive side scaling (`ethtool -x`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rss {
    /// Entries of the indirection table for each receive queue, by queue number.
    pub entries_by_queue: BTreeMap<u32, u32>,
    /// The hash key in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A receive queue (/sys/class/net/DEVICE/queues/rx-N).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiveQueue {
    /// CPUs of receive packet steering (RPS).
    pub rps_cpus: CpuSet,
    /// Entries of receive flow steering (RFS).
    pub rps_flow_count: u64,
}

/// A transmit queue (/sys/class/net/DEVICE/queues/tx-N).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransmitQueue {
    /// CPUs of transmit packet steering (XPS).
    pub xps_cpus: CpuSet,
}

/// An interrupt line of an interface (/proc/interrupts, /proc/irq).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interrupt {
    /// Its number.
    pub irq: u32,
    /// Its name in /proc/interrupts.
    pub name: String,
    /// The queue it serves, if the name has its number.
    pub queue: Option<u32>,
    /// CPUs that are allowed (`smp_affinity_list`).
    pub affinity: CpuSet,
    /// The CPU that the hardware delivers to (`effective_affinity_list`).
    pub effective: CpuSet,
    /// Interrupts since boot by CPU. Only counts above 0.
    pub fired: BTreeMap<u32, u64>,
}

/// A queueing discipline (`tc qdisc`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Qdisc {
    /// Its kind, such as `fq`.
    pub kind: String,
    /// Its handle, such as `8001:`.
    pub handle: String,
    /// The class it is attached to; absent for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its limit in packets, if it has one.
    pub limit_packets: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_of_pcie_is_that_of_kit_2019() {
        let link = |speed: f64, width: u32| {
            let link = PcieLink { speed_gt_s: Some(speed), width: Some(width), ..Default::default() };
            link.bandwidth_bps().unwrap() / 1e9
        };
        assert!((link(8.0, 16) - 125.03).abs() < 0.01);
        assert!((link(5.0, 8) - 31.0).abs() < 1e-9);
        assert!((link(16.0, 16) - 251.06).abs() < 0.01);
        assert!((link(32.0, 16) - 503.1).abs() < 0.1);
        assert_eq!(PcieLink::default().bandwidth_bps(), None);
    }
}
