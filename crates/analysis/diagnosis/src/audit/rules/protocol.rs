//! Options and habits of TCP.

use super::FAST_BPS;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::audit::{Audit, Profile};
use crate::id::Severity;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "tcp.window-scaling",
        title: "windows above 64 KiB",
        reads: "net.ipv4.tcp_window_scaling",
        applies: "a bandwidth-delay product a flow above 65535 bytes",
        wanted: "1",
        unit: "",
        severity: Severity::Critical,
        effect: "A flow can have more than 64 KiB in flight.",
        source: "RFC 7323, section 2",
        check: window_scaling,
    },
    Rule {
        id: "tcp.sack",
        title: "selective acknowledgements",
        reads: "net.ipv4.tcp_sack",
        applies: "a bandwidth-delay product above 10 packets",
        wanted: "1",
        unit: "",
        severity: Severity::Warning,
        effect: "Several losses in a window are repaired in one round trip.",
        source: "RFC 2018 and RFC 6675; ulm-2016",
        check: sack,
    },
    Rule {
        id: "tcp.timestamps",
        title: "timestamps",
        reads: "net.ipv4.tcp_timestamps",
        applies: "a path on which sequence numbers repeat within the segment lifetime of 120 s",
        wanted: "1",
        unit: "",
        severity: Severity::Warning,
        effect: "Old segments are not taken for new ones (PAWS), and RTT is measured with every acknowledgement.",
        source: "RFC 7323, section 5; kit-2019, tuning table",
        check: timestamps,
    },
    Rule {
        id: "tcp.slow-start-after-idle",
        title: "slow start after a pause of the application",
        reads: "net.ipv4.tcp_slow_start_after_idle",
        applies: "profiles wan and measurement; a bandwidth-delay product a flow above the initial window",
        wanted: "0",
        unit: "",
        severity: Severity::Info,
        effect: "A flow resumes with its window after a pause.",
        source: "Documentation/networking/ip-sysctl.rst, tcp_slow_start_after_idle; RFC 5681, section 4.1",
        check: after_idle,
    },
    Rule {
        id: "tcp.no-metrics-save",
        title: "values kept for the next connection",
        reads: "net.ipv4.tcp_no_metrics_save",
        applies: "profile measurement",
        wanted: "1",
        unit: "",
        severity: Severity::Warning,
        effect: "A test does not start with the slow start threshold of the one before.",
        source: "kit-2019, tuning table; Documentation/networking/ip-sysctl.rst, tcp_no_metrics_save",
        check: metrics,
    },
    Rule {
        id: "tcp.mtu-probing",
        title: "search for the path MTU without ICMP",
        reads: "net.ipv4.tcp_mtu_probing",
        applies: "a path MTU above 1500 bytes",
        wanted: "1",
        unit: "",
        severity: Severity::Info,
        effect: "A flow survives a link with a smaller MTU whose ICMP messages are lost.",
        source: "RFC 4821; kit-2019, tuning table",
        check: mtu_probing,
    },
];

/// A finding if a sysctl has another value than the one wanted.
fn switch(
    rule: &Rule,
    audit: &Audit,
    name: &str,
    wanted: u64,
    text: &str,
    formula: String,
) -> Vec<AuditFinding> {
    match audit.inventory.sysctl_number(name) {
        Some(found) if (found == 0) != (wanted == 0) => {
            let finding = AuditFinding::new(rule, audit.host(), text).values(found, wanted);
            vec![finding.formula(formula).sysctl(name)]
        }
        _ => Vec::new(),
    }
}

fn share_bytes(audit: &Audit) -> u64 {
    needs::bdp_bytes(&audit.path) / audit.path.flows()
}

fn window_scaling(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let share = share_bytes(audit);
    if share <= 65_535 {
        return Vec::new();
    }
    let formula = format!("{share} bytes in flight a flow > 65535 bytes");
    let text = "window scaling is off, and a window is at most 64 KiB";
    switch(rule, audit, "net.ipv4.tcp_window_scaling", 1, text, formula)
}

fn sack(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    // Windows of a few packets hold one loss at most.
    const FEW_PACKETS: f64 = 10.0;
    let packets = needs::packets_in_flight(&audit.path);
    if packets <= FEW_PACKETS {
        return Vec::new();
    }
    let formula = format!("{packets:.0} packets in flight a flow");
    switch(rule, audit, "net.ipv4.tcp_sack", 1, "selective acknowledgements are off", formula)
}

fn timestamps(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    // Sequence numbers count 2^32 bytes; RFC 9293 sets the lifetime of a segment to two minutes.
    const LIFETIME_S: f64 = 120.0;
    let share = audit.path.rate_bps as f64 / audit.path.flows() as f64;
    let wrap = 4_294_967_296.0 * 8.0 / share.max(1.0);
    if wrap >= LIFETIME_S {
        return Vec::new();
    }
    let formula =
        format!("sequence numbers repeat after 2^32 bytes x 8 / {} = {wrap:.1} s", needs::rate(share as u64));
    switch(rule, audit, "net.ipv4.tcp_timestamps", 1, "timestamps are off", formula)
}

fn after_idle(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    // RFC 6928: an initial window of 10 packets.
    let packets = needs::packets_in_flight(&audit.path);
    if !audit.profile.is_long() || packets <= 10.0 {
        return Vec::new();
    }
    let formula = format!("a pause of one timeout shrinks {packets:.0} packets in flight to 10");
    let text = "a flow begins with slow start again after a pause";
    switch(rule, audit, "net.ipv4.tcp_slow_start_after_idle", 0, text, formula)
}

fn metrics(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.profile != Profile::Measurement {
        return Vec::new();
    }
    let text = "a connection inherits values of an earlier one to the same host";
    switch(rule, audit, "net.ipv4.tcp_no_metrics_save", 1, text, "tests are independent".into())
}

fn mtu_probing(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.path.mtu_bytes <= 1500 || audit.path.rate_bps < FAST_BPS {
        return Vec::new();
    }
    let formula = format!("path MTU {} > 1500 bytes", audit.path.mtu_bytes);
    let text = "a flow with jumbo frames stops at a smaller link that sends no ICMP message";
    switch(rule, audit, "net.ipv4.tcp_mtu_probing", 1, text, formula)
}
