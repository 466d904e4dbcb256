//! Buffers of sockets.

use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::needs::{self, INT31, Need};
use crate::audit::rule::Rule;
use crate::id::Severity;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "tcp.rmem",
        title: "receive buffer of TCP",
        reads: "net.ipv4.tcp_rmem, third value; tcp_adv_win_scale before Linux 6.6",
        applies: "every path",
        wanted: "2 x rate x RTT / 8 / flows / share of the buffer that is offered as window, at most 2^31-1",
        unit: "bytes",
        severity: Severity::Warning,
        effect: "The receive window does not limit a flow below its share of the rate.",
        source: "Documentation/networking/ip-sysctl.rst, tcp_rmem and kit-2019, tuning table; slac-sc03",
        check: tcp_rmem,
    },
    Rule {
        id: "tcp.wmem",
        title: "send buffer of TCP",
        reads: "net.ipv4.tcp_wmem, third value",
        applies: "every path",
        wanted: "2 x window of a flow, at most 2^31-1",
        unit: "bytes",
        severity: Severity::Warning,
        effect: "The send buffer does not limit a flow below its share of the rate.",
        source: "Documentation/networking/ip-sysctl.rst, tcp_wmem and tcp_sndbuf_expand of net/ipv4/tcp_input.c; kit-2019, tuning table",
        check: tcp_wmem,
    },
    Rule {
        id: "core.rmem-max",
        title: "largest receive buffer that an application may request",
        reads: "net.core.rmem_max",
        applies: "a value below one bandwidth-delay product a flow, or below the datagrams of a pause",
        wanted: "window of a flow, or rate x pause / 8 if that is more, at most 2^31-1",
        unit: "bytes",
        severity: Severity::Info,
        effect: "Programs with SO_RCVBUF, such as iperf3 -w, get a window for the path.",
        source: "socket(7), rmem_max and cornell-2010, datagrams lost at 1 MB and not at 2 MB; kit-2019, tuning table",
        check: rmem_max,
    },
    Rule {
        id: "core.wmem-max",
        title: "largest send buffer that an application may request",
        reads: "net.core.wmem_max",
        applies: "a value below one bandwidth-delay product a flow, or below the datagrams of a pause",
        wanted: "window of a flow, or rate x pause / 8 if that is more, at most 2^31-1",
        unit: "bytes",
        severity: Severity::Info,
        effect: "Programs with SO_SNDBUF, such as iperf3 -w, get a buffer for the path.",
        source: "socket(7), wmem_max; kit-2019, tuning table",
        check: wmem_max,
    },
    Rule {
        id: "tcp.mem",
        title: "memory of all TCP sockets",
        reads: "net.ipv4.tcp_mem, second value, bytes of a page and MemTotal",
        applies: "every path",
        wanted: "flows x largest buffer / bytes of a page, at most half of the memory",
        unit: "pages",
        severity: Severity::Warning,
        effect: "Buffers keep growing: above this value the kernel stops enlarging them.",
        source: "tcp(7), tcp_mem; kit-2019, tuning table",
        check: tcp_mem,
    },
    Rule {
        id: "tcp.int31",
        title: "buffer sizes that the kernel cannot hold",
        reads: "third values of net.ipv4.tcp_rmem and tcp_wmem, net.core.rmem_max and wmem_max",
        applies: "a value above 2^31-1, or below 0",
        wanted: "2^31-1 or less",
        unit: "bytes",
        severity: Severity::Warning,
        effect: "The value takes effect; the kernel rejects larger ones, and the old value stays.",
        source: "proc_dointvec of kernel/sysctl.c; tried on Linux 6.18, which rejects 2147483648 and keeps the old value",
        check: int31,
    },
    Rule {
        id: "tcp.moderate-rcvbuf",
        title: "automatic growth of the receive buffer",
        reads: "net.ipv4.tcp_moderate_rcvbuf",
        applies: "a window of a flow above the initial buffer",
        wanted: "1",
        unit: "",
        severity: Severity::Warning,
        effect: "The receive buffer grows from its initial to its largest size.",
        source: "Documentation/networking/ip-sysctl.rst, tcp_moderate_rcvbuf",
        check: moderate_rcvbuf,
    },
];

/// The last of three values, if it is below the need, with the text of all three as it should be.
fn third(audit: &Audit, name: &str, need: &Need) -> Option<(String, String)> {
    let values = audit.inventory.sysctl_numbers(name)?;
    let [least, initial, most] = values[..] else { return None };
    (most < need.value).then(|| {
        let wanted = format!("{least} {} {}", initial.min(need.value), need.value);
        (format!("{least} {initial} {most}"), wanted)
    })
}

fn tcp_rmem(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let need = needs::receive_buffer(&audit.path, audit.adv_win_scale());
    let name = "net.ipv4.tcp_rmem";
    let Some((found, wanted)) = third(audit, name, &need) else { return Vec::new() };
    let text = format!("the receive buffer of a TCP socket cannot grow to {} bytes", need.value);
    let finding = AuditFinding::new(rule, audit.host(), text).values(found, wanted).formula(need.formula);
    vec![finding.sysctl(name)]
}

fn tcp_wmem(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let need = needs::send_buffer(&audit.path);
    let name = "net.ipv4.tcp_wmem";
    let Some((found, wanted)) = third(audit, name, &need) else { return Vec::new() };
    let text = format!("the send buffer of a TCP socket cannot grow to {} bytes", need.value);
    let finding = AuditFinding::new(rule, audit.host(), text).values(found, wanted).formula(need.formula);
    vec![finding.sysctl(name)]
}

fn requested(rule: &Rule, audit: &Audit, name: &str, option: &str) -> Vec<AuditFinding> {
    let need = needs::requested_buffer(&audit.path, audit.profile);
    let Some(found) = audit.inventory.sysctl_number(name) else { return Vec::new() };
    // Half of the window is one bandwidth-delay product: less limits the rate.
    if found >= need.value.div_ceil(2) {
        return Vec::new();
    }
    let text = format!("an application that sets {option} gets at most {found} bytes");
    vec![AuditFinding::new(rule, audit.host(), text).needs(found, &need).sysctl(name)]
}

fn rmem_max(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    requested(rule, audit, "net.core.rmem_max", "SO_RCVBUF")
}

fn wmem_max(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    requested(rule, audit, "net.core.wmem_max", "SO_SNDBUF")
}

fn tcp_mem(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let page = audit.inventory.memory.page_bytes.unwrap_or(4096);
    let name = "net.ipv4.tcp_mem";
    let mut need = needs::memory_pages(&audit.path, audit.adv_win_scale(), page);
    if let Some(total) = audit.inventory.memory.total_bytes {
        let half = total / page.max(1) / 2;
        if need.value > half {
            need = Need {
                value: half,
                formula: format!("{}, at most half of the memory: {half}", need.formula),
                ..need
            };
        }
    }
    let Some(values) = audit.inventory.sysctl_numbers(name) else { return Vec::new() };
    let [least, pressure, most] = values[..] else { return Vec::new() };
    if pressure >= need.value {
        return Vec::new();
    }
    // The kernel's own ratio of the three values (tcp_init_mem of net/ipv4/tcp.c).
    let wanted = format!("{} {} {}", need.value / 4 * 3, need.value, need.value / 4 * 6);
    let text = format!("buffers stop growing when all TCP sockets hold {pressure} pages");
    let found = format!("{least} {pressure} {most}");
    let finding = AuditFinding::new(rule, audit.host(), text).values(found, wanted).formula(need.formula);
    vec![finding.sysctl(name)]
}

fn int31(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    const NAMES: [&str; 4] =
        ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.core.rmem_max", "net.core.wmem_max"];
    let wrong = |name: &&str| -> Option<AuditFinding> {
        let text = audit.inventory.sysctls.get(*name)?;
        let words: Vec<i128> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let fits = |value: &i128| (0..=i128::from(INT31)).contains(value);
        if words.iter().all(fits) {
            return None;
        }
        let fixed: Vec<String> = words
            .iter()
            .map(|value| if fits(value) { value.to_string() } else { INT31.to_string() })
            .collect();
        let sentence = format!("{name} has a value that the kernel cannot hold");
        let finding = AuditFinding::new(rule, audit.host(), sentence).values(text, fixed.join(" "));
        Some(finding.formula(format!("2^31 - 1 = {INT31}")).sysctl(name))
    };
    NAMES.iter().filter_map(wrong).collect()
}

fn moderate_rcvbuf(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let name = "net.ipv4.tcp_moderate_rcvbuf";
    let initial =
        audit.inventory.sysctl_numbers("net.ipv4.tcp_rmem").and_then(|values| values.get(1).copied());
    let need = needs::receive_buffer(&audit.path, audit.adv_win_scale());
    if audit.inventory.sysctl_number(name) != Some(0) || initial.is_some_and(|initial| initial >= need.value)
    {
        return Vec::new();
    }
    let text = "the receive buffer stays at its initial size";
    let formula = format!("a flow needs {}", need.formula);
    vec![AuditFinding::new(rule, audit.host(), text).values(0, 1).formula(formula).sysctl(name)]
}
