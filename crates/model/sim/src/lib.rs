//! The model: TCP as Linux 6.12 does it, over links and queues, as discrete events in picoseconds.
//!
//! [`simulate`] takes a resolved run and gives the tables of a recording. What moves is a [`net::Train`]: packets of
//! one flow that follow each other evenly are one event until something splits them.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod due;
pub mod engine;
pub mod host;
mod long;
pub mod net;
mod prefetch;
mod simulate;
pub mod tcp;
mod world;

/// What names the program: a hash of the code of this crate and of those whose code decides what a run gives as well
/// (`build.rs`), without comments and tests. Two programs of one name give the same; of two names, they need not.
pub const PROGRAM: &str = env!("WIRESPEED_PROGRAM");

pub use simulate::{Counts, Ended, Observer, Outcome, Progress, Samples, simulate, simulate_observed};
pub use world::{Late, Unsupported, check, depends_on_seed};
