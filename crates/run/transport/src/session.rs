//! A session with the agent of one host: what is asked, and what comes back.

use crate::TransportError;
use crate::limits::{MOST_WORDS, most_bytes};
use crate::remote::{End, Program, Remote};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};
use wirespeed_agent::PathMtu;
use wirespeed_agent::message::{Decoder, Interface, Message, Writer};
use wirespeed_agent::port::Reached;
use wirespeed_agent::request::{Plan, Request};
use wirespeed_record::plain_line;
use wirespeed_scenario::run::Run;

/// How long an agent may take for an answer that needs no work.
const ANSWER: Duration = Duration::from_secs(30);
/// How often it is seen whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// A session.
pub struct Session {
    /// The host's name in the scenario.
    pub host: String,
    remote: Remote,
    requests: Writer<ChildStdin>,
    messages: Receiver<std::io::Result<Message>>,
    log: PathBuf,
    /// There is something in it that was measured.
    measures: bool,
    /// Bytes that the agent may say.
    most: Arc<AtomicU64>,
    /// What the agent is, and where.
    pub machine: Machine,
}

/// A machine, as its agent describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// Its addresses beside the loopback's.
    pub interfaces: Vec<Interface>,
    /// The congestion control that its sockets use unless told otherwise.
    pub congestion: String,
}

/// How a host's clock relates to ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// What is added to our time to get that of the host, in nanoseconds.
    pub ns: i64,
    /// At most so far off: half of the shortest round trip seen.
    pub error_ns: i64,
    /// What was added less at the start of the run than at its end, in nanoseconds: known to twice the error.
    pub drift_ns: i64,
}

impl Offset {
    /// Takes in what a later comparison found.
    pub fn drifted_to(&mut self, later: Offset) {
        self.drift_ns = later.ns - self.ns;
        self.error_ns = self.error_ns.max(later.error_ns);
    }

    /// By how much times of the host may be wrong in a run.
    pub fn most_ns(&self) -> i64 {
        self.error_ns + self.drift_ns.abs()
    }
}

impl Session {
    /// Opens a session of `host` with the agent on machine `name`; copies the agent there if it has none. What it says is
    /// kept in `raw`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(
        host: &str,
        name: &str,
        program: &Program,
        tool: &str,
        raw: &Path,
        cancel: &AtomicBool,
    ) -> Result<Session, TransportError> {
        match Session::try_open(host, name, program, tool, raw, cancel)? {
            Ok(session) => return Ok(session),
            Err(end) if !end.not_there => return Err(TransportError::host(host, &end.reason, None)),
            Err(_) => Remote::install(name, program)?,
        }
        match Session::try_open(host, name, program, tool, raw, cancel)? {
            Ok(session) => Ok(session),
            Err(end) => Err(TransportError::host(
                host,
                &format!("the agent was copied there and does not run: {}", end.reason),
                None,
            )),
        }
    }

    fn try_open(
        host: &str,
        name: &str,
        program: &Program,
        tool: &str,
        raw: &Path,
        cancel: &AtomicBool,
    ) -> Result<Result<Session, End>, TransportError> {
        let mut remote = Remote::agent(name, program)?;
        let (input, output) = remote.pipes().expect("both were asked for");
        let log = raw.join(format!("{host}.stream"));
        let keep = File::create(&log).map_err(TransportError::io("write", &log))?;
        let most = Arc::new(AtomicU64::new(MOST_WORDS));
        let messages = follow(output, keep, Arc::clone(&most));
        let machine = Machine::default();
        let requests = Writer::new(input);
        let mut session =
            Session { host: host.into(), remote, requests, messages, log, measures: false, most, machine };
        while session.machine.interfaces.is_empty() {
            match session.receive(ANSWER, cancel)? {
                Some(Message::Hello { release, version }) => {
                    (session.machine.release, session.machine.version) = (release, version);
                }
                Some(Message::Machine { tool: found, interfaces, congestion }) => {
                    if found != tool {
                        let what = format!("its agent is {found}, this is {tool}");
                        return Err(TransportError::host(host, &what, None));
                    }
                    if interfaces.is_empty() {
                        return Err(TransportError::host(
                            host,
                            "it has no address beside the loopback's; IPv6 addresses of one link (fe80::/10) do not count",
                            None,
                        ));
                    }
                    session.machine.interfaces = interfaces;
                    session.machine.congestion = congestion;
                }
                Some(other) => return Err(unexpected(host, &other)),
                None => match session.remote.wait() {
                    Err(end) => return Ok(Err(end)),
                    Ok(()) => return Err(TransportError::host(host, "its agent ended without a word", None)),
                },
            }
        }
        Ok(Ok(session))
    }

    /// Asks for a part of a run, and listens to as much as that has.
    ///
    /// # Errors
    /// If the agent is gone.
    pub fn plan(&mut self, run: &Run, plan: Plan) -> Result<(), TransportError> {
        self.most.store(most_bytes(run), Relaxed);
        self.measures = true;
        self.ask(&Request::Plan(plan))
    }

    /// Asks for something.
    ///
    /// # Errors
    /// If the agent is gone.
    pub fn ask(&mut self, request: &Request) -> Result<(), TransportError> {
        let written = self.requests.write(request).and_then(|()| self.requests.flush());
        written.map_err(|_| self.gone())
    }

    /// The next message; `None` if the agent has ended.
    ///
    /// # Errors
    /// If it times out, sends what no agent sends, or the user wants to stop.
    pub fn receive(
        &mut self,
        patience: Duration,
        cancel: &AtomicBool,
    ) -> Result<Option<Message>, TransportError> {
        let began = Instant::now();
        loop {
            match self.messages.recv_timeout(LOOK) {
                Ok(message) => return self.heard(message).map(Some),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if cancel.load(Relaxed) => {
                    return Err(TransportError::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) if began.elapsed() > patience => {
                    let what = timed_out(patience);
                    return Err(TransportError::host(&self.host, &what, self.measured()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The next message, of an agent that has to be there.
    ///
    /// # Errors
    /// As [`Session::receive`], and if it has ended.
    pub fn expect(&mut self, patience: Duration, cancel: &AtomicBool) -> Result<Message, TransportError> {
        match self.receive(patience, cancel)? {
            Some(message) => Ok(message),
            None => Err(self.gone()),
        }
    }

    /// A message that has come already.
    ///
    /// # Errors
    /// As [`Session::expect`].
    pub fn poll(&mut self) -> Result<Option<Message>, TransportError> {
        match self.messages.try_recv() {
            Ok(message) => self.heard(message).map(Some),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(self.gone()),
        }
    }

    /// A message, unless it reports that the agent failed, or is none.
    fn heard(&self, message: std::io::Result<Message>) -> Result<Message, TransportError> {
        match message {
            Ok(Message::Failed(reason)) => Err(TransportError::host(&self.host, &reason, self.measured())),
            Ok(message) => Ok(message),
            Err(error) => Err(TransportError::host(&self.host, &error.to_string(), self.measured())),
        }
    }

    /// Waits for the end of a preparation, which may take `more` than an answer.
    ///
    /// # Errors
    /// As [`Session::expect`].
    pub fn await_ready(&mut self, more: Duration, cancel: &AtomicBool) -> Result<(), TransportError> {
        match self.expect(ANSWER + more, cancel)? {
            Message::Ready => Ok(()),
            other => Err(unexpected(&self.host, &other)),
        }
    }

    /// Compares clocks: of `trips` round trips the shortest tells most. `ours` is our CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// As [`Session::expect`].
    pub fn compare_clocks(
        &mut self,
        trips: usize,
        ours: impl Fn() -> i64,
        cancel: &AtomicBool,
    ) -> Result<Offset, TransportError> {
        let mut best: Option<Offset> = None;
        for _ in 0..trips.max(1) {
            let before = ours();
            self.ask(&Request::Clock)?;
            let there = match self.expect(ANSWER, cancel)? {
                Message::Clock(there) => there,
                other => return Err(unexpected(&self.host, &other)),
            };
            let after = ours();
            let (middle, error_ns) = (before + (after - before) / 2, (after - before + 1) / 2);
            if best.is_none_or(|best| error_ns < best.error_ns) {
                best = Some(Offset { ns: there - middle, error_ns, drift_ns: 0 });
            }
        }
        Ok(best.expect("there was a round trip"))
    }

    /// Holds a port of this host until the plan comes, or the session ends.
    ///
    /// # Errors
    /// As [`Session::expect`]; also if somebody has it.
    pub fn listen(
        &mut self,
        local: SocketAddr,
        datagrams: bool,
        cancel: &AtomicBool,
    ) -> Result<(), TransportError> {
        self.ask(&Request::Listen { local, datagrams })?;
        self.await_ready(Duration::ZERO, cancel)
    }

    /// What the host at an address and port answers this one.
    ///
    /// # Errors
    /// As [`Session::expect`].
    pub fn reach(
        &mut self,
        to: SocketAddr,
        trials: u32,
        datagrams: bool,
        cancel: &AtomicBool,
    ) -> Result<Reached, TransportError> {
        self.ask(&Request::Reach { to, trials, datagrams })?;
        match self.expect(ANSWER, cancel)? {
            Message::Reached(answer) => Ok(answer),
            other => Err(unexpected(&self.host, &other)),
        }
    }

    /// Has the agent answer the other host's datagrams from now on.
    ///
    /// # Errors
    /// As [`Session::expect`].
    pub fn answer(
        &mut self,
        local: SocketAddr,
        peer: IpAddr,
        cancel: &AtomicBool,
    ) -> Result<(), TransportError> {
        self.ask(&Request::MtuAnswer { local, peer })?;
        self.await_ready(Duration::ZERO, cancel)
    }

    /// How large packets can be that reach the other host, which answers.
    ///
    /// # Errors
    /// As [`Session::expect`].
    pub fn path_mtu(
        &mut self,
        local: IpAddr,
        to: SocketAddr,
        most: u32,
        cancel: &AtomicBool,
    ) -> Result<PathMtu, TransportError> {
        self.ask(&Request::MtuProbe { local, to, most })?;
        match self.expect(ANSWER, cancel)? {
            Message::PathMtu(found) => Ok(found),
            other => Err(unexpected(&self.host, &other)),
        }
    }

    /// Where what it measured is kept.
    fn measured(&self) -> Option<&Path> {
        self.measures.then_some(&*self.log)
    }

    /// Why the agent is no longer there.
    fn gone(&mut self) -> TransportError {
        let reason = match self.remote.wait() {
            Ok(()) => "its agent ended before the run did".to_owned(),
            Err(end) => format!("its agent, or the connection to it, is gone: {}", end.reason),
        };
        TransportError::host(&self.host, &reason, self.measured())
    }
}

/// Takes messages apart as they come, and keeps them; of an agent that says more than `most` bytes no more.
fn follow(
    mut output: impl Read + Send + 'static,
    mut keep: impl Write + Send + 'static,
    most: Arc<AtomicU64>,
) -> Receiver<std::io::Result<Message>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut decoder = Decoder::default();
        let mut piece = vec![0; 1 << 16];
        let (mut said, mut understood) = (0, 0);
        while let Ok(got @ 1..) = output.read(&mut piece) {
            said += got as u64;
            if said > most.load(Relaxed) {
                let what = format!("its agent says more than a run like this has, {said} bytes so far");
                // Nobody listens any more if this does not arrive.
                let _ = sender.send(Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what)));
                return;
            }
            // A full disk here must not stop the run: it shows when the tables are written.
            let _ = keep.write_all(&piece[..got]);
            decoder.feed(&piece[..got]);
            for message in decoder.by_ref() {
                let bad = message.is_err();
                let message = match message {
                    Err(_) if understood == 0 => Err(no_agent(&piece[..got])),
                    Err(_) if understood == 1 => Err(another_version()),
                    message => message,
                };
                understood += 1;
                if sender.send(message).is_err() || bad {
                    return;
                }
            }
        }
    });
    receiver
}

/// The error of a machine whose first words are none of an agent: those of its shell, mostly.
fn no_agent(said: &[u8]) -> std::io::Error {
    const MOST: usize = 200;
    let said: String = String::from_utf8_lossy(said).trim().chars().take(MOST).collect();
    let what = format!(
        "it prints \"{}\" before its agent says anything: its shell prints at login, or lets nobody in; `ssh NAME true` has to \
         print nothing and to end with 0",
        plain_line(&said)
    );
    std::io::Error::new(std::io::ErrorKind::InvalidData, what)
}

/// The error of an agent whose second message, in which it says what it is, cannot be read.
fn another_version() -> std::io::Error {
    let what = "its agent is of another version, whose messages are not known here; start `wirespeed agent serve` of this version \
                there";
    std::io::Error::new(std::io::ErrorKind::InvalidData, what)
}

/// The error of an agent that sends what it was not asked for.
pub fn unexpected(host: &str, message: &Message) -> TransportError {
    let words: String = format!("{message:?}").chars().take(80).collect();
    TransportError::host(
        host,
        &format!("unexpected message from its agent: {words}; use the same version of wirespeed there"),
        None,
    )
}

/// No message within `patience`.
pub fn timed_out(patience: Duration) -> String {
    format!("its agent timed out: no message for {} s; check that the host still answers", patience.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_talks_without_end_is_not_listened_to_without_end() {
        let mut said = Vec::new();
        let mut writer = Writer::new(&mut said);
        writer.write(&Message::Warning("\u{fc}".repeat(100))).unwrap();
        writer.flush().unwrap();
        let without_end = std::io::repeat(0);
        let messages = follow(
            std::io::Cursor::new(said).chain(without_end),
            std::io::sink(),
            Arc::new(AtomicU64::new(1 << 20)),
        );
        let all: Vec<_> = messages.iter().collect();
        assert!(matches!(all.first(), Some(Ok(Message::Warning(_)))));
        assert_eq!(all.last().unwrap().as_ref().unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    }

    #[test]
    fn agent_whose_addresses_cannot_be_read_is_of_another_version() {
        // As agents described themselves that had IPv4 only: an address was four bytes, and the first is no version of IP.
        let mut said = Vec::new();
        let mut writer = Writer::new(&mut said);
        writer.write(&Message::Hello { release: "6.12".into(), version: "1".into() }).unwrap();
        let machine =
            Message::Machine { tool: "old".into(), interfaces: Vec::new(), congestion: String::new() };
        let mut old = postcard::to_allocvec(&machine).unwrap();
        old.truncate(old.len() - 2);
        old.extend(
            postcard::to_allocvec(&vec![("eth0", [10u8, 9, 0, 1], None::<u64>, None::<u32>)]).unwrap(),
        );
        writer.flush().unwrap();
        said.extend((old.len() as u32).to_le_bytes());
        said.extend(old);
        let messages = follow(std::io::Cursor::new(said), std::io::sink(), Arc::new(AtomicU64::new(1 << 20)));
        let all: Vec<_> = messages.iter().collect();
        let told = all.last().unwrap().as_ref().unwrap_err().to_string();
        assert!(all.len() == 2 && told.contains("another version"), "{told}");
    }

    #[test]
    fn an_agent_has_no_way_to_the_terminal() {
        let told =
            TransportError::host("a", "\u{1b}]0;you have won\u{7}\nhost b: all is well", None).to_string();
        assert_eq!(told, "host a:  ]0;you have won  host b: all is well");
    }

    #[test]
    fn unexpected_message_is_shown_in_part() {
        let told = unexpected("a", &Message::Warning("\u{fc}".repeat(100))).to_string();
        assert!(told.contains("\u{fc}") && told.len() < 300, "{told}");
    }
}
