//! Where on a host a flow was worked on, as far as the kernel tells.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One end of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Placement {
    /// The flow's number.
    pub flow: u32,
    /// The host of this end.
    pub host: String,
    /// Cores on which the application's thread was found, and in how many samples.
    pub application: BTreeMap<u32, u64>,
    /// Cores that brought packets of the flow to its socket (`SO_INCOMING_CPU`, socket(7)), and in how many samples.
    pub incoming: BTreeMap<u32, u64>,
    /// Receive queue and interrupt line of the interface that such a core serves, where only one comes into question.
    pub queue: Option<QueueLine>,
}

/// A receive queue of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueLine {
    /// Number of the queue, where the line's name tells it.
    pub queue: Option<u32>,
    /// Interrupt line (/proc/interrupts).
    pub line: String,
}

impl Placement {
    /// The core on which the application was most.
    pub fn application_core(&self) -> Option<u32> {
        most(&self.application)
    }

    /// The core that brought most packets.
    pub fn incoming_core(&self) -> Option<u32> {
        most(&self.incoming)
    }
}

fn most(seen: &BTreeMap<u32, u64>) -> Option<u32> {
    // Of equals the lowest.
    seen.iter().rev().max_by_key(|(_, samples)| **samples).map(|(core, _)| *core)
}

/// Cores, nodes and the interface of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Topology {
    /// The NUMA node of each core that is in use; empty where the kernel has none.
    pub nodes: BTreeMap<u32, u32>,
    /// Cores that share a physical one, in groups of at least two.
    pub twins: Vec<Vec<u32>>,
    /// The NUMA node of the interface that carried the run; `None` if the firmware does not say, or it is virtual.
    pub interface_node: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_with_most_of_the_time_counts() {
        let seen = |counts: &[(u32, u64)]| Placement {
            incoming: counts.iter().copied().collect(),
            ..Default::default()
        };
        assert_eq!(seen(&[(1, 5), (3, 9)]).incoming_core(), Some(3));
        assert_eq!(seen(&[(1, 5), (3, 5)]).incoming_core(), Some(1));
        assert_eq!(seen(&[]).incoming_core(), None);
    }
}
