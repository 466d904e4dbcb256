//! Synchronous rtnetlink: one request, its answer or the kernel's own words why not.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use std::io;

/// A socket to the routing part of the kernel, bound to the network namespace it was opened in.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// As `socket(2)`.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        Ok(Netlink { socket, sequence: 0, buffer: Vec::with_capacity(64 * 1024) })
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

    fn execute(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.send(message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        self.answers(|_| {})
    }

    /// Asks for everything of a kind; `each` sees every entry.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn dump(
        &mut self,
        message: RouteNetlinkMessage,
        each: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.send(message, NLM_F_REQUEST | NLM_F_DUMP)?;
        self.answers(each)
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        Ok(())
    }

    fn answers(&mut self, mut each: impl FnMut(RouteNetlinkMessage)) -> io::Result<()> {
        loop {
            self.buffer.clear();
            self.socket.recv(&mut self.buffer, 0)?;
            let mut rest = &self.buffer[..];
            while rest.len() >= 16 {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                let length = message.header.length as usize;
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) => match error.code {
                        None => return Ok(()),
                        Some(_) => return Err(error.to_io()),
                    },
                    NetlinkPayload::InnerMessage(inner) => each(inner),
                    _ => {}
                }
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
            }
        }
    }
}
