//! Executes a `Run` on a Linux kernel: topology, agent, virtual-time kernel.

mod agent;
mod assemble;
mod device;
mod kernel;
mod layout;
mod ledger;
mod namespace;
mod netlink;
mod qdisc;
mod substrate;
mod world;

pub use kernel::{VirtualTime, run_as_init};
pub use substrate::{Control, LabError, Progress, Substrate};
