//! The inside of a host: machine, interface, where interrupts and applications run, what work costs.

use super::{check_rate, within, within_bytes};
use crate::error::Complaint;
use crate::file::{AppsChoice, CoreSet, CostsTable, HARDWARE_KEYS, HostTable, IrqChoice, MachineTable};
use crate::run::{Apps, Costs, Hardware, Irq, KernelVersion, Load, Machine, Moderation, Nic, Rss, Softirq};
use crate::tree::{Node, Place};
use std::ops::RangeInclusive;
use wirespeed_units::{Bytes, Span};

const NODES: RangeInclusive<u64> = 1..=64;
const CORES: RangeInclusive<u64> = 1..=1024;
const RING: RangeInclusive<u64> = 1..=1_000_000;
const QUEUES: RangeInclusive<u64> = 1..=4096;
/// A receive buffer holds at least the smallest frame, and no NIC has larger ones than this.
const RX_BUFFER: RangeInclusive<u64> = 64..=1 << 20;
/// An entry that packets share holds the largest frame, and no driver has such large ones.
const RX_WQE: RangeInclusive<u64> = 128 << 10..=1 << 30;
/// What a sysctl of this kind takes, but for what stops all work.
const BUDGET: RangeInclusive<u64> = 1..=1_000_000_000;
const CALL: RangeInclusive<u64> = 1..=1 << 30;
const SPEED: (f64, f64) = (0.01, 10.0);
/// A step of work that takes longer is a slip of the unit.
const DEAREST: Span = Span::ms(1);
const LONGEST_WAIT: Span = Span::secs(1);

/// Default of most drivers of fast interfaces (mlx5, and double that of ixgbe and i40e).
const DEFAULT_RING: u32 = 1024;
/// irqbalance's `--interval`.
const DEFAULT_INTERVAL: Span = Span::secs(10);
const FASTEST_BALANCING: Span = Span::ms(1);
/// `sched_min_granularity` and EEVDF's `base_slice`: 0.75 ms x (1 + log2 of the cores, 3 at most).
const DEFAULT_GRANULARITY: Span = Span::ms(3);

/// Commit 7acf8a1e8a28 ("Replace 2 jiffies with sysctl netdev_budget_usecs").
const BUDGET_TIME_SINCE: KernelVersion = KernelVersion::new(4, 12, 0);

/// What of a host's table is about its inside; `None` if it has no machine.
pub(super) fn hardware(
    table: &HostTable,
    merged: &Node,
    what: &str,
) -> Result<Option<Box<Hardware>>, Complaint> {
    let place = |key: &str| merged.place_of(&[key]);
    let Some(machine) = &table.machine else {
        let knob = merged.entries().iter().find(|entry| HARDWARE_KEYS.contains(&entry.key.as_str()));
        return match knob {
            None => Ok(None),
            Some(knob) => Err(Complaint::at(
                &knob.at,
                format!("{what}.{}: the host has no machine, so nothing would act on it", knob.key),
            )
            .label("needs a machine")
            .help(format!(
                "name a preset with a machine, such as preset = \"kit-2019-tuned\", or add [{what}.machine] and \
                 [{what}.costs]"
            ))),
        };
    };
    let machine = self::machine(machine, table.speed, merged, what)?;
    let count = |key: &str, value: Option<u32>, default: u32, range: RangeInclusive<u64>| {
        let value = value.unwrap_or(default);
        within(value.into(), range, &format!("{what}.{key}"), &place(key)).map(|()| value)
    };
    let cores = Cores { machine: &machine, what };
    let node = table.nic_node.unwrap_or(0);
    cores.check_node(node, "nic_node", &place("nic_node"))?;
    let (bus, bus_shared) = super::bus::bus(table.nic_bus.as_ref(), merged, what)?;
    if let Some(size) = table.rx_buffer {
        within_bytes(size, RX_BUFFER, &format!("{what}.rx_buffer"), &place("rx_buffer"))?;
    }
    if let Some(size) = table.rx_wqe {
        within_bytes(size, RX_WQE, &format!("{what}.rx_wqe"), &place("rx_wqe"))?;
    }
    let adaptive = table.adaptive_rx.unwrap_or(false);
    let Moderation { interval: coalesce, frames } = coalescing(table, merged, what, adaptive)?;
    let nic = Nic {
        node,
        bus,
        bus_shared,
        rx_queues: count("rx_queues", table.rx_queues, cores.count(), QUEUES)?,
        rss: table.rss.unwrap_or(Rss::Hash),
        rx_ring: count("rx_ring", table.rx_ring, DEFAULT_RING, RING)?,
        rx_wqe: table.rx_wqe,
        tx_ring: count("tx_ring", table.tx_ring, DEFAULT_RING, RING)?,
        coalesce,
        coalesce_frames: frames,
        coalesce_from: table.coalesce_from.unwrap_or(0),
        adaptive,
        napi: table.napi.unwrap_or(true),
        rx_buffer: table.rx_buffer,
    };
    if table.netdev_budget_usecs.is_some() && machine.kernel < BUDGET_TIME_SINCE {
        let message = format!(
            "{what}.netdev_budget_usecs: Linux {} has no such setting, its time is fixed",
            machine.kernel
        );
        return Err(Complaint::at(&place("netdev_budget_usecs"), message)
            .label(format!("since Linux {BUDGET_TIME_SINCE}"))
            .help(format!("leave it out, or name a later kernel in [{what}.machine]")));
    }
    let longest = table.netdev_budget_usecs.unwrap_or(Span::ZERO);
    at_most(longest, LONGEST_WAIT, &format!("{what}.netdev_budget_usecs"), &place("netdev_budget_usecs"))?;
    let limits = Softirq::default();
    let softirq = Softirq {
        budget: count("netdev_budget", table.netdev_budget, limits.budget, BUDGET)?,
        budget_time: table.netdev_budget_usecs,
        dev_weight: count("dev_weight", table.dev_weight, limits.dev_weight, BUDGET)?,
    };
    let interval = table.irqbalance_interval.unwrap_or(DEFAULT_INTERVAL);
    if interval < FASTEST_BALANCING {
        let message = format!("{what}.irqbalance_interval: {interval} is shorter than {FASTEST_BALANCING}");
        return Err(Complaint::at(&place("irqbalance_interval"), message)
            .label("out of range")
            .help("irqbalance looks every 10 s by default"));
    }
    let irq = match &table.irq {
        None => Irq::Cores(cores.of_node(node)),
        Some(IrqChoice::Balanced) => Irq::Balanced(interval),
        Some(IrqChoice::OneCpu) => Irq::Cores(vec![0]),
        Some(IrqChoice::Cores(set)) => Irq::Cores(cores.of(set, "irq", &place("irq"))?),
    };
    let apps = match &table.apps {
        None | Some(AppsChoice::Free) => Apps::Free((0..cores.count()).collect()),
        Some(AppsChoice::Cores(set @ CoreSet::Node(_))) => {
            Apps::Free(cores.of(set, "apps", &place("apps"))?)
        }
        Some(AppsChoice::Cores(set)) => Apps::Pinned(cores.of(set, "apps", &place("apps"))?),
    };
    if let Some(core) = table.capture_core {
        cores.check(core, "capture_core", &place("capture_core"))?;
    }
    let rps = table.rps.as_ref().map_or(Ok(Vec::new()), |set| cores.of(set, "rps", &place("rps")))?;
    let mut load = Vec::new();
    let nodes = merged.get("load").map_or(&[][..], Node::elements);
    for (entry, at) in table.load.iter().flatten().zip(nodes) {
        cores.check(entry.core, "load.core", &at.place_of(&["core"]))?;
        part(entry.share, (0.0, 1.0), &format!("{what}.load.share"), &at.place_of(&["share"]))?;
        load.push(Load { core: entry.core, share: entry.share });
    }
    let costs = costs(table.costs.as_ref(), merged, what)?;
    Ok(Some(Box::new(Hardware {
        machine,
        nic,
        irq,
        apps,
        capture: table.capture_core,
        rps,
        softirq,
        load,
        costs,
    })))
}

/// When the interface of a host without a machine interrupts; `None`: with each packet.
pub(super) fn moderation(
    table: &HostTable,
    merged: &Node,
    what: &str,
) -> Result<Option<Moderation>, Complaint> {
    let moderation = coalescing(table, merged, what, false)?;
    Ok((moderation.interval > Span::ZERO).then_some(moderation))
}

/// `coalesce` and `coalesce_frames`.
fn coalescing(table: &HostTable, merged: &Node, what: &str, adaptive: bool) -> Result<Moderation, Complaint> {
    let place = |key: &str| merged.place_of(&[key]);
    let interval = table.coalesce.unwrap_or(Span::ZERO);
    at_most(interval, LONGEST_WAIT, &format!("{what}.coalesce"), &place("coalesce"))?;
    let frames = table.coalesce_frames.unwrap_or(0);
    if frames > 1 && interval == Span::ZERO && !adaptive {
        let message =
            format!("{what}.coalesce_frames: fewer than {frames} packets would wait for others for good");
        return Err(Complaint::at(&place("coalesce_frames"), message)
            .label("needs `coalesce`")
            .help("say how long the first of them waits at most, for example coalesce = \"8 us\""));
    }
    Ok(Moderation { interval, frames })
}

fn machine(
    table: &MachineTable,
    speed: Option<f64>,
    merged: &Node,
    what: &str,
) -> Result<Machine, Complaint> {
    let place = |key: &str| merged.place_of(&["machine", key]);
    let name = |key: &str| format!("{what}.machine.{key}");
    let missing = |key: &str, example: &str| {
        Complaint::at(&merged.place_of(&["machine"]), format!("`{key}` is missing in [{what}.machine]"))
            .label("in this table")
            .help(format!("add for example {key} = {example}"))
    };
    let nodes = table.nodes.unwrap_or(1);
    within(nodes.into(), NODES, &name("nodes"), &place("nodes"))?;
    let cores_per_node = table.cores_per_node.ok_or_else(|| missing("cores_per_node", "8"))?;
    within(cores_per_node.into(), CORES, &name("cores_per_node"), &place("cores_per_node"))?;
    let twin_speed = table.twin_speed.unwrap_or(0.0);
    part(twin_speed, (0.0, 1.0), &name("twin_speed"), &place("twin_speed"))?;
    let speed = speed.unwrap_or(1.0);
    part(speed, SPEED, &format!("{what}.speed"), &merged.place_of(&["speed"]))?;
    if let Some(rate) = table.interlink {
        check_rate(rate, &name("interlink"), place("interlink"))?;
    }
    if let Some(rate) = table.memory {
        check_rate(rate, &name("memory"), place("memory"))?;
    }
    let granularity = table.granularity.unwrap_or(DEFAULT_GRANULARITY);
    at_most(granularity, LONGEST_WAIT, &name("granularity"), &place("granularity"))?;
    Ok(Machine {
        nodes,
        cores_per_node,
        twin_speed: (twin_speed > 0.0).then_some(twin_speed),
        speed,
        cache: table.cache.ok_or_else(|| missing("cache", "\"20 MB\""))?,
        interlink: table.interlink,
        memory: table.memory,
        granularity,
        kernel: table.kernel.unwrap_or_default(),
    })
}

/// The cores of a machine, and whether a host's settings name them.
struct Cores<'a> {
    machine: &'a Machine,
    what: &'a str,
}

impl Cores<'_> {
    /// Without hyper-threads.
    fn whole(&self) -> u32 {
        self.machine.nodes * self.machine.cores_per_node
    }

    fn count(&self) -> u32 {
        self.whole() * if self.machine.twin_speed.is_some() { 2 } else { 1 }
    }

    /// The cores of a node, then their twins.
    fn of_node(&self, node: u32) -> Vec<u32> {
        let size = self.machine.cores_per_node;
        let first = node * size;
        (0..self.count() / self.whole())
            .flat_map(|thread| (0..size).map(move |core| (thread, core)))
            .map(|(thread, core)| thread * self.whole() + first + core)
            .collect()
    }

    fn of(&self, set: &CoreSet, key: &str, at: &Place) -> Result<Vec<u32>, Complaint> {
        match set {
            CoreSet::Node(node) => self.check_node(*node, key, at).map(|()| self.of_node(*node)),
            CoreSet::List(list) => {
                list.iter().try_for_each(|core| self.check(*core, key, at))?;
                Ok(list.clone())
            }
        }
    }

    fn check(&self, core: u32, key: &str, at: &Place) -> Result<(), Complaint> {
        if core < self.count() {
            return Ok(());
        }
        let twins = match self.machine.twin_speed {
            Some(_) => format!(" (0 to {} and their twins)", self.whole() - 1),
            None => String::new(),
        };
        Err(Complaint::at(at, format!("{}.{key}: the machine has no core {core}", self.what))
            .label("not a core of this host")
            .help(format!(
                "its cores are 0 to {}{twins}; [{}.machine] says how many",
                self.count() - 1,
                self.what
            )))
    }

    fn check_node(&self, node: u32, key: &str, at: &Place) -> Result<(), Complaint> {
        let nodes = self.machine.nodes;
        if node < nodes {
            return Ok(());
        }
        let those = if nodes == 1 {
            "its only node is 0".into()
        } else {
            format!("its nodes are 0 to {}", nodes - 1)
        };
        Err(Complaint::at(at, format!("{}.{key}: the machine has no node {node}", self.what))
            .label("not a node of this host")
            .help(format!("{those}; [{}.machine] says how many", self.what)))
    }
}

fn costs(table: Option<&CostsTable>, merged: &Node, what: &str) -> Result<Costs, Complaint> {
    let none = CostsTable::default();
    let table = table.unwrap_or(&none);
    let mut missing: Vec<&str> = Vec::new();
    let mut dear: Option<(&str, Span)> = None;
    let mut cost = |key: &'static str, value: Option<Span>| {
        let Some(value) = value else {
            missing.push(key);
            return Span::ZERO;
        };
        if value > DEAREST {
            dear.get_or_insert((key, value));
        }
        value
    };
    let costs = Costs {
        interrupt: cost("interrupt", table.interrupt),
        poll: cost("poll", table.poll),
        rx_packet: cost("rx_packet", table.rx_packet),
        rx_packet_remote: cost("rx_packet_remote", table.rx_packet_remote),
        rx_page: cost("rx_page", Some(table.rx_page.unwrap_or(Span::ZERO))),
        rx_segment: cost("rx_segment", table.rx_segment),
        rx_datagram: cost("rx_datagram", table.rx_datagram),
        rx_ack: cost("rx_ack", table.rx_ack),
        sack_walk: cost("sack_walk", Some(table.sack_walk.unwrap_or(Span::ZERO))),
        tx_ack: cost("tx_ack", table.tx_ack),
        tx_segment: cost("tx_segment", table.tx_segment),
        tx_packet: cost("tx_packet", table.tx_packet),
        syscall: cost("syscall", table.syscall),
        wakeup: cost("wakeup", table.wakeup),
        copy_cached: cost("copy_cached", table.copy_cached),
        copy_memory: cost("copy_memory", table.copy_memory),
        copy_remote: cost("copy_remote", table.copy_remote),
        capture: cost("capture", table.capture),
        capture_tap: cost("capture_tap", Some(table.capture_tap.unwrap_or(Span::ZERO))),
        call: table.call.unwrap_or(Bytes::ZERO),
    };
    if table.call.is_none() {
        missing.push("call");
    }
    if !missing.is_empty() {
        let path: &[&str] = if merged.get("costs").is_some() { &["costs"] } else { &["machine"] };
        let message = format!("[{what}.costs] does not say what everything costs: {}", missing.join(", "));
        return Err(Complaint::at(&merged.place_of(path), message).label("costs are missing").help(
            "give each, for example syscall = \"1 us\", copy_memory = \"0.12 ns\", call = \"128 KiB\"; or name a preset \
             with a machine, whose costs then apply",
        ));
    }
    if let Some((key, value)) = dear {
        let at = merged.place_of(&["costs", key]);
        return Err(Complaint::at(&at, format!("{what}.costs.{key}: {value} is out of range"))
            .label("out of range")
            .help(format!("write up to {DEAREST}; copies are priced by the byte, for example \"0.12 ns\"")));
    }
    within_bytes(costs.call, CALL, &format!("{what}.costs.call"), &merged.place_of(&["costs", "call"]))?;
    Ok(costs)
}

fn at_most(value: Span, most: Span, what: &str, at: &Place) -> Result<(), Complaint> {
    if value <= most {
        return Ok(());
    }
    Err(Complaint::at(at, format!("{what}: {value} is out of range"))
        .label("out of range")
        .help(format!("write up to {most}")))
}

fn part(value: f64, (least, most): (f64, f64), what: &str, at: &Place) -> Result<(), Complaint> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Complaint::at(at, format!("{what}: {value} is out of range"))
        .label("out of range")
        .help(format!("write {least} to {most}")))
}
