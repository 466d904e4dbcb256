//! Datagrams many at a time: a system call for each would be most of what they cost.

use super::socket::{Name, check};
use super::timing::APART_NS;
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::RawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wirespeed_iperf3::peer::Header;

/// Datagrams sent or received in one system call at most.
pub const TOGETHER: usize = 64;
/// Payload of a piece of datagrams at most: what an IPv4 packet holds (RFC 791), less its headers. In IPv6 (RFC 8200, 3) the
/// length leaves out IP's own header, so that there would be room for 20 bytes more.
pub const MOST_BYTES: usize = 65_535 - 28;

/// Datagrams that leave in one system call.
pub struct Batch {
    size: usize,
    payload: Vec<u8>,
    pieces: Vec<Piece>,
    /// Datagrams that the kernel may take as one piece (UDP_SEGMENT, since Linux 4.18); 1 where it cannot.
    most: usize,
    head: Head,
}

/// Datagrams that the kernel takes as one and cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    first: usize,
    count: usize,
    leaves_ns: i64,
}

impl Piece {
    fn one_by_one(self) -> impl Iterator<Item = Piece> {
        (self.first..self.first + self.count).map(move |first| Piece { first, count: 1, ..self })
    }
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
        Batch { size, payload: vec![0; size * TOGETHER], pieces: Vec::new(), most, head }
    }

    fn filled(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.first + piece.count)
    }

    /// Adds a datagram that is to leave at `leaves_ns`, which is `ahead_ns` from now; not more than [`TOGETHER`] fit. Those that
    /// leave within [`APART_NS`] are one piece: when that leaves is returned.
    pub fn push(&mut self, sequence: u64, leaves_ns: i64, ahead_ns: i64) -> i64 {
        let at = self.filled();
        let joins = |piece: &&mut Piece| piece.count < self.most && leaves_ns - piece.leaves_ns < APART_NS;
        let leaves_ns = match self.pieces.last_mut().filter(joins) {
            Some(piece) => {
                piece.count += 1;
                piece.leaves_ns
            }
            None => {
                self.pieces.push(Piece { first: at, count: 1, leaves_ns });
                leaves_ns
            }
        };
        let head = &mut self.payload[at * self.size..][..HEADER];
        match self.head {
            Head::Ours => {
                head[..8].copy_from_slice(&sequence.to_le_bytes());
                head[8..].copy_from_slice(&leaves_ns.to_le_bytes());
            }
            Head::Iperf3 => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let sent = now + Duration::from_nanos(ahead_ns.max(0) as u64);
                Header { sent, number: sequence + 1 }.write(head);
            }
        }
        leaves_ns
    }

    /// Sends what was pushed. `to_kernel`: what is added to the times at which pieces leave, where the kernel is told them.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn send(&mut self, fd: RawFd, to_kernel: Option<i64>) -> io::Result<()> {
        let mut left = mem::take(&mut self.pieces);
        while let Some(first) = left.first() {
            match self.send_pieces(fd, &left, to_kernel) {
                Ok(sent) => drop(left.drain(..sent)),
                // Dropped by our own qdisc, which counts it; the datagrams were sent as far as we can tell.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => drop(left.remove(0)),
                // An older kernel, or an interface without checksums: one by one.
                Err(error)
                    if first.count > 1
                        && matches!(
                            error.raw_os_error(),
                            Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE)
                        ) =>
                {
                    self.most = 1;
                    left = left.into_iter().flat_map(Piece::one_by_one).collect();
                }
                Err(error) => return Err(io::Error::new(error.kind(), format!("send datagrams: {error}"))),
            }
        }
        Ok(())
    }

    /// Sends pieces; returns how many of them went. What is wrong with a piece is said when it is the first.
    fn send_pieces(&mut self, fd: RawFd, pieces: &[Piece], to_kernel: Option<i64>) -> io::Result<usize> {
        let (size, payload) = (self.size, self.payload.as_mut_ptr());
        let mut vectors: Vec<libc::iovec> = (pieces.iter())
            .map(|piece| libc::iovec {
                // The kernel only reads it.
                iov_base: payload.wrapping_add(piece.first * size).cast(),
                iov_len: piece.count * size,
            })
            .collect();
        let mut controls = vec![[0u64; CONTROL]; pieces.len()];
        let mut messages: Vec<libc::mmsghdr> = vectors.iter_mut().map(message_of).collect();
        for ((message, control), piece) in messages.iter_mut().zip(&mut controls).zip(pieces) {
            let mut added = Controls::new(control);
            if let Some(to_kernel) = to_kernel {
                let time = (piece.leaves_ns + to_kernel).max(0) as u64;
                added.add(libc::SOL_SOCKET, libc::SCM_TXTIME, &time.to_ne_bytes());
            }
            if piece.count > 1 {
                added.add(libc::SOL_UDP, libc::UDP_SEGMENT, &(size as u16).to_ne_bytes());
            }
            let length = added.length;
            if length > 0 {
                message.msg_hdr.msg_control = control.as_mut_ptr().cast();
                message.msg_hdr.msg_controllen = length;
            }
        }
        // SAFETY: every pointer is to something that outlives the call.
        let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), messages.len() as u32, 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }
}

/// Room for the control messages of a piece, a time and a size, in words.
const CONTROL: usize = 6;

/// Control messages on their way to the kernel (cmsg(3)): header and value, each padded to words.
struct Controls<'a> {
    room: &'a mut [u64; CONTROL],
    length: usize,
}

impl Controls<'_> {
    fn new(room: &mut [u64; CONTROL]) -> Controls<'_> {
        Controls { room, length: 0 }
    }

    /// Adds one whose value is at most a word long.
    fn add(&mut self, level: i32, kind: i32, value: &[u8]) {
        // SAFETY: takes no pointers.
        let (length, space) =
            unsafe { (libc::CMSG_LEN(value.len() as u32), libc::CMSG_SPACE(value.len() as u32)) };
        let header = libc::cmsghdr { cmsg_len: length as usize, cmsg_level: level, cmsg_type: kind };
        let [at, words] = [self.length / 8, space as usize / 8];
        let to = &mut self.room[at..at + words];
        // SAFETY: `to` has the space that the C library asks for a header and such a value, aligned to words; a header
        // has two words.
        unsafe {
            to.as_mut_ptr().cast::<libc::cmsghdr>().write(header);
            let data = to.as_mut_ptr().cast::<u8>().add(mem::size_of::<libc::cmsghdr>());
            data.copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        self.length += space as usize;
    }
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
    sources: Vec<Name>,
}

/// A datagram that has come.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// What stands at its front.
    pub header: [u8; HEADER],
    /// When it came, by CLOCK_REALTIME.
    pub stamp: Option<(i64, i64)>,
    /// Who has sent it, as far as that can be believed.
    pub from: IpAddr,
}

impl Room {
    /// For the datagrams of one call.
    pub fn new() -> Room {
        Room {
            headers: vec![[0; HEADER]; TOGETHER],
            controls: vec![[0; 8]; TOGETHER],
            sources: vec![Name::empty(); TOGETHER],
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
            message.msg_hdr.msg_namelen = Name::LENGTH;
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
        let arrived = |(message, (header, source)): (&libc::mmsghdr, (&[u8; HEADER], &Name))| {
            // SAFETY: the kernel has filled these messages in.
            let stamp = unsafe { stamp(&message.msg_hdr) };
            Arrived { header: *header, stamp, from: source.ip().unwrap_or(Ipv4Addr::UNSPECIFIED.into()) }
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
