//! Congestion control algorithms.

use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::id::Severity;
use wirespeed_inventory::Setting;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "congestion.reno",
        title: "recovery of Reno on long paths",
        reads: "the default congestion control algorithm, and the available ones",
        applies: "default reno, and a recovery after a loss of more than 30 s",
        wanted: "cubic, or another algorithm whose growth does not depend on the RTT",
        unit: "",
        severity: Severity::Warning,
        effect: "The rate returns within seconds after a loss, and not within minutes.",
        source: "onl-wiki, 417 s for a bandwidth-delay product and RFC 5681, section 3.1; RFC 9438",
        check: reno,
    },
    Rule {
        id: "congestion.cubic",
        title: "recovery of CUBIC on long paths",
        reads: "the default congestion control algorithm",
        applies: "default cubic, and a recovery after a loss of more than 30 s",
        wanted: "more flows, or an algorithm that does not halve its rate for single losses, such as bbr",
        unit: "",
        severity: Severity::Info,
        effect: "A loss costs less than half a minute.",
        source: "RFC 9438, section 4.2: K = cbrt(W x 0.3 / 0.4); ulm-2016, throughput over drop rate",
        check: cubic,
    },
    Rule {
        id: "congestion.bbr-pacing",
        title: "pacing for BBR",
        reads: "the default congestion control algorithm, leaf qdiscs and version of the kernel",
        applies: "default bbr before Linux 4.13",
        wanted: "fq",
        unit: "",
        severity: Severity::Warning,
        effect: "BBR sends at its rate: earlier kernels pace with qdisc fq only.",
        source: "net/ipv4/tcp_bbr.c, head comment; Linux 4.13, pacing by TCP itself",
        check: bbr,
    },
    Rule {
        id: "congestion.unavailable",
        title: "algorithms that routes ask for",
        reads: "route metric congctl; available and loadable algorithms",
        applies: "routes of the interface with congctl",
        wanted: "an algorithm that is available",
        unit: "",
        severity: Severity::Warning,
        effect: "Flows of the route use the algorithm that was meant.",
        source: "ip-route(8), congctl",
        check: unavailable,
    },
];

/// Seconds of recovery that are worth a finding: half a minute of reduced rate for each loss.
const LONG_S: f64 = 30.0;

fn reno(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let congestion = &audit.inventory.congestion;
    let recovery = needs::reno_recovery_s(&audit.path);
    if congestion.default != "reno" || recovery <= LONG_S {
        return Vec::new();
    }
    let text = format!("Reno needs {recovery:.0} s to recover from a loss");
    let formula = format!(
        "{:.0} packets x {} = {recovery:.0} s",
        needs::packets_in_flight(&audit.path),
        needs::time(audit.path.rtt_ns)
    );
    let finding = AuditFinding::new(rule, audit.host(), text).formula(formula);
    let has = |name: &str| congestion.available.iter().chain(&congestion.loadable).any(|other| other == name);
    // In the order of age: an old kernel may have none of the later ones.
    let found = ["cubic", "bic", "htcp", "hstcp", "highspeed", "scalable"].into_iter().find(|name| has(name));
    vec![match found {
        Some(name) => finding.values("reno", name).sysctl("net.ipv4.tcp_congestion_control"),
        None => {
            finding.values("reno", "cubic").remedy("Load a module such as tcp_cubic: `modprobe tcp_cubic`.")
        }
    }]
}

fn cubic(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let recovery = needs::cubic_recovery_s(&audit.path);
    if audit.inventory.congestion.default != "cubic" || recovery <= LONG_S {
        return Vec::new();
    }
    let text = format!("CUBIC needs {recovery:.0} s to recover from a loss");
    let packets = needs::packets_in_flight(&audit.path);
    // K falls with the cube root of the number of flows.
    let flows = (packets * audit.path.flows() as f64 * 0.75 / LONG_S.powi(3)).ceil();
    let formula = format!("cbrt({packets:.0} packets x 0.3 / 0.4) = {recovery:.0} s");
    let finding =
        AuditFinding::new(rule, audit.host(), text).values("cubic", "bbr, or more flows").formula(formula);
    vec![finding.remedy(format!(
        "Use {flows:.0} flows, or compare with bbr on this path: `wirespeed probe A B --congestion bbr`."
    ))]
}

fn bbr(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.inventory.congestion.default != "bbr" || audit.has_kernel((4, 13), true) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        if let Some(other) = interface.leaf_qdiscs().iter().find(|qdisc| qdisc.kind != "fq") {
            let text = format!("BBR is not paced by the queue of {}", interface.name);
            let finding = AuditFinding::new(rule, audit.on(interface), text).values(&other.kind, "fq");
            let setting = Setting::Qdisc { interface: interface.name.clone() };
            findings.push(finding.formula("before Linux 4.13").change(setting, "fq"));
        }
    }
    findings
}

fn unavailable(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let congestion = &audit.inventory.congestion;
    if congestion.available.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = audit.stack().iter().map(|interface| interface.name.as_str()).collect();
    let wrong = audit.inventory.routes.iter().filter_map(|route| {
        let wanted = route.metrics.get("congctl").filter(|_| names.contains(&route.interface.as_str()))?;
        let has = congestion.available.iter().chain(&congestion.loadable).any(|name| name == wanted);
        (!has).then_some((route, wanted))
    });
    wrong
        .map(|(route, wanted)| {
            let text = format!(
                "the route to {} asks for {wanted}, which the kernel does not have",
                route.destination
            );
            let finding = AuditFinding::new(rule, audit.host(), text).values(&congestion.default, wanted);
            let remedy = format!("Load it with `modprobe tcp_{wanted}`, or change the route.");
            finding.formula(format!("available: {}", congestion.available.join(" "))).remedy(remedy)
        })
        .collect()
}
