//! A host with its path, its findings and the assumptions behind them.

use super::Arguments;
use crate::failure::Failure;
use wirespeed_diagnosis::Severity;
use wirespeed_diagnosis::audit::{
    Audit, AuditFinding, Ceiling, Difference, Path, Profile, ceilings, differences, needs,
};
use wirespeed_inventory::{Inventory, Missing};
use wirespeed_units::Bytes;

/// A judged host.
#[derive(Debug)]
pub struct Judged {
    /// Its name.
    pub host: String,
    /// The interface that the path uses.
    pub interface: Option<String>,
    /// The path.
    pub path: Path,
    /// Parameters of the rules.
    pub profile: Profile,
    /// Values of the path that were not given, with the option that sets them.
    pub assumed: Vec<String>,
    /// Limits that no setting lifts.
    pub ceilings: Vec<Ceiling>,
    /// The findings, the most severe first.
    pub findings: Vec<AuditFinding>,
    /// Values that changed since the baseline; none without a baseline.
    pub differences: Option<Vec<Difference>>,
    /// Values that could not be read.
    pub missing: Vec<Missing>,
}

/// MTU of Ethernet without jumbo frames (IEEE 802.3).
const ETHERNET_MTU: u64 = 1500;

impl Judged {
    /// Judges a host.
    pub fn new(
        arguments: &Arguments,
        inventory: Inventory,
        baseline: Option<&Inventory>,
    ) -> Result<Judged, Failure> {
        let profile = Profile::from(arguments.profile);
        let placeholder =
            Path { rate_bps: 0, rtt_ns: 0, mtu_bytes: ETHERNET_MTU, flows: 1, buffer_bytes: None };
        let mut audit = Audit::new(&inventory, placeholder, profile, arguments.interface.as_deref())
            .map_err(|error| Failure::Usage {
                message: error.to_string(),
                remedy: "name one of them with --interface".into(),
            })?;
        let mut assumed = Vec::new();
        audit.path = path(arguments, &audit, &mut assumed)?;
        Ok(Judged {
            host: inventory.host.clone(),
            interface: audit.interface().map(|interface| interface.name.clone()),
            path: audit.path,
            profile,
            assumed,
            ceilings: ceilings(&audit),
            findings: audit.findings(),
            differences: baseline.map(|before| differences(before, &inventory)),
            missing: inventory.missing.clone(),
        })
    }

    /// The number of findings of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// The path, with assumptions for values that were not given.
fn path(arguments: &Arguments, audit: &Audit, assumed: &mut Vec<String>) -> Result<Path, Failure> {
    let interface = audit.interface();
    let rate_bps = match (arguments.rate, interface.and_then(|interface| interface.speed_bps)) {
        (Some(rate), _) => rate.get(),
        (None, Some(speed)) => {
            let name = interface.map_or("", |interface| interface.name.as_str());
            assumed.push(format!("rate {}, the speed of {name} (--rate)", needs::rate(speed)));
            speed
        }
        (None, None) => {
            return Err(Failure::Usage {
                message: format!("the speed of the interface of {} is unknown", audit.inventory.host),
                remedy: "give the rate of the path: `--rate \"10 Gbit/s\"`".into(),
            });
        }
    };
    let rtt_ns = match arguments.rtt {
        Some(rtt) => rtt.picoseconds() / 1000,
        None => {
            let rtt = audit.profile.assumed_rtt_ns();
            assumed.push(format!(
                "RTT {}, as usual in profile {} (--rtt)",
                needs::time(rtt),
                audit.profile.word()
            ));
            rtt
        }
    };
    if rate_bps == 0 || rtt_ns <= 0 {
        return Err(Failure::Usage {
            message: "rate and round-trip time must be above 0".into(),
            remedy: "such as `--rate \"100 Gbit/s\" --rtt \"20 ms\"`".into(),
        });
    }
    let mtu_bytes = arguments.mtu.unwrap_or_else(|| {
        let mtu = interface.and_then(|interface| interface.mtu_bytes).unwrap_or(ETHERNET_MTU);
        assumed.push(format!("MTU {mtu} bytes, that of the interface (--mtu)"));
        mtu
    });
    let buffer_bytes = arguments.buffer.map(Bytes::get);
    let mut path = Path { rate_bps, rtt_ns, mtu_bytes, flows: 1, buffer_bytes };
    path.flows = arguments.flows.unwrap_or_else(|| {
        let flows = u32::try_from(needs::flows(&path).value).unwrap_or(u32::MAX);
        assumed.push(format!("flows {flows}, as many as the rate needs (--flows)"));
        flows
    });
    Ok(path)
}
