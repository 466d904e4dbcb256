//! Netlink as far as reading needs it: a connection, messages and attributes.
//!
//! Messages are kept as the bytes the kernel sent, so that a recorded answer is read by the same code as a live
//! one, and are taken apart here without trust: whatever does not fit is left out. Bytes are in the order of the
//! machine that recorded them (linux/netlink.h).

mod connection;
mod generic;
mod message;

pub use connection::Connection;
pub use generic::{family, request as generic_request};
pub use message::{
    Attribute, Message, attribute, attributes, find, messages, nested, text, u16_at, u32_at, u64_at, unsigned,
};

/// A request to the kernel, with the name under which a fixture keeps its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Name in a fixture: letters, digits and `-`.
    pub name: String,
    /// Netlink protocol, e.g. `NETLINK_ROUTE`.
    pub protocol: i32,
    /// Type of the message.
    pub kind: u16,
    /// Flags besides `NLM_F_REQUEST`.
    pub flags: u16,
    /// What follows the header.
    pub payload: Vec<u8>,
}

impl Request {
    /// Asks for everything of a kind.
    pub fn dump(name: impl Into<String>, protocol: i32, kind: u16, payload: Vec<u8>) -> Request {
        Request { name: name.into(), protocol, kind, flags: libc::NLM_F_DUMP as u16, payload }
    }
}
