//! A splitter's part of a flow. It accepts the connection of one leg, opens that of the next, and relays the data through a
//! buffer of its own.
//!
//! The buffer is memory of this process. A pipe (`splice(2)`) would save copies. But its room is a number of packet fragments, not
//! of bytes, so that the bound would depend on their sizes.

use super::socket::{self, end_writing};
use super::{Part, tcp};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The next leg of a flow, before its connection is opened.
pub struct Next {
    part: Arc<Part>,
    socket: OwnedFd,
    to: SocketAddr,
}

impl Next {
    /// Prepares the socket, in the namespace of the interface that the leg leaves by.
    ///
    /// # Errors
    /// If the kernel refuses a setting.
    pub fn prepare(part: &Arc<Part>, to: SocketAddr) -> io::Result<Next> {
        let socket = socket::open(to.ip(), libc::SOCK_STREAM)?;
        tcp::set_up(part, &socket)?;
        Ok(Next { part: Arc::clone(part), socket, to })
    }
}

/// Takes the connection of `part`, opens the next one, and relays to the end; runs in its own thread.
///
/// # Errors
/// Those of the system calls.
pub fn relay(part: &Part, listener: &OwnedFd, next: Next) -> io::Result<()> {
    let from = tcp::accept(part, listener)?;
    let Next { part: next, socket, to } = next;
    socket::connect(&socket, to)?;
    let to = tcp::started(&next, socket);
    let room = next.flow().leg.as_ref().and_then(|leg| leg.relay_buffer).map_or(0, |bytes| bytes.get());
    let mut ring = Ring::new(usize::try_from(room).map_err(io::Error::other)?);
    let mut has_ended = false;
    loop {
        if !ring.is_empty() {
            next.state.sender().note_core();
            // The rest waits, and reading stops when the buffer is full.
            while !ring.is_empty() && now_or_later(ring.send(to), "send")?.is_some() {}
        }
        if !has_ended && !ring.is_full() {
            part.state.receiver().note_core();
            match now_or_later(ring.receive(from), "receive")? {
                Some(0) => {
                    has_ended = true;
                    tcp::note_all_read(part);
                }
                Some(got) => {
                    part.state.read_bytes.fetch_add(got as u64, Relaxed);
                    continue;
                }
                None => {}
            }
        }
        if has_ended && ring.is_empty() {
            end_writing(to)?;
            tcp::log_end_of_writing(&next);
            return Ok(());
        }
        let awaits_data = !has_ended && !ring.is_full();
        wait(awaits_data.then_some(from), (!ring.is_empty()).then_some(to))?;
    }
}

/// The result of a call that does not block; `None`: it would have.
fn now_or_later(result: io::Result<usize>, what: &str) -> io::Result<Option<usize>> {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{what}: {error}"))),
    }
}

/// Waits until one socket has something to read or the other has room.
fn wait(readable: Option<RawFd>, writable: Option<RawFd>) -> io::Result<()> {
    let of = |fd: Option<RawFd>, events| libc::pollfd { fd: fd.unwrap_or(-1), events, revents: 0 };
    // A negative descriptor is passed over (poll(2)).
    let mut both = [of(readable, libc::POLLIN), of(writable, libc::POLLOUT)];
    // SAFETY: the array has the number of entries that is given.
    let result = unsafe { libc::poll(both.as_mut_ptr(), both.len() as libc::nfds_t, -1) };
    match socket::check(result, "poll") {
        Err(error) if error.kind() != ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Bytes in order, in a buffer of fixed size whose end joins its begin.
struct Ring {
    bytes: Vec<u8>,
    begin: usize,
    length: usize,
}

impl Ring {
    fn new(room: usize) -> Ring {
        Ring { bytes: vec![0; room], begin: 0, length: 0 }
    }

    fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn is_full(&self) -> bool {
        self.length == self.bytes.len()
    }

    /// `length` bytes from `begin` on, as at most two parts.
    fn parts(&mut self, begin: usize, length: usize) -> [libc::iovec; 2] {
        let begin = begin % self.bytes.len().max(1);
        let first = length.min(self.bytes.len() - begin);
        let part =
            |bytes: &mut [u8]| libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let (before, behind) = self.bytes.split_at_mut(begin);
        [part(&mut behind[..first]), part(&mut before[..length - first])]
    }

    /// Takes what a socket has now and has room.
    fn receive(&mut self, from: RawFd) -> io::Result<usize> {
        let mut parts = self.parts(self.begin + self.length, self.bytes.len() - self.length);
        let mut message = message(&mut parts);
        // SAFETY: the parts are memory of the ring that nothing else uses meanwhile.
        let got = unsafe { libc::recvmsg(from, &mut message, libc::MSG_DONTWAIT) };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        self.length += got;
        Ok(got)
    }

    /// Gives a socket what it has room for now.
    fn send(&mut self, to: RawFd) -> io::Result<usize> {
        let mut parts = self.parts(self.begin, self.length);
        let message = message(&mut parts);
        // SAFETY: the kernel only reads the parts, which are memory of the ring.
        let sent = unsafe { libc::sendmsg(to, &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
        let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
        self.begin = (self.begin + sent) % self.bytes.len().max(1);
        self.length -= sent;
        Ok(sent)
    }
}

fn message(parts: &mut [libc::iovec; 2]) -> libc::msghdr {
    // SAFETY: zeros are a msghdr of nothing.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len();
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// Bytes that no other part of the stream has at the same place.
    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|i| (i * 31 % 251) as u8).collect()
    }

    #[test]
    fn what_goes_in_comes_out_in_order_and_no_more_fits_than_there_is_room() {
        let (mut writer, from) = UnixStream::pair().unwrap();
        let (to, mut reader) = UnixStream::pair().unwrap();
        let sent = bytes(10_000);
        writer.write_all(&sent).unwrap();
        let mut ring = Ring::new(1000);
        let mut received = Vec::new();
        while received.len() < sent.len() {
            if !ring.is_full() && received.len() + ring.length < sent.len() {
                ring.receive(from.as_raw_fd()).unwrap();
            }
            assert!(ring.length <= 1000);
            // Pieces of another size, so that all places of the ring are begins and ends.
            let mut some = vec![0; ring.length.min(337)];
            let whole = ring.length;
            ring.length = some.len();
            ring.send(to.as_raw_fd()).unwrap();
            ring.length = whole - some.len();
            reader.read_exact(&mut some).unwrap();
            received.extend(some);
        }
        assert_eq!(received, sent);
    }

    #[test]
    fn full_buffer_leaves_the_rest_in_the_socket() {
        let (mut writer, from) = UnixStream::pair().unwrap();
        writer.write_all(&bytes(3000)).unwrap();
        let mut ring = Ring::new(1000);
        assert_eq!(ring.receive(from.as_raw_fd()).unwrap(), 1000);
        assert!(ring.is_full() && socket::has_unread(from.as_raw_fd()));
    }
}
