//! A sender, a router and a receiver, and sockets on them.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::ops::Deref;
use std::os::fd::AsRawFd;
use wirespeed_testbed::{Row, address, address_v6};
pub use wirespeed_testbed::{skip, within};

/// Addresses of the two ends.
pub const SENDER: Ipv4Addr = address(0, 1);
pub const RECEIVER: Ipv4Addr = address(1, 2);
/// The same for IPv6, after [`Row::add_ipv6`].
pub const SENDER_V6: Ipv6Addr = address_v6(0, 1);
pub const RECEIVER_V6: Ipv6Addr = address_v6(1, 2);

/// A [`Row`] of a sender, a router and a receiver.
pub struct Bed {
    row: Row,
    pub sender: String,
    pub router: String,
    pub receiver: String,
}

impl Deref for Bed {
    type Target = Row;

    fn deref(&self) -> &Row {
        &self.row
    }
}

impl Bed {
    /// `None`, with a report that the test is skipped, if this machine does not allow namespaces.
    pub fn new(test: &str) -> Option<Bed> {
        match Row::new(3) {
            Ok(row) => {
                let [sender, router, receiver] = [0, 1, 2].map(|place| row.name(place).to_owned());
                Some(Bed { row, sender, router, receiver })
            }
            Err(reason) => {
                skip(test, &format!("no network namespaces here: {reason}"));
                None
            }
        }
    }

    /// A counter of a host that this kernel has.
    pub fn count(&self, name: &str, protocol: &str, counter: &str) -> u64 {
        let count = self.counter(name, protocol, counter).expect("the kernel has the counter");
        count.try_into().expect("a counter is not negative")
    }
}

/// What the sender's socket says at the end of a flow.
#[derive(Debug)]
pub struct Sent {
    /// Its congestion control (`TCP_CONGESTION`).
    pub congestion: String,
    /// Segments retransmitted (`tcpi_total_retrans`).
    pub retransmitted: u32,
    /// What the receiver read.
    pub received: usize,
}

/// Sends so many bytes from end to end, with that congestion control if one is named.
pub fn flow(bed: &Bed, port: u16, bytes: usize, congestion: Option<&str>) -> std::io::Result<Sent> {
    flow_to(bed, (RECEIVER.into(), port), bytes, congestion)
}

/// The same to one of the receiver's addresses.
pub fn flow_to(
    bed: &Bed,
    to: (IpAddr, u16),
    bytes: usize,
    congestion: Option<&str>,
) -> std::io::Result<Sent> {
    let listener = within(&bed.receiver, || TcpListener::bind(to))?;
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || -> std::io::Result<usize> {
            let (mut stream, _) = listener.accept()?;
            let (mut buffer, mut received) = (vec![0; 1 << 16], 0);
            loop {
                match stream.read(&mut buffer)? {
                    0 => return Ok(received),
                    more => received += more,
                }
            }
        });
        let mut stream = within(&bed.sender, || TcpStream::connect(to))?;
        if let Some(name) = congestion {
            choose(&stream, name)?;
        }
        let chunk = vec![7; 1 << 16];
        for part in chunk.chunks(1 << 16).cycle().take(bytes.div_ceil(1 << 16)) {
            stream.write_all(part)?;
        }
        // Until the last byte is acknowledged, so that what the socket says is the whole.
        stream.shutdown(std::net::Shutdown::Write)?;
        let received = receiver.join().unwrap()?;
        Ok(Sent { congestion: chosen(&stream)?, retransmitted: retransmitted(&stream)?, received })
    })
}

/// Chooses a congestion control.
pub fn choose(socket: &impl AsRawFd, name: &str) -> std::io::Result<()> {
    let (at, length) = (name.as_ptr().cast(), name.len() as libc::socklen_t);
    // SAFETY: the kernel reads as many bytes as the name has.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, at, length) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn chosen(socket: &impl AsRawFd) -> std::io::Result<String> {
    let mut name = [0_u8; 16];
    option(socket, libc::TCP_CONGESTION, &mut name)?;
    Ok(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
}

fn retransmitted(socket: &impl AsRawFd) -> std::io::Result<u32> {
    /// `tcpi_total_retrans` in `struct tcp_info`, after 8 bytes and 23 numbers of 32 bits.
    const PLACE: usize = 8 + 23 * 4;
    let mut info = [0_u8; 104];
    option(socket, libc::TCP_INFO, &mut info)?;
    Ok(u32::from_ne_bytes(info[PLACE..PLACE + 4].try_into().unwrap()))
}

fn option(socket: &impl AsRawFd, which: i32, value: &mut [u8]) -> std::io::Result<()> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most as many bytes as there are.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            which,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
