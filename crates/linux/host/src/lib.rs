//! What a Linux host counts, read live or from a recorded fixture, in the words of the loss ledger.
//!
//! A [`Root`] is the host that is read: this machine, or a folder in which another one was recorded. A [`Source`]
//! is one interface of the kernel (link statistics, ethtool, qdiscs, ...); [`sources()`] lists all. [`take`] reads
//! them into a [`Snapshot`] of [`Reading`]s, each with its place, its meaning and its
//! [`Stage`](wirespeed_record::Stage), and says what could not be read and why. [`Snapshot::since`] gives what
//! changed.

mod collector;
pub mod drivers;
pub mod ethtool;
mod fixture;
mod inventory;
pub mod netlink;
pub mod packet_ring;
pub mod pattern;
mod reading;
mod reference;
mod root;
pub mod settings;
mod snapshot;
mod source;
pub mod sources;
pub mod tcp_info;

pub use collector::Collector;
pub use fixture::record_fixture;
pub use inventory::{inventory, managers};
pub use reading::{
    CounterMeaning, Device, Meaning, Origin, Place, Reading, Row, Socket, Unit, Way, Width, row,
};
pub use reference::reference;
pub use root::{Clock, Facts, Interface, Root};
pub use snapshot::{Change, Changes, Delta, Snapshot, take, take_of};
pub use source::{Source, Unavailable, source, sources};
