//! Explanations of TCP connections and UDP streams from packet captures.
//!
//! An [`Analyzer`] observes the packets of a capture and returns a [`Trace`]. For each connection and direction it has:
//!
//! - the rounds of slow start, the window and the RTT;
//! - every retransmission with its kind, and losses relative to the capture point;
//! - limiting factors, and a guess of the congestion control algorithm;
//! - the effects of capturing itself.
//!
//! For each UDP stream it has the distribution of the time between packets. It has losses, reordering, duplicates and jitter,
//! too, if a program numbered the datagrams.
//!
//! Every statement is a conclusion from headers at one point of the path. docs/explanation/trace.md explains how each is
//! made and how exact it is.

mod algorithm;
mod analyzer;
mod artefact;
mod capture_point;
mod connection;
mod distribution;
mod flow;
mod limit;
mod loss;
mod result;
mod retransmission;
mod round;
mod scoreboard;
mod sequence;
mod series;
mod slow_start;
mod spacing;
pub mod text;
mod udp;

pub use algorithm::{Algorithm, Confidence, Evidence, Guess};
pub use analyzer::{Analyzer, Options, read};
pub use artefact::{Artefacts, DuplicateCause};
pub use capture_point::{CapturePoint, Position, PositionEvidence};
pub use distribution::{Bucket, Quantiles};
pub use limit::{Limit, Limits};
pub use result::{Acks, Bursts, ConnectionTrace, Ended, FlowTrace, Losses, ReceiveWindow, Reordering, Trace};
pub use retransmission::{Retransmission, RetransmissionCounts, RetransmissionKind, Spurious};
pub use round::Round;
pub use sequence::{
    AckMarks, AckPoints, BurstPoints, Column, ConnectionSequence, DataClass, DataMarks, DataPoints,
    FlowSequence, RttPoints, SackPoints,
};
pub use series::WindowSample;
pub use slow_start::{SlowStart, SlowStartEnd};
pub use udp::{Gaps, Jitter, Numbering, Numbers, UdpStream};
