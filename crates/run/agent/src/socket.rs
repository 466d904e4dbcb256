//! The few socket calls the standard library does not have.

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;
use wirespeed_scenario::run::HOST_DEFAULT;

/// An option's value as bytes, at most `room` of them.
///
/// # Errors
/// As `getsockopt(2)`.
pub fn get_bytes(fd: RawFd, level: i32, option: i32, room: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; room];
    let mut length = room as libc::socklen_t;
    // SAFETY: the buffer has `length` bytes.
    let result = unsafe { libc::getsockopt(fd, level, option, bytes.as_mut_ptr().cast(), &mut length) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    bytes.truncate(length as usize);
    Ok(bytes)
}

/// Whether a socket has data that was not read yet (FIONREAD of `udp(7)` and `tcp(7)`). A closed socket has none.
pub fn has_unread(fd: RawFd) -> bool {
    let mut bytes: libc::c_int = 0;
    // SAFETY: FIONREAD writes an int.
    let result = unsafe { libc::ioctl(fd, libc::FIONREAD, &mut bytes) };
    result == 0 && bytes > 0
}

/// Sets an option to a plain value.
///
/// # Errors
/// As `setsockopt(2)`, with `what` in front.
pub fn set<T: Copy>(fd: RawFd, level: i32, option: i32, value: T, what: &str) -> io::Result<()> {
    // SAFETY: `value` is a plain value that outlives the call.
    let result = unsafe {
        libc::setsockopt(fd, level, option, (&raw const value).cast(), mem::size_of::<T>() as libc::socklen_t)
    };
    check(result, what).map(drop)
}

/// Sets a TCP socket's congestion control; that of the host stays.
///
/// # Errors
/// As `setsockopt(2)`, with what this kernel has, or lets an ordinary user have.
pub fn set_congestion(fd: RawFd, name: &str) -> io::Result<()> {
    if name == HOST_DEFAULT {
        return Ok(());
    }
    // SAFETY: the name has the length given.
    let result = unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    check(result, &format!("congestion control {name}")).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::other(format!("{error}; this kernel has {}", controls("available")))
        }
        io::ErrorKind::PermissionDenied => io::Error::other(format!(
            "{error}; an ordinary user may use {} here (net.ipv4.tcp_allowed_congestion_control)",
            controls("allowed")
        )),
        _ => error,
    })
}

/// Has packets of a socket carry a traffic class: a code point above the two bits of the ECN field.
///
/// # Errors
/// As `setsockopt(2)`.
pub fn set_traffic_class(fd: RawFd, class: u8) -> io::Result<()> {
    let family = get_bytes(fd, libc::SOL_SOCKET, libc::SO_DOMAIN, 4)?;
    let (level, option, name) = match i32::from_ne_bytes(family.try_into().unwrap_or_default()) {
        libc::AF_INET6 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, "IPV6_TCLASS"),
        _ => (libc::IPPROTO_IP, libc::IP_TOS, "IP_TOS"),
    };
    set(fd, level, option, i32::from(class), name)
}

/// The congestion controls that are available, or allowed to everybody.
fn controls(which: &str) -> String {
    let path = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
    std::fs::read_to_string(path).map_or("others".into(), |text| text.trim().replace(' ', ", "))
}

/// A new socket for addresses such as `of`, in the calling thread's network namespace.
///
/// # Errors
/// As `socket(2)`.
pub fn open(of: IpAddr, kind: i32) -> io::Result<OwnedFd> {
    let family = if of.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: takes no pointers.
    let fd = check(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) }, "socket")?;
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Room for an address and port of either family, as the kernel writes them.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Name {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Name {
    /// How many bytes it has.
    pub const LENGTH: libc::socklen_t = mem::size_of::<Name>() as libc::socklen_t;

    /// Nobody's.
    pub fn empty() -> Name {
        // SAFETY: zeros are a sockaddr_in6.
        Name { v6: unsafe { mem::zeroed() } }
    }

    /// For the kernel, with the number of bytes that it reads.
    fn of(address: SocketAddr) -> (Name, libc::socklen_t) {
        let mut name = Name::empty();
        match address {
            SocketAddr::V4(address) => {
                // SAFETY: zeros are a sockaddr_in.
                let mut v4: libc::sockaddr_in = unsafe { mem::zeroed() };
                v4.sin_family = libc::AF_INET as u16;
                v4.sin_port = address.port().to_be();
                v4.sin_addr.s_addr = u32::from(*address.ip()).to_be();
                name.v4 = v4;
                (name, mem::size_of_val(&v4) as libc::socklen_t)
            }
            SocketAddr::V6(address) => {
                // SAFETY: zeros are a sockaddr_in6.
                let mut v6: libc::sockaddr_in6 = unsafe { mem::zeroed() };
                v6.sin6_family = libc::AF_INET6 as u16;
                v6.sin6_port = address.port().to_be();
                v6.sin6_addr.s6_addr = address.ip().octets();
                v6.sin6_scope_id = address.scope_id();
                name.v6 = v6;
                (name, mem::size_of_val(&v6) as libc::socklen_t)
            }
        }
    }

    /// The address in it; `None` if it is of another family.
    pub fn ip(&self) -> Option<IpAddr> {
        // SAFETY: every byte was written, and either family's fields are plain numbers.
        unsafe {
            match i32::from(self.family) {
                libc::AF_INET => Some(IpAddr::V4(u32::from_be(self.v4.sin_addr.s_addr).into())),
                libc::AF_INET6 => Some(Ipv6Addr::from(self.v6.sin6_addr.s6_addr).to_canonical()),
                _ => None,
            }
        }
    }
}

/// Binds to a local address and port.
///
/// # Errors
/// As `bind(2)`, with the address.
pub fn bind(socket: &OwnedFd, local: SocketAddr) -> io::Result<()> {
    let what = format!("bind to {local}");
    let (local, length) = Name::of(local);
    // SAFETY: `local` is an address of the length given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const local).cast(), length) }, &what).map(drop)
}

/// Connects.
///
/// # Errors
/// As `connect(2)`.
pub fn connect(socket: &OwnedFd, to: SocketAddr) -> io::Result<()> {
    let (remote, length) = Name::of(to);
    // SAFETY: `remote` is an address of the length given.
    let result = unsafe { libc::connect(socket.as_raw_fd(), (&raw const remote).cast(), length) };
    check(result, &format!("connect to {to}")).map(drop)
}

/// Listens for one connection.
///
/// # Errors
/// As `listen(2)`.
pub fn listen(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::listen(socket.as_raw_fd(), 1) }, "listen").map(drop)
}

/// Accepts a connection, from `peer` if one is given: others are closed at once, and `refused` is told.
///
/// # Errors
/// As `accept(2)`.
pub fn accept(
    socket: &OwnedFd,
    peer: Option<IpAddr>,
    mut refused: impl FnMut(IpAddr),
) -> io::Result<OwnedFd> {
    loop {
        let mut from = Name::empty();
        let mut length = Name::LENGTH;
        // SAFETY: `from` has room for an address of that length.
        let fd = unsafe {
            let from = (&raw mut from).cast();
            libc::accept4(socket.as_raw_fd(), from, &mut length, libc::SOCK_CLOEXEC)
        };
        // SAFETY: the descriptor is new and ours.
        let accepted = check(fd, "accept").map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })?;
        let found = from.ip();
        if peer.is_none_or(|peer| Some(peer) == found) {
            return Ok(accepted);
        }
        found.into_iter().for_each(&mut refused);
    }
}

/// Closes nothing and sends no more: what is written leaves, then a FIN.
///
/// # Errors
/// As `shutdown(2)`.
pub fn end_writing(fd: RawFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::shutdown(fd, libc::SHUT_WR) }, "shutdown").map(drop)
}

/// `result` of a system call, or its error with `what` in front.
///
/// # Errors
/// If `result` is negative.
pub fn check(result: i32, what: &str) -> io::Result<i32> {
    if result < 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(error.kind(), format!("{what}: {error}")));
    }
    Ok(result)
}

/// Waits until as many bytes as SO_RCVLOWAT are there, or the end, and takes none. A blocked recv(2) takes data as it comes, and is then
/// woken only when the mark is reached once more.
///
/// # Errors
/// If it cannot wait.
pub fn await_data(fd: RawFd) -> io::Result<()> {
    while !is_readable_within(fd, None)? {}
    Ok(())
}

/// Waits until a descriptor has something to read or its end, at most for `most`; `None`: without a limit. Returns whether it has; a
/// signal ends the wait, too.
///
/// # Errors
/// If it cannot wait.
pub fn is_readable_within(fd: RawFd, most: Option<Duration>) -> io::Result<bool> {
    let most = most.map(|most| libc::timespec {
        tv_sec: most.as_secs() as libc::time_t,
        tv_nsec: most.subsec_nanos().into(),
    });
    let limit = most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call, as the time does. No signal is blocked.
    match check(unsafe { libc::ppoll(&raw mut wanted, 1, limit, std::ptr::null()) }, "poll") {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
    use wirespeed_scenario::run::Dscp;

    /// The loopback's addresses; a machine may do without IPv6.
    fn loopbacks() -> impl Iterator<Item = IpAddr> {
        let all = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
        all.into_iter().filter(|address| UdpSocket::bind((*address, 0)).is_ok())
    }

    /// The byte of TOS or traffic class in a packet's header.
    fn class_in(header: &[u8]) -> u8 {
        if header[0] >> 4 == 4 { header[1] } else { header[0] << 4 | header[1] >> 4 }
    }

    #[test]
    fn a_datagram_is_unread_until_it_is_read() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(!has_unread(receiver.as_raw_fd()));
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(b"datagram", receiver.local_addr().unwrap()).unwrap();
        assert!(has_unread(receiver.as_raw_fd()));
        receiver.recv(&mut [0; 16]).unwrap();
        assert!(!has_unread(receiver.as_raw_fd()));
    }

    #[test]
    fn code_point_arrives_with_the_first_packet_of_a_connection() {
        let ef: Dscp = "ef".parse().unwrap();
        for local in loopbacks() {
            let listener = TcpListener::bind((local, 0)).unwrap();
            set(listener.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_SAVE_SYN, 1i32, "TCP_SAVE_SYN").unwrap();
            set_traffic_class(listener.as_raw_fd(), ef.byte()).unwrap();
            let sender = open(local, libc::SOCK_STREAM).unwrap();
            set_traffic_class(sender.as_raw_fd(), ef.byte()).unwrap();
            connect(&sender, listener.local_addr().unwrap()).unwrap();
            let accepted = listener.accept().unwrap().0;
            let saved = get_bytes(accepted.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_SAVED_SYN, 200).unwrap();
            assert_eq!(class_in(&saved), 0xb8, "{local}");
            // The receiver's own packets have that of its listener.
            let (level, option) = match local {
                IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
                IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            };
            assert_eq!(get_bytes(accepted.as_raw_fd(), level, option, 4).unwrap()[0], 0xb8, "{local}");
            drop(TcpStream::from(sender));
        }
    }

    #[test]
    fn connection_from_the_expected_peer_is_accepted() {
        for local in loopbacks() {
            let listener = open(local, libc::SOCK_STREAM).unwrap();
            bind(&listener, SocketAddr::new(local, 0)).unwrap();
            listen(&listener).unwrap();
            let listener = TcpListener::from(listener);
            let to = listener.local_addr().unwrap();
            let _stream = TcpStream::connect(to).unwrap();
            let listener = OwnedFd::from(listener);
            let peer = accept(&listener, Some(local), |stranger| panic!("{stranger}")).unwrap();
            assert_eq!(TcpStream::from(peer).peer_addr().unwrap().ip(), local);
        }
    }
}
