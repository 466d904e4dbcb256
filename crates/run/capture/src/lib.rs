//! Packet captures of any program, as packets of TCP and UDP connections.
//!
//! [`Captured`] is a packet with its place in a [`Connection`]. An [`Observer`] receives all of them in the order of
//! the file, and [`CaptureFacts`] reports what the capture lacks.

mod connection;
mod facts;
mod segment;

pub use connection::{Captured, Connection, Direction, EndReason, Endpoint, Observer, Opened, Part};
pub use facts::{
    CaptureFacts, Compression, DamagedTail, FileFormat, Interface, InterfaceDrops, LinkType, Packets,
    SkipReason,
};
pub use segment::{
    Address, Body, Datagram, Ecn, Flags, FlowKey, Options, Packet, Passage, SackBlock, SackBlocks, Segment,
    Timestamps, Transport,
};
