//! Connections from a controller to agents on other hosts. [`remote`] starts an agent by ssh and copies it there, [`sealed`]
//! is a channel for hosts without ssh, [`session`] sends requests, and [`limits`] bounds the answers. [`inventory`] reads
//! the inventory of another host.

mod error;
pub mod inventory;
pub mod limits;
pub mod remote;
pub mod sealed;
pub mod session;

pub use error::TransportError;
