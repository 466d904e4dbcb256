//! Executes a `Run`: in the model, or on a Linux kernel.
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

mod assemble;
mod host_facts;
#[cfg(feature = "linux")]
mod hosts;
#[cfg(feature = "linux")]
mod kernel;
mod lacks;
mod model;
#[cfg(feature = "linux")]
mod netns;
mod self_check;
#[cfg(feature = "linux")]
mod stream;
mod substrate;
mod usage;

#[cfg(feature = "linux")]
pub use hosts::{Hosts, Ports, Surveyed, check_real_run, put_together};
#[cfg(feature = "linux")]
pub use kernel::{Kernels, VirtualTime, run_as_init};
pub use model::Model;
#[cfg(feature = "linux")]
pub use netns::{Namespaces, Task, serve as serve_namespaces};
pub use self_check::SelfChecked;
pub use substrate::{Control, Progress, Substrate, SubstrateError};
