//! Limits of the path itself: flows and pacing.

use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::id::Severity;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "path.flows",
        title: "enough flows for the rate",
        reads: "rate, RTT, MTU and flows of the path",
        applies: "every path",
        wanted: "rate / min(1 GiB / RTT, rate of a core)",
        unit: "flows",
        severity: Severity::Warning,
        effect: "The sum of the flows reaches the rate: one window and one core have a ceiling each.",
        source: "RFC 7323, section 2.3 (window); kit-2019, single pair: 43 Gbit/s with MTU 9000, 25 Gbit/s with 1500 (core)",
        check: flows,
    },
    Rule {
        id: "path.pacing",
        title: "pacing for a shallow buffer",
        reads: "rate, flows and buffer of the path",
        applies: "profiles wan and measurement; a buffer below one bandwidth-delay product",
        wanted: "rate / flows",
        unit: "bit/s",
        severity: Severity::Info,
        effect: "Bursts at the speed of the interface do not overflow the buffer.",
        source: "tc-fq(8), maxrate; arXiv 2603.12660 (shaping before the wide-area network)",
        check: pacing,
    },
    Rule {
        id: "path.memory",
        title: "memory for the buffers of all flows",
        reads: "MemTotal; rate, RTT and flows of the path",
        applies: "every path",
        wanted: "twice flows x largest buffer",
        unit: "bytes",
        severity: Severity::Warning,
        effect: "All flows can have their buffers, and half of the memory is left.",
        source: "tcp(7), tcp_mem; tcp_init_mem of net/ipv4/tcp.c, which gives TCP a part of the memory only",
        check: memory,
    },
];

fn flows(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let need = needs::flows(&audit.path);
    let found = audit.path.flows();
    if found >= need.value {
        return Vec::new();
    }
    let text = format!("{found} flows cannot carry {}", needs::rate(audit.path.rate_bps));
    let remedy = format!("Use at least {} flows, such as `iperf3 -P {}`.", need.value, need.value);
    vec![AuditFinding::new(rule, audit.host(), text).needs(found, &need).remedy(remedy)]
}

fn pacing(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let Some(need) = needs::pacing(&audit.path).filter(|_| audit.profile.is_long()) else {
        return Vec::new();
    };
    let buffer = audit.path.buffer_bytes.unwrap_or_default();
    let text = format!("the path buffers {buffer} bytes, less than a bandwidth-delay product");
    let remedy = format!(
        "Pace each flow: `iperf3 --fq-rate {0}`, SO_MAX_PACING_RATE, or `tc qdisc replace dev DEV root fq maxrate {0}bit`.",
        need.value
    );
    vec![AuditFinding::new(rule, audit.host(), text).needs("unknown", &need).remedy(remedy)]
}

fn memory(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let Some(found) = audit.inventory.memory.total_bytes else { return Vec::new() };
    // In pages of one byte, the memory in bytes.
    let buffers = needs::memory_pages(&audit.path, audit.adv_win_scale(), 1).value;
    let wanted = buffers.saturating_mul(2);
    if found >= wanted {
        return Vec::new();
    }
    let text =
        format!("buffers of {} flows need {buffers} bytes, more than half of the memory", audit.path.flows());
    let formula =
        format!("2 x {} flows x {} bytes = {wanted}", audit.path.flows(), buffers / audit.path.flows());
    let remedy = "Add memory, or use a lower rate for each flow.";
    let finding = AuditFinding::new(rule, audit.host(), text).values(found, wanted);
    vec![finding.formula(formula).remedy(remedy)]
}
