//! The clock.

use super::FAST_BPS;
use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::rule::Rule;
use crate::id::Severity;

pub(super) const RULES: &[Rule] = &[Rule {
    id: "clock.source",
    title: "clock source",
    reads: "the clock source in use",
    applies: "5 Gbit/s or more, and profiles measurement and low-latency; x86",
    wanted: "tsc, kvm-clock or hyperv_clocksource_tsc_page",
    unit: "",
    severity: Severity::Warning,
    effect: "Pacing and timestamps read the clock for each packet, in nanoseconds and not in a microsecond.",
    source: "Documentation/timers/timekeeping.rst; tc-fq(8), which sends by the clock",
    check: source,
}];

fn source(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    // Clocks that are read from a device. All others are read from the processor.
    const SLOW: [&str; 3] = ["hpet", "acpi_pm", "jiffies"];
    let matters = audit.path.rate_bps >= FAST_BPS || audit.profile.is_repeatable();
    let Some(found) =
        audit.inventory.system.clock_source.as_deref().filter(|name| matters && SLOW.contains(name))
    else {
        return Vec::new();
    };
    let text = format!("time is read from the device {found}");
    let remedy = "Find out why the kernel rejected the TSC: `dmesg | grep -i tsc`; then choose it in \
                  /sys/devices/system/clocksource/clocksource0/current_clocksource.";
    let finding = AuditFinding::new(rule, audit.host(), text).values(found, "tsc").remedy(remedy);
    vec![finding.formula("a read of the clock for each packet")]
}
