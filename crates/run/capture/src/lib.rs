//! Packet captures of any program, as packets of TCP and UDP connections.
//!
//! - [`Reader`] reads pcap and pcapng, compressed or not, and removes encapsulations: it returns [`Packet`]s.
//! - [`Tracker`] follows connections: it gives an [`Observer`] each packet with its place in one, as [`Captured`].
//! - [`read()`] does both on two threads, and returns [`CaptureFacts`]: what the capture has and lacks.
//! - [`Separate`] takes super-packets of segmentation offload apart.
//!
//! Memory does not grow with the file. It grows with the connections that are open at once, up to [`Limits::most_open`].

mod connection;
mod error;
mod facts;
mod format;
mod headers;
mod read;
mod reader;
mod segment;
mod separate;
mod source;
mod tracker;
mod window;

pub use connection::{Captured, Connection, Direction, EndReason, Endpoint, Observer, Opened, Part};
pub use error::CaptureError;
pub use facts::{
    CaptureFacts, Compression, DamagedTail, FileFormat, Interface, InterfaceDrops, LinkType, Packets,
    SkipReason,
};
pub use headers::Tunnels;
pub use read::{Settings, read};
pub use reader::Reader;
pub use segment::{
    Address, Body, Datagram, Ecn, Flags, FlowKey, Options, Packet, Passage, SackBlock, SackBlocks, Segment,
    Timestamps, Transport,
};
pub use separate::{Separate, parts};
pub use source::Input;
pub use tracker::{Limits, Tracked, Tracker};
