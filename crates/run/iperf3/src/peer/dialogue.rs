//! What client and server say to each other on the control connection, whatever that goes over.

use super::control::{Control, Line};
use super::error::{PeerError, Reason};
use super::results::Results;
use super::state::State;
use super::test::Test;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The client's part of a test. Dropped before [`Dialogue::finish`], it tells the server that the client gave up.
#[derive(Debug)]
pub struct Dialogue<L: Line> {
    control: Control<L>,
    test: Test,
    /// What the server still has to say before data flows.
    awaited: &'static [State],
    finished: bool,
}

impl<L: Line> Dialogue<L> {
    /// Asks for a test named `cookie`. Each answer may take `patience`.
    ///
    /// # Errors
    /// If it is another service that answers, it is busy, or it refuses.
    pub fn open(
        line: L,
        server: SocketAddr,
        test: Test,
        cookie: &[u8],
        patience: Duration,
    ) -> Result<Dialogue<L>, PeerError> {
        let mut control = Control::new(line, server, patience);
        control.send(cookie, "name the test to it")?;
        control.expect(State::ParamExchange)?;
        control.send_json(&test.parameters(), "send it the parameters")?;
        control.expect(State::CreateStreams)?;
        Ok(Dialogue { control, test, awaited: &[State::TestStart, State::TestRunning], finished: false })
    }

    /// What is asked of the server.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Why a stream could not be connected: the server may have said it.
    pub(super) fn not_connected(&mut self, index: usize, error: io::Error) -> PeerError {
        let said = self.control.watch(State::TestStart).err();
        said.unwrap_or_else(|| self.control.io(&format!("connect stream {}", index + 1), error))
    }

    /// Waits until data may flow.
    ///
    /// # Errors
    /// If the server gives up.
    pub fn start(&mut self) -> Result<(), PeerError> {
        for due in std::mem::take(&mut self.awaited) {
            self.control.expect(*due)?;
        }
        Ok(())
    }

    /// Whether the server is still there, without waiting.
    ///
    /// # Errors
    /// If it is not, or gives up.
    pub fn watch(&mut self) -> Result<(), PeerError> {
        while let Some((due, rest)) = self.awaited.split_first() {
            if !self.control.watch(*due)? {
                return Ok(());
            }
            self.awaited = rest;
        }
        self.control.watch(State::TestRunning).map(drop)
    }

    /// Ends the test and exchanges results. `own` is asked for when the server has been told of the end.
    ///
    /// # Errors
    /// If the server is gone, or its results cannot be read.
    pub fn finish(mut self, own: impl FnOnce() -> Results) -> Result<Results, PeerError> {
        self.start()?;
        self.control.tell(State::TestEnd)?;
        self.control.expect(State::ExchangeResults)?;
        let sends = !self.test.reverse;
        self.control.send_json(&own().wire(sends), "send it the results")?;
        let answer = self.control.json()?;
        let results = Results::of(answer, self.test.streams as usize, !sends)
            .map_err(|reason| self.control.fail(Reason::Results(reason)))?;
        self.control.expect(State::DisplayResults)?;
        self.control.tell(State::IperfDone)?;
        self.finished = true;
        Ok(results)
    }
}

impl<L: Line> Drop for Dialogue<L> {
    fn drop(&mut self) {
        if !self.finished {
            // It may be gone already.
            let _ = self.control.tell(State::ClientTerminate);
        }
    }
}
