//! What an agent says: a stream of length-prefixed postcard messages. It is the same whether it goes to a file
//! (substrate `kernel`) or to standard output (substrate `hosts`). What it is asked ([`super::request`]) is framed alike.

use super::path_mtu::PathMtu;
use super::port::Reached;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::net::IpAddr;
use wirespeed_host::Changes;
use wirespeed_ledger::retransmissions::Pieces;
use wirespeed_record::{
    Cause, CoreSample, Counter, Datagram, Event, Exchange, FlowSample, HostSample, Placement, QueueDelay,
    QueueSample, ThreadSample, Topology,
};

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
    /// Rows of the table of delays.
    QueueDelays(Vec<QueueDelay>),
    /// A row of the host table.
    Host(HostSample),
    /// A row of the event table.
    Event(Event),
    /// A row of the counter table.
    Counter(Counter),
    /// Rows of the datagram table.
    Datagrams(Vec<Datagram>),
    /// Rows of the exchange table.
    Exchanges(Vec<Exchange>),
    /// Packets on their way at the end of the run.
    InFlight {
        /// The queue behind which they are.
        queue: String,
        /// How many: waiting, being sent or in propagation.
        packets: u64,
    },
    /// Packets dropped and lost by a queue that has several reasons, up to the end of the run.
    Drops {
        /// The queue.
        queue: String,
        /// How many, by cause.
        drops: Vec<(Cause, u64)>,
    },
    /// In real time: flows, queues and interfaces when everything had come to rest after the run. The ledger is made of them.
    Rest {
        /// As on the sampling grid.
        flows: Vec<FlowSample>,
        /// As on the sampling grid.
        queues: Vec<QueueSample>,
        /// As on the sampling grid.
        hosts: Vec<HostSample>,
    },
    /// At a border between intervals: how this real host stands.
    Interim {
        /// The border, since the start of the run.
        at_ns: i64,
        /// When the reading began, by this host's clock.
        read_ns: i64,
        /// How long it took.
        took_ns: i64,
        /// Counters of losses that have grown since before the run.
        changes: Box<Changes>,
        /// The ends of flows that are here, and all segments of each: sent and received.
        totals: Vec<(FlowSample, [u32; 2])>,
    },
    /// The same where one kernel has all hosts. The rows of flows, queues and interfaces of the same time come before it.
    InterimCounters {
        /// When it was read, since the start of the run.
        t_ns: i64,
        /// How long it took, with those rows.
        took_ns: i64,
        /// Protocol counters before the run and now.
        counters: Vec<Counter>,
        /// Packets on their way, by queue.
        in_flight: Vec<(String, u64)>,
        /// Packets dropped and lost by queue and cause, of queues with several causes.
        drops: Vec<(String, Vec<(Cause, u64)>)>,
    },
    /// Cores and nodes of a host.
    Topology {
        /// Name of the host.
        host: String,
        /// What there is.
        topology: Topology,
    },
    /// The inventory of a host, read before the run. It is JSON, because this encoding cannot leave fields out.
    Inventory {
        /// Name of the host.
        host: String,
        /// Text of a snapshot.
        json: String,
    },
    /// Where an end of a flow was worked on.
    Placement(Placement),
    /// What of TCP was dropped or sent again, by sequence numbers.
    Pieces(Pieces),
    /// What an iperf3 server at the other end says that it received, or sent: its word.
    Received {
        /// Name of its host.
        host: String,
        /// Of each flow.
        flows: Vec<Received>,
        /// Time of its processor in percent of a core.
        cpu_percent: f64,
        /// Its congestion control, if it told.
        congestion: Option<String>,
    },
    /// What the agent's process has used.
    Used {
        /// User and system time of all its threads.
        cpu_ns: u64,
        /// Largest resident set.
        peak_rss_bytes: u64,
    },
    /// Everything up to this time has been said.
    Time(i64),
    /// A row of the table of cores.
    Core(CoreSample),
    /// A row of the table of threads.
    Thread(ThreadSample),
    /// On a real host, after the kernel: what the agent is, and where it can be reached.
    Machine {
        /// The agent's own version.
        tool: String,
        /// Its addresses beside the loopback's.
        interfaces: Vec<Interface>,
        /// The congestion control that its sockets use unless told otherwise.
        congestion: String,
    },
    /// The time of the host (CLOCK_MONOTONIC), asked for.
    Clock(i64),
    /// What another host answered on a port.
    Reached(Reached),
    /// How large packets can be that reach the other host.
    PathMtu(PathMtu),
    /// Everything is prepared; the run can begin.
    Ready,
    /// The host's senders have nothing under way any more, or have waited for it long enough.
    Drained,
    /// The state of a flow's end after the run, for the account.
    Total {
        /// As on the sampling grid.
        row: Box<FlowSample>,
        /// All its segments, those without data included: sent and received. 0 for UDP.
        segments: [u32; 2],
    },
    /// What the host's own counters say of the run, and what of them could not be read.
    Account {
        /// Counters of losses, and all that changed.
        changes: Box<Changes>,
        /// One sentence each.
        lacks: Vec<String>,
    },
    /// The agent failed.
    Failed(String),
    /// Last: nothing is missing.
    Done,
}

/// What an iperf3 server received, or sent, of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Number of the flow.
    pub flow: u32,
    /// Payload that it read, or wrote if it sends.
    pub bytes: u64,
    /// Packets that its TCP sent again, if it sends and knows.
    pub again: Option<u64>,
    /// UDP: datagrams that it sent, if it sends; else the highest number that came.
    pub packets: u64,
    /// UDP: numbers missing below the highest that came.
    pub missing: i64,
    /// UDP: deviation of the transit time (RFC 1889, 6.3.1).
    pub jitter_ns: i64,
    /// How long its test took; 0 of versions before 3.2.
    pub lasted_ns: i64,
}

/// An address of a host, and the interface that has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// The interface's name.
    pub device: String,
    /// The address.
    pub address: IpAddr,
    /// Rate in bit/s; `None` where it is unknown, or states one that is no limit, as virtual interfaces do.
    pub rate_bps: Option<u64>,
    /// Largest IP packet in bytes, if it is known.
    pub mtu: Option<u32>,
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
    pub fn write<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        self.buffer =
            postcard::to_extend(message, std::mem::take(&mut self.buffer)).map_err(io::Error::other)?;
        let length = (self.buffer.len() - at - 4) as u32;
        self.buffer[at..at + 4].copy_from_slice(&length.to_le_bytes());
        if self.buffer.len() > 1 << 16 { self.flush() } else { Ok(()) }
    }

    /// The underlying writer; what was not flushed is lost.
    pub fn into_inner(self) -> W {
        self.inner
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

/// Takes a stream apart as it comes in, in pieces of any size.
#[derive(Debug)]
pub struct Decoder<T = Message> {
    buffer: Vec<u8>,
    at: usize,
    of: PhantomData<T>,
}

impl<T> Default for Decoder<T> {
    fn default() -> Self {
        Decoder { buffer: Vec::new(), at: 0, of: PhantomData }
    }
}

impl<T> Decoder<T> {
    /// Adds what has come in.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }
}

impl<T: DeserializeOwned> Iterator for Decoder<T> {
    type Item = io::Result<T>;

    /// The next message that is there in full.
    fn next(&mut self) -> Option<Self::Item> {
        /// No message of ours comes near; a larger length is not ours.
        const LONGEST: usize = 1 << 24;
        let rest = &self.buffer[self.at..];
        let length = u32::from_le_bytes(rest.get(..4)?.try_into().expect("four bytes")) as usize;
        if length > LONGEST {
            return Some(Err(io::Error::new(io::ErrorKind::InvalidData, "not a stream of an agent")));
        }
        let body = rest.get(4..4 + length)?;
        let message = postcard::from_bytes(body).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e));
        self.at += 4 + length;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_back_and_a_truncated_one_ends_the_stream() {
        let messages = [Message::Time(5), Message::Failed("no".into()), Message::Done];
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        messages.iter().for_each(|m| writer.write(m).unwrap());
        writer.flush().unwrap();
        let mut decoder = Decoder::<Message>::default();
        decoder.feed(&bytes[..bytes.len() - 1]);
        let torn: Vec<_> = decoder.by_ref().map(Result::unwrap).collect();
        assert_eq!(torn, messages[..2]);
        decoder.feed(&bytes[bytes.len() - 1..]);
        assert_eq!(decoder.next().unwrap().unwrap(), messages[2]);
        assert!(decoder.next().is_none());
    }

    #[test]
    fn a_foreign_stream_is_an_error() {
        let mut decoder = Decoder::<Message>::default();
        decoder.feed(b"\xff\xff\xff\xff....");
        assert!(decoder.next().unwrap().is_err());
    }
}
