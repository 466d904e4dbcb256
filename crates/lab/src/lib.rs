//! Executes a `Run` on a Linux kernel: topology, agent, virtual-time kernel.

pub mod agent;
mod device;
mod layout;
mod namespace;
mod netlink;
mod qdisc;
mod world;
