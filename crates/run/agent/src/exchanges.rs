//! Applications that exchange messages over a connection that stays open: files that the receiver confirms, and requests that the
//! sender answers.
//!
//! A header before each file has its number. The receiver confirms the file when its
//! application has read the last byte. A request begins with the same header.

use super::flow::FlowState;
use super::message::{Message, Writer};
use super::tcp::{LowWater, source, write_bytes};
use super::{Part, socket};
use std::io::{self, ErrorKind};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use wirespeed_record::Exchange;
use wirespeed_scenario::run::{Application, CONFIRMATION, EXCHANGE_HEADER, Run};
use wirespeed_units::{Bytes, Span};

const HEADER: usize = EXCHANGE_HEADER.get() as usize;
const CONFIRMED: usize = CONFIRMATION.get() as usize;
/// Exchanges of a flow that are kept.
const MOST_ROWS: usize = 1_000_000;

/// The next file of each data set. The streams of a set are on one host.
#[derive(Debug)]
pub struct DataSets {
    next: Vec<AtomicUsize>,
}

impl DataSets {
    /// Those of a run, with no file taken.
    pub fn of(run: &Run) -> DataSets {
        DataSets { next: run.data_sets.iter().map(|_| AtomicUsize::new(0)).collect() }
    }

    /// Takes the next file of a set: its number and size.
    fn take(&self, run: &Run, set: usize) -> Option<(u64, Bytes)> {
        let number = self.next.get(set)?.fetch_add(1, Relaxed);
        let bytes = run.data_sets.get(set)?.files.get(number)?;
        Some((number as u64, *bytes))
    }
}

/// The begin of a request, or the bytes before a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    number: u64,
    bytes: u64,
    begin_ns: i64,
}

impl Header {
    fn encode(self) -> [u8; HEADER] {
        let mut text = [0; HEADER];
        text[..8].copy_from_slice(&self.number.to_le_bytes());
        text[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        text[16..].copy_from_slice(&self.begin_ns.to_le_bytes());
        text
    }

    fn decode(text: [u8; HEADER]) -> Header {
        let word = |at: usize| text[at..at + 8].try_into().expect("eight bytes");
        Header {
            number: u64::from_le_bytes(word(0)),
            bytes: u64::from_le_bytes(word(8)),
            begin_ns: i64::from_le_bytes(word(16)),
        }
    }
}

/// Sends the data of a flow's application; runs in the sender's thread. Answers `false` if the flow has none.
///
/// # Errors
/// Those of the system calls, and messages that the other end would not send.
pub fn send(part: &Part, fd: RawFd) -> io::Result<bool> {
    match &part.flow().application {
        None => return Ok(false),
        Some(Application::DataSet { set }) => send_files(part, fd, *set as usize)?,
        Some(Application::Requests { request, responses, .. }) => answer(part, fd, *request, responses)?,
    }
    Ok(true)
}

/// Receives the data of a flow's application to its end; runs in the receiver's thread. Answers `false` if the flow has
/// none.
///
/// # Errors
/// As [`send`].
pub fn receive(part: &Part, fd: RawFd) -> io::Result<bool> {
    match &part.flow().application {
        None => return Ok(false),
        Some(Application::DataSet { set }) => receive_files(part, fd, *set as usize)?,
        Some(Application::Requests { request, responses, think, count }) => {
            ask(part, fd, (*request, responses), (*think, *count))?;
        }
    }
    Ok(true)
}

fn send_files(part: &Part, fd: RawFd, set: usize) -> io::Result<()> {
    let source = source(part)?;
    while part.clock.now() < part.stop_ns() {
        let Some((number, bytes)) = part.data_sets.take(&part.run, set) else { return Ok(()) };
        let header = Header { number, bytes: bytes.get(), begin_ns: part.clock.now() };
        // The rest follows at once, in the same packets.
        let goes_on = send_all(fd, &header.encode(), libc::MSG_MORE)?
            && write_bytes(part, fd, &source, bytes.get(), true, || i64::MAX)?;
        let mut confirmation = [0; CONFIRMED];
        if !goes_on || !await_data(part, fd)? || !read_whole(fd, &mut confirmation)? {
            return Ok(());
        }
        if u64::from_le_bytes(confirmation) != number {
            return Err(unexpected("a confirmation of another file", number));
        }
    }
    Ok(())
}

fn receive_files(part: &Part, fd: RawFd, set: usize) -> io::Result<()> {
    let files = part.run.data_sets.get(set).map_or(&[][..], |set| &set.files[..]);
    let mut reader = Reader::new(part, fd);
    loop {
        let Some(header) = reader.header()? else { return Ok(()) };
        let expected = usize::try_from(header.number).ok().and_then(|number| files.get(number));
        if expected.map(|bytes| bytes.get()) != Some(header.bytes) {
            return Err(unexpected("a header of another file", header.number));
        }
        let row = reader.begin(header);
        note(&part.state, row, |row| row.first_ns = Some(part.clock.now()));
        if !reader.skip(header.bytes)? {
            return Ok(());
        }
        note(&part.state, row, |row| row.end_ns = Some(part.clock.now()));
        if !send_all(fd, &header.number.to_le_bytes(), 0)? {
            return Ok(());
        }
    }
}

/// Answers requests until the receiver sends no more.
fn answer(part: &Part, fd: RawFd, request: Bytes, responses: &[Bytes]) -> io::Result<()> {
    let source = source(part)?;
    let mut rest = vec![0; request.get() as usize - HEADER];
    for (number, bytes) in (0..).zip(responses.iter().cycle()) {
        let mut header = [0; HEADER];
        if !read_whole(fd, &mut header)? || !read_whole(fd, &mut rest)? {
            return Ok(());
        }
        if Header::decode(header).number != number {
            return Err(unexpected("another request", number));
        }
        if !write_bytes(part, fd, &source, bytes.get(), true, || i64::MAX)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Sends requests, one at a time, and reads the responses.
fn ask(
    part: &Part,
    fd: RawFd,
    (request, responses): (Bytes, &[Bytes]),
    (think, count): (Span, Option<u32>),
) -> io::Result<()> {
    let mut reader = Reader::new(part, fd);
    let mut text = vec![0; request.get() as usize];
    let numbers = 0..count.map_or(MOST_ROWS as u64, u64::from);
    let last = numbers.end - 1;
    for (number, bytes) in numbers.zip(responses.iter().cycle()) {
        if part.clock.now() >= part.stop_ns() {
            break;
        }
        let header = Header { number, bytes: bytes.get(), begin_ns: part.clock.now() };
        text[..HEADER].copy_from_slice(&header.encode());
        let row = reader.begin(header);
        if !send_all(fd, &text, 0)? || !reader.skip(1)? {
            return Ok(());
        }
        note(&part.state, row, |row| row.first_ns = Some(part.clock.now()));
        if !reader.skip(bytes.get() - 1)? {
            return Ok(());
        }
        note(&part.state, row, |row| row.end_ns = Some(part.clock.now()));
        if number == last && count.is_none() {
            part.log.warn(format!("flow {}: stopped after {MOST_ROWS} requests", part.flow().label));
        }
        if think > Span::ZERO && number < last {
            part.clock.sleep_until((part.clock.now() + think.nanoseconds()).min(part.stop_ns()));
        }
    }
    // The sender reads the end of the requests, and ends the connection.
    if let Err(error) = socket::end_writing(fd)
        && error.kind() != ErrorKind::NotConnected
    {
        return Err(error);
    }
    while reader.skip(u64::MAX)? {}
    Ok(())
}

fn unexpected(what: &str, number: u64) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!(
            "unexpected data on the connection: {what} (number {number}); is another program on this port?"
        ),
    )
}

/// Changes a row of a flow.
fn note(state: &FlowState, row: Option<usize>, change: impl FnOnce(&mut Exchange)) {
    let mut rows = state.exchanges.lock().expect("no thread panics holding the exchanges");
    if let Some(row) = row.and_then(|row| rows.get_mut(row)) {
        change(row);
    }
}

/// Reads from a connection, and counts the bytes.
struct Reader<'a> {
    part: &'a Part,
    fd: RawFd,
    mark: LowWater,
}

impl<'a> Reader<'a> {
    fn new(part: &'a Part, fd: RawFd) -> Self {
        Reader { part, fd, mark: LowWater::new() }
    }

    /// The next header; `None` if the other end has ended.
    fn header(&mut self) -> io::Result<Option<Header>> {
        self.mark.lower(self.fd, HEADER as u64)?;
        socket::await_data(self.fd)?;
        let mut text = [0; HEADER];
        if !read_whole(self.fd, &mut text)? {
            super::tcp::note_all_read(self.part);
            return Ok(None);
        }
        self.part.state.receiver().note_core();
        self.part.state.read_bytes.fetch_add(HEADER as u64, Relaxed);
        Ok(Some(Header::decode(text)))
    }

    /// Notes that an exchange has begun; answers its row, if there is room for one.
    fn begin(&self, header: Header) -> Option<usize> {
        let Header { number, bytes, begin_ns } = header;
        let flow = self.part.index as u32;
        let mut rows = self.part.state.exchanges.lock().expect("no thread panics holding the exchanges");
        (rows.len() < MOST_ROWS).then(|| {
            rows.push(Exchange { flow, number, bytes, begin_ns, first_ns: None, end_ns: None });
            rows.len() - 1
        })
    }

    /// Reads so many bytes; `false` if the other end ended before.
    fn skip(&mut self, mut left: u64) -> io::Result<bool> {
        while left > 0 {
            self.mark.adapt(self.fd, self.part.state.read_bytes.load(Relaxed), left)?;
            socket::await_data(self.fd)?;
            let got = super::tcp::discard(self.fd, left)?;
            if got == 0 {
                super::tcp::note_all_read(self.part);
                return Ok(false);
            }
            self.part.state.receiver().note_core();
            self.part.state.read_bytes.fetch_add(got, Relaxed);
            left -= got;
        }
        Ok(true)
    }
}

/// Fills `into`; `false` if the other end has ended before.
fn read_whole(fd: RawFd, into: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < into.len() {
        let rest = &mut into[filled..];
        // SAFETY: `rest` is a valid place for as many bytes as it has.
        let got = unsafe { libc::recv(fd, rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(got) {
            Ok(0) => return Ok(false),
            Ok(got) => filled += got,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => {}
                error => return Err(io::Error::new(error.kind(), format!("receive: {error}"))),
            },
        }
    }
    Ok(true)
}

/// Writes all of `text`; `false` if this end has been shut down.
fn send_all(fd: RawFd, mut text: &[u8], flags: libc::c_int) -> io::Result<bool> {
    while !text.is_empty() {
        // SAFETY: the kernel only reads `text`.
        let sent = unsafe { libc::send(fd, text.as_ptr().cast(), text.len(), flags | libc::MSG_NOSIGNAL) };
        match usize::try_from(sent) {
            Ok(sent) => text = &text[sent..],
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => {}
                error if error.kind() == ErrorKind::BrokenPipe => return Ok(false),
                error => return Err(io::Error::new(error.kind(), format!("send: {error}"))),
            },
        }
    }
    Ok(true)
}

/// Waits until something can be read; `false` if the flow's time ends before.
fn await_data(part: &Part, fd: RawFd) -> io::Result<bool> {
    /// In real time a run may be cut short meanwhile.
    const LOOK_MS: i64 = 20;
    loop {
        let left_ns = part.stop_ns() - part.clock.now();
        if left_ns <= 0 {
            return Ok(false);
        }
        let left_ms = left_ns / 1_000_000 + 1;
        let wait_ms = if part.real_time { left_ms.min(LOOK_MS) } else { left_ms };
        if socket::is_readable_within(fd, Some(Duration::from_millis(wait_ms.unsigned_abs())))? {
            return Ok(true);
        }
    }
}

/// Writes the rows of a flow.
///
/// # Errors
/// As the underlying writer.
pub fn write(part: &Part, into: &mut Writer<impl io::Write>) -> io::Result<()> {
    /// Rows a message: bounds its size.
    const ROWS: usize = 10_000;
    let rows = part.state.exchanges.lock().expect("no thread panics holding the exchanges").clone();
    rows.chunks(ROWS).try_for_each(|rows| into.write(&Message::Exchanges(rows.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::run::DataSet;
    use wirespeed_scenario::testing::run;

    #[test]
    fn headers_are_read_as_they_were_written() {
        let header = Header { number: 7, bytes: 1 << 40, begin_ns: -3 };
        assert_eq!(Header::decode(header.encode()), header);
    }

    #[test]
    fn files_are_taken_once_and_in_order() {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let files = vec![Bytes::new(5), Bytes::new(9)];
        run.data_sets = vec![DataSet { label: "a".into(), files }];
        let sets = DataSets::of(&run);
        let taken: Vec<_> = std::iter::from_fn(|| sets.take(&run, 0)).collect();
        assert_eq!(taken, [(0, Bytes::new(5)), (1, Bytes::new(9))]);
        assert_eq!((sets.take(&run, 0), sets.take(&run, 1)), (None, None));
    }

    #[test]
    fn a_whole_message_is_read_from_parts_and_a_part_is_none() {
        use std::io::Write;
        use std::os::fd::AsRawFd;
        let (mut writer, reader) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut text = [0; 6];
        writer.write_all(b"abc").unwrap();
        writer.write_all(b"defgh").unwrap();
        assert!(read_whole(reader.as_raw_fd(), &mut text).unwrap());
        assert_eq!(&text, b"abcdef");
        drop(writer);
        assert!(!read_whole(reader.as_raw_fd(), &mut text).unwrap());
    }
}
