//! The PCI Express link of an interface.

use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::id::Severity;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "pcie.degraded",
        title: "link below the ability of the device",
        reads: "lanes and speed of the PCI Express link, now and at most; the slowest link above it",
        applies: "a link whose bandwidth is below the rate of the path or the speed of the interface",
        wanted: "all lanes at the highest speed",
        unit: "",
        severity: Severity::Critical,
        effect: "The device can move what its link carries.",
        source: "kit-2019, section 4; Documentation/ABI/testing/sysfs-bus-pci, current_link_width",
        check: degraded,
    },
    Rule {
        id: "pcie.bandwidth",
        title: "bandwidth of the slot",
        reads: "lanes and speed of the PCI Express link",
        applies: "a link at its best whose bandwidth is below the rate of the path",
        wanted: "lanes x GT/s x encoding - 1 Gbit/s, at least the rate of the path",
        unit: "bit/s",
        severity: Severity::Warning,
        effect: "The rate is not limited by the slot.",
        source: "kit-2019, section 4: 16 x 8 GT/s x 128/130 - 1 Gbit/s = 125 Gbit/s",
        check: bandwidth,
    },
];

fn degraded(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let Some(link) = &interface.pcie else { continue };
        let (Some(speed), Some(width)) = (link.speed_gt_s, link.width) else { continue };
        let (Some(best_speed), Some(best_width)) = (link.max_speed_gt_s, link.max_width) else { continue };
        let Some(bandwidth) = link.bandwidth_bps() else { continue };
        let needed = audit.path.rate_bps.max(interface.speed_bps.unwrap_or(0));
        let is_degraded = speed < best_speed || width < best_width;
        if !is_degraded || bandwidth >= needed as f64 {
            continue;
        }
        let place = link.bottleneck.as_deref().map(|at| format!(" at {at}")).unwrap_or_default();
        let text = format!("the PCI Express link of {} runs below its best{place}", interface.name);
        let finding = AuditFinding::new(rule, audit.on(interface), text);
        let finding = finding
            .values(format!("x{width} at {speed} GT/s"), format!("x{best_width} at {best_speed} GT/s"));
        let formula = format!("{} < {}", needs::rate(bandwidth as u64), needs::rate(needed));
        let remedy = format!(
            "Seat the card again or move it to a slot with {best_width} lanes, and check the firmware's slot settings: `lspci -vv -s {}`.",
            link.address
        );
        findings.push(finding.formula(formula).remedy(remedy));
    }
    findings
}

fn bandwidth(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let Some(link) = &interface.pcie else { continue };
        let (Some(speed), Some(width), Some(bandwidth)) = (link.speed_gt_s, link.width, link.bandwidth_bps())
        else {
            continue;
        };
        let is_best = link.max_speed_gt_s.is_none_or(|best| speed >= best)
            && link.max_width.is_none_or(|best| width >= best);
        // One interface carries no more than its own speed, of a bond its part.
        let needed = audit.path.rate_bps.min(interface.speed_bps.unwrap_or(u64::MAX));
        if !is_best || bandwidth >= needed as f64 {
            continue;
        }
        let text = format!("PCI Express carries less than the path at {}", interface.name);
        let formula =
            format!("{width} lanes x {speed} GT/s x encoding - 1 Gbit/s = {}", needs::rate(bandwidth as u64));
        let finding = AuditFinding::new(rule, audit.on(interface), text).values(bandwidth as u64, needed);
        let remedy = "Use a slot or a card with more lanes or a later generation.";
        findings.push(finding.formula(formula).remedy(remedy));
    }
    findings
}
