//! Packet capture on a host's interface, into a nanosecond pcap file (IETF draft-ietf-opsawg-pcap). In virtual
//! time it disturbs nothing: reading takes no time there.

use super::clock::Clock;
use super::datagrams::stamp;
use super::socket::{self, check};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A capture that is running.
pub struct Capture {
    socket: OwnedFd,
    file: BufWriter<File>,
    snaplen: u32,
}

/// Largest receive buffer the kernel gives; the reader is always in time in virtual time.
const BUFFER: i32 = 256 << 20;

impl Capture {
    /// Opens a packet socket in the calling thread's namespace and starts the file.
    ///
    /// # Errors
    /// What the kernel refused, or the file could not be made.
    pub fn open(file: &Path, snaplen: u32) -> io::Result<Self> {
        const ETH_P_ALL: u16 = 3;
        // SAFETY: takes no pointers.
        let fd = check(
            unsafe {
                libc::socket(
                    libc::AF_PACKET,
                    libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                    i32::from(ETH_P_ALL.to_be()),
                )
            },
            "packet socket",
        )?;
        // SAFETY: the descriptor is new and ours.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        socket::set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER, "capture buffer")?;
        socket::set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1i32, "SO_TIMESTAMPNS")?;
        let mut out = BufWriter::new(File::create(file)?);
        const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
        const LINKTYPE_ETHERNET: u32 = 1;
        out.write_all(&NANOSECOND_MAGIC.to_le_bytes())?;
        for half in [2u16, 4] {
            out.write_all(&half.to_le_bytes())?;
        }
        for word in [0, 0, snaplen, LINKTYPE_ETHERNET] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Capture { socket, file: out, snaplen })
    }

    /// Writes packets until `stop` is set and a last packet or a millisecond of silence has come.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn run(mut self, clock: Clock, stop: &AtomicBool) -> io::Result<()> {
        let patience = libc::timeval { tv_sec: 0, tv_usec: 1_000 };
        socket::set(self.socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, patience, "SO_RCVTIMEO")?;
        let mut packet = vec![0u8; self.snaplen as usize];
        let mut control = [0u64; 8];
        while !stop.load(Relaxed) {
            let mut vector = libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: packet.len() };
            // SAFETY: an all-zero msghdr is valid; every pointer outlives the call.
            let (length, time) = unsafe {
                let mut message: libc::msghdr = mem::zeroed();
                message.msg_iov = &mut vector;
                message.msg_iovlen = 1;
                message.msg_control = control.as_mut_ptr().cast();
                message.msg_controllen = mem::size_of_val(&control);
                let length = libc::recvmsg(self.socket.as_raw_fd(), &mut message, libc::MSG_TRUNC);
                (length, stamp(&message))
            };
            let (Ok(length), Some((seconds, nanoseconds))) = (u32::try_from(length), time) else {
                self.file.flush()?;
                continue;
            };
            // Times in the file count from the start of the run.
            let t_ns = clock.of_realtime(seconds, nanoseconds).max(0);
            let kept = length.min(self.snaplen);
            for word in [(t_ns / 1_000_000_000) as u32, (t_ns % 1_000_000_000) as u32, kept, length] {
                self.file.write_all(&word.to_le_bytes())?;
            }
            self.file.write_all(&packet[..kept as usize])?;
        }
        self.file.flush()
    }
}
