//! Programs that change settings themselves.

use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::id::Severity;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "managers.tuned",
        title: "TuneD sets smaller buffers",
        reads: "whether TuneD runs, and its profile",
        applies: "profile network-throughput, and a buffer above its 16 MiB",
        wanted: "a profile with the buffers of the path",
        unit: "",
        severity: Severity::Warning,
        effect: "The buffers stay after the next start of TuneD.",
        source: "TuneD 2.28, profiles/network-throughput/tuned.conf: tcp_rmem and tcp_wmem up to 16777216",
        check: tuned,
    },
    Rule {
        id: "managers.bpftune",
        title: "bpftune changes buffers by itself",
        reads: "whether bpftune runs",
        applies: "profile measurement, and a buffer above the current one",
        wanted: "inactive",
        unit: "",
        severity: Severity::Warning,
        effect: "Settings do not change within a test.",
        source: "bpftune(8), tcp_buffer tuner",
        check: bpftune,
    },
    Rule {
        id: "managers.network-manager",
        title: "NetworkManager sets the MTU",
        reads: "whether NetworkManager runs; MTU of the interface",
        applies: "an MTU that must change",
        wanted: "the MTU in the connection profile",
        unit: "",
        severity: Severity::Info,
        effect: "The MTU stays when the connection is activated again.",
        source: "nm-settings(5), 802-3-ethernet.mtu",
        check: network_manager,
    },
];

fn tuned(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    const LARGEST: u64 = 16_777_216;
    let profile = audit.inventory.manager("tuned").and_then(|manager| manager.detail.as_deref());
    let need = needs::receive_buffer(&audit.path, audit.adv_win_scale());
    let Some(profile) =
        profile.filter(|profile| profile.contains("network-throughput") && need.value > LARGEST)
    else {
        return Vec::new();
    };
    let text = format!("TuneD sets tcp_rmem to at most {LARGEST} bytes when it starts");
    let finding =
        AuditFinding::new(rule, audit.host(), text).values(profile, "wirespeed").formula(need.formula);
    let remedy = "Use a profile of your own: `wirespeed doctor --files DIR` writes a tuned.conf for /etc/tuned/wirespeed.";
    vec![finding.remedy(remedy)]
}

fn bpftune(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.profile != crate::audit::Profile::Measurement || audit.inventory.manager("bpftune").is_none() {
        return Vec::new();
    }
    let finding = AuditFinding::new(rule, audit.host(), "bpftune changes buffers while tests run");
    let setting = wirespeed_inventory::Setting::Service { name: "bpftune".into() };
    vec![
        finding
            .values("active", "inactive")
            .formula("one writer of each setting")
            .change(setting, "inactive"),
    ]
}

fn network_manager(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.inventory.manager("NetworkManager").is_none() {
        return Vec::new();
    }
    let small = audit.interface().filter(|interface| {
        let wanted = audit.path.mtu_bytes.min(interface.max_mtu_bytes.unwrap_or(u64::MAX));
        interface.mtu_bytes.is_some_and(|found| found < wanted)
    });
    let Some(interface) = small else { return Vec::new() };
    let (name, mtu) = (&interface.name, audit.path.mtu_bytes);
    let text = format!("NetworkManager may set the MTU of {name} again");
    let remedy = format!(
        "Type `nmcli connection modify CONNECTION 802-3-ethernet.mtu {mtu}` with the connection of {name}."
    );
    let finding = AuditFinding::new(rule, audit.on(interface), text).values("not set", mtu).remedy(remedy);
    vec![finding.formula("one writer of each setting")]
}
