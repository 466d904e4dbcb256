//! A host as types: processors, memory, interfaces with their queues, and the settings that decide how fast TCP can be.
//!
//! An [`Inventory`] is read by crate `host`, written to a snapshot as JSON, drawn, and judged by the audit rules of crate
//! `diagnosis`. A [`Setting`] names one value that can be read and changed. A value that could not be read is
//! `None`, and [`Inventory::missing`] lists it with the reason.

mod cpu;
mod cpu_set;
pub mod drawing;
mod interface;
mod interface_parts;
mod inventory;
mod redaction;
mod setting;

pub use cpu::{Cache, Cpu, CpuPackage, FrequencyPolicy, IdleState, Memory, MemoryModule, Node};
pub use cpu_set::{CpuSet, CpuSetError};
pub use interface::{Interface, InterfaceKind};
pub use interface_parts::{
    Channels, Coalescing, Driver, Feature, Fec, Interrupt, Pause, PcieLink, Qdisc, ReceiveQueue, Rings, Rss,
    TransmitQueue,
};
pub use inventory::{
    CongestionControls, FORMAT_VERSION, Inventory, Manager, Missing, Neighbour, Route, SnapshotError, System,
};
pub use setting::{Change, CoalescingParameter, Setting, Way};
