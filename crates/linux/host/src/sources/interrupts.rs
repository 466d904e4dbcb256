//! Interrupts by line and CPU, and which interface and queue a line belongs to (/proc/interrupts, /proc/irq, sysfs).

use super::{row_of, softirqs};
use crate::collector::Collector;
use crate::reading::{CounterMeaning, Device, Place, Row, Unit, row};
use crate::root::{Interface, Root};
use crate::source::Source;
use std::collections::HashMap;
use std::sync::Arc;

/// The source `interrupts`.
pub struct Interrupts;

const NAME: &str = "interrupts";
const FILE: &str = "proc/interrupts";

const ROWS: &[Row] = &[
    row("interrupts", CounterMeaning::work().hardware()).about("interrupts of a line on a CPU"),
    row("effective_cpu", CounterMeaning::gauge(Unit::Number))
        .about("the CPU that serves the line (/proc/irq/N/effective_affinity_list); none if it may be one of several"),
    row("numa_node", CounterMeaning::gauge(Unit::Number))
        .about("the NUMA node of the interface (/sys/class/net/DEV/device/numa_node); none if the firmware does not say"),
];

impl Source for Interrupts {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "interrupts by line and CPU, with interface, queue, serving CPU and NUMA node (/proc/interrupts, /proc/irq, sysfs)"
    }

    fn needs(&self) -> &'static str {
        "/proc and, for NUMA nodes, /sys; the kernel has no effective affinity without SMP"
    }

    fn documented(&self) -> &'static str {
        "Documentation/core-api/irq/irq-affinity.rst, Documentation/filesystems/proc.rst"
    }

    fn rows(&self) -> &'static [Row] {
        ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        let text = match root.text(FILE) {
            Ok(text) => text,
            Err(error) => return into.unavailable(NAME, FILE, &error, "mount /proc"),
        };
        let interfaces: Vec<Interface> =
            root.interfaces().unwrap_or_default().into_iter().filter(|i| i.parent.is_some()).collect();
        let lines_of = by_bus(root, &interfaces);
        for line in parse(&text) {
            let device = owner(&line, &interfaces, &lines_of);
            let place = |cpu| Place::Interrupt {
                line: Arc::clone(&line.line),
                name: Arc::clone(&line.name),
                queue: device.as_ref().and_then(|_| queue(&line.name)),
                device: device.clone(),
                cpu,
            };
            for (cpu, count) in &line.counts {
                into.push_row32(NAME, place(Some(*cpu)), "interrupts", *count, row_of(ROWS, "interrupts"));
            }
            if device.is_some()
                && let Some(cpu) = effective_cpu(root, &line.line)
            {
                let row = row_of(ROWS, "effective_cpu");
                into.push_row(NAME, place(None), "effective_cpu", u64::from(cpu), row);
            }
        }
        for interface in &interfaces {
            let file = format!("sys/class/net/{}/device/numa_node", interface.device.name);
            // -1: the firmware does not say.
            if let Some(node) = root.text(&file).ok().and_then(|text| text.trim().parse::<u32>().ok()) {
                let place = Place::Device(interface.device.clone());
                into.push_row(NAME, place, "numa_node", u64::from(node), row_of(ROWS, "numa_node"));
            }
        }
    }
}

/// A line of /proc/interrupts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, or letters.
    pub line: Arc<str>,
    /// The last words: what handles it.
    pub name: Arc<str>,
    /// Count of each CPU that is online, modulo 2^32.
    pub counts: Vec<(u32, u32)>,
}

/// Parses /proc/interrupts. Lines without a count for each CPU (`ERR`, `MIS`) are left out.
pub fn parse(text: &str) -> Vec<Line> {
    let mut lines = text.lines();
    let cpus = lines.next().map(softirqs::cpus).unwrap_or_default();
    let line = |text: &str| {
        let (line, rest) = text.split_once(':')?;
        let mut words = rest.split_whitespace();
        let counts: Option<Vec<_>> =
            cpus.iter().map(|cpu| Some((*cpu, words.next()?.parse().ok()?))).collect();
        // Chip, number on the chip, sometimes the trigger, then the name; those of the architecture have only a name.
        let words: Vec<&str> = words.collect();
        let is_number = line.trim().bytes().all(|byte| byte.is_ascii_digit());
        let name =
            if is_number { words.last().copied().unwrap_or_default().to_owned() } else { words.join(" ") };
        Some(Line { line: line.trim().into(), name: name.into(), counts: counts? })
    };
    lines.filter_map(line).collect()
}

/// The interface that each line belongs to by the bus, where sysfs tells (PCI).
pub(crate) fn by_bus(root: &mut Root, interfaces: &[Interface]) -> HashMap<String, Device> {
    let mut found = HashMap::new();
    for interface in interfaces {
        let folder = format!("sys/class/net/{}/device/msi_irqs", interface.device.name);
        for line in root.names(&folder).unwrap_or_default() {
            found.insert(line, interface.device.clone());
        }
    }
    found
}

/// By the name of the interface or of its device on the bus in the line's name, else by the bus: two interfaces of
/// one card share a device there.
pub(crate) fn owner(
    line: &Line,
    interfaces: &[Interface],
    lines_of: &HashMap<String, Device>,
) -> Option<Device> {
    let named = |name: &str| has_word(&line.name, name);
    let by_name = interfaces.iter().find(|i| named(&i.device.name));
    let by_parent = || interfaces.iter().find(|i| i.parent.as_deref().is_some_and(named));
    by_name
        .or_else(by_parent)
        .map(|interface| interface.device.clone())
        .or_else(|| lines_of.get(&*line.line).cloned())
}

/// Whether `word` occurs and is not a part of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric();
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(inner) && !after.is_some_and(inner)
        })
}

/// The number of the queue in the name of a line: drivers write `TxRx-3`, `Tx-Rx-3`, `rx-3`, `input.3`, `comp3`,
/// `ntfy-block.3` or `ntfy-blk3`. Lines for commands and the link have none of these words.
pub fn queue(name: &str) -> Option<u32> {
    const WORDS: &[&str] =
        &["txrx-", "tx-rx-", "rx-", "tx-", "input.", "output.", "comp", "ntfy-block.", "ntfy-blk"];
    let name = name.to_ascii_lowercase();
    WORDS.iter().find_map(|word| {
        let (_, rest) = name.rsplit_once(word)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().ok()
    })
}

/// The CPU of a list, if it is a single one.
fn effective_cpu(root: &mut Root, line: &str) -> Option<u32> {
    let line: u32 = line.parse().ok()?;
    root.text(&format!("proc/irq/{line}/effective_affinity_list")).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_name_their_queues_each_in_its_way() {
        let names = [
            ("i40e-eth0-TxRx-12", Some(12)),
            ("eth0-Tx-Rx-2", Some(2)),
            ("mlx5_comp3@pci:0000:3b:00.0", Some(3)),
            ("mlx5_async0@pci:0000:3b:00.0", None),
            ("virtio2-input.1", Some(1)),
            ("virtio2-config", None),
            ("gve-ntfy-blk7@pci:0000:00:04.0", Some(7)),
            ("eth0-rx-0", Some(0)),
            ("eth0", None),
        ];
        for (name, expected) in names {
            assert_eq!(queue(name), expected, "{name}");
        }
    }

    #[test]
    fn lines_have_a_count_for_each_cpu() {
        let text = "      CPU0 CPU1\n 33:  10  20  PCI-MSIX-0000:3b:00.0  1-edge  mlx5_comp0@pci:0000:3b:00.0\n\
                    NMI:   1   2   Non-maskable interrupts\nERR:   0\n";
        let found = parse(text);
        assert_eq!(found.len(), 2);
        assert_eq!(&*found[0].name, "mlx5_comp0@pci:0000:3b:00.0");
        assert_eq!(found[0].counts, [(0, 10), (1, 20)]);
        assert_eq!(&*found[1].name, "Non-maskable interrupts");
    }

    #[test]
    fn an_interface_is_no_part_of_anothers_name() {
        assert!(has_word("i40e-eth1-TxRx-0", "eth1"));
        assert!(!has_word("i40e-eth10-TxRx-0", "eth1"));
    }
}
