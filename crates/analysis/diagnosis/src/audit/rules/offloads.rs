//! Offloads: merged and split packets.

use super::FAST_BPS;
use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::id::Severity;
use wirespeed_inventory::Setting;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "offload.tso",
        title: "segmentation by the device (TSO)",
        reads: "feature tx-tcp-segmentation",
        applies: "5 Gbit/s or more; a feature that can be changed",
        wanted: "on",
        unit: "",
        severity: Severity::Warning,
        effect: "A core works once for up to 64 KiB and not for every packet.",
        source: "Documentation/networking/segmentation-offloads.rst; kit-2019, tuning table",
        check: tso,
    },
    Rule {
        id: "offload.gso",
        title: "late segmentation by the kernel (GSO)",
        reads: "feature tx-generic-segmentation",
        applies: "5 Gbit/s or more; a feature that can be changed",
        wanted: "on",
        unit: "",
        severity: Severity::Warning,
        effect: "A core works once for up to 64 KiB until the packet reaches the driver.",
        source: "Documentation/networking/segmentation-offloads.rst and kit-2019, tuning table; cornell-2010 (GSO off)",
        check: gso,
    },
    Rule {
        id: "offload.gro",
        title: "merging of received packets (GRO)",
        reads: "feature rx-gro",
        applies: "5 Gbit/s or more; a feature that can be changed",
        wanted: "on",
        unit: "",
        severity: Severity::Warning,
        effect: "TCP works once for many received packets.",
        source: "Documentation/networking/segmentation-offloads.rst and kit-2019, tuning table; ulm-2016 (GRO off)",
        check: gro,
    },
    Rule {
        id: "offload.lro-forwarding",
        title: "merging by the device (LRO) on a router",
        reads: "feature rx-lro; net.ipv4.ip_forward",
        applies: "a host that forwards packets",
        wanted: "off",
        unit: "",
        severity: Severity::Warning,
        effect: "Forwarded packets keep their boundaries; merged ones cannot be split again.",
        source: "Documentation/networking/segmentation-offloads.rst; netdev-features.rst, rx-lro",
        check: lro,
    },
    Rule {
        id: "offload.big-tcp",
        title: "packets above 64 KiB (BIG TCP)",
        reads: "gso_max_size and gro_max_size; version of the kernel",
        applies: "rates above 100 Gbit/s with Linux 6.3 or later",
        wanted: "above 65536",
        unit: "bytes",
        severity: Severity::Info,
        effect: "A core works less often: up to 512 KiB at a time.",
        source: "ip-link(8), gso_max_size and gso_ipv4_max_size; Linux 5.19 (IPv6) and 6.3 (IPv4)",
        check: big_tcp,
    },
];

fn switch(rule: &Rule, audit: &Audit, name: &str, text: &str) -> Vec<AuditFinding> {
    if audit.path.rate_bps < FAST_BPS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.stack() {
        let can_be_on =
            interface.features.get(name).is_some_and(|feature| !feature.is_on && !feature.is_fixed);
        if !can_be_on {
            continue;
        }
        let packets = needs::packets_per_s(&audit.path);
        let setting = Setting::Feature { interface: interface.name.clone(), name: name.into() };
        let finding = AuditFinding::new(rule, audit.on(interface), format!("{} {text}", interface.name));
        let formula = format!("{packets} packets a second at {}", needs::rate(audit.path.rate_bps));
        findings.push(finding.values("off", "on").formula(formula).change(setting, "on"));
    }
    findings
}

fn tso(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    switch(rule, audit, "tx-tcp-segmentation", "does not segment packets of TCP")
}

fn gso(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    switch(rule, audit, "tx-generic-segmentation", "gets packets that are segmented early")
}

fn gro(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    switch(rule, audit, "rx-gro", "hands every received packet to TCP alone")
}

fn lro(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.inventory.sysctl_number("net.ipv4.ip_forward") != Some(1) {
        return Vec::new();
    }
    let merging = audit.stack().into_iter().filter(|interface| interface.feature("rx-lro") == Some(true));
    merging
        .map(|interface| {
            let text = format!("{} merges packets that this host forwards", interface.name);
            let setting = Setting::Feature { interface: interface.name.clone(), name: "rx-lro".into() };
            let finding = AuditFinding::new(rule, audit.on(interface), text).values("on", "off");
            finding.formula("net.ipv4.ip_forward = 1").change(setting, "off")
        })
        .collect()
}

fn big_tcp(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    const ABOVE_BPS: u64 = 100_000_000_000;
    const LEGACY_BYTES: u64 = 65_536;
    if audit.path.rate_bps <= ABOVE_BPS || !audit.has_kernel((6, 3), false) {
        return Vec::new();
    }
    let small = |interface: &&wirespeed_inventory::Interface| {
        interface.gso_max_bytes.is_some_and(|most| most <= LEGACY_BYTES)
    };
    let found = audit.hardware().into_iter().filter(small);
    found
        .map(|interface| {
            let most = interface.gso_max_bytes.unwrap_or_default();
            let name = &interface.name;
            let text = format!("{name} sends packets of at most {most} bytes");
            let remedy = format!(
                "Try `ip link set dev {name} gso_max_size 185000 gro_max_size 185000 gso_ipv4_max_size 185000 gro_ipv4_max_size 185000`, and measure."
            );
            let formula = format!("{} > 100 Gbit/s", needs::rate(audit.path.rate_bps));
            let finding = AuditFinding::new(rule, audit.on(interface), text).values(most, "above 65536");
            finding.formula(formula).remedy(remedy)
        })
        .collect()
}
