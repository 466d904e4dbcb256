//! The control connection: states and JSON, every wait with an end and every length with a limit.

use super::error::{PeerError, Reason};
use super::state::State;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// What a control connection goes over: TCP, or bytes that are there already.
pub trait Line: Read + Write {
    /// The longest that a read may wait from now on.
    ///
    /// # Errors
    /// As `setsockopt(2)`.
    fn wait_at_most(&mut self, time: Duration) -> io::Result<()>;

    /// Reads what is there; `WouldBlock` if that is nothing.
    ///
    /// # Errors
    /// As `read(2)`.
    fn look(&mut self, room: &mut [u8]) -> io::Result<usize>;
}

impl Line for TcpStream {
    fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }

    fn look(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.set_nonblocking(true)?;
        let read = self.read(room);
        self.set_nonblocking(false)?;
        read
    }
}

/// Largest results taken, in bytes: 128 streams with room to spare.
const MOST: usize = 1 << 20;
/// Of what a foreign service says, so much is shown, in bytes.
const SHOWN: usize = 48;

/// A control connection.
#[derive(Debug)]
pub struct Control<L> {
    line: L,
    server: SocketAddr,
    patience: Duration,
    /// It has said something that an iperf3 server says.
    known: bool,
}

impl<L: Line> Control<L> {
    pub fn new(line: L, server: SocketAddr, patience: Duration) -> Control<L> {
        Control { line, server, patience, known: false }
    }

    pub fn fail(&self, reason: Reason) -> PeerError {
        PeerError { server: self.server, reason }
    }

    pub fn io(&self, doing: &str, source: io::Error) -> PeerError {
        self.fail(Reason::Io { doing: doing.into(), source })
    }

    /// Sends bytes. That it is gone shows when it is to answer, with what it said last.
    pub fn send(&mut self, bytes: &[u8], doing: &str) -> Result<(), PeerError> {
        match self.line.write_all(bytes) {
            Err(e) if !matches!(e.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
                Err(self.io(doing, e))
            }
            _ => Ok(()),
        }
    }

    /// Tells the server a state.
    pub fn tell(&mut self, state: State) -> Result<(), PeerError> {
        self.send(&[state.byte()], "send to it")
    }

    /// Waits for a state.
    pub fn expect(&mut self, due: State) -> Result<(), PeerError> {
        let byte = self.bytes::<1>(due)?[0];
        self.hear(byte, due)
    }

    /// Whether it is still with us, without waiting; meanwhile it has nothing to say but `due`. Whether it has said that.
    pub fn watch(&mut self, due: State) -> Result<bool, PeerError> {
        let mut byte = [0];
        match self.line.look(&mut byte) {
            Ok(0) => Err(self.fail(Reason::Gone { due, first: false })),
            Ok(_) => self.hear(byte[0], due).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(self.lost(error, due)),
        }
    }

    /// Sends JSON with its length in front.
    pub fn send_json(&mut self, value: &impl Serialize, doing: &str) -> Result<(), PeerError> {
        let body = serde_json::to_vec(value).expect("parameters and results are plain data");
        let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
        bytes.extend(body);
        self.send(&bytes, doing)
    }

    /// Waits for JSON.
    pub fn json(&mut self) -> Result<Value, PeerError> {
        let due = State::ExchangeResults;
        let first = self.bytes::<1>(due)?[0];
        // No length begins so: it has sent a state instead.
        if matches!(State::of(first), Some(State::ServerError | State::AccessDenied)) {
            self.hear(first, due)?;
        }
        let [b, c, d] = self.bytes::<3>(due)?;
        let length = u32::from_be_bytes([first, b, c, d]) as usize;
        if length > MOST {
            return Err(self.fail(Reason::Results(format!("{length} bytes, where at most {MOST} are taken"))));
        }
        let mut body = vec![0; length];
        self.fill(&mut body, due)?;
        // Some versions count the zero at the end.
        while body.last() == Some(&0) {
            body.pop();
        }
        serde_json::from_slice(&body).map_err(|e| self.fail(Reason::Results(e.to_string())))
    }

    /// A state that has come: the one that is due, or why it is not.
    fn hear(&mut self, byte: u8, due: State) -> Result<(), PeerError> {
        let first = !std::mem::replace(&mut self.known, true);
        match State::of(byte) {
            Some(state) if state == due => Ok(()),
            Some(State::AccessDenied) => Err(self.fail(Reason::Busy)),
            Some(State::ServerTerminate) => Err(self.fail(Reason::Stopped)),
            Some(State::ServerError) => {
                let [code, errno] = [self.bytes::<4>(due)?, self.bytes::<4>(due)?].map(i32::from_be_bytes);
                Err(self.fail(Reason::Refused { code, errno }))
            }
            Some(got) => Err(self.fail(Reason::OutOfTurn { got, due })),
            None if first => {
                let said = self.rest(byte);
                Err(self.fail(Reason::NotIperf3 { said }))
            }
            None => {
                Err(self.fail(Reason::Results(format!("byte {byte} is no state, where it was to {due}"))))
            }
        }
    }

    /// What a foreign service says, as far as it is there already.
    fn rest(&mut self, first: u8) -> String {
        let mut bytes = vec![0; SHOWN];
        let wait = self.line.wait_at_most(Duration::from_millis(100));
        let got = wait.and_then(|()| self.line.read(&mut bytes)).unwrap_or(0);
        let said: Vec<u8> = std::iter::once(first).chain(bytes[..got].iter().copied()).collect();
        String::from_utf8_lossy(&said).trim_end().chars().filter(|c| !c.is_control()).collect()
    }

    fn bytes<const N: usize>(&mut self, due: State) -> Result<[u8; N], PeerError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, due)?;
        Ok(bytes)
    }

    /// Waits for so many bytes, all together as long as its patience: one that says a byte now and then gets no more.
    fn fill(&mut self, bytes: &mut [u8], due: State) -> Result<(), PeerError> {
        let until = Instant::now() + self.patience;
        let mut filled = 0;
        while filled < bytes.len() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.silent(due));
            }
            self.line.wait_at_most(left).map_err(|e| self.io("wait for it", e))?;
            match self.line.read(&mut bytes[filled..]) {
                Ok(0) => return Err(self.fail(Reason::Gone { due, first: !self.known })),
                Ok(got) => filled += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(self.silent(due));
                }
                Err(error) => return Err(self.lost(error, due)),
            }
        }
        Ok(())
    }

    fn silent(&self, due: State) -> PeerError {
        self.fail(Reason::Silent { due, seconds: self.patience.as_secs_f64(), first: !self.known })
    }

    fn lost(&self, error: io::Error, due: State) -> PeerError {
        match error.kind() {
            io::ErrorKind::ConnectionReset => self.fail(Reason::Gone { due, first: !self.known }),
            _ => self.io("read from it", error),
        }
    }
}
