//! Memory and NUMA nodes.

use super::{Notes, cpus, modules, numbered, word};
use crate::root::{Facts, Root};
use wirespeed_inventory::{Memory, Node};

pub(super) fn read(root: &mut Root, facts: &Facts, notes: &mut Notes) -> Memory {
    let info = root.text("proc/meminfo");
    if let Err(error) = &info {
        notes.error("memory", error, "mount /proc");
    }
    let info = info.unwrap_or_default();
    let enabled = word(root, "sys/kernel/mm/transparent_hugepage/enabled");
    Memory {
        total_bytes: field(&info, "MemTotal"),
        available_bytes: field(&info, "MemAvailable"),
        page_bytes: facts.page_bytes,
        transparent_huge_pages: enabled.as_deref().and_then(chosen).map(str::to_owned),
        modules: modules::read(root, notes),
    }
}

/// A value in kB of /proc/meminfo, or of that of a node, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let is_it = key.split_whitespace().next_back() == Some(name);
        is_it
            .then(|| value.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024))
            .flatten()
    };
    text.lines().find_map(line)
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word)
}

/// The NUMA nodes. A kernel without NUMA has none.
pub(super) fn nodes(root: &mut Root, notes: &mut Notes) -> Vec<Node> {
    const FOLDER: &str = "sys/devices/system/node";
    let found = numbered(root, FOLDER, "node");
    let numbers = notes.unless_absent("NUMA nodes", found, "mount /sys").unwrap_or_default();
    let node = |id: u32| {
        let distances = word(root, &format!("{FOLDER}/node{id}/distance")).unwrap_or_default();
        let meminfo = root.text(&format!("{FOLDER}/node{id}/meminfo")).unwrap_or_default();
        Node {
            id,
            cpus: cpus(root, &format!("{FOLDER}/node{id}/cpulist")),
            memory_bytes: field(&meminfo, "MemTotal"),
            distances: distances.split_whitespace().filter_map(|word| word.parse().ok()).collect(),
        }
    };
    numbers.into_iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_nodes_and_of_the_host_are_read_alike() {
        assert_eq!(field("MemTotal:       16 kB\n", "MemTotal"), Some(16_384));
        assert_eq!(field("Node 1 MemFree: 3 kB\nNode 1 MemTotal: 2 kB\n", "MemTotal"), Some(2048));
        assert_eq!(field("MemTotal: many kB\n", "MemTotal"), None);
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
    }
}
