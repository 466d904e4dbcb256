//! The virtual-time kernel: an ordinary Linux, run as a process (user-mode Linux) whose clock advances only when
//! nothing is runnable.
//!
//! - [`build`] makes one from the distribution's source and keeps it in a cache of the user; [`find`] returns it.
//! - [`boot`] runs a guest of it, unprivileged, with the host's root read-only and one writable folder.
//! - [`guest`] is for the program that runs as PID 1 in there.

mod assets;
mod boot;
mod builder;
mod cache;
mod command_line;
mod confinement;
mod console;
mod edits;
mod error;
mod folder;
mod fragment;
pub mod guest;
mod make;
mod options;
mod parts;
mod process;
mod processor;
mod recipe;
mod source;
mod tools;
mod watchdog;

pub use boot::{Boot, Exit, boot};
pub use builder::{Phase, Progress, build};
pub use cache::{Cached, Kernel, cached, default_cache, find};
pub use confinement::Confinement;
pub use error::{BootError, KernelError};
pub use options::BuildOptions;
