//! Descriptor rings.

use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::needs::{self, Need};
use crate::audit::rule::Rule;
use crate::id::Severity;
use wirespeed_inventory::{Setting, Way};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "ring.rx",
        title: "receive ring",
        reads: "receive descriptors now and at most; microseconds of interrupt moderation",
        applies: "a ring that the device can enlarge",
        wanted: "rate / (MTU + 38 bytes) x (pause + moderation), as a power of two, at most what the device allows",
        unit: "descriptors",
        severity: Severity::Warning,
        effect: "The ring holds what arrives while its core does other work; flow control cannot see it overflow.",
        source: "kit-2019, tuning table and figure 12; cornell-2010, losses in the receive ring",
        check: receive,
    },
    Rule {
        id: "ring.rx-device",
        title: "largest receive ring of the device",
        reads: "receive descriptors at most",
        applies: "a device whose largest ring is too small",
        wanted: "rate / (MTU + 38 bytes) x (pause + moderation), as a power of two",
        unit: "descriptors",
        severity: Severity::Info,
        effect: "Losses in the ring remain possible; a larger MTU, flow control or more queues make them rare.",
        source: "kit-2019, figure 12; cornell-2010, losses in the receive ring",
        check: device,
    },
];

fn needed(audit: &Audit, interface: &wirespeed_inventory::Interface) -> Need {
    let moderation = interface.coalescing.and_then(|coalescing| coalescing.rx_usecs).unwrap_or(0);
    needs::receive_ring(&audit.path, audit.profile, moderation)
}

fn receive(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let Some(rings) = interface.rings else { continue };
        let mut need = needed(audit, interface);
        if rings.rx_max < need.value {
            let formula = format!("{}, at most {} of the device", need.formula, rings.rx_max);
            need = Need { value: rings.rx_max, formula, ..need };
        }
        if rings.rx >= need.value || rings.rx == 0 {
            continue;
        }
        let text = format!("the receive ring of {} holds {} packets", interface.name, rings.rx);
        let setting = Setting::Ring { interface: interface.name.clone(), way: Way::Rx };
        let finding = AuditFinding::new(rule, audit.on(interface), text).needs(rings.rx, &need);
        findings.push(finding.change(setting, need.value));
    }
    findings
}

fn device(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let need = needed(audit, interface);
        let Some(most) = interface.rings.map(|rings| rings.rx_max).filter(|most| *most > 0) else { continue };
        // A ring of half the size overflows only in the longest pauses.
        if most >= need.value / 2 {
            continue;
        }
        let text = format!("{} has at most {most} receive descriptors a queue", interface.name);
        let remedy = "Use a larger MTU on the path, more queues, or an interface with larger rings.";
        findings.push(AuditFinding::new(rule, audit.on(interface), text).needs(most, &need).remedy(remedy));
    }
    findings
}
