//! Virtual machines.

use super::FAST_BPS;
use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::rule::Rule;
use crate::id::Severity;

pub(super) const RULES: &[Rule] = &[Rule {
    id: "virtual.single-queue",
    title: "one queue in a virtual machine",
    reads: "hypervisor, channels at most and online CPUs",
    applies: "virtual machines with several CPUs; 5 Gbit/s or more",
    wanted: "a channel for each CPU, as the hypervisor assigns them",
    unit: "channels",
    severity: Severity::Warning,
    effect: "Flows can be spread over cores; with one queue one core receives all packets.",
    source: "Documentation/networking/scaling.rst, RSS; qemu(1), queues= and mq=on of virtio-net",
    check: single_queue,
}];

fn single_queue(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let cpus = audit.inventory.cpu.online.len();
    if audit.inventory.system.hypervisor.is_none() || cpus < 2 || audit.path.rate_bps < FAST_BPS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let most = interface.channels.map(|channels| channels.combined_max.max(channels.rx_max));
        if most != Some(1) {
            continue;
        }
        let text = format!("the hypervisor gives {} one queue for {cpus} CPUs", interface.name);
        let remedy = "Ask for more queues: a larger instance, or `queues=N` of virtio-net in the hypervisor.";
        let finding = AuditFinding::new(rule, audit.on(interface), text).values(1, cpus).remedy(remedy);
        findings.push(finding.formula(format!("{cpus} CPUs")));
    }
    findings
}
