//! A sender, a router and a receiver: network namespaces joined by veth pairs, gone when the test ends; and sockets in
//! them.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Addresses of the two ends.
pub const SENDER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
pub const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 78, 1, 2);
/// The same of IPv6, after [`Bed::add_ipv6`].
pub const SENDER_V6: Ipv6Addr = Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 1);
pub const RECEIVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd78, 0, 0, 1, 0, 0, 0, 2);

/// The ends, each with a device `wire`, and a router with `left` and `right`.
pub struct Bed {
    pub sender: String,
    pub router: String,
    pub receiver: String,
}

impl Bed {
    /// `None`, and the test is told to be skipped, where namespaces cannot be made.
    pub fn new(test: &str) -> Option<Bed> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = |end: &str| format!("wsbpf{}-{number}-{end}", std::process::id());
        let bed = Bed { sender: name("a"), router: name("r"), receiver: name("b") };
        if let Err(why) = run(&["ip", "netns", "add", &bed.sender]) {
            skip(test, &format!("no network namespaces here: {why}"));
            return None;
        }
        bed.build().unwrap_or_else(|why| panic!("{why}"));
        Some(bed)
    }

    fn build(&self) -> Result<(), String> {
        let Bed { sender, router, receiver } = self;
        run(&["ip", "netns", "add", router])?;
        run(&["ip", "netns", "add", receiver])?;
        // No packet but those of the test.
        let quiet = "for set in default all; do echo 1 > /proc/sys/net/ipv6/conf/$set/disable_ipv6; done; \
                     ip link set lo up";
        for name in [sender, router, receiver] {
            self.inside(name, quiet)?;
        }
        for (end, device, network) in [(sender, "left", 0), (receiver, "right", 1)] {
            let veth = [
                "ip", "-n", end, "link", "add", "wire", "type", "veth", "peer", "name", device, "netns",
                router,
            ];
            run(&veth)?;
            // Addresses of the ends are those of SENDER and RECEIVER.
            let (own, other) = if network == 0 { (1, 2) } else { (2, 1) };
            for (name, device, number, peer) in [(end, "wire", own, other), (router, device, other, own)] {
                self.inside(
                    name,
                    &format!(
                        "ip link set {device} address 02:00:00:78:0{network}:0{number}; \
                     ip addr add 10.78.{network}.{number}/24 dev {device}; ip link set {device} up; \
                     ip neigh add 10.78.{network}.{peer} lladdr 02:00:00:78:0{network}:0{peer} dev {device}"
                    ),
                )?;
            }
            self.inside(end, &format!("ip route add default via 10.78.{network}.{other}"))?;
        }
        self.inside(router, "echo 1 > /proc/sys/net/ipv4/ip_forward")
    }

    /// Gives the three machines addresses and routes of IPv6 beside those of IPv4.
    pub fn add_ipv6(&self) {
        let Bed { sender, router, receiver } = self;
        for (end, device, network) in [(sender, "left", 0), (receiver, "right", 1)] {
            let (own, other) = if network == 0 { (1, 2) } else { (2, 1) };
            for (name, device, number, peer) in [(end, "wire", own, other), (router, device, other, own)] {
                self.inside(
                    name,
                    &format!(
                        "echo 0 > /proc/sys/net/ipv6/conf/{device}/disable_ipv6; \
                     ip addr add fd78:0:0:{network}::{number}/64 dev {device} nodad; \
                     ip neigh add fd78:0:0:{network}::{peer} lladdr 02:00:00:78:0{network}:0{peer} dev {device}"
                    ),
                )
                .unwrap();
            }
            self.inside(end, &format!("ip -6 route add default via fd78:0:0:{network}::{other}")).unwrap();
        }
        self.inside(router, "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding").unwrap();
    }

    /// A shell command in a namespace.
    pub fn inside(&self, name: &str, script: &str) -> Result<(), String> {
        run(&["ip", "netns", "exec", name, "sh", "-ec", script])
    }

    /// What a shell command in a namespace prints.
    pub fn told(&self, name: &str, script: &str) -> String {
        let output = Command::new("ip").args(["netns", "exec", name, "sh", "-ec", script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The number by which the kernel knows a namespace.
    pub fn inode(&self, name: &str) -> u32 {
        std::fs::metadata(path(name)).unwrap().ino() as u32
    }

    /// A counter of `/proc/net/snmp` or `/proc/net/netstat`, such as `Tcp`, `RetransSegs`.
    pub fn counter(&self, name: &str, group: &str, counter: &str) -> u64 {
        let text = self.told(name, "cat /proc/net/snmp /proc/net/netstat");
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(&format!("{group}: ")));
        let (heads, values) = (lines.next().unwrap(), lines.next().unwrap());
        let place = heads.split(' ').position(|head| head == counter).unwrap();
        values.split(' ').nth(place).unwrap().parse().unwrap()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for name in [&self.sender, &self.router, &self.receiver] {
            let _ = run(&["ip", "netns", "del", name]);
        }
    }
}

fn path(name: &str) -> String {
    format!("/var/run/netns/{name}")
}

fn run(words: &[&str]) -> Result<(), String> {
    let output =
        Command::new(words[0]).args(&words[1..]).output().map_err(|e| format!("{}: {e}", words[0]))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}

/// Carries out `work` in a namespace, in a thread of its own.
pub fn within<R: Send>(name: &str, work: impl FnOnce() -> R + Send) -> R {
    let file = File::open(path(name)).unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            // SAFETY: the file is a namespace; only this thread moves there.
            let result = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
            work()
        });
        thread.join().unwrap()
    })
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

/// Says that a test finds its environment lacking; past the test harness, which shows nothing of tests that pass.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "{test} skipped: {why}");
}
