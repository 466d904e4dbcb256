//! The link: MTU, speed, flow control, errors.

use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::audit::{Audit, Profile};
use crate::id::Severity;
use wirespeed_inventory::{Setting, Way};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "link.mtu",
        title: "MTU of the interface",
        reads: "MTU of the interface and of those below it, now and at most",
        applies: "an MTU below that of the path",
        wanted: "MTU of the path, at most what the driver allows",
        unit: "bytes",
        severity: Severity::Warning,
        effect: "Fewer packets for the same bytes: one flow reached 43 Gbit/s with 9000 and 25 with 1500.",
        source: "kit-2019, single pair and tuning table; slac-sc03, MTU 9000 and 1500",
        check: mtu,
    },
    Rule {
        id: "link.route-mtu",
        title: "MTU of routes",
        reads: "route metric mtu of routes of the interface",
        applies: "a route whose MTU is below that of the path, or above that of its interface",
        wanted: "MTU of the path",
        unit: "bytes",
        severity: Severity::Warning,
        effect: "Packets of the route are as large as the path allows, and no larger.",
        source: "ip-route(8), mtu; RFC 8899",
        check: route_mtu,
    },
    Rule {
        id: "link.speed",
        title: "speed of the link",
        reads: "speed of the interface, of a bond the sum of its ports",
        applies: "a speed below the rate of the path",
        wanted: "rate of the path",
        unit: "bit/s",
        severity: Severity::Critical,
        effect: "The interface can carry the rate.",
        source: "IEEE 802.3, autonegotiation; ethtool(8)",
        check: speed,
    },
    Rule {
        id: "link.duplex",
        title: "half duplex",
        reads: "duplex of the interface",
        applies: "every link",
        wanted: "full",
        unit: "",
        severity: Severity::Critical,
        effect: "Data and acknowledgements do not collide.",
        source: "IEEE 802.3, clause 28",
        check: duplex,
    },
    Rule {
        id: "link.pause",
        title: "flow control of Ethernet",
        reads: "pause frames of the interface",
        applies: "profile measurement",
        wanted: "off",
        unit: "",
        severity: Severity::Info,
        effect: "Losses happen where the bottleneck is, and no other port stops this host.",
        source: "ulm-2016, switch flow control off; IEEE 802.3, clause 31",
        check: pause,
    },
    Rule {
        id: "link.fec",
        title: "blocks that error correction lost",
        reads: "uncorrectable FEC blocks",
        applies: "every link with FEC counters",
        wanted: "0",
        unit: "blocks",
        severity: Severity::Warning,
        effect: "Packets are not lost on the cable.",
        source: "IEEE 802.3, clause 91; ethtool(8), --show-fec",
        check: fec,
    },
    Rule {
        id: "link.crc",
        title: "frames with a wrong checksum",
        reads: "error counters of link and optics since boot",
        applies: "counters of checksums, symbols and frames",
        wanted: "0",
        unit: "frames",
        severity: Severity::Warning,
        effect: "Packets are not lost on the cable: a faulty port went unnoticed for three months.",
        source: "cornell-2010, mesh monitoring; ulm-2016, CRC errors of the long ring",
        check: crc,
    },
];

fn mtu(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for interface in audit.stack() {
        let Some(found) = interface.mtu_bytes.filter(|found| *found < audit.path.mtu_bytes) else { continue };
        let wanted = audit.path.mtu_bytes.min(interface.max_mtu_bytes.unwrap_or(u64::MAX));
        if wanted <= found {
            continue;
        }
        let text = format!("{} sends packets of at most {found} bytes", interface.name);
        let finding = AuditFinding::new(rule, audit.on(interface), text).values(found, wanted);
        let formula = format!("MTU of the path: {}", audit.path.mtu_bytes);
        findings.push(
            finding.formula(formula).change(Setting::Mtu { interface: interface.name.clone() }, wanted),
        );
    }
    findings
}

fn route_mtu(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    if let Some(interface) = audit.interface() {
        for route in audit.inventory.routes.iter().filter(|route| route.interface == interface.name) {
            // A lock is written before the number.
            let word = route.metrics.get("mtu").and_then(|text| text.split_whitespace().last());
            let Some(found) = word.and_then(|word| word.parse::<u64>().ok()) else { continue };
            let is_above = interface.mtu_bytes.is_some_and(|most| found > most);
            if !is_above && found >= audit.path.mtu_bytes {
                continue;
            }
            let text = format!("the route to {} has an MTU of {found} bytes", route.destination);
            let own = interface.mtu_bytes.map_or("unknown".into(), |mtu| mtu.to_string());
            let formula = format!("MTU of the path {}, of {} {own}", audit.path.mtu_bytes, interface.name);
            let remedy = format!(
                "Type `ip route change {} dev {} mtu {}`, with the gateway of the route.",
                route.destination, interface.name, audit.path.mtu_bytes
            );
            let finding =
                AuditFinding::new(rule, audit.on(interface), text).values(found, audit.path.mtu_bytes);
            findings.push(finding.formula(formula).remedy(remedy));
        }
    }
    findings
}

fn speed(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let Some(interface) = audit.interface() else { return Vec::new() };
    let parts: Option<Vec<u64>> = audit.hardware().iter().map(|part| part.speed_bps).collect();
    let Some(found) = interface.speed_bps.or_else(|| Some(parts?.iter().sum())) else { return Vec::new() };
    if found >= audit.path.rate_bps || found == 0 {
        return Vec::new();
    }
    let text = format!("{} runs at {}", interface.name, needs::rate(found));
    let finding = AuditFinding::new(rule, audit.on(interface), text).values(found, audit.path.rate_bps);
    let remedy = format!("Check cable, optics and port: `ethtool {}`.", interface.name);
    vec![finding.formula(format!("rate of the path: {}", needs::rate(audit.path.rate_bps))).remedy(remedy)]
}

fn duplex(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let half = audit.hardware().into_iter().filter(|interface| interface.is_full_duplex == Some(false));
    half.map(|interface| {
        let text = format!("{} sends or receives, and not both at a time", interface.name);
        let remedy =
            format!("Enable autonegotiation at both ends: `ethtool -s {} autoneg on`.", interface.name);
        let finding =
            AuditFinding::new(rule, audit.on(interface), text).values("half", "full").remedy(remedy);
        finding.formula("both directions at a time")
    })
    .collect()
}

fn pause(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.profile != Profile::Measurement {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let Some(pause) = interface.pause.filter(|pause| pause.rx || pause.tx) else { continue };
        let text = format!("pause frames may stop {}, or the port at its far end", interface.name);
        let found = match (pause.rx, pause.tx) {
            (true, true) => "rx and tx",
            (true, false) => "rx",
            _ => "tx",
        };
        let mut finding = AuditFinding::new(rule, audit.on(interface), text).values(found, "off");
        finding = finding.formula("losses stay visible");
        for (way, is_on) in [(Way::Rx, pause.rx), (Way::Tx, pause.tx)] {
            if is_on {
                finding = finding.change(Setting::Pause { interface: interface.name.clone(), way }, "off");
            }
        }
        findings.push(finding);
    }
    findings
}

fn fec(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let lost = interface.fec.as_ref().and_then(|fec| fec.uncorrectable_blocks).filter(|lost| *lost > 0);
        let Some(lost) = lost else { continue };
        let text = format!("{} received {lost} blocks that FEC could not correct", interface.name);
        let remedy = "Clean or replace optics and cable, and compare the counter an hour later.";
        let finding = AuditFinding::new(rule, audit.on(interface), text).values(lost, 0).remedy(remedy);
        findings.push(finding.formula("each block loses packets"));
    }
    findings
}

fn crc(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    // Parts of the names that kernel and drivers use.
    const WORDS: [&str; 4] = ["crc", "symbol", "fcs", "frame_err"];
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let is_error = |name: &str| WORDS.iter().any(|word| name.contains(word));
        let found: Vec<(&String, &u64)> =
            interface.errors.iter().filter(|(name, count)| **count > 0 && is_error(name)).collect();
        let Some(most) = found.iter().map(|(_, count)| **count).max() else { continue };
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("{} received {most} damaged frames since boot", interface.name);
        let remedy = "Clean or replace optics and cable, and compare the counter an hour later.";
        let finding = AuditFinding::new(rule, audit.on(interface), text).values(most, 0).remedy(remedy);
        findings.push(finding.formula(names.join(", ")));
    }
    findings
}
