//! Executes a `Run`: on a Linux kernel (topology, agent, virtual-time kernel) or in the model.

mod agent;
mod assemble;
mod departure;
mod device;
mod hosts;
mod intervals;
mod iperf3;
mod kernel;
mod lacks;
mod layout;
mod ledger;
mod model;
mod namespace;
mod netlink;
mod netns;
mod qdisc;
mod sealed;
mod self_check;
mod sent_again;
mod steering;
mod stream;
mod substrate;
mod world;

pub use agent::message::Interface;
pub use agent::reasons::drop_reasons;
pub use agent::session::serve as serve_agent;
pub use hosts::{Hosts, Ports, Program, Reached, SSH_VARIABLE, Surveyed, check_real_run};
pub use kernel::{VirtualTime, run_as_init};
pub use model::Model;
pub use netns::{Namespaces, Task, serve as serve_namespaces};
pub use sealed::{Channel, Secret, connect_sealed, serve_sealed};
pub use self_check::SelfChecked;
pub use substrate::{Control, LabError, Progress, Substrate};

/// What controller and agent say to each other.
pub mod protocol {
    pub use crate::agent::message::{Decoder, Message, Writer};
    pub use crate::agent::request::{Plan, Request};
    pub use crate::hosts::put_together;
}
