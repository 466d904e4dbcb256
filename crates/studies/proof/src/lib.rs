//! Whether a change of a host helps, by measurements with and without it.
//!
//! A [`Bench`] measures an arm: the hosts as they are, or with one candidate change. [`prove`] measures the arms in rounds of
//! random order, and stops when every [`Verdict`] is certain or the time is up. Differences are paired within a round, so
//! that slow changes of the path cancel.

mod bench;
mod effect;
mod order;
mod prediction;
mod proof;
mod table;

pub use bench::{Bench, Measurement};
pub use effect::{Effect, Verdict, effect};
pub use order::Order;
pub use prediction::{Host, NotModelled, Prediction, Setup, scenario};
pub use proof::{Limits, LimitsError, Proof, Stop, prove};
pub use table::{summary, tornado};
