//! Limits that no setting lifts.

use super::{Audit, needs};
use serde::Serialize;
use wirespeed_inventory::MemoryModule;

/// A limit of the host or of TCP, as a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ceiling {
    /// The thing that limits.
    pub name: String,
    /// The rate in bit/s.
    pub rate_bps: u64,
    /// Whether it holds for each flow, and not for their sum.
    pub is_per_flow: bool,
    /// The derivation.
    pub source: &'static str,
}

/// Limits of the audited host on its path, the lowest first.
pub fn ceilings(audit: &Audit) -> Vec<Ceiling> {
    let mut found = Vec::new();
    if let Some(rate_bps) = needs::window_ceiling_bps(&audit.path) {
        let name = "window of 1 GiB in a round trip".into();
        found.push(Ceiling { name, rate_bps, is_per_flow: true, source: "RFC 7323, section 2.3" });
    }
    found.push(Ceiling {
        name: format!("one core with an MTU of {} bytes", audit.path.mtu_bytes),
        rate_bps: needs::core_ceiling_bps(&audit.path),
        is_per_flow: true,
        source: "kit-2019, single pair",
    });
    for interface in audit.hardware() {
        if let Some(rate_bps) = interface.speed_bps {
            let name = format!("link of {}", interface.name);
            found.push(Ceiling { name, rate_bps, is_per_flow: false, source: "speed of the interface" });
        }
        if let Some(bandwidth) = interface.pcie.as_ref().and_then(|link| link.bandwidth_bps()) {
            found.push(Ceiling {
                name: format!("PCI Express of {}", interface.name),
                rate_bps: bandwidth as u64,
                is_per_flow: false,
                source: "kit-2019, section 4: lanes x speed x encoding - 1 Gbit/s",
            });
        }
    }
    if let Some(rate_bps) = memory_bps(&audit.inventory.memory.modules) {
        let name = "memory, of which each received byte uses three accesses".into();
        let source =
            "SMBIOS type 17: transfers x 8 bytes of each module; the device writes, a copy reads and writes";
        found.push(Ceiling { name, rate_bps, is_per_flow: false, source });
    }
    found.sort_by_key(|ceiling| (ceiling.is_per_flow, ceiling.rate_bps));
    found
}

/// Rate in bit/s that the memory can receive, at most: modules that share a channel are counted each.
fn memory_bps(modules: &[MemoryModule]) -> Option<u64> {
    // A transfer has 64 bits. A byte is written by the device, read by the copy to the application, and written by it.
    const BITS: u64 = 64;
    const ACCESSES: u64 = 3;
    let rates: Option<Vec<u64>> = modules.iter().map(|module| module.megatransfers_per_s).collect();
    let sum: u64 = rates?.iter().map(|rate| rate.saturating_mul(1_000_000 * BITS)).sum();
    (sum > 0).then_some(sum / ACCESSES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_carries_a_third_of_its_bandwidth() {
        let module = |rate| MemoryModule { megatransfers_per_s: rate, ..Default::default() };
        // Four modules of DDR4-1866: 4 x 1866 x 64 / 3 Mbit/s.
        let four: [MemoryModule; 4] = std::array::from_fn(|_| module(Some(1866)));
        assert_eq!(memory_bps(&four), Some(159_232_000_000));
        assert_eq!(memory_bps(&[module(Some(1866)), module(None)]), None, "unknown is not slow");
        assert_eq!(memory_bps(&[]), None);
    }
}
