//! iperf3, from outside: [`parse`] reads what it prints as JSON, [`recording`] makes a recording of that, and
//! [`peer`] takes the client's part in its control protocol, so that any iperf3 server is the other end of a test.
//!
//! Everything here is what iperf3 shows: its documentation, its output, and what goes over the wire. Versions 3.12 and
//! 3.21 were observed.

mod import;
#[cfg(unix)]
pub mod peer;
mod recording;

pub use import::{
    Congestion, Cpu, Endpoint, ImportError, Interval, Length, Protocol, Received, Report, Side, State,
    Stream, Total, parse,
};
pub use recording::{MergeError, Source, recording};
