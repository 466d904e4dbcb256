//! The connections that carry the data.

use crate::import::Protocol;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// What a client of datagrams says first.
const HELLO: &[u8; 4] = b"9876";
/// What a server answers: that of new versions, and that of versions before 3.14.
const ANSWERS: [[u8; 4]; 2] = [*b"6789", [0xb1, 0x68, 0xde, 0x3a]];

/// A socket for a connection with the server, from an address of ours if one is given.
pub fn open(server: SocketAddr, from: Option<IpAddr>, protocol: Protocol) -> io::Result<OwnedFd> {
    let kind = if protocol == Protocol::Tcp { Type::STREAM } else { Type::DGRAM };
    let socket = Socket::new(Domain::for_address(server), kind, None)?;
    if let Some(from) = from {
        socket.bind(&SockAddr::from(SocketAddr::new(from, 0)))?;
    }
    Ok(socket.into())
}

/// Connects it.
pub fn connect(socket: OwnedFd, server: SocketAddr, patience: Duration) -> io::Result<OwnedFd> {
    let socket = Socket::from(socket);
    socket.connect_timeout(&server.into(), patience)?;
    Ok(socket.into())
}

/// Makes the connection known to the server as one of the test: by the test's cookie.
pub fn announce(socket: OwnedFd, cookie: &[u8], patience: Duration) -> io::Result<OwnedFd> {
    let socket = Socket::from(socket);
    socket.set_write_timeout(Some(patience))?;
    let mut sent = 0;
    while sent < cookie.len() {
        sent += socket.send(&cookie[sent..])?;
    }
    socket.set_write_timeout(None)?;
    Ok(socket.into())
}

/// Makes a connection of datagrams known to the server: it takes the next that comes, and answers.
pub fn greet(socket: OwnedFd, patience: Duration) -> io::Result<OwnedFd> {
    let socket = Socket::from(socket);
    socket.send(HELLO)?;
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "no answer to datagrams for {} s; is UDP closed on this port?",
                    patience.as_secs_f64()
                ),
            ));
        }
        socket.set_read_timeout(Some(left))?;
        let mut answer = [0; 4];
        match (&socket).read(&mut answer) {
            Ok(4) if ANSWERS.contains(&answer) => break,
            // Something else that came by.
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    socket.set_read_timeout(None)?;
    Ok(socket.into())
}
