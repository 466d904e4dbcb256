//! Interrupt lines of interfaces: allowed CPUs, the effective one, and where they fired.

use super::links::Links;
use super::{Notes, cpus};
use crate::reading::Device;
use crate::root::{Interface as Owner, Root};
use crate::sources::interrupts::{by_bus, owner, parse, queue};
use std::collections::{BTreeMap, HashMap};
use wirespeed_inventory::{InterfaceKind, Interrupt};

/// The lines of hardware, by the index of its interface.
pub(super) fn read(root: &mut Root, links: &Links, notes: &mut Notes) -> BTreeMap<u32, Vec<Interrupt>> {
    let text = match root.text("proc/interrupts") {
        Ok(text) => text,
        Err(error) => {
            notes.error("interrupts", &error, "mount /proc");
            return BTreeMap::new();
        }
    };
    // /proc/interrupts is that of the whole host: a virtual interface may have the name of another one's line.
    let hardware = links.links.iter().filter(|link| link.kind == InterfaceKind::Hardware);
    let owners: Vec<Owner> = hardware
        .map(|link| Owner {
            device: Device { index: link.index, name: link.name.as_str().into() },
            parent: link.parent.clone(),
            statistics: Vec::new(),
        })
        .collect();
    let lines_of = if links.has_sysfs { by_bus(root, &owners) } else { HashMap::new() };
    let mut found: BTreeMap<u32, Vec<Interrupt>> = BTreeMap::new();
    for line in parse(&text) {
        let Some(device) = owner(&line, &owners, &lines_of) else { continue };
        let Ok(irq) = line.line.parse::<u32>() else { continue };
        let counts = line.counts.iter().filter(|(_, count)| *count > 0);
        found.entry(device.index).or_default().push(Interrupt {
            irq,
            name: line.name.to_string(),
            queue: queue(&line.name),
            affinity: cpus(root, &format!("proc/irq/{irq}/smp_affinity_list")),
            effective: cpus(root, &format!("proc/irq/{irq}/effective_affinity_list")),
            fired: counts.map(|(cpu, count)| (*cpu, u64::from(*count))).collect(),
        });
    }
    found
}
