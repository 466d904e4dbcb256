//! The client's part in iperf3's control protocol. It makes connected sockets, which somebody else drives:
//!
//! ```text
//! open -> connect (sockets) -> start -> [traffic; watch] -> finish (what the server measured)
//! ```
//!
//! Every wait has an end and every answer a limit; a server can make nothing here unbounded.

mod control;
mod datagram;
mod dialogue;
mod error;
mod results;
mod state;
mod stream;
mod test;

pub use control::Line;
pub use datagram::{HEADER, Header, NARROW_HEADER};
pub use dialogue::Dialogue;
pub use error::{PeerError, Reason};
pub use results::{Results, StreamResult};
pub use state::State;
pub use test::{MOST_STREAMS, Test};

use crate::import::Protocol;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The port of a server that was told none.
pub const PORT: u16 = 5201;

/// How long a server may take for an answer that needs no work.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// What a connection of TCP carries before the data: the name of the test, in bytes.
pub const COOKIE: usize = 37;

/// Names a test: 36 characters and a zero.
type Cookie = [u8; COOKIE];

/// A test with a server over a network. Dropped before [`Session::finish`], it tells the server that the client gave up.
#[derive(Debug)]
pub struct Session {
    dialogue: Dialogue<TcpStream>,
    streams: Streams,
}

/// What makes the connections of a test. It may be given to another thread than the session's: where the server sends, it
/// begins when it has the last of them.
#[derive(Debug, Clone)]
pub struct Streams {
    protocol: Protocol,
    cookie: Cookie,
    server: SocketAddr,
    from: Option<IpAddr>,
    patience: Duration,
}

impl Streams {
    /// Connects the next stream. `prepare` sees the socket before it is connected, for what has to be set by then.
    ///
    /// # Errors
    /// As `connect(2)`, and if the server does not take it for one of the test.
    pub fn connect(&self, prepare: impl FnOnce(&OwnedFd) -> io::Result<()>) -> io::Result<OwnedFd> {
        let socket = stream::open(self.server, self.from, self.protocol)?;
        prepare(&socket)?;
        let socket = stream::connect(socket, self.server, self.patience)?;
        match self.protocol {
            Protocol::Tcp => stream::announce(socket, &self.cookie, self.patience),
            Protocol::Udp => stream::greet(socket, self.patience),
        }
    }
}

impl Session {
    /// Asks a server for a test, from an address of ours if one is given. Each of its answers may take `patience`.
    ///
    /// # Errors
    /// If nobody is there, it is another service, it is busy, or it refuses.
    pub fn open(
        server: SocketAddr,
        from: Option<IpAddr>,
        test: Test,
        patience: Duration,
    ) -> Result<Session, PeerError> {
        let fail = |reason| PeerError { server, reason };
        test.check().map_err(|what| fail(Reason::Test(what)))?;
        let connected = stream::open(server, from, Protocol::Tcp)
            .and_then(|socket| stream::connect(socket, server, patience))
            .map_err(|error| fail(Reason::Connect(error)))?;
        let line = TcpStream::from(connected);
        let set_up = line.set_nodelay(true).and_then(|()| line.set_write_timeout(Some(patience)));
        let doing = |doing: &str, source| fail(Reason::Io { doing: doing.into(), source });
        set_up.map_err(|source| doing("set up the control connection", source))?;
        let cookie = cookie().map_err(|source| doing("name the test", source))?;
        let protocol = test.protocol;
        let dialogue = Dialogue::open(line, server, test, &cookie, patience)?;
        Ok(Session { dialogue, streams: Streams { protocol, cookie, server, from, patience } })
    }

    /// What makes the connections, each of which has to be made once.
    pub fn streams(&self) -> Streams {
        self.streams.clone()
    }

    /// What is asked of the server.
    pub fn test(&self) -> &Test {
        self.dialogue.test()
    }

    /// Connects the streams, one after the other. `prepare` sees each socket before it is connected, for what has to be
    /// set by then: buffers, congestion control.
    ///
    /// # Errors
    /// If one cannot be connected, or the server gives up.
    pub fn connect(
        &mut self,
        mut prepare: impl FnMut(usize, &OwnedFd) -> io::Result<()>,
    ) -> Result<Vec<OwnedFd>, PeerError> {
        let mut sockets = Vec::new();
        for index in 0..self.test().streams as usize {
            match self.streams.connect(|socket| prepare(index, socket)) {
                Ok(socket) => sockets.push(socket),
                Err(error) => return Err(self.dialogue.not_connected(index, error)),
            }
        }
        Ok(sockets)
    }

    /// Waits until data may flow.
    ///
    /// # Errors
    /// If the server gives up.
    pub fn start(&mut self) -> Result<(), PeerError> {
        self.dialogue.start()
    }

    /// Whether the server is still there, without waiting. To be asked now and then while data flows; whoever has not waited
    /// for [`Session::start`] is told the same by this.
    ///
    /// # Errors
    /// If it is not, or gives up.
    pub fn watch(&mut self) -> Result<(), PeerError> {
        self.dialogue.watch()
    }

    /// Ends the test and exchanges results. `own` is asked for when the server has been told of the end. The sockets have to
    /// stay open until then, and where the server sends, somebody has to go on reading.
    ///
    /// # Errors
    /// If the server is gone, or its results cannot be read.
    pub fn finish(self, own: impl FnOnce() -> Results) -> Result<Results, PeerError> {
        self.dialogue.finish(own)
    }
}

/// A name that no other test has.
fn cookie() -> io::Result<Cookie> {
    /// What iperf3's own consist of.
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut cookie = [0; COOKIE];
    File::open("/dev/urandom")?.read_exact(&mut cookie)?;
    for byte in &mut cookie {
        *byte = LETTERS[usize::from(*byte) % LETTERS.len()];
    }
    cookie[COOKIE - 1] = 0;
    Ok(cookie)
}
