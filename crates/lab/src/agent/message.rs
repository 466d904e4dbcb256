//! What an agent says: a stream of length-prefixed postcard messages. It is the same whether it goes to a file
//! (substrate `kernel`) or to standard output (substrate `hosts`).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use wirespeed_record::{Counter, Datagram, Event, FlowSample, HostSample, QueueSample};

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// First: the kernel it runs on.
    Hello {
        /// `uname -r`.
        release: String,
        /// `uname -v`.
        version: String,
    },
    /// What the reader of the results has to know.
    Warning(String),
    /// Settings of a host as read back.
    Settings {
        /// Name of the host.
        host: String,
        /// By name.
        settings: BTreeMap<String, String>,
    },
    /// A row of the flow table.
    Flow(Box<FlowSample>),
    /// A row of the queue table.
    Queue(QueueSample),
    /// A row of the host table.
    Host(HostSample),
    /// A row of the event table.
    Event(Event),
    /// A row of the counter table.
    Counter(Counter),
    /// Rows of the datagram table.
    Datagrams(Vec<Datagram>),
    /// Packets on their way at the end of the run.
    InFlight {
        /// The queue behind which they are.
        queue: String,
        /// How many: waiting, being sent or in propagation.
        packets: u64,
    },
    /// Everything up to this time has been said.
    Time(i64),
    /// The agent gave up.
    Failed(String),
    /// Last: nothing is missing.
    Done,
}

/// Writes messages.
pub struct Writer<W: Write> {
    inner: W,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes to `inner`.
    pub fn new(inner: W) -> Self {
        Writer { inner, buffer: Vec::with_capacity(1 << 16) }
    }

    /// Appends a message; it reaches `inner` at the latest with [`Writer::flush`].
    ///
    /// # Errors
    /// As the underlying writer.
    pub fn write(&mut self, message: &Message) -> io::Result<()> {
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        self.buffer = postcard::to_extend(message, std::mem::take(&mut self.buffer)).map_err(io::Error::other)?;
        let length = (self.buffer.len() - at - 4) as u32;
        self.buffer[at..at + 4].copy_from_slice(&length.to_le_bytes());
        if self.buffer.len() > 1 << 16 { self.flush() } else { Ok(()) }
    }

    /// The underlying writer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Hands everything to the underlying writer.
    ///
    /// # Errors
    /// As the underlying writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.inner.write_all(&self.buffer)?;
        self.buffer.clear();
        self.inner.flush()
    }
}

/// Reads messages until the stream ends, also if it ends in the middle of one.
pub struct Reader<R: Read> {
    inner: BufReader<R>,
}

impl<R: Read> Reader<R> {
    /// Reads from `inner`.
    pub fn new(inner: R) -> Self {
        Reader { inner: BufReader::with_capacity(1 << 20, inner) }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Message>;

    fn next(&mut self) -> Option<Self::Item> {
        /// No message of ours comes near; a larger length is not ours.
        const LONGEST: u32 = 1 << 24;
        let mut length = [0; 4];
        match self.inner.read_exact(&mut length) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return None,
            Err(e) => return Some(Err(e)),
        }
        let length = u32::from_le_bytes(length);
        if length > LONGEST {
            return Some(Err(io::Error::new(io::ErrorKind::InvalidData, "not a stream of an agent")));
        }
        let mut body = vec![0; length as usize];
        match self.inner.read_exact(&mut body) {
            Ok(()) => Some(postcard::from_bytes(&body).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(e) => Some(Err(e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_torn_end_is_an_end() {
        let messages = [Message::Time(5), Message::Failed("no".into()), Message::Done];
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        messages.iter().for_each(|m| writer.write(m).unwrap());
        writer.flush().unwrap();
        let read: Vec<_> = Reader::new(&bytes[..]).map(Result::unwrap).collect();
        assert_eq!(read, messages);
        let torn: Vec<_> = Reader::new(&bytes[..bytes.len() - 1]).map(Result::unwrap).collect();
        assert_eq!(torn, messages[..2]);
    }

    #[test]
    fn a_foreign_stream_is_an_error() {
        let mut reader = Reader::new(&b"\xff\xff\xff\xff...."[..]);
        assert!(reader.next().unwrap().is_err());
    }
}
