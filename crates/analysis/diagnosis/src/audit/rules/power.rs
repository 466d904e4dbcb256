//! Frequency, idle states, mitigations.

use super::FAST_BPS;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::audit::{Audit, Profile};
use crate::id::Severity;
use wirespeed_inventory::{CpuSet, Setting};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "power.governor",
        title: "frequency governor",
        reads: "governor of each frequency policy",
        applies: "5 Gbit/s or more, and profiles measurement and low-latency; a policy that offers performance",
        wanted: "performance",
        unit: "",
        severity: Severity::Warning,
        effect: "Cores run at full frequency when a burst arrives.",
        source: "kit-2019, tuning table; Documentation/admin-guide/pm/cpufreq.rst",
        check: governor,
    },
    Rule {
        id: "power.idle-states",
        title: "deep idle states",
        reads: "idle states with their exit latency",
        applies: "profiles measurement (above 100 us) and low-latency (above 10 us)",
        wanted: "exit latency of at most 100 or 10",
        unit: "us",
        severity: Severity::Info,
        effect: "The first packet after a pause does not wait for a core to wake up.",
        source: "Documentation/admin-guide/pm/cpuidle.rst; TuneD, profile latency-performance (force_latency)",
        check: idle,
    },
    Rule {
        id: "power.mitigations",
        title: "mitigations of processor faults",
        reads: "state of each mitigation",
        applies: "profile low-latency",
        wanted: "a decision: they cost time in each system call",
        unit: "",
        severity: Severity::Info,
        effect: "System calls are shorter without them; the host is then open to other programs on it.",
        source: "Documentation/admin-guide/hw-vuln/index.rst; Documentation/admin-guide/kernel-parameters.txt, mitigations",
        check: mitigations,
    },
];

fn governor(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.path.rate_bps < FAST_BPS && !audit.profile.is_repeatable() {
        return Vec::new();
    }
    let slow = audit.inventory.cpu.frequency.iter().filter(|policy| {
        policy.governor != "performance" && policy.governors.iter().any(|name| name == "performance")
    });
    let slow: Vec<_> = slow.collect();
    let Some(first) = slow.first() else { return Vec::new() };
    let cpus = slow.iter().fold(CpuSet::default(), |all, policy| all.union(&policy.cpus));
    let text = format!("{} CPUs use the governor {}", cpus.len(), first.governor);
    let finding = AuditFinding::new(rule, audit.host(), text).values(&first.governor, "performance");
    let formula = format!("{} leaves a core little time for a packet", needs::rate(audit.path.rate_bps));
    let finding = finding.formula(formula);
    vec![slow.iter().fold(finding, |finding, policy| {
        finding.change(Setting::Governor { cpus: policy.cpus.clone() }, "performance")
    })]
}

fn idle(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let Some(most) = audit.profile.idle_exit_us() else { return Vec::new() };
    let deep = audit.inventory.cpu.idle_states.iter().filter(|state| !state.is_disabled);
    let Some(deepest) =
        deep.max_by_key(|state| state.exit_latency_us).filter(|state| state.exit_latency_us > most)
    else {
        return Vec::new();
    };
    let text = format!("a core needs {} us to leave idle state {}", deepest.exit_latency_us, deepest.name);
    let finding = AuditFinding::new(rule, audit.host(), text).values(deepest.exit_latency_us, most);
    let finding = finding.formula(format!("at most {most} us in profile {}", audit.profile.word()));
    vec![
        finding.remedy(format!(
            "Type `cpupower idle-set -D {most}`; `cpupower idle-set -E` enables them again."
        )),
    ]
}

fn mitigations(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.profile != Profile::LowLatency {
        return Vec::new();
    }
    let active = audit.inventory.cpu.mitigations.iter().filter(|(_, state)| state.starts_with("Mitigation"));
    let names: Vec<&str> = active.map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let text = format!("mitigations are active for {}", names.join(", "));
    let finding = AuditFinding::new(rule, audit.host(), text).values(names.len(), "a decision");
    let remedy =
        "Measure with `mitigations=off` on the kernel command line, on hosts without foreign programs only.";
    vec![finding.formula("each system call enters and leaves the kernel").remedy(remedy)]
}
