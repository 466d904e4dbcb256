//! Settings of the hosts that explain a finding of a run: rules of the audit, applied to the hosts of the recording.

use crate::SECOND_NS;
use crate::audit::{Audit, AuditFinding, Path, Profile};
use crate::finding::{Finding, Setting, Subject};
use crate::id::Id;
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_metrics::View;
use wirespeed_record::{FlowInfo, FlowSample, HostInfo, RunInfo};
use wirespeed_statistics::quantile;

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// For a finding of a run, the rules of the audit whose settings can cause it at that end, the most direct first.
const CAUSES: &[(Id, End, &[&str])] = &[
    (
        Id::LimitReceiveWindow,
        End::Receiver,
        &["tcp.rmem", "tcp.moderate-rcvbuf", "tcp.window-scaling", "tcp.mem"],
    ),
    (Id::LimitSendBuffer, End::Sender, &["tcp.wmem", "tcp.mem"]),
    (
        Id::LimitSenderCore,
        End::Sender,
        &["offload.tso", "offload.gso", "placement.own-cores", "placement.node-memory", "power.governor"],
    ),
    (
        Id::LimitReceiverInterruptCore,
        End::Receiver,
        &[
            "offload.gro",
            "interrupts.one-core",
            "virtual.single-queue",
            "placement.queues",
            "placement.rps",
            "moderation.off",
            "power.governor",
        ],
    ),
    (
        Id::LimitReceiverCore,
        End::Receiver,
        &[
            "placement.own-cores",
            "placement.interrupt-node",
            "placement.node-memory",
            "offload.gro",
            "power.governor",
        ],
    ),
    (Id::LimitCwnd, End::Sender, &["congestion.reno", "tcp.slow-start-after-idle", "tcp.no-metrics-save"]),
    (
        Id::LimitCwndAfterLoss,
        End::Sender,
        &["congestion.reno", "congestion.cubic", "tcp.sack", "tcp.timestamps"],
    ),
    (Id::LimitNothingDelivered, End::Sender, &["link.route-mtu", "link.mtu", "tcp.mtu-probing"]),
    (Id::LossSndBuf, End::Sender, &["core.wmem-max"]),
    (Id::LossIpOut, End::Sender, &["link.route-mtu", "link.mtu", "tcp.mtu-probing"]),
    (Id::LossQdisc, End::Sender, &["queue.length", "queue.fq", "path.pacing"]),
    (Id::LossTxRing, End::Sender, &["link.pause"]),
    (Id::LossNetwork, End::Sender, &["link.duplex", "path.pacing", "congestion.bbr-pacing", "queue.fq"]),
    (Id::LossNetwork, End::Receiver, &["link.duplex", "link.crc", "link.fec"]),
    (
        Id::LossRxRing,
        End::Receiver,
        &[
            "ring.rx",
            "ring.rx-device",
            "interrupts.one-core",
            "virtual.single-queue",
            "placement.queues",
            "moderation.long",
            "queue.budget",
            "link.pause",
            "power.idle-states",
        ],
    ),
    (
        Id::LossSoftnetBacklog,
        End::Receiver,
        &["queue.backlog", "queue.budget", "placement.queues", "virtual.single-queue"],
    ),
    (Id::LossTcpOfo, End::Receiver, &["tcp.rmem", "tcp.mem"]),
    (Id::LossRcvBuf, End::Receiver, &["core.rmem-max", "tcp.rmem", "tcp.mem", "placement.own-cores"]),
    (
        Id::PlacementOneCore,
        End::Receiver,
        &["interrupts.one-core", "virtual.single-queue", "placement.queues", "placement.rps"],
    ),
    (Id::PlacementMoving, End::Receiver, &["interrupts.irqbalance", "interrupts.moving"]),
    (Id::PlacementInterruptNode, End::Receiver, &["placement.interrupt-node"]),
    (Id::PlacementTwins, End::Receiver, &["placement.own-cores"]),
];

/// Round-trip time below which a path counts as one of a data centre or a campus, in nanoseconds.
const LAN_NS: i64 = 2_000_000;

/// Measured values of a run that the needs of its hosts follow from.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    /// Goodput of all flows in the measurement window, in bit/s.
    goodput_bps: Option<f64>,
    /// Median of the smoothed round-trip times in nanoseconds: with the queues of the path, and the waits of busy hosts.
    rtt_ns: Option<f64>,
}

impl Measured {
    /// Those of a run.
    fn of(view: &View) -> Measured {
        let delivered = view.flows.iter().filter_map(|flow| flow.delivered_bytes(view.from_ns, view.to_ns));
        let seconds = (view.to_ns - view.from_ns) as f64 / SECOND_NS as f64;
        let goodput_bps = delivered.sum::<f64>() * 8.0 / seconds;
        let times = view.flow_samples.column(FlowSample::rtt_ns);
        let times: Vec<f64> = times.iter().copied().filter(|time| !time.is_nan()).collect();
        Measured {
            goodput_bps: Some(goodput_bps).filter(|goodput| goodput.is_finite() && *goodput > 0.0),
            rtt_ns: quantile(&times, 0.5),
        }
    }
}

/// Adds to each finding the settings that explain it, where the recording has the inventory of the hosts.
pub(crate) fn explain(view: &View, findings: &mut [Finding]) {
    let info = &view.recording.info;
    // Most runs are computed and have none: their samples need not be read for it.
    if info.hosts.iter().any(|host| host.inventory.is_some()) {
        explain_by(info, &Measured::of(view), findings);
    }
}

/// The same by measured values.
fn explain_by(info: &RunInfo, measured: &Measured, findings: &mut [Finding]) {
    let Some(path) = path(info, measured) else { return };
    let audited: BTreeMap<&str, Vec<AuditFinding>> =
        info.hosts.iter().filter_map(|host| Some((host.name.as_str(), audit(host, path)?))).collect();
    if audited.is_empty() {
        return;
    }
    for finding in findings {
        for (id, end, rules) in CAUSES {
            if *id != finding.id {
                continue;
            }
            for host in hosts(info, &finding.subject, *end) {
                let Some(found) = audited.get(host) else { continue };
                for rule in *rules {
                    let of_rule = found.iter().filter(|other| other.rule == *rule).cloned();
                    let setting = |finding| Setting { host: host.to_owned(), finding };
                    finding.settings.extend(of_rule.map(setting));
                }
            }
        }
    }
}

/// The path of the run; `None` without its rate, since all needs follow from it. If no interface reports a rate, the hosts are
/// judged for twice the goodput: a window that limits a flow is then too small.
fn path(info: &RunInfo, measured: &Measured) -> Option<Path> {
    const MORE: f64 = 2.0;
    let links = || info.links.iter().filter(|link| link.rate_bps > 0);
    let mut rate_bps = links().map(|link| link.rate_bps).min()?;
    if links().all(|link| link.is_assumed) {
        rate_bps = rate_bps.min((MORE * measured.goodput_bps?) as u64);
    }
    let base_ns = info.flows.iter().map(|flow| flow.base_rtt_ns).max()?;
    let rtt_ns = base_ns.max(measured.rtt_ns.unwrap_or(0.0) as i64);
    if rtt_ns <= 0 {
        return None;
    }
    let flows = u32::try_from(info.flows.len()).unwrap_or(u32::MAX);
    Some(Path { rate_bps, rtt_ns, mtu_bytes: 0, flows, buffer_bytes: None })
}

/// All findings of the audit of a host of the run.
fn audit(host: &HostInfo, path: Path) -> Option<Vec<AuditFinding>> {
    /// MTU of Ethernet without jumbo frames (IEEE 802.3).
    const ETHERNET_MTU: u64 = 1500;
    let inventory = host.inventory.as_ref()?;
    let profile = if path.rtt_ns < LAN_NS { Profile::Lan } else { Profile::Wan };
    let device = host.settings.get("interface.device").map(String::as_str);
    // Another name than those of the inventory: the fastest interface is judged instead.
    let device = device.filter(|name| inventory.interface(name).is_some());
    let mut audit = Audit::new(inventory, path, profile, device).ok()?;
    audit.path.mtu_bytes =
        audit.interface().and_then(|interface| interface.mtu_bytes).unwrap_or(ETHERNET_MTU);
    Some(audit.findings())
}

/// Hosts at an end of the flows that a finding is about.
fn hosts<'a>(info: &'a RunInfo, subject: &'a Subject, end: End) -> BTreeSet<&'a str> {
    let of = |flow: &'a FlowInfo| match end {
        End::Sender => flow.from.as_str(),
        End::Receiver => flow.to.as_str(),
    };
    let all = info.flows.iter().map(of);
    match subject {
        Subject::Flow { flow, .. } => info.flows.get(*flow as usize).map(of).into_iter().collect(),
        Subject::Host { host } | Subject::Core { host, .. } | Subject::Interface { host, .. } => {
            all.filter(|name| name == host).collect()
        }
        Subject::Run | Subject::Place { .. } | Subject::Link { .. } => all.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit;
    use wirespeed_inventory::{Interface, Inventory};
    use wirespeed_record::LinkInfo;

    /// Two hosts with buffers of 64 KiB at 1 Gbit/s and 20 ms.
    fn run() -> RunInfo {
        let host = |name: &str| {
            let mut inventory = Inventory { host: "dtn".into(), ..Inventory::default() };
            for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
                inventory.sysctls.insert(name.into(), "4096 16384 65536".into());
            }
            inventory.interfaces.push(Interface { name: "eth0".into(), ..Interface::default() });
            HostInfo { name: name.into(), inventory: Some(inventory), ..HostInfo::default() }
        };
        let flow = FlowInfo {
            from: "sender".into(),
            to: "receiver".into(),
            base_rtt_ns: 20_000_000,
            ..FlowInfo::default()
        };
        RunInfo {
            hosts: vec![host("sender"), host("receiver")],
            links: vec![LinkInfo { rate_bps: 1_000_000_000, ..LinkInfo::default() }],
            flows: vec![flow],
            ..RunInfo::default()
        }
    }

    fn explained(info: &RunInfo, id: Id) -> Vec<(String, &'static str)> {
        let subject = Subject::Flow { flow: 0, label: "a".into() };
        let mut findings = [Finding::new(id, subject, "text", Vec::new())];
        explain_by(info, &Measured::default(), &mut findings);
        let [finding] = findings;
        finding.settings.into_iter().map(|setting| (setting.host, setting.finding.rule)).collect()
    }

    #[test]
    fn buffer_of_the_end_that_limits_explains_it() {
        assert_eq!(explained(&run(), Id::LimitReceiveWindow), [("receiver".to_owned(), "tcp.rmem")]);
        assert_eq!(explained(&run(), Id::LimitSendBuffer), [("sender".to_owned(), "tcp.wmem")]);
    }

    #[test]
    fn settings_that_do_not_matter_for_the_finding_are_left_out() {
        assert_eq!(explained(&run(), Id::LinkRate), []);
        assert_eq!(explained(&run(), Id::LossRxRing), []);
    }

    #[test]
    fn sufficient_buffer_explains_nothing() {
        let mut run = run();
        for host in &mut run.hosts {
            let sysctls = &mut host.inventory.as_mut().unwrap().sysctls;
            sysctls.insert("net.ipv4.tcp_rmem".into(), "4096 131072 67108864".into());
        }
        assert_eq!(explained(&run, Id::LimitReceiveWindow), []);
    }

    #[test]
    fn hosts_of_a_path_without_a_known_rate_are_judged_for_twice_the_goodput() {
        let mut run = run();
        run.links[0].is_assumed = true;
        // 20 Mbit/s x 20 ms are 50 kB: a window of 100 kB, a buffer of 200 kB.
        let subject = Subject::Flow { flow: 0, label: "a".into() };
        let mut findings = [Finding::new(Id::LimitReceiveWindow, subject, "text", Vec::new())];
        let measured = Measured { goodput_bps: Some(10_000_000.0), rtt_ns: Some(20_000_000.0) };
        explain_by(&run, &measured, &mut findings);
        assert_eq!(findings[0].settings[0].finding.wanted, "4096 16384 200000");
        findings[0].settings.clear();
        explain_by(&run, &Measured::default(), &mut findings);
        assert_eq!(findings[0].settings, []);
    }

    #[test]
    fn round_trip_time_is_that_of_the_run_with_its_queues() {
        let wanted = |rtt_ns| {
            let subject = Subject::Flow { flow: 0, label: "a".into() };
            let mut findings = [Finding::new(Id::LimitReceiveWindow, subject, "text", Vec::new())];
            explain_by(&run(), &Measured { goodput_bps: None, rtt_ns: Some(rtt_ns) }, &mut findings);
            findings[0].settings[0].finding.wanted.clone()
        };
        assert_eq!(wanted(20e6), "4096 16384 10000000");
        assert_eq!(wanted(30e6), "4096 16384 15000000");
        assert_eq!(wanted(10e6), "4096 16384 10000000");
    }

    #[test]
    fn every_cause_is_a_rule_of_the_audit() {
        for rule in CAUSES.iter().flat_map(|(_, _, rules)| *rules) {
            assert!(audit::rule(rule).is_some(), "{rule}");
        }
    }
}
