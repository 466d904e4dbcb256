//! Recordings made from packet captures.
//!
//! A [`Sampler`] observes a capture and keeps what each flow had sent and received, on a grid of time. [`of_one`] and [`of_pair`] make a
//! [`Recording`](wirespeed_record::Recording) of it, with the analysis of crate `trace` or `pair`, and the loss ledger.
//!
//! A capture has no queues, cores and counters of hosts: these are not recorded. The window is the largest number of bytes in flight of
//! each round, and is recorded only for a capture at the sender.

mod flows;
mod ledger;
mod recording;
mod sampler;

pub use recording::{of_one, of_pair};
pub use sampler::Sampler;
