//! Programs of ours in the running kernel, without a module: congestion controls ([`controls`]) and what sees packets
//! lost ([`drops`]).
//!
//! The sources are C (`bpf/`), compiled by `make bpf` and embedded; libbpf fits them to the kernel they are loaded into.
//! Whatever is loaded is held by this process alone and goes with it, however it ends: see [`Loaded`].

mod control;
pub mod drops;
mod kernel;
mod messages;
mod registered;

pub use control::{Control, LoadError, Loaded, Naming, PREFIX, control, controls};
pub use kernel::{Owner, Reason, available, release};
pub use registered::{Registered, UnloadError, registered, unload};
