//! The largest packets that pass between two hosts: datagrams that may not be fragmented, each answered by the other agent.

use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::socket;

/// The path MTU in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMtu {
    /// The largest IP packet that was tried: the MTU of the sender's interface.
    pub tried: u32,
    /// The largest that passed; `None` if none was answered, which says nothing of sizes.
    pub passed: Option<u32>,
    /// A router, or the sender's own kernel, reported that larger ones do not pass.
    pub is_reported: bool,
}

/// Header of UDP.
const UDP_HEADER: u32 = 8;
/// Begins each datagram.
const MAGIC: [u8; 8] = *b"ws-mtu-1";
/// MTUs of common links, tunnels and providers.
const COMMON: [u32; 8] = [9000, 8900, 4000, 1500, 1492, 1450, 1400, 1280];
/// Datagrams of a size that may get lost before it counts as too large.
const TRIALS: usize = 3;

/// What differs between the versions of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    /// Headers of IP and UDP in bytes.
    headers: u32,
    /// The smallest packet that every path takes: of IPv4 as every host does (RFC 791), of IPv6 as every link (RFC 8200, 5).
    smallest: u32,
    /// `IP_MTU_DISCOVER` and `IP_RECVERR`: their level, and each option.
    level: i32,
    discover: i32,
    errors: i32,
}

impl Version {
    const V4: Version = Version {
        headers: 20 + UDP_HEADER,
        smallest: 576,
        level: libc::IPPROTO_IP,
        discover: libc::IP_MTU_DISCOVER,
        errors: libc::IP_RECVERR,
    };
    const V6: Version = Version {
        headers: 40 + UDP_HEADER,
        smallest: 1280,
        level: libc::IPPROTO_IPV6,
        discover: libc::IPV6_MTU_DISCOVER,
        errors: libc::IPV6_RECVERR,
    };

    fn of(address: IpAddr) -> Version {
        if address.is_ipv4() { Version::V4 } else { Version::V6 }
    }
}

/// Answers datagrams until it is dropped, or nobody has asked for some seconds.
pub struct Answerer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Answerer {
    /// Answers `peer` at an address and port.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn start(local: SocketAddr, peer: IpAddr) -> io::Result<Answerer> {
        const IDLE: Duration = Duration::from_secs(10);
        let headers = Version::of(local.ip()).headers;
        let socket = UdpSocket::bind(local)?;
        socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let (mut buffer, mut heard) = (vec![0; 1 << 16], Instant::now());
            while !stopped.load(Relaxed) && heard.elapsed() < IDLE {
                let Ok((got, from)) = socket.recv_from(&mut buffer) else { continue };
                if from.ip() == peer && buffer[..got].starts_with(&MAGIC) {
                    heard = Instant::now();
                    let answer = [&MAGIC[..], &(got as u32 + headers).to_be_bytes()].concat();
                    // The other side repeats a lost question.
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Ok(Answerer { stop, thread: Some(thread) })
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Finds the largest packet that passes to an [`Answerer`].
///
/// # Errors
/// If there is no socket to send from.
pub fn probe(local: IpAddr, to: SocketAddr, interface_mtu: u32) -> io::Result<PathMtu> {
    let socket = UdpSocket::bind((local, 0))?;
    socket.connect(to)?;
    let fd = socket.as_raw_fd();
    // Whatever the kernel has learned of the path: the size is tried.
    let version = Version::of(to.ip());
    let Version { level, smallest, .. } = version;
    // The value is the same of both versions.
    socket::set(fd, level, version.discover, libc::IP_PMTUDISC_PROBE, "IP_MTU_DISCOVER")?;
    socket::set(fd, level, version.errors, 1, "IP_RECVERR")?;
    let tried = interface_mtu.clamp(smallest, u32::from(u16::MAX));
    let patience = Duration::from_millis(200);
    let mut trial = Trial { socket, headers: version.headers, patience, is_reported: false };
    let found = |passed, trial: &Trial| PathMtu { tried, passed, is_reported: trial.is_reported };
    let began = Instant::now();
    if !trial.passes(smallest)? {
        return Ok(found(None, &trial));
    }
    trial.patience = (began.elapsed() * 4).clamp(Duration::from_millis(40), Duration::from_millis(400));
    if trial.passes(tried)? {
        return Ok(found(Some(tried), &trial));
    }
    let (mut passed, mut too_large) = (smallest, tried);
    for size in COMMON.into_iter().filter(|size| (smallest + 1..tried).contains(size)) {
        if trial.passes(size)? {
            passed = size;
            break;
        }
        too_large = size;
    }
    // The next size often is the common one itself.
    if too_large - passed > 1 && trial.passes(passed + 1)? {
        passed += 1;
        while too_large - passed > 1 {
            let middle = passed.midpoint(too_large);
            if trial.passes(middle)? { passed = middle } else { too_large = middle }
        }
    }
    // Losses of the path look the same: the size is tried once more.
    let passed = if trial.passes(tried)? { tried } else { passed };
    Ok(found(Some(passed), &trial))
}

struct Trial {
    socket: UdpSocket,
    headers: u32,
    patience: Duration,
    is_reported: bool,
}

impl Trial {
    /// Whether an IP packet of this size is answered.
    fn passes(&mut self, size: u32) -> io::Result<bool> {
        let mut datagram = vec![0; (size - self.headers) as usize];
        datagram[..MAGIC.len()].copy_from_slice(&MAGIC);
        for _ in 0..TRIALS {
            match self.socket.send(&datagram) {
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    self.is_reported = true;
                    return Ok(false);
                }
                Err(_) => return Ok(false),
                Ok(_) => {}
            }
            let began = Instant::now();
            while let Some(left) = self.patience.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
                self.socket.set_read_timeout(Some(left))?;
                let mut answer = [0; 12];
                match self.socket.recv(&mut answer) {
                    Ok(12) if answer[8..] == size.to_be_bytes() => return Ok(true),
                    Ok(_) => {}
                    Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                        self.is_reported = true;
                        return Ok(false);
                    }
                    // Nobody listens, or nothing came.
                    Err(_) => break,
                }
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answered_sizes_pass() {
        for local in [IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()] {
            // A machine may do without IPv6.
            let Ok(free) = UdpSocket::bind((local, 0)) else { continue };
            let to = free.local_addr().unwrap();
            drop(free);
            let answerer = Answerer::start(to, local).unwrap();
            let found = probe(local, to, 9000).unwrap();
            assert_eq!(found, PathMtu { tried: 9000, passed: Some(9000), is_reported: false });
            drop(answerer);
            assert_eq!(probe(local, to, 9000).unwrap().passed, None);
        }
    }
}
