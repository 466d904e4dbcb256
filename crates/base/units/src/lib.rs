//! Quantities of networking as types.
//!
//! A value in a file or on a command line is a string with its unit ("9.5 Gbit/s", "6.2 ms", "8 MiB"); in code
//! it is one of the newtypes here. Parsing is exact: a value that the type cannot hold without rounding is an
//! error, and printing gives a string that parses back to the same value.
//!
//! Time is counted in picoseconds, because a 64-byte frame at 800 Gbit/s lasts 0.64 ns: `i64` holds 106 days.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod bytes;
mod quantity;
mod rate;
mod time;

pub use bytes::{Bytes, Packets};
pub use quantity::ParseError;
pub use rate::Rate;
pub use time::{SimTime, Span};
