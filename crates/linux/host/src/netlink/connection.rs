//! A synchronous netlink socket: one request, its whole answer or the kernel's own words why not.

use super::message::{HEADER, messages};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A socket to a part of the kernel, bound to the network namespace it was opened in.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Connection {
    /// Opens a socket of a netlink protocol (`libc::NETLINK_*`) in the calling thread's network namespace.
    ///
    /// # Errors
    /// As `socket(2)`: `EPROTONOSUPPORT` if the kernel has not got the protocol.
    pub fn open(protocol: i32) -> io::Result<Self> {
        // SAFETY: socket takes no pointers; the descriptor is ours alone.
        let socket = unsafe {
            let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Connection { socket, sequence: 0, buffer: vec![0; 64 * 1024] })
    }

    /// Sends a message made of a type, flags and payload, and returns the messages of its answer, one after the other.
    /// What is no dump is acknowledged, so that every answer has an end.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn ask(&mut self, kind: u16, flags: u16, payload: &[u8]) -> io::Result<Vec<u8>> {
        let length = HEADER + payload.len();
        let mut message = Vec::with_capacity(length);
        message.extend((length as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        let end = if flags & libc::NLM_F_DUMP as u16 == 0 { libc::NLM_F_ACK as u16 } else { 0 };
        message.extend((flags | libc::NLM_F_REQUEST as u16 | end).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(payload);
        self.exchange(message)
    }

    /// Sends a whole message, a dump or one with `NLM_F_ACK`, to which the sequence number is added, and returns
    /// the messages of its answer. A dump that the kernel says was disturbed by a change is asked for again.
    ///
    /// # Errors
    /// What the kernel answered; `Interrupted` if things changed during every attempt.
    pub fn exchange(&mut self, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
        const ATTEMPTS: usize = 5;
        for _ in 0..ATTEMPTS {
            self.sequence = self.sequence.wrapping_add(1);
            let sequence = self.sequence;
            message
                .get_mut(8..12)
                .ok_or(io::ErrorKind::InvalidInput)?
                .copy_from_slice(&sequence.to_ne_bytes());
            self.send(&message)?;
            if let Some(answer) = self.receive(sequence)? {
                return Ok(answer);
            }
        }
        Err(io::Error::new(io::ErrorKind::Interrupted, "the listed things changed while they were listed"))
    }

    fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length describe `message`.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// `None` if the kernel marks the dump as inconsistent.
    fn receive(&mut self, sequence: u32) -> io::Result<Option<Vec<u8>>> {
        const DUMP_INTERRUPTED: u16 = 0x10; // NLM_F_DUMP_INTR
        let mut answer = Vec::new();
        let mut consistent = true;
        loop {
            let length = self.datagram()?;
            for message in messages(&self.buffer[..length]) {
                if message.sequence != sequence {
                    // The rest of an answer that an error cut short.
                    continue;
                }
                consistent &= message.flags & DUMP_INTERRUPTED == 0;
                match i32::from(message.kind) {
                    libc::NLMSG_DONE => {
                        // A dump may end with an error (EOPNOTSUPP and the like).
                        let error = message.payload.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                        return if error < 0 {
                            Err(io::Error::from_raw_os_error(error.saturating_neg()))
                        } else {
                            Ok(consistent.then_some(answer))
                        };
                    }
                    libc::NLMSG_ERROR => {
                        let error = message.payload.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                        return match error {
                            0 => Ok(Some(answer)),
                            error => Err(io::Error::from_raw_os_error(error.saturating_neg())),
                        };
                    }
                    libc::NLMSG_NOOP => {}
                    _ => {
                        answer.extend(message.whole);
                        answer.resize(answer.len().next_multiple_of(4), 0);
                    }
                }
            }
        }
    }

    /// One datagram into the buffer, which grows where the kernel has more.
    fn datagram(&mut self) -> io::Result<usize> {
        loop {
            let peek = libc::MSG_PEEK | libc::MSG_TRUNC;
            let length = self.recv(peek)?;
            if length <= self.buffer.len() {
                return self.recv(0);
            }
            self.buffer.resize(length.next_power_of_two(), 0);
        }
    }

    fn recv(&mut self, flags: i32) -> io::Result<usize> {
        loop {
            // SAFETY: pointer and length describe the buffer, which lives through the call.
            let length = unsafe {
                libc::recv(self.socket.as_raw_fd(), self.buffer.as_mut_ptr().cast(), self.buffer.len(), flags)
            };
            if let Ok(length) = usize::try_from(length) {
                return Ok(length);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}
