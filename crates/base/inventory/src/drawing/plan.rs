//! The parts of a drawing and the marks of its cores, before they have a shape.

use super::words::{about, bytes, cpus};
use crate::{CpuSet, Interface, InterfaceKind, Inventory};
use std::collections::BTreeMap;

/// A host, ready to be drawn.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) title: Vec<String>,
    pub(super) sockets: Vec<Socket>,
    /// Memory without CPUs, as lines.
    pub(super) distant: Vec<String>,
    /// Hardware interfaces whose node is unknown.
    pub(super) elsewhere: Vec<Nic>,
    /// Number and label of each application.
    pub(super) applications: Vec<String>,
}

/// A socket with its NUMA nodes.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) label: String,
    pub(super) parts: Vec<Part>,
}

/// The CPUs of a socket that are on one node.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) label: String,
    pub(super) caches: Vec<String>,
    pub(super) cores: Vec<Core>,
    pub(super) nics: Vec<Nic>,
}

/// A physical core.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Core {
    /// Its logical CPUs, one set for each sibling. A range of cores has more CPUs in a set.
    pub(super) cpus: Vec<CpuSet>,
    pub(super) marks: Vec<Mark>,
    /// Numbers of applications that may run on it, from 1.
    pub(super) applications: Vec<usize>,
    /// Physical cores that it stands for.
    pub(super) count: usize,
}

/// An interface on a core.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    pub(super) letter: char,
    /// Share of its interrupts that fired here, in percent.
    pub(super) percent: f64,
}

impl Mark {
    pub(super) fn text(&self) -> String {
        match self.percent {
            percent if percent <= 0.0 => self.letter.to_ascii_lowercase().to_string(),
            percent if percent < 1.0 => format!("{}<1%", self.letter),
            percent => format!("{}{percent:.0}%", self.letter),
        }
    }
}

/// An interface with its letter, if it has interrupts.
#[derive(Debug, Clone)]
pub(super) struct Nic {
    pub(super) letter: Option<char>,
    pub(super) about: String,
    pub(super) interrupts: String,
}

pub(super) fn plan(inventory: &Inventory, applications: &[(String, CpuSet)]) -> Plan {
    let online = online(inventory);
    let lines: Vec<(&Interface, Lines)> = inventory
        .interfaces
        .iter()
        .filter(|interface| interface.kind == InterfaceKind::Hardware)
        .enumerate()
        .map(|(at, interface)| (interface, Lines::of(interface, at, &online)))
        .collect();
    let nics = |node: Option<u32>| -> Vec<Nic> {
        lines
            .iter()
            .filter(|(nic, _)| home(nic, inventory) == node)
            .map(|(nic, lines)| lines.nic(nic))
            .collect()
    };
    let mut parts_of: BTreeMap<u32, Vec<Part>> = BTreeMap::new();
    let mut drawn = Vec::new();
    let all = [(0, online.clone())];
    let packages: Vec<(u32, CpuSet)> =
        inventory.cpu.packages.iter().map(|p| (p.id, p.cpus.clone())).collect();
    let packages = if packages.is_empty() { &all[..] } else { &packages[..] };
    for (package, set) in packages.iter().filter(|(_, set)| !set.is_empty()) {
        let nodes = inventory.nodes.iter().filter(|node| node.cpus.intersects(set));
        for node in nodes {
            let memory = node.memory_bytes.map_or(String::new(), |count| format!(", {}", bytes(count)));
            let mut part = part(inventory, &node.cpus.intersection(set), &lines, applications);
            part.label = format!("Node {}{memory}", node.id);
            // A node on several sockets has its interfaces once.
            if !drawn.contains(&node.id) {
                part.nics = nics(Some(node.id));
                drawn.push(node.id);
            }
            parts_of.entry(*package).or_default().push(part);
        }
        if inventory.nodes.is_empty() {
            parts_of.entry(*package).or_default().push(part(inventory, set, &lines, applications));
        }
    }
    let sockets = parts_of.into_iter().map(|(id, parts)| Socket { label: format!("Socket {id}"), parts });
    let distant = inventory.nodes.iter().filter(|node| !drawn.contains(&node.id)).map(|node| {
        let memory = node.memory_bytes.map_or("memory".to_owned(), bytes);
        format!("Node {} has {memory} and no CPUs", node.id)
    });
    let undrawn = inventory.nodes.iter().filter(|node| !drawn.contains(&node.id));
    let elsewhere = std::iter::once(None).chain(undrawn.map(|node| Some(node.id))).flat_map(nics).collect();
    let label = |(at, (label, set)): (usize, &(String, CpuSet))| {
        format!("#{}: {label}, CPU{} {}", at + 1, plural(set), cpus(set))
    };
    Plan {
        title: title(inventory),
        sockets: sockets.collect(),
        distant: distant.collect(),
        elsewhere,
        applications: applications.iter().enumerate().map(label).collect(),
    }
}

fn online(inventory: &Inventory) -> CpuSet {
    let packages = inventory.cpu.packages.iter();
    packages.fold(inventory.cpu.online.clone(), |all, package| all.union(&package.cpus))
}

/// The node of an interface, if the inventory has that node. With a single node every interface is on it.
fn home(interface: &Interface, inventory: &Inventory) -> Option<u32> {
    match inventory.nodes[..] {
        [ref only] => Some(only.id),
        ref nodes => interface.node.filter(|id| nodes.iter().any(|node| node.id == *id)),
    }
}

fn title(inventory: &Inventory) -> Vec<String> {
    let system = &inventory.system;
    let memory = inventory.memory.total_bytes.map(|count| format!("{} of memory", bytes(count)));
    let cpu = Some(inventory.cpu.model.clone()).filter(|model| !model.is_empty());
    let sockets = inventory.cpu.packages.len();
    let cpu = cpu.map(|model| if sockets > 1 { format!("{sockets} x {model}") } else { model });
    let hypervisor = system.hypervisor.as_ref().map(|kind| match kind.as_str() {
        "unknown" => "virtual machine".to_owned(),
        kind => format!("virtual machine ({kind})"),
    });
    let container = system.container.as_ref().map(|kind| format!("container ({kind})"));
    let kernel = Some(system.kernel.as_str()).filter(|kernel| !kernel.is_empty());
    let first = [Some(inventory.host.clone()).filter(|host| !host.is_empty()), cpu, memory];
    let second = [
        kernel.map(|kernel| format!("Linux {kernel}")),
        system.distribution.clone(),
        system.product.clone(),
        hypervisor,
        container,
    ];
    let line = |parts: Vec<String>| parts.join(", ");
    let lines = [line(first.into_iter().flatten().collect()), line(second.into_iter().flatten().collect())];
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

/// The interrupts of an interface: those of its queues, or all of them if no name has a queue.
struct Lines {
    letter: Option<char>,
    fired: BTreeMap<u32, u64>,
    total: u64,
    allowed: CpuSet,
    is_allowed_everywhere: bool,
}

impl Lines {
    fn of(interface: &Interface, at: usize, online: &CpuSet) -> Lines {
        let has_queues = interface.interrupts.iter().any(|line| line.queue.is_some());
        let own = interface.interrupts.iter().filter(|line| line.queue.is_some() || !has_queues);
        let (mut fired, mut allowed): (BTreeMap<u32, u64>, _) = (BTreeMap::new(), CpuSet::default());
        for line in own {
            allowed = allowed.union(&line.affinity);
            line.fired.iter().for_each(|(cpu, count)| *fired.entry(*cpu).or_default() += count);
        }
        // The 27th interface and later ones have no letter.
        let letter = ('A'..='Z').nth(at);
        Lines {
            letter: letter.filter(|_| !interface.interrupts.is_empty()),
            total: fired.values().sum(),
            is_allowed_everywhere: !online.is_empty() && online.without(&allowed).is_empty(),
            fired,
            allowed,
        }
    }

    fn mark(&self, core: &CpuSet) -> Option<Mark> {
        let fired: u64 = core.iter().filter_map(|cpu| self.fired.get(&cpu)).sum();
        let percent = if self.total > 0 { 100.0 * fired as f64 / self.total as f64 } else { 0.0 };
        let is_allowed = self.allowed.intersects(core) && !self.is_allowed_everywhere;
        let letter = self.letter?;
        (fired > 0 || is_allowed).then_some(Mark { letter, percent })
    }

    fn nic(&self, interface: &Interface) -> Nic {
        let fired: CpuSet = self.fired.keys().copied().collect();
        let allowed = match self.is_allowed_everywhere {
            true => "allowed on all CPUs".to_owned(),
            false => format!("allowed on {}", cpus(&self.allowed)),
        };
        let interrupts = match (interface.interrupts.is_empty(), fired.is_empty()) {
            (true, _) => String::new(),
            (_, true) => format!("no interrupts since boot, {allowed}"),
            _ => format!("interrupts on CPU{} {}, {allowed}", plural(&fired), cpus(&fired)),
        };
        Nic { letter: self.letter, about: about(interface), interrupts }
    }
}

fn part(
    inventory: &Inventory,
    set: &CpuSet,
    lines: &[(&Interface, Lines)],
    applications: &[(String, CpuSet)],
) -> Part {
    let mut left = set.clone();
    let mut cores = Vec::new();
    while let Some(first) = first(&left) {
        let alone: CpuSet = [first].into_iter().collect();
        let twins = inventory.cpu.siblings.iter().find(|twins| twins.contains(first));
        let core = twins.map_or(alone.clone(), |twins| twins.intersection(set).union(&alone));
        left = left.without(&core);
        cores.push(Core {
            cpus: core.iter().map(|cpu| [cpu].into_iter().collect()).collect(),
            marks: lines.iter().filter_map(|(_, lines)| lines.mark(&core)).collect(),
            applications: (1..)
                .zip(applications)
                .filter(|(_, (_, on))| on.intersects(&core))
                .map(|(n, _)| n)
                .collect(),
            count: 1,
        });
    }
    Part { caches: caches(inventory, set), cores, ..Part::default() }
}

fn plural(set: &CpuSet) -> &'static str {
    if set.len() == 1 { "" } else { "s" }
}

fn first(set: &CpuSet) -> Option<u32> {
    set.iter().next()
}

/// Caches by level and size, with their number on these CPUs. Those of instructions are left out.
fn caches(inventory: &Inventory, set: &CpuSet) -> Vec<String> {
    let mut counts: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    for cache in &inventory.cpu.caches {
        if cache.kind != "Instruction" && cache.cpus.intersects(set) {
            *counts.entry((cache.level, cache.size_bytes)).or_default() += 1;
        }
    }
    let text = |((level, size), count): ((u32, u64), usize)| match count {
        1 => format!("L{level} {}", bytes(size)),
        _ => format!("L{level} {count} x {}", bytes(size)),
    };
    counts.into_iter().rev().map(text).collect()
}
