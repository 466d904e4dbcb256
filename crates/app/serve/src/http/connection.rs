//! Connections: a bounded number of threads, and bounds on the time and the size of requests.

use super::request::{Request, parse};
use super::response::{Response, Status};
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Requests that are answered at the same time.
const THREADS: usize = 16;
/// Connections that wait for a thread; more are rejected.
const WAITING: usize = 128;
/// Bytes that the head of a request may have. Browsers send about 1 kB; servers usually accept 8 KiB.
const MOST_BYTES: usize = 16 << 10;
/// Time for a request to arrive whole.
const ARRIVAL: Duration = Duration::from_secs(5);
/// Time for a client to accept some part of a response.
const ACCEPTANCE: Duration = Duration::from_secs(10);
/// After a response, this much of what the client still sends is read, so that it sees the response and not a reset.
const MOST_DRAINED: usize = 1 << 20;

/// Accepted connections on their way to the threads.
pub(crate) struct Pool {
    sender: SyncSender<TcpStream>,
    receiver: Mutex<Receiver<TcpStream>>,
}

impl Pool {
    /// Without connections.
    pub fn new() -> Pool {
        let (sender, receiver) = sync_channel(WAITING);
        Pool { sender, receiver: Mutex::new(receiver) }
    }

    /// How many threads are to call [`Pool::work`].
    pub fn threads() -> usize {
        THREADS
    }

    /// Hands a connection to the threads. If too many wait, it is rejected.
    pub fn hand_over(&self, stream: TcpStream) {
        if let Err(TrySendError::Full(stream)) = self.sender.try_send(stream) {
            refuse(stream);
        }
    }

    /// Answers requests until `is_over`.
    pub fn work(&self, is_over: &dyn Fn() -> bool, answer: &(dyn Fn(&Request) -> Response + Sync)) {
        /// How soon the end is noticed.
        const PAUSE: Duration = Duration::from_millis(100);
        while !is_over() {
            let next = {
                let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
                receiver.recv_timeout(PAUSE)
            };
            if let Ok(stream) = next {
                // A client that has closed its connection is not an error of the server.
                let _ = converse(stream, answer);
            }
        }
    }
}

/// Rejects a connection without reading its request.
fn refuse(mut stream: TcpStream) {
    let response = Response::text(Status::Unavailable, "Too many requests at the same time. Try again.");
    // Not waited for: this is the thread that accepts connections.
    let _ = stream.set_nonblocking(true).and_then(|()| response.write(&mut stream, false));
}

/// Reads a request, and writes its response.
fn converse(mut stream: TcpStream, answer: &dyn Fn(&Request) -> Response) -> io::Result<()> {
    stream.set_write_timeout(Some(ACCEPTANCE))?;
    stream.set_nodelay(true)?;
    let (is_head, response) = match read(&mut stream, Instant::now() + ARRIVAL)? {
        Ok(Some(request)) => (request.is_head, guarded(&request, answer)),
        // Browsers open connections in advance, and close them again.
        Ok(None) => return Ok(()),
        Err(response) => (false, response),
    };
    response.write(&mut stream, is_head)?;
    stream.shutdown(Shutdown::Write)?;
    drain(&mut stream)
}

/// A panic is the end of one answer, and not of the server.
fn guarded(request: &Request, answer: &dyn Fn(&Request) -> Response) -> Response {
    catch_unwind(AssertUnwindSafe(|| answer(request))).unwrap_or_else(|_| {
        let reason = "The page could not be made: this is an error of wirespeed. The terminal of the server has the message.";
        Response::text(Status::InternalError, reason)
    })
}

/// The request of a client; `None` if it closes the connection before its request is whole.
fn read(stream: &mut TcpStream, until: Instant) -> io::Result<Result<Option<Request>, Response>> {
    let mut head = Vec::new();
    let mut part = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err(late()));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(Ok(None)),
            Ok(bytes) => head.extend_from_slice(&part[..bytes]),
            Err(error) if is_timeout(&error) => return Ok(Err(late())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        match parse(&head) {
            Ok(None) if head.len() >= MOST_BYTES => {
                let reason = format!("The head of the request has more than {MOST_BYTES} bytes.");
                return Ok(Err(Response::text(Status::HeadTooLarge, reason)));
            }
            Ok(None) => {}
            parsed => return Ok(parsed),
        }
    }
}

fn late() -> Response {
    let reason = format!("The request did not arrive within {} s.", ARRIVAL.as_secs());
    Response::text(Status::RequestTimeout, reason)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn drain(stream: &mut TcpStream) -> io::Result<()> {
    /// A client that sends nothing has seen the end of the response.
    const PATIENCE: Duration = Duration::from_millis(200);
    /// A client that sends without end is left after this time.
    const LONGEST: Duration = Duration::from_secs(1);
    stream.set_read_timeout(Some(PATIENCE))?;
    let began = Instant::now();
    let mut part = [0; 4096];
    let mut drained = 0;
    while drained < MOST_DRAINED && began.elapsed() < LONGEST {
        match stream.read(&mut part)? {
            0 => break,
            bytes => drained += bytes,
        }
    }
    Ok(())
}
