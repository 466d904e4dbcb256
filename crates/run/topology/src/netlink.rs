//! rtnetlink requests that change something; what is only read comes from `wirespeed_host`.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use std::io;
use wirespeed_host::netlink::{Connection, Request};

/// A socket to the routing part of the kernel, bound to the network namespace it was opened in.
pub struct Netlink {
    connection: Connection,
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// As `socket(2)`.
    pub fn open() -> io::Result<Self> {
        Ok(Netlink { connection: Connection::open(libc::NETLINK_ROUTE)? })
    }

    /// Creates something that must not exist yet.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn create(&mut self, message: RouteNetlinkMessage) -> io::Result<()> {
        self.execute(message, NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Changes something that exists.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn change(&mut self, message: RouteNetlinkMessage) -> io::Result<()> {
        self.execute(message, 0)
    }

    /// Asks for what `wirespeed_host` can take apart.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn ask(&mut self, request: &Request) -> io::Result<Vec<u8>> {
        self.connection.ask(request.kind, request.flags, &request.payload)
    }

    fn execute(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.connection.exchange(bytes).map(drop)
    }
}
