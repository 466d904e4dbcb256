//! Datagrams many at a time: a system call for each would be most of what they cost.

use super::socket::check;
use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::RawFd;
use std::time::{SystemTime, UNIX_EPOCH};
use wirespeed_iperf3::peer::Header;

/// Datagrams sent or received in one system call at most.
pub const TOGETHER: usize = 64;
/// Payload of a piece of datagrams at most: what an IP packet holds (RFC 791), less its headers.
pub const MOST_BYTES: usize = 65_535 - 28;

/// Datagrams that leave in one system call.
pub struct Batch {
    size: usize,
    payload: Vec<u8>,
    filled: usize,
    /// Datagrams that the kernel may take as one piece (UDP_SEGMENT, since Linux 4.18); 1 where it cannot.
    piece: usize,
    head: Head,
}

/// What stands at the front of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// Number from 0 and time of sending by the run's clock.
    Ours,
    /// What an iperf3 server reads: time of sending by the time of day, and number from 1.
    Iperf3,
}

/// Sequence number and time of sending, at the front of every datagram.
pub const HEADER: usize = 16;

impl Batch {
    /// Of datagrams of `size` bytes, at least [`HEADER`]. `pieces`: whether the kernel may take several as one.
    pub fn new(size: usize, pieces: bool, head: Head) -> Batch {
        // A piece has at most 64 KiB with its headers.
        let most = if pieces { (MOST_BYTES / size.max(1)).clamp(1, TOGETHER) } else { 1 };
        Batch { size, payload: vec![0; size * TOGETHER], filled: 0, piece: most, head }
    }

    /// Adds a datagram; not more than [`TOGETHER`] fit.
    pub fn push(&mut self, sequence: u64, now: i64) {
        let head = &mut self.payload[self.filled * self.size..][..HEADER];
        match self.head {
            Head::Ours => {
                head[..8].copy_from_slice(&sequence.to_le_bytes());
                head[8..].copy_from_slice(&now.to_le_bytes());
            }
            Head::Iperf3 => {
                let sent = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Header { sent, number: sequence + 1 }.write(head);
            }
        }
        self.filled += 1;
    }

    /// Sends what was pushed.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn send(&mut self, fd: RawFd) -> io::Result<()> {
        let size = self.size;
        let filled = std::mem::take(&mut self.filled);
        let mut sent = 0;
        while sent < filled {
            let together = self.piece.min(filled - sent);
            let piece = &mut self.payload[sent * size..(sent + together) * size];
            match send_piece(fd, piece, size) {
                Ok(()) => sent += together,
                // Dropped by our own qdisc, which counts it; the datagrams were sent as far as we can tell.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => sent += together,
                // An older kernel, or an interface without checksums: one by one.
                Err(error)
                    if together > 1
                        && matches!(
                            error.raw_os_error(),
                            Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE)
                        ) =>
                {
                    self.piece = 1;
                }
                Err(error) => return Err(io::Error::new(error.kind(), format!("send datagrams: {error}"))),
            }
        }
        Ok(())
    }
}

/// Sends datagrams of `size` bytes that lie one behind the other, cut by the kernel where they are several.
fn send_piece(fd: RawFd, piece: &mut [u8], size: usize) -> io::Result<()> {
    let mut control = [0u64; 4];
    let several = piece.len() > size;
    let mut vector = libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
    // SAFETY: an all-zero msghdr is valid; `control` has room for one control message of two bytes and is aligned for
    // it; everything outlives the call.
    let sent = unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &mut vector;
        message.msg_iovlen = 1;
        if several {
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(2) as usize;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_UDP;
            (*header).cmsg_type = libc::UDP_SEGMENT;
            (*header).cmsg_len = libc::CMSG_LEN(2) as usize;
            libc::CMSG_DATA(header).cast::<u16>().write_unaligned(size as u16);
        }
        libc::sendmsg(fd, &message, 0)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn message_of(vector: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: an all-zero mmsghdr is valid.
    let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
    message.msg_hdr.msg_iov = vector;
    message.msg_hdr.msg_iovlen = 1;
    message
}

/// Room for the headers and stamps of datagrams that arrive.
pub struct Room {
    headers: Vec<[u8; HEADER]>,
    controls: Vec<[u64; 8]>,
    sources: Vec<libc::sockaddr_in>,
}

/// A datagram that has come.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// What stands at its front.
    pub header: [u8; HEADER],
    /// When it came, by CLOCK_REALTIME.
    pub stamp: Option<(i64, i64)>,
    /// Who has sent it, as far as that can be believed.
    pub from: Ipv4Addr,
}

impl Room {
    /// For the datagrams of one call.
    pub fn new() -> Room {
        // SAFETY: an all-zero sockaddr_in is valid.
        let nobody: libc::sockaddr_in = unsafe { mem::zeroed() };
        Room {
            headers: vec![[0; HEADER]; TOGETHER],
            controls: vec![[0; 8]; TOGETHER],
            sources: vec![nobody; TOGETHER],
        }
    }

    /// Waits for a datagram, and takes what has come with it. Those too short for a header are left out.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn receive(&mut self, fd: RawFd) -> io::Result<Vec<Arrived>> {
        let mut vectors: Vec<libc::iovec> = (self.headers.iter_mut())
            .map(|header| libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: HEADER })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = vectors.iter_mut().map(message_of).collect();
        for (message, (control, source)) in
            messages.iter_mut().zip(self.controls.iter_mut().zip(&mut self.sources))
        {
            message.msg_hdr.msg_control = control.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = mem::size_of_val(control);
            message.msg_hdr.msg_namelen = mem::size_of_val(source) as libc::socklen_t;
            message.msg_hdr.msg_name = std::ptr::from_mut(source).cast();
        }
        // SAFETY: every pointer outlives the call; without a time limit it returns when one has come.
        let got = unsafe {
            let (first, count) = (messages.as_mut_ptr(), messages.len() as u32);
            libc::recvmmsg(fd, first, count, libc::MSG_WAITFORONE, std::ptr::null_mut())
        };
        let got = check(got, "receive datagrams")? as usize;
        let all = messages[..got].iter().zip(self.headers.iter().zip(&self.sources));
        let whole = all.filter(|(message, _)| message.msg_len as usize >= HEADER);
        let arrived = |(message, (header, source)): (&libc::mmsghdr, (&[u8; HEADER], &libc::sockaddr_in))| {
            // SAFETY: the kernel has filled these messages in.
            let stamp = unsafe { stamp(&message.msg_hdr) };
            Arrived { header: *header, stamp, from: Ipv4Addr::from(u32::from_be(source.sin_addr.s_addr)) }
        };
        Ok(whole.map(arrived).collect())
    }
}

/// The kernel's time stamp on a message.
///
/// # Safety
/// `message` must come from a successful `recvmsg`.
pub unsafe fn stamp(message: &libc::msghdr) -> Option<(i64, i64)> {
    // SAFETY: the kernel laid the control messages out; CMSG_* walk within msg_controllen.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                return Some((time.tv_sec, time.tv_nsec));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}
