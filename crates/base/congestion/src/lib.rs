//! Congestion controls as pure state machines: no clock, no I/O, no global.
//!
//! The socket of the model (crate `sim`) owns what is in flight, loss detection, proportional rate reduction
//! (RFC 6937) and the pacing of packets. It tells the algorithm what happened, in structs, and reads back a
//! [`Control`]; only the socket changes the socket. See [`CongestionControl`] for the order of calls.
//!
//! Algorithms come from [`algorithms`], one row each, built with [`build`]. Where Linux has an algorithm, its form
//! in Linux 6.12 (`net/ipv4/tcp_*.c`) with a tick of 1 ms is followed, its integer steps included, but in 64 bits:
//! where Linux' 32 bits would wrap, at windows of some six million packets, this crate goes on exactly.
//!
//! Adding one costs its file in `algorithms/` with a row, a line in `algorithms/mod.rs`, and its page in
//! `docs/models/congestion/`.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod algorithms;
#[cfg(test)]
mod conformance;
mod control;
mod even;
mod event;
mod filter;
#[cfg(test)]
mod large_windows;
mod loss_based;
mod parameter;
mod random;
mod registry;
mod round;
mod slow_start;
#[cfg(test)]
mod testing;
mod tick;
mod window;

pub use algorithms::algorithms;
pub use control::{CongestionControl, Control, Observer};
pub use even::EvenAcks;
pub use event::{
    AckSample, CongestionEvent, CongestionKind, Phase, RateSample, Restart, RestartKind, Sent, Timestamps,
    Undo,
};
pub use loss_based::{LossBased, PhaseChange, WindowRule};
pub use parameter::{BuildError, Parameter, Values, When};
pub use random::Random;
pub use registry::{Algorithm, Built, EcnUse, Setup, algorithm, build};
pub use slow_start::{HyStart, HyStartSettings, Limited, SlowStart, Standard};
pub use window::Window;
