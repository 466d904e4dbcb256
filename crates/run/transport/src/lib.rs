//! Connections from a controller to agents on other hosts. [`remote`] starts an agent by ssh and copies it there, [`sealed`]
//! is a channel for hosts without ssh, [`session`] sends requests, and [`limits`] bounds the answers. [`command`] runs
//! one command of this program on another host, and [`inventory`] reads the inventory there.

pub mod command;
mod error;
pub mod inventory;
pub mod limits;
pub mod remote;
pub mod sealed;
pub mod session;

pub use error::TransportError;
