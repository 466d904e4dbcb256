//! Where the ends of flows are worked on: the core of the application's thread and the core that brings packets to the
//! socket, as often as there is a sample; and from the interrupts of a run the queue that is behind it.

use super::{Part, socket};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wirespeed_host::{Changes, Place};
use wirespeed_record::{Placement, QueueLine, Topology};

/// What has been seen so far.
#[derive(Debug, Default)]
pub struct Placements {
    /// By flow and whether it is the receiver's end.
    seen: BTreeMap<(u32, bool), Placement>,
}

impl Placements {
    /// Looks once at the ends that are here.
    pub fn look(&mut self, parts: &[Arc<Part>]) {
        for part in parts {
            let flow = part.flow();
            let ends = [(false, part.state.sender(), &flow.from), (true, part.state.receiver(), &flow.to)];
            for (receives, end, host) in ends {
                let Some(fd) = end.get() else { continue };
                let number = part.index as u32;
                let placement = self.seen.entry((number, receives)).or_insert_with(|| Placement {
                    flow: number,
                    host: host.clone(),
                    ..Default::default()
                });
                if let Some(core) = end.core() {
                    *placement.application.entry(core).or_default() += 1;
                }
                if let Some(core) = incoming_core(fd) {
                    *placement.incoming.entry(core).or_default() += 1;
                }
            }
        }
    }

    /// What was seen, with the queues of interface `device` as far as its interrupts tell.
    pub fn told(self, device: &str, changes: &Changes) -> Vec<Placement> {
        let with_queue = |mut placement: Placement| {
            placement.queue = placement.incoming_core().and_then(|core| queue_of(core, device, changes));
            placement
        };
        self.seen.into_values().map(with_queue).collect()
    }

    /// What was seen.
    pub fn told_without_queues(self) -> Vec<Placement> {
        self.seen.into_values().collect()
    }
}

/// The core that brought the last packet to a socket; socket(7).
fn incoming_core(fd: RawFd) -> Option<u32> {
    let bytes = socket::get_bytes(fd, libc::SOL_SOCKET, libc::SO_INCOMING_CPU, 4).ok()?;
    u32::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok()
}

/// The interrupt line of an interface that a core served, if it was one: several cannot be told apart, and a core that other
/// cores steer packets to serves none.
fn queue_of(core: u32, device: &str, changes: &Changes) -> Option<QueueLine> {
    let lines = changes.changes.iter().filter_map(|change| match &change.reading.place {
        Place::Interrupt { line, queue, device: Some(of), cpu: Some(cpu), .. }
            if *of.name == *device && *cpu == core && change.delta.at_least() > 0 =>
        {
            Some(QueueLine { queue: *queue, line: line.to_string() })
        }
        _ => None,
    });
    let lines: Vec<QueueLine> = lines.collect();
    match lines.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// The cores of this machine, and the node of an interface of it.
pub fn topology(device: Option<&str>) -> Topology {
    let read = |path: PathBuf| fs::read_to_string(path).ok();
    let node =
        device.and_then(|device| read(Path::new("/sys/class/net").join(device).join("device/numa_node")));
    Topology {
        nodes: nodes(),
        twins: twins(),
        // -1: the firmware does not say.
        interface_node: node.and_then(|text| text.trim().parse().ok()),
    }
}

const CORES: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// The NUMA node of each core; empty where the kernel has none.
pub fn nodes() -> BTreeMap<u32, u32> {
    let mut nodes = BTreeMap::new();
    for node in numbered(Path::new(NODES), "node") {
        for core in numbered(&Path::new(NODES).join(format!("node{node}")), "cpu") {
            nodes.insert(core, node);
        }
    }
    nodes
}

fn twins() -> Vec<Vec<u32>> {
    let siblings = |core: u32| {
        let path = format!("{CORES}/cpu{core}/topology/thread_siblings_list");
        fs::read_to_string(path).map(|text| list(&text)).unwrap_or_default()
    };
    let mut groups: Vec<Vec<u32>> = numbered(Path::new(CORES), "cpu").into_iter().map(siblings).collect();
    groups.retain(|group| group.len() > 1);
    groups.sort();
    groups.dedup();
    groups
}

/// Numbers of the entries of a folder that are `prefix` and a number.
fn numbered(folder: &Path, prefix: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()).collect()
}

/// A list of the kernel's: `0,64` or `0-1`.
fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores_are_numbers_and_ranges() {
        assert_eq!(list("0,64\n"), [0, 64]);
        assert_eq!(list("2-4,9"), [2, 3, 4, 9]);
        assert!(list("").is_empty());
    }

    #[test]
    fn this_machine_has_no_core_in_two_groups() {
        let mut all: Vec<u32> = topology(None).twins.concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
