//! Bytes as what an iperf3 server says on the control connection: whatever they are, that ends in results of every stream or in
//! a reason that a terminal can show.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use wirespeed_iperf3::peer::{COOKIE, Dialogue, Line, PATIENCE, PeerError, Results, Test};

/// A server that has said everything already, and hears a little.
struct Said<'a> {
    bytes: &'a [u8],
    heard: usize,
}

impl Read for Said<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(room)
    }
}

impl Write for Said<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heard += bytes.len();
        assert!(self.heard < 1 << 16, "a server makes us talk without end");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Line for Said<'_> {
    fn wait_at_most(&mut self, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn look(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { self.read(room) }
    }
}

/// Carries out tests of two streams, in which either side sends, with a server that says `bytes`.
pub fn converse(bytes: &[u8]) {
    for reverse in [false, true] {
        let test = Test { reverse, ..Test::tcp(2, Duration::from_secs(1)) };
        match carry_out(Said { bytes, heard: 0 }, test) {
            Ok(results) => assert_eq!(results.streams.len(), 2),
            Err(error) => {
                let told = error.to_string();
                assert!(told.len() < 1000 && !told.contains(char::is_control), "{told:?}");
            }
        }
    }
}

fn carry_out(line: Said, test: Test) -> Result<Results, PeerError> {
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 5201));
    let mut dialogue = Dialogue::open(line, server, test, &[b'a'; COOKIE], PATIENCE)?;
    dialogue.start()?;
    dialogue.finish(Results::default)
}
