//! Interrupts: the daemon that moves them, and moderation.

use super::{FAST_BPS, PLACED_BPS};
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::audit::{Audit, Profile};
use crate::id::Severity;
use wirespeed_inventory::{Coalescing, CoalescingParameter, CpuSet, Interface, Interrupt, Setting};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "interrupts.irqbalance",
        title: "daemon that moves interrupts",
        reads: "whether irqbalance runs",
        applies: "profiles measurement and low-latency, the others above 25 Gbit/s; physical hosts",
        wanted: "inactive, with interrupts pinned",
        unit: "",
        severity: Severity::Warning,
        effect: "Interrupts stay away from the cores of the application, and tests repeat.",
        source: "kit-2019, tuning table and core placement; cornell-2010 (affinity is pivotal)",
        check: irqbalance,
    },
    Rule {
        id: "interrupts.moving",
        title: "interrupts that fired on several cores",
        reads: "interrupts of each line by core since boot",
        applies: "lines of the interface with at least 10000 interrupts",
        wanted: "90 % or more of them on one core",
        unit: "",
        severity: Severity::Warning,
        effect: "Packets of a flow stay in the caches of one core and in order.",
        source: "kit-2019, core placement; cornell-2010, irqbalance compared with bound interrupts",
        check: moving,
    },
    Rule {
        id: "interrupts.one-core",
        title: "all interrupts on one core",
        reads: "affinity of the interrupts of the queues; online CPUs",
        applies: "several cores, several queues, 2 Gbit/s or more",
        wanted: "min(queues, cores of the interface's node) cores",
        unit: "cores",
        severity: Severity::Warning,
        effect: "One core is not overloaded by interrupts: beyond its limit nothing is delivered (livelock).",
        source: "cornell-2010, UDP loss with interrupts bound to one CPU; Documentation/networking/scaling.rst, RSS",
        check: one_core,
    },
    Rule {
        id: "moderation.adaptive",
        title: "adaptive interrupt moderation",
        reads: "adaptive-rx of the interface",
        applies: "profile measurement",
        wanted: "off, with a fixed time",
        unit: "",
        severity: Severity::Info,
        effect: "Every test has the same moderation.",
        source: "cornell-2010, batching; ethtool(8), adaptive-rx",
        check: adaptive,
    },
    Rule {
        id: "moderation.off",
        title: "no interrupt moderation",
        reads: "rx-usecs, rx-frames and adaptive-rx of the interface",
        applies: "5 Gbit/s or more; every profile but low-latency",
        wanted: "time of 64 packets at the rate, from 8 to 125",
        unit: "us",
        severity: Severity::Warning,
        effect: "Cores work on packets and not on interrupts (livelock).",
        source: "cornell-2010, batching: 1.9 Gbit/s without and 3 Gbit/s with moderation",
        check: off,
    },
    Rule {
        id: "moderation.long",
        title: "long interrupt moderation",
        reads: "rx-usecs and adaptive-rx of the interface",
        applies: "profile low-latency",
        wanted: "10 or less",
        unit: "us",
        severity: Severity::Warning,
        effect: "A single packet waits for a few microseconds at most.",
        source: "cornell-2010, batching (staircase of arrivals); ethtool(8), rx-usecs",
        check: long,
    },
];

/// CPUs that an interrupt is delivered to.
pub(super) fn cpus(interrupt: &Interrupt) -> &CpuSet {
    if interrupt.effective.is_empty() { &interrupt.affinity } else { &interrupt.effective }
}

/// The CPUs of a set, over and over.
pub(super) fn cycle(set: &CpuSet) -> impl Iterator<Item = u32> {
    let cpus: Vec<u32> = set.iter().collect();
    (0..).map_while(move |at: usize| cpus.get(at % cpus.len().max(1)).copied())
}

/// Interrupts of queues. Lines for management seldom fire, and have no queue.
pub(super) fn of_queues(interface: &Interface) -> Vec<&Interrupt> {
    interface.interrupts.iter().filter(|interrupt| interrupt.queue.is_some()).collect()
}

fn irqbalance(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let matters = audit.profile.is_repeatable() || audit.path.rate_bps > PLACED_BPS;
    if !matters
        || audit.inventory.system.hypervisor.is_some()
        || audit.inventory.manager("irqbalance").is_none()
    {
        return Vec::new();
    }
    let finding = AuditFinding::new(rule, audit.host(), "irqbalance moves interrupts between cores");
    let finding = finding.values("active", "inactive").formula("one core for each queue, chosen by hand");
    vec![finding.change(Setting::Service { name: "irqbalance".into() }, "inactive")]
}

fn moving(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    const LEAST_INTERRUPTS: u64 = 10_000;
    const SHARE: f64 = 0.9;
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let moved = of_queues(interface).into_iter().filter(|interrupt| {
            let sum: u64 = interrupt.fired.values().sum();
            let most = interrupt.fired.values().max().copied().unwrap_or(0);
            sum >= LEAST_INTERRUPTS && (most as f64) < SHARE * sum as f64
        });
        let moved: Vec<&Interrupt> = moved.collect();
        let Some(first) = moved.first() else { continue };
        let lines = of_queues(interface).len();
        let text =
            format!("{} of {lines} interrupts of {} fired on several cores", moved.len(), interface.name);
        let cores: Vec<String> = first.fired.keys().map(ToString::to_string).collect();
        let formula = format!("interrupt {} fired on CPUs {}", first.irq, cores.join(", "));
        let mut finding = AuditFinding::new(rule, audit.on(interface), text);
        finding = finding.values(format!("{} lines", moved.len()), "one core a line").formula(formula);
        for (interrupt, cpu) in audit.placed(interface) {
            if moved.iter().any(|line| line.irq == interrupt.irq) {
                finding = finding.change(Setting::InterruptAffinity { irq: interrupt.irq }, cpu);
            }
        }
        findings.push(finding);
    }
    findings
}

fn one_core(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    // cornell-2010: one core kept up below 2.4 Gbit/s.
    const LIVELOCK_BPS: u64 = 2_000_000_000;
    if audit.path.rate_bps < LIVELOCK_BPS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let queues = of_queues(interface);
        let all = queues.iter().fold(CpuSet::default(), |all, interrupt| all.union(cpus(interrupt)));
        let near = audit.near(interface);
        if queues.len() < 2 || all.len() != 1 || near.len() < 2 {
            continue;
        }
        let wanted = queues.len().min(near.len());
        let text = format!("all {} interrupts of {} go to CPU {all}", queues.len(), interface.name);
        let formula = format!("min({} queues, {} CPUs) = {wanted}", queues.len(), near.len());
        let mut finding =
            AuditFinding::new(rule, audit.on(interface), text).values(1, wanted).formula(formula);
        for (interrupt, cpu) in audit.placed(interface) {
            finding = finding.change(Setting::InterruptAffinity { irq: interrupt.irq }, cpu);
        }
        findings.push(finding);
    }
    findings
}

fn coalescing<'a>(audit: &Audit<'a>) -> Vec<(&'a Interface, Coalescing)> {
    audit.hardware().into_iter().filter_map(|interface| Some((interface, interface.coalescing?))).collect()
}

fn parameter(interface: &Interface, parameter: CoalescingParameter) -> Setting {
    Setting::Coalescing { interface: interface.name.clone(), parameter }
}

fn adaptive(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.profile != Profile::Measurement {
        return Vec::new();
    }
    let on = coalescing(audit).into_iter().filter(|(_, coalescing)| coalescing.adaptive_rx == Some(true));
    on.map(|(interface, _)| {
        let need = needs::moderation(&audit.path);
        let text = format!("{} adapts its moderation to the load", interface.name);
        let finding =
            AuditFinding::new(rule, audit.on(interface), text).values("on", "off").formula(need.formula);
        finding
            .change(parameter(interface, CoalescingParameter::AdaptiveRx), "off")
            .change(parameter(interface, CoalescingParameter::RxUsecs), need.value)
    })
    .collect()
}

fn off(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.profile == Profile::LowLatency || audit.path.rate_bps < FAST_BPS {
        return Vec::new();
    }
    let is_off = |coalescing: &Coalescing| {
        coalescing.rx_usecs == Some(0)
            && coalescing.rx_frames.unwrap_or(0) <= 1
            && coalescing.adaptive_rx == Some(false)
    };
    let found = coalescing(audit).into_iter().filter(|(_, coalescing)| is_off(coalescing));
    found
        .map(|(interface, _)| {
            let need = needs::moderation(&audit.path);
            let text = format!("{} interrupts for every packet", interface.name);
            let finding = AuditFinding::new(rule, audit.on(interface), text).needs(0, &need);
            finding.change(parameter(interface, CoalescingParameter::RxUsecs), need.value)
        })
        .collect()
}

fn long(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    const SHORT_US: u64 = 10;
    if audit.profile != Profile::LowLatency {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (interface, coalescing) in coalescing(audit) {
        let Some(found) = coalescing.rx_usecs.filter(|us| *us > SHORT_US) else { continue };
        let text = format!("a packet waits up to {found} us for its interrupt at {}", interface.name);
        let finding = AuditFinding::new(rule, audit.on(interface), text).values(found, SHORT_US);
        let mut finding = finding.formula(format!("at most {SHORT_US} us"));
        if coalescing.adaptive_rx == Some(true) {
            finding = finding.change(parameter(interface, CoalescingParameter::AdaptiveRx), "off");
        }
        findings.push(finding.change(parameter(interface, CoalescingParameter::RxUsecs), SHORT_US));
    }
    findings
}
