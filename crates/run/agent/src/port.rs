//! Ports of a test on a real host: whether they are free, who has them otherwise, and whether packets come through to them.

use super::other_tests::is_agent;
use super::socket;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use wirespeed_record::plain_line;

/// The answer of a host on a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reached {
    /// It took a connection, or sent a datagram back, at best so many nanoseconds later.
    Accepted(i64),
    /// It refused, at best so many nanoseconds later.
    Refused(i64),
    /// Nothing came back.
    Silent,
    /// This host could not send, in the words of its kernel.
    Unsendable(String),
}

impl Reached {
    /// The shortest answer, of either kind.
    pub fn answer_ns(&self) -> Option<i64> {
        match self {
            Reached::Accepted(ns) | Reached::Refused(ns) => Some(*ns),
            Reached::Silent | Reached::Unsendable(_) => None,
        }
    }
}

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Trials at most.
pub const MOST_TRIALS: u32 = 5;

/// What the host at an address answers to SYNs, of which the shortest answer counts.
pub fn reach(to: SocketAddr, trials: u32) -> Reached {
    let mut best: Option<Reached> = None;
    for _ in 0..trials.clamp(1, MOST_TRIALS) {
        let began = Instant::now();
        let answer = TcpStream::connect_timeout(&to, PATIENCE);
        let took = began.elapsed().as_nanos() as i64;
        let least =
            |best: &Option<Reached>| best.as_ref().and_then(Reached::answer_ns).unwrap_or(took).min(took);
        best = Some(match answer {
            Ok(_) => Reached::Accepted(least(&best)),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Reached::Refused(least(&best)),
            Err(error) if error.kind() == ErrorKind::TimedOut => return best.unwrap_or(Reached::Silent),
            Err(error) => return best.unwrap_or_else(|| Reached::Unsendable(error.to_string())),
        });
    }
    best.unwrap_or(Reached::Silent)
}

/// The same with datagrams, which a [`Listening`] sends back.
pub fn reach_by_datagrams(to: SocketAddr, trials: u32) -> Reached {
    let trial = |number: u32| -> io::Result<i64> {
        let any: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(to)?;
        socket.set_read_timeout(Some(PATIENCE / MOST_TRIALS))?;
        let began = Instant::now();
        socket.send(&number.to_le_bytes())?;
        socket.recv(&mut [0; 64])?;
        Ok(began.elapsed().as_nanos() as i64)
    };
    let mut best = Reached::Silent;
    for number in 0..trials.clamp(1, MOST_TRIALS) {
        let of = |took: i64, best: &Reached| best.answer_ns().unwrap_or(took).min(took);
        match (trial(number), &best) {
            (Ok(took), best_yet) => best = Reached::Accepted(of(took, best_yet)),
            (Err(error), Reached::Silent) => match error.kind() {
                // Lost or swallowed: the next may come through.
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                ErrorKind::ConnectionRefused => best = Reached::Refused(0),
                _ => return Reached::Unsendable(error.to_string()),
            },
            (Err(_), _) => {}
        }
    }
    best
}

/// A port that is held until this value goes: connections to it are taken and closed, datagrams sent back.
#[derive(Debug)]
pub struct Listening(Arc<AtomicBool>);

impl Listening {
    /// Takes a port of this host for a test of datagrams or of TCP.
    ///
    /// # Errors
    /// If somebody has it; then who.
    pub fn begin(local: SocketAddr, datagrams: bool) -> io::Result<Listening> {
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        if datagrams {
            let socket = UdpSocket::bind(local).map_err(|error| taken(error, local.port(), true))?;
            socket.set_read_timeout(Some(LOOK))?;
            thread::spawn(move || echo(&socket, &ended));
        } else {
            let listener = TcpListener::bind(local).map_err(|error| taken(error, local.port(), false))?;
            listener.set_nonblocking(true)?;
            thread::spawn(move || accept(&listener, &ended));
        }
        Ok(Listening(over))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        // The port is free when its thread has looked.
        thread::sleep(2 * LOOK);
    }
}

/// How often a thread that listens sees whether it is over.
const LOOK: Duration = Duration::from_millis(20);

fn accept(listener: &TcpListener, over: &AtomicBool) {
    while !over.load(Relaxed) {
        match listener.accept() {
            // Its end says that it was taken.
            Ok((mut stream, _)) => {
                let _ = stream.set_read_timeout(Some(LOOK));
                let _ = stream.read(&mut [0; 1]);
            }
            Err(_) => thread::sleep(LOOK / 10),
        }
    }
}

fn echo(socket: &UdpSocket, over: &AtomicBool) {
    /// More than a test sends: nobody is to have it send to somebody else for long.
    const MOST: u32 = 100;
    let (mut room, mut sent) = ([0; 64], 0);
    while !over.load(Relaxed) {
        if let Ok((got, from)) = socket.recv_from(&mut room)
            && sent < MOST
        {
            sent += 1;
            let _ = socket.send_to(&room[..got], from);
        }
    }
}

/// The error of a bind, with who has the port.
pub fn taken(error: io::Error, port: u16, datagrams: bool) -> io::Error {
    if error.kind() != ErrorKind::AddrInUse {
        return error;
    }
    let protocol = if datagrams { "UDP" } else { "TCP" };
    let who = holder(port, datagrams).unwrap_or_else(|| "a process that this user cannot see".into());
    io::Error::new(
        ErrorKind::AddrInUse,
        format!(
            "{protocol} port {port} is in use by {who}; wait until it ends, or choose another port, for example with \
             `wirespeed probe --port {}`",
            other(port)
        ),
    )
}

fn other(port: u16) -> u16 {
    port.checked_add(100).unwrap_or(5001)
}

/// Tries until it succeeds: somebody who only looks whether a port is free gives it back soon.
///
/// # Errors
/// That of the last trial.
pub fn patiently<T>(mut bind: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    const PATIENCE: Duration = Duration::from_secs(3);
    let began = Instant::now();
    loop {
        match bind() {
            Err(error) if error.kind() == ErrorKind::AddrInUse && began.elapsed() < PATIENCE => {
                thread::sleep(5 * LOOK);
            }
            result => return result,
        }
    }
}

/// The process and user that listen on a port of this namespace, as text.
fn holder(port: u16, datagrams: bool) -> Option<String> {
    let tables = if datagrams { ["udp", "udp6"] } else { ["tcp", "tcp6"] };
    let all: String = tables
        .iter()
        .filter_map(|table| fs::read_to_string(format!("/proc/self/net/{table}")).ok())
        .collect();
    let inode = inode_of(&all, port, datagrams)?;
    let wanted = format!("socket:[{inode}]");
    let has_it = |process: &fs::DirEntry| {
        let descriptors = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        let mut targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.any(|target| target.as_os_str() == wanted.as_str())
    };
    let is_process = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().parse::<u32>().is_ok();
    let mut processes = fs::read_dir("/proc").ok()?.flatten().filter(is_process);
    let process = processes.find(has_it)?;
    let pid = process.file_name().to_string_lossy().into_owned();
    let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
    let words: Vec<String> = words
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .filter(|word| !word.is_empty())
        .collect();
    let user = process.metadata().map_or_else(|_| "unknown".into(), |found| user(found.uid()));
    let is_ours = is_agent(words.join("\0").as_bytes());
    let line: String = plain_line(&words.join(" ")).chars().take(80).collect();
    Some(match is_ours {
        true => format!("another test of wirespeed (process {pid} of user {user})"),
        false => format!("process {pid} of user {user} (`{line}`)"),
    })
}

/// The name of a user, or the number where none is known.
pub fn user(uid: u32) -> String {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines.find(|fields| fields.get(2) == Some(&uid.to_string().as_str()));
    found.map_or_else(|| uid.to_string(), |fields| fields[0].to_owned())
}

/// The inode of the socket that listens on a port, from the kernel's table (Documentation/networking/proc_net_tcp.rst).
fn inode_of(table: &str, port: u16, datagrams: bool) -> Option<u64> {
    // TCP_LISTEN and TCP_CLOSE, which an unconnected socket of UDP is in (include/net/tcp_states.h).
    let state = if datagrams { "07" } else { "0A" };
    let wanted = format!(":{port:04X}");
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&wanted) && *fields.get(3)? == state;
        is_it.then(|| fields.get(9)?.parse().ok()).flatten()
    })
}

/// A socket that is bound to a port of a test.
///
/// # Errors
/// As `bind(2)`; if somebody has the port, who.
pub fn bind(socket: &std::os::fd::OwnedFd, local: SocketAddr, datagrams: bool) -> io::Result<()> {
    patiently(|| socket::bind(socket, local)).map_err(|error| taken(error, local.port(), datagrams))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A free port of the loopback's addresses; a machine may do without IPv6.
    fn free_ports() -> Vec<SocketAddr> {
        let all = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
        let listeners = all.into_iter().filter_map(|address| TcpListener::bind((address, 0)).ok());
        listeners.map(|listener| listener.local_addr().unwrap()).collect()
    }

    #[test]
    fn port_that_listens_accepts_and_one_that_does_not_refuses() {
        for datagrams in [false, true] {
            for port in free_ports() {
                let ask = || if datagrams { reach_by_datagrams(port, 2) } else { reach(port, 2) };
                assert!(matches!(ask(), Reached::Refused(_)), "{:?}", ask());
                let listening = Listening::begin(port, datagrams).unwrap();
                assert!(matches!(ask(), Reached::Accepted(1..)), "{:?}", ask());
                drop(listening);
                assert!(matches!(ask(), Reached::Refused(_)), "{:?}", ask());
            }
        }
    }

    #[test]
    fn taken_port_is_refused_with_the_process_that_has_it() {
        for datagrams in [false, true] {
            for port in free_ports() {
                let _first = Listening::begin(port, datagrams).unwrap();
                let refused = Listening::begin(port, datagrams).unwrap_err();
                let words = format!("port {} is in use by process {}", port.port(), std::process::id());
                assert!(refused.to_string().contains(&words), "{refused}");
            }
        }
    }
}
