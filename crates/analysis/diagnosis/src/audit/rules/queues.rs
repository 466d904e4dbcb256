//! Queues of the kernel: backlog, budget, qdisc.

use super::FAST_BPS;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::audit::{Audit, Profile};
use crate::id::Severity;
use wirespeed_inventory::{InterfaceKind, Setting};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "queue.backlog",
        title: "backlog of a core",
        reads: "net.core.netdev_max_backlog, RPS of the interface and kind of the interface",
        applies: "every path; a warning with RPS and on virtual interfaces, which use the backlog",
        wanted: "rate / (MTU + 38 bytes) x pause, at least 1000",
        unit: "packets",
        severity: Severity::Info,
        effect: "Packets that are steered to another core wait there and are not dropped.",
        source: "Documentation/networking/scaling.rst, RPS and kit-2019, tuning table; onl-wiki, receive path",
        check: backlog,
    },
    Rule {
        id: "queue.budget",
        title: "packets of one softirq round",
        reads: "net.core.netdev_budget; channels of the interface",
        applies: "profiles lan, wan and measurement at 5 Gbit/s or more",
        wanted: "rate / (MTU + 38 bytes) x 1 ms / cores that serve flows, at least 300",
        unit: "packets",
        severity: Severity::Info,
        effect: "A round ends by time and not by count, so that fewer packets wait in the ring.",
        source: "Documentation/admin-guide/sysctl/net.rst, netdev_budget; Red Hat, network performance tuning guide",
        check: budget,
    },
    Rule {
        id: "queue.length",
        title: "queue of the sending interface",
        reads: "leaf qdiscs, their limits, txqueuelen; version of the kernel",
        applies: "leaf qdiscs pfifo_fast, pfifo and bfifo",
        wanted: "rate / (MTU + 38 bytes) x 2 ms; before Linux 3.6 rate x RTT / 8 / MTU",
        unit: "packets",
        severity: Severity::Warning,
        effect: "Slow start does not end with a drop in the sending host.",
        source: "onl-wiki, single Reno flow; tcp_small_queue_check of net/ipv4/tcp_output.c",
        check: length,
    },
    Rule {
        id: "queue.fq",
        title: "qdisc with pacing",
        reads: "net.core.default_qdisc, leaf qdiscs of the interface and version of the kernel",
        applies: "profiles wan and measurement at 5 Gbit/s or more; Linux 3.12 or later",
        wanted: "fq",
        unit: "",
        severity: Severity::Warning,
        effect: "Flows are paced and share the queue; fq_codel may itself drop in the host.",
        source: "kit-2019, tuning table; tc-fq(8)",
        check: fq,
    },
];

fn backlog(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let name = "net.core.netdev_max_backlog";
    let need = needs::backlog(&audit.path, audit.profile);
    let Some(found) = audit.inventory.sysctl_number(name).filter(|found| *found < need.value) else {
        return Vec::new();
    };
    let is_used = audit.interface().is_some_and(|interface| {
        interface.kind != InterfaceKind::Hardware
            || interface.receive_queues.iter().any(|queue| !queue.rps_cpus.is_empty())
    });
    let text = format!("the backlog of a core holds {found} packets");
    let finding = AuditFinding::new(rule, audit.host(), text).needs(found, &need).sysctl(name);
    vec![if is_used { finding.severity(Severity::Warning) } else { finding }]
}

fn budget(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.profile == Profile::LowLatency || audit.path.rate_bps < FAST_BPS {
        return Vec::new();
    }
    let queues = audit.hardware().iter().find_map(|interface| interface.channels);
    let queues = queues.map_or(1, |channels| channels.combined.max(channels.rx));
    let need = needs::budget(&audit.path, queues);
    let name = "net.core.netdev_budget";
    match audit.inventory.sysctl_number(name) {
        Some(found) if found < need.value => {
            let text = format!("a softirq round ends after {found} packets");
            vec![AuditFinding::new(rule, audit.host(), text).needs(found, &need).sysctl(name)]
        }
        _ => Vec::new(),
    }
}

fn length(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let need = needs::queue(&audit.path, audit.has_kernel((3, 6), true));
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let plain = ["pfifo_fast", "pfifo", "bfifo"];
        let leaf = interface.leaf_qdiscs().into_iter().find(|qdisc| plain.contains(&qdisc.kind.as_str()));
        let Some(found) = leaf.and_then(|leaf| leaf.limit_packets.or(interface.tx_queue_length)) else {
            continue;
        };
        if found < need.value {
            let text = format!("the queue of {} holds {found} packets", interface.name);
            let setting = Setting::TxQueueLength { interface: interface.name.clone() };
            let finding = AuditFinding::new(rule, audit.on(interface), text).needs(found, &need);
            findings.push(finding.change(setting, need.value));
        }
    }
    findings
}

fn fq(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    // The qdisc is part of Linux since 3.12.
    if !audit.profile.is_long() || audit.path.rate_bps < FAST_BPS || !audit.has_kernel((3, 12), true) {
        return Vec::new();
    }
    let name = "net.core.default_qdisc";
    let default = audit.inventory.sysctls.get(name).map(|word| word.trim().to_owned());
    let mut findings = Vec::new();
    let mut interfaces_with_qdisc = 0;
    for interface in audit.hardware() {
        let leaves = interface.leaf_qdiscs();
        interfaces_with_qdisc += usize::from(!leaves.is_empty());
        // `noqueue` belongs to interfaces without a queue of their own.
        let Some(other) = leaves.iter().find(|qdisc| !["fq", "noqueue"].contains(&qdisc.kind.as_str()))
        else {
            continue;
        };
        let text = format!("the queue of {} does not pace flows", interface.name);
        let finding = AuditFinding::new(rule, audit.on(interface), text).values(&other.kind, "fq");
        let finding = finding.formula("pacing for each flow at the rate that TCP computes");
        let finding = if default.as_deref() == Some("fq") { finding } else { finding.sysctl(name) };
        findings.push(finding.change(Setting::Qdisc { interface: interface.name.clone() }, "fq"));
    }
    if let Some(default) = default.filter(|default| interfaces_with_qdisc == 0 && default != "fq") {
        let finding =
            AuditFinding::new(rule, audit.host(), "new queues do not pace flows").values(default, "fq");
        findings.push(finding.formula("pacing for each flow at the rate that TCP computes").sysctl(name));
    }
    findings
}
