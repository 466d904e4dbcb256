//! Counters of the kernel around a test.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use wirespeed_host::Root;
use wirespeed_host::sources::{cores, interrupts, protocols};
use wirespeed_topology::namespace::Namespace;

/// Line of `/proc/interrupts` for functions that another core asks for, such as work that receive packet steering hands over.
const CALLS_OF_CORES: &str = "CAL";

/// Counters at one instant.
#[derive(Debug, Clone, Default)]
pub struct KernelCounts {
    /// Idle or stolen time of each core, in nanoseconds.
    free_ns: BTreeMap<u32, u64>,
    interrupts: BTreeMap<u32, u32>,
    /// How often each core became idle; empty where this may not be read.
    idle: BTreeMap<u32, u64>,
    protocols: Vec<BTreeMap<String, u64>>,
}

impl KernelCounts {
    /// Reads them, those of protocols in each of `namespaces`.
    pub fn read(namespaces: &[&Namespace]) -> io::Result<KernelCounts> {
        const SECOND_NS: u64 = 1_000_000_000;
        let tick_ns = SECOND_NS / Root::live().ticks_per_second();
        let mut free_ns: BTreeMap<u32, u64> = BTreeMap::new();
        for (core, kind, ticks) in cores::parse(&fs::read_to_string("/proc/stat")?) {
            if matches!(kind, "idle" | "iowait" | "steal") {
                *free_ns.entry(core).or_default() += ticks * tick_ns;
            }
        }
        let lines = interrupts::parse(&fs::read_to_string("/proc/interrupts")?);
        let calls = lines.iter().find(|line| *line.line == *CALLS_OF_CORES);
        let interrupts = calls.map(|line| line.counts.iter().copied().collect()).unwrap_or_default();
        let of = |namespace: &&Namespace| {
            let text = namespace.within(|| fs::read_to_string("/proc/thread-self/net/snmp"))?;
            Ok(protocols::parse(&text).into_iter().collect())
        };
        let protocols = namespaces.iter().map(of).collect::<io::Result<_>>()?;
        // Only root may read it.
        let idle = fs::read_to_string("/proc/timer_list").map(|text| idle_calls(&text)).unwrap_or_default();
        Ok(KernelCounts { free_ns, interrupts, idle, protocols })
    }

    /// Idle or stolen time of a core since `before`, in nanoseconds.
    pub fn free_ns(&self, before: &KernelCounts, core: u32) -> u64 {
        let at = |counts: &KernelCounts| counts.free_ns.get(&core).copied().unwrap_or(0);
        at(self).saturating_sub(at(before))
    }

    /// Interrupts of a core by others since `before`.
    pub fn interrupts(&self, before: &KernelCounts, core: u32) -> u64 {
        let at = |counts: &KernelCounts| counts.interrupts.get(&core).copied().unwrap_or(0);
        u64::from(at(self).wrapping_sub(at(before)))
    }

    /// How often a core left the idle state since `before`.
    pub fn idle_exits(&self, before: &KernelCounts, core: u32) -> u64 {
        let at = |counts: &KernelCounts| counts.idle.get(&core).copied().unwrap_or(0);
        at(self).saturating_sub(at(before))
    }

    /// Growth of a protocol counter in the namespace of that number since `before`.
    pub fn protocol(&self, before: &KernelCounts, namespace: usize, name: &str) -> u64 {
        let at = |counts: &KernelCounts| counts.protocols.get(namespace)?.get(name).copied();
        at(self).unwrap_or(0).saturating_sub(at(before).unwrap_or(0))
    }
}

/// `idle_calls` of each core in `/proc/timer_list` (kernel/time/timer_list.c).
fn idle_calls(text: &str) -> BTreeMap<u32, u64> {
    let (mut core, mut found) = (None, BTreeMap::new());
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("cpu: ") {
            core = number.trim().parse().ok();
        } else if let Some((key, value)) = line.split_once(':')
            && key.trim() == ".idle_calls"
            && let (Some(core), Ok(calls)) = (core, value.trim().parse())
        {
            found.insert(core, calls);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_idle_are_read_by_core() {
        let text = "cpu: 0\n clock 0:\n  .idle_calls     : 1482809\n  .idle_sleeps    : 1301075\ncpu: 1\n  .idle_calls     : 7\n";
        assert_eq!(idle_calls(text), [(0, 1_482_809), (1, 7)].into());
    }
}
