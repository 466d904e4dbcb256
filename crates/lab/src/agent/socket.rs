//! The few socket calls the standard library does not have.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
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

/// The congestion controls that are available, or allowed to everybody.
fn controls(which: &str) -> String {
    let path = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
    std::fs::read_to_string(path).map_or("others".into(), |text| text.trim().replace(' ', ", "))
}

/// A new IPv4 socket in the calling thread's network namespace.
///
/// # Errors
/// As `socket(2)`.
pub fn open(kind: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    let fd = check(unsafe { libc::socket(libc::AF_INET, kind | libc::SOCK_CLOEXEC, 0) }, "socket")?;
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address(to: SocketAddrV4) -> libc::sockaddr_in {
    // SAFETY: an all-zero sockaddr_in is valid.
    let mut address: libc::sockaddr_in = unsafe { mem::zeroed() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_port = to.port().to_be();
    address.sin_addr.s_addr = u32::from(*to.ip()).to_be();
    address
}

const ADDRESS_LENGTH: libc::socklen_t = mem::size_of::<libc::sockaddr_in>() as libc::socklen_t;

/// Binds to a local address and port.
///
/// # Errors
/// As `bind(2)`, with the address.
pub fn bind(socket: &OwnedFd, local: SocketAddrV4) -> io::Result<()> {
    let what = format!("bind to {local}");
    let local = address(local);
    // SAFETY: `local` is a sockaddr_in of the length given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const local).cast(), ADDRESS_LENGTH) }, &what)
        .map(drop)
}

/// Connects.
///
/// # Errors
/// As `connect(2)`.
pub fn connect(socket: &OwnedFd, to: SocketAddrV4) -> io::Result<()> {
    let remote = address(to);
    // SAFETY: `remote` is a sockaddr_in of the length given.
    let result = unsafe { libc::connect(socket.as_raw_fd(), (&raw const remote).cast(), ADDRESS_LENGTH) };
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
    peer: Option<Ipv4Addr>,
    mut refused: impl FnMut(Ipv4Addr),
) -> io::Result<OwnedFd> {
    loop {
        let mut from = address(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        let mut length = ADDRESS_LENGTH;
        // SAFETY: `from` has room for an address of that length.
        let fd = unsafe {
            let from = (&raw mut from).cast();
            libc::accept4(socket.as_raw_fd(), from, &mut length, libc::SOCK_CLOEXEC)
        };
        // SAFETY: the descriptor is new and ours.
        let accepted = check(fd, "accept").map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })?;
        let found = Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr));
        if peer.is_none_or(|peer| peer == found) {
            return Ok(accepted);
        }
        refused(found);
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
