//! Limits that no setting lifts.

use super::{Audit, needs};
use serde::Serialize;

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
    found.sort_by_key(|ceiling| (ceiling.is_per_flow, ceiling.rate_bps));
    found
}
