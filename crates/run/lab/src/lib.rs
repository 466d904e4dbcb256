//! Executes a `Run`: in the model, or on a Linux kernel (topology, agent, virtual-time kernel).
//!
//! The model is always there. Feature `linux` adds the other substrates, which share an agent; each of the features `kernel`,
//! `netns` and `hosts` enables it.
#![cfg_attr(
    not(feature = "linux"),
    allow(dead_code, reason = "the substrates on Linux use the rest of the shared modules")
)]

#[cfg(all(feature = "linux", not(target_os = "linux")))]
compile_error!(
    "the substrates `kernel`, `netns` and `hosts` need Linux; build with `--no-default-features --features model`"
);

#[cfg(feature = "linux")]
mod agent;
mod assemble;
#[cfg(feature = "linux")]
mod departure;
#[cfg(feature = "linux")]
mod device;
mod host_facts;
#[cfg(feature = "linux")]
mod hosts;
mod intervals;
#[cfg(feature = "linux")]
mod iperf3;
#[cfg(feature = "linux")]
mod kernel;
mod lacks;
mod layout;
mod ledger;
mod model;
#[cfg(feature = "linux")]
mod namespace;
#[cfg(feature = "linux")]
mod netlink;
#[cfg(feature = "linux")]
mod netns;
#[cfg(feature = "linux")]
mod qdisc;
#[cfg(feature = "linux")]
mod sealed;
mod self_check;
mod sent_again;
#[cfg(feature = "linux")]
mod steering;
#[cfg(feature = "linux")]
mod stream;
mod substrate;
mod usage;
#[cfg(feature = "linux")]
mod world;

#[cfg(feature = "linux")]
pub use linux::*;
pub use model::Model;
pub use self_check::SelfChecked;
pub use substrate::{Control, LabError, Progress, Substrate};

/// The substrates on Linux, and the agent that they share.
#[cfg(feature = "linux")]
mod linux {
    pub use crate::agent::message::Interface;
    pub use crate::agent::reasons::drop_reasons;
    pub use crate::agent::session::serve as serve_agent;
    pub use crate::hosts::{Hosts, Ports, Program, Reached, SSH_VARIABLE, Surveyed, check_real_run};
    pub use crate::kernel::{VirtualTime, run_as_init};
    pub use crate::netns::{Namespaces, Task, serve as serve_namespaces};
    pub use crate::sealed::{Channel, Secret, connect_sealed, serve_sealed};

    /// The messages between controller and agent.
    pub mod protocol {
        pub use crate::agent::message::{Decoder, Message, Writer};
        pub use crate::agent::request::{Plan, Request};
        pub use crate::hosts::put_together;
    }
}
