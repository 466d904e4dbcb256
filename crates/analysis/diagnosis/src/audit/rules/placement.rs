//! Placement: interrupts, queues and applications on cores and nodes.

use super::PLACED_BPS;
use super::interrupts::{cpus, cycle, of_queues};
use crate::audit::Audit;
use crate::audit::finding::AuditFinding;
use crate::audit::needs;
use crate::audit::rule::Rule;
use crate::id::Severity;
use wirespeed_inventory::{CpuSet, Interface, Interrupt, Node, Setting};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "placement.interrupt-node",
        title: "interrupts on the node of the interface",
        reads: "node of the interface, CPUs of the nodes and affinity of the interrupts of the queues",
        applies: "several nodes; 5 Gbit/s or more",
        wanted: "CPUs of the interface's node",
        unit: "",
        severity: Severity::Warning,
        effect: "Packets do not cross the link between sockets before TCP sees them.",
        source: "kit-2019, socket placement, cases 2 and 4: massive loss",
        check: interrupt_node,
    },
    Rule {
        id: "placement.own-cores",
        title: "cores of the node that no interrupt uses",
        reads: "affinity of the interrupts, CPUs of the node and CPUs that share a core",
        applies: "above 25 Gbit/s",
        wanted: "as many physical cores as flows, at most half of the node",
        unit: "cores",
        severity: Severity::Warning,
        effect: "Applications have cores, and their siblings, to themselves: 20 and not 63 retransmissions a second.",
        source: "kit-2019, core placement, distributions 1 and 2",
        check: own_cores,
    },
    Rule {
        id: "placement.socket-link",
        title: "link between sockets",
        reads: "sockets; node of the interface",
        applies: "several sockets; a rate above half of 68 Gbit/s",
        wanted: "applications and interrupts on the interface's node",
        unit: "",
        severity: Severity::Info,
        effect: "The link between sockets, which may be slower than the path, is not used.",
        source: "kit-2019, socket placement: QPI carries 68 Gbit/s a direction, and data may cross it twice",
        check: socket_link,
    },
    Rule {
        id: "placement.node-memory",
        title: "node of the interface without memory or cores",
        reads: "node of the interface; its CPUs and memory",
        applies: "several nodes; 5 Gbit/s or more",
        wanted: "a slot on a node with memory and cores",
        unit: "",
        severity: Severity::Warning,
        effect: "Buffers of the interface are near to it.",
        source: "Documentation/admin-guide/mm/numaperf.rst; kit-2019, socket placement",
        check: node_memory,
    },
    Rule {
        id: "placement.queues",
        title: "queues for the flows",
        reads: "channels of the interface now and at most; CPUs of its node",
        applies: "more flows than channels, 5 Gbit/s or more; a device that allows more",
        wanted: "min(flows, physical cores of the node, most of the device)",
        unit: "channels",
        severity: Severity::Warning,
        effect: "Flows can be spread over cores: a flow is bound to one queue, and so to one core.",
        source: "kit-2019, single pair; Documentation/networking/scaling.rst, RSS",
        check: queues,
    },
    Rule {
        id: "placement.rps",
        title: "packet steering in software beside many queues",
        reads: "CPUs of RPS; channels of the interface",
        applies: "at least as many channels as flows, and more than one",
        wanted: "off",
        unit: "",
        severity: Severity::Info,
        effect: "Packets are not handed to a second core after the device has spread them.",
        source: "Documentation/networking/scaling.rst, RPS: redundant with a queue for each CPU",
        check: rps,
    },
    Rule {
        id: "placement.xps",
        title: "transmit queues by core",
        reads: "CPUs of XPS; interrupts of the queues",
        applies: "several transmit queues, none with XPS; above 25 Gbit/s",
        wanted: "for each transmit queue the CPU of its interrupt",
        unit: "",
        severity: Severity::Info,
        effect: "A core sends on a queue whose completions it also handles.",
        source: "Documentation/networking/scaling.rst, XPS",
        check: xps,
    },
    Rule {
        id: "placement.numa-balancing",
        title: "automatic moves between nodes",
        reads: "kernel.numa_balancing; nodes",
        applies: "several nodes; profiles measurement and low-latency, the others above 25 Gbit/s",
        wanted: "0",
        unit: "",
        severity: Severity::Info,
        effect: "Pages and threads stay where they were placed.",
        source: "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing; TuneD, profile latency-performance",
        check: numa_balancing,
    },
];

impl Audit<'_> {
    /// CPUs near an interface: those of its node, or all that are online if the node is unknown.
    pub(super) fn near(&self, interface: &Interface) -> CpuSet {
        let node = interface.node.and_then(|id| self.inventory.nodes.iter().find(|node| node.id == id));
        node.map_or_else(|| self.inventory.cpu.online.clone(), |node| node.cpus.clone())
    }

    /// Cores that an interface's interrupts should go to: one CPU of each physical core of its node.
    ///
    /// At high rates the last cores are left to applications: as many as flows, at most half of the node.
    fn serving_cores(&self, interface: &Interface) -> CpuSet {
        let cores = self.first_of_cores(&self.near(interface));
        let own = if self.path.rate_bps > PLACED_BPS { self.own_cores(&cores) } else { 0 };
        cores.iter().take(cores.len() - own).collect()
    }

    /// Physical cores that applications need.
    fn own_cores(&self, cores: &CpuSet) -> usize {
        usize::try_from(self.path.flows()).unwrap_or(usize::MAX).min(cores.len() / 2)
    }

    /// The interrupts of the queues with the CPU that each should go to. All rules move an interrupt to the same CPU.
    pub(super) fn placed<'i>(&self, interface: &'i Interface) -> Vec<(&'i Interrupt, u32)> {
        let cores = self.serving_cores(interface);
        of_queues(interface).into_iter().zip(cycle(&cores)).collect()
    }

    /// The node of an interface, if the host has several.
    fn own_node(&self, interface: &Interface) -> Option<&Node> {
        let id = interface.node.filter(|_| self.inventory.nodes.len() > 1)?;
        self.inventory.nodes.iter().find(|node| node.id == id)
    }

    /// One CPU of every physical core in a set.
    fn first_of_cores(&self, set: &CpuSet) -> CpuSet {
        let is_first = |cpu: &u32| {
            let group = self.inventory.cpu.siblings.iter().find(|group| group.contains(*cpu));
            group.is_none_or(|group| group.intersection(set).iter().next() == Some(*cpu))
        };
        set.iter().filter(is_first).collect()
    }

    /// A set with the CPUs that share a physical core with one of it.
    fn with_siblings(&self, set: &CpuSet) -> CpuSet {
        let groups = self.inventory.cpu.siblings.iter().filter(|group| group.intersects(set));
        groups.fold(set.clone(), |all, group| all.union(group))
    }
}

fn interrupt_node(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.path.rate_bps < super::FAST_BPS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let Some(node) = audit.own_node(interface).filter(|node| !node.cpus.is_empty()) else { continue };
        let queues = of_queues(interface);
        let is_far = |set: &CpuSet| !set.is_empty() && !set.intersects(&node.cpus);
        let far: Vec<_> = queues.iter().filter(|interrupt| is_far(cpus(interrupt))).collect();
        let Some(first) = far.first() else { continue };
        let text = format!(
            "{} of {} interrupts of {} go to CPUs of another node",
            far.len(),
            queues.len(),
            interface.name
        );
        let found = cpus(first).to_string();
        let formula = format!("{} is on node {}, CPUs {}", interface.name, node.id, node.cpus);
        let mut finding =
            AuditFinding::new(rule, audit.on(interface), text).values(found, &node.cpus).formula(formula);
        for (interrupt, cpu) in audit.placed(interface).into_iter().filter(|(line, _)| is_far(cpus(line))) {
            finding = finding.change(Setting::InterruptAffinity { irq: interrupt.irq }, cpu);
        }
        findings.push(finding);
    }
    findings
}

fn own_cores(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.path.rate_bps <= PLACED_BPS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let (near, queues) = (audit.near(interface), of_queues(interface));
        let used = queues.iter().fold(CpuSet::default(), |all, interrupt| all.union(cpus(interrupt)));
        let cores = audit.first_of_cores(&near);
        if used.is_empty() || cores.len() < 2 {
            continue;
        }
        let free = audit.first_of_cores(&near.without(&audit.with_siblings(&used)));
        let wanted = audit.own_cores(&cores);
        if free.len() >= wanted {
            continue;
        }
        // Interrupts go to the first cores of the node. The last ones are left to applications.
        let serving = audit.serving_cores(interface);
        let text = format!(
            "interrupts of {} use all but {} of the {} cores of its node",
            interface.name,
            free.len(),
            cores.len()
        );
        let formula = format!("min({} flows, {} cores / 2) = {wanted}", audit.path.flows(), cores.len());
        let mut finding = AuditFinding::new(rule, audit.on(interface), text);
        finding = finding.values(free.len(), wanted).formula(formula);
        let more = interface.channels.is_some_and(|channels| channels.combined > serving.len() as u64);
        if more {
            finding = finding.change(Setting::Channels { interface: interface.name.clone() }, serving.len());
        }
        // Queues beyond the channels that stay have no interrupt any more.
        let staying = if more { serving.len() } else { queues.len() };
        for (interrupt, cpu) in audit.placed(interface).into_iter().take(staying) {
            finding = finding.change(Setting::InterruptAffinity { irq: interrupt.irq }, cpu);
        }
        let free = cores.without(&serving);
        findings.push(finding.remedy(format!("Run applications on CPUs {free}: `taskset -c {free}`.")));
    }
    findings
}

fn socket_link(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.inventory.cpu.packages.len() < 2 || audit.path.rate_bps <= needs::SOCKET_LINK_BPS / 2 {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let Some(node) = audit.own_node(interface) else { continue };
        let text =
            format!("data to the other socket crosses a link that may be slower than {}", interface.name);
        let finding = AuditFinding::new(rule, audit.on(interface), text);
        let remedy =
            format!("Run applications on node {0}: `numactl --cpunodebind={0} --membind={0}`.", node.id);
        let formula = format!("{} > 68 Gbit/s / 2", needs::rate(audit.path.rate_bps));
        let packages = audit.inventory.cpu.packages.len();
        let finding = finding.values(format!("{packages} sockets"), format!("node {}", node.id));
        findings.push(finding.formula(formula).remedy(remedy));
    }
    findings
}

fn node_memory(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.path.rate_bps < super::FAST_BPS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let Some(node) = audit.own_node(interface) else { continue };
        let missing = match (node.cpus.is_empty(), node.memory_bytes) {
            (_, Some(0)) => "memory",
            (true, Some(_)) => "cores",
            _ => continue,
        };
        let text = format!("{} is on node {}, which has no {missing}", interface.name, node.id);
        let finding =
            AuditFinding::new(rule, audit.on(interface), text).values(format!("no {missing}"), missing);
        let remedy =
            format!("Move the card of {} to a slot of another socket, or add {missing}.", interface.name);
        findings.push(finding.formula("buffers and cores on the node of the interface").remedy(remedy));
    }
    findings
}

fn queues(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.path.rate_bps < super::FAST_BPS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let Some(channels) = interface.channels else { continue };
        let (found, most) = match channels.combined_max {
            0 => (channels.rx, channels.rx_max),
            most => (channels.combined, most),
        };
        let cores = audit.first_of_cores(&audit.near(interface)).len() as u64;
        let wanted = audit.path.flows().min(most).min(if cores == 0 { u64::MAX } else { cores });
        if found >= wanted {
            continue;
        }
        let text = format!("{} flows share {found} channels of {}", audit.path.flows(), interface.name);
        let formula =
            format!("min({} flows, {cores} cores, {most} of the device) = {wanted}", audit.path.flows());
        let finding =
            AuditFinding::new(rule, audit.on(interface), text).values(found, wanted).formula(formula);
        findings.push(match channels.combined_max {
            0 => finding.remedy(format!("Type `ethtool -L {} rx {wanted}`.", interface.name)),
            _ => finding.change(Setting::Channels { interface: interface.name.clone() }, wanted),
        });
    }
    findings
}

fn rps(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let channels = interface.channels.map_or(0, |channels| channels.combined.max(channels.rx));
        let on: Vec<usize> = (0..interface.receive_queues.len())
            .filter(|at| !interface.receive_queues[*at].rps_cpus.is_empty())
            .collect();
        if on.is_empty() || channels < 2 || channels < audit.path.flows() {
            continue;
        }
        let text = format!("{} steers packets again after its {channels} queues", interface.name);
        let formula = format!("{channels} channels for {} flows", audit.path.flows());
        let mut finding = AuditFinding::new(rule, audit.on(interface), text);
        finding = finding.values(format!("{} queues", on.len()), "off").formula(formula);
        for queue in on {
            let setting = Setting::Rps { interface: interface.name.clone(), queue: queue as u32 };
            finding = finding.change(setting, "");
        }
        findings.push(finding);
    }
    findings
}

fn xps(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    if audit.path.rate_bps <= PLACED_BPS {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for interface in audit.hardware() {
        let queues = &interface.transmit_queues;
        if queues.len() < 2 || queues.iter().any(|queue| !queue.xps_cpus.is_empty()) {
            continue;
        }
        let text = format!("the transmit queues of {} belong to no core", interface.name);
        let mut finding = AuditFinding::new(rule, audit.on(interface), text);
        finding = finding
            .values("none", "CPU of the interrupt")
            .formula(format!("{} transmit queues", queues.len()));
        for interrupt in of_queues(interface) {
            let (set, Some(queue)) = (cpus(interrupt), interrupt.queue) else { continue };
            if !set.is_empty() && (queue as usize) < queues.len() {
                let setting = Setting::Xps { interface: interface.name.clone(), queue };
                finding = finding.change(setting, set);
            }
        }
        findings.push(finding);
    }
    findings
}

fn numa_balancing(rule: &Rule, audit: &Audit) -> Vec<AuditFinding> {
    let matters = audit.profile.is_repeatable() || audit.path.rate_bps > PLACED_BPS;
    let name = "kernel.numa_balancing";
    let found = audit.inventory.sysctl_number(name);
    if !matters || audit.inventory.nodes.len() < 2 || found.is_none_or(|found| found == 0) {
        return Vec::new();
    }
    let finding = AuditFinding::new(rule, audit.host(), "the kernel moves pages and threads between nodes");
    let formula = format!("{} nodes", audit.inventory.nodes.len());
    vec![finding.values(found.unwrap_or_default(), 0).formula(formula).sysctl(name)]
}
