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

pub use simulate::{Counts, Ended, Observer, Outcome, Progress, Samples, simulate, simulate_observed};
pub use world::{Late, Unsupported, check, depends_on_seed};
