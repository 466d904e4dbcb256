//! The model: TCP as Linux 6.12 does it, over links and queues, as discrete events in picoseconds.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod net;
