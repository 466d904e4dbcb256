//! The host model of a host (CPU, NIC, memory), as far as figures show it.

use serde::{Deserialize, Serialize};
use wirespeed_units::Span;

/// The host model of a host, as it was resolved. Facts are `None` only in recordings of versions that did not state them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostModel {
    /// NUMA nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Cores of each node, without hyper-threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores_per_node: Option<u32>,
    /// Each core has two hardware threads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_hyperthreads: bool,
    /// NUMA node of the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface_node: Option<u32>,
    /// Descriptors of each receive ring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rx_ring: Option<u32>,
    /// The cores that serve its interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Interrupts>,
    /// The cores on which its applications run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applications: Option<Applications>,
}

/// The cores that serve the interrupts of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupts {
    /// Ring i has core i of the list, in turn.
    Cores(Vec<u32>),
    /// irqbalance moves them at such intervals.
    MovedEvery(Span),
}

/// The cores on which applications run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applications {
    /// Flow i is pinned to core i of the list, in turn.
    Pinned(Vec<u32>),
    /// The scheduler chooses among these.
    Free(Vec<u32>),
}
