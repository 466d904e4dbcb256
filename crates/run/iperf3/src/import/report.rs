//! What one side of a test says.

use serde_json::Value;

/// The report of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// iperf3's own version, e.g. `iperf 3.12`.
    pub version: Option<String>,
    /// `uname` of the machine.
    pub system: Option<String>,
    /// Start by the machine's clock, in seconds since 1970.
    pub started_unix_s: Option<i64>,
    /// Names the test; both sides have the same.
    pub cookie: Option<String>,
    /// Which side this is.
    pub side: Side,
    /// What carried the data.
    pub protocol: Protocol,
    /// Payload of a call, and of a datagram of UDP, in bytes.
    pub block_bytes: Option<u64>,
    /// Rate asked for, each stream, in bit/s; `None` if unlimited.
    pub target_bps: Option<u64>,
    /// How long it was to take.
    pub length: Length,
    /// What comes before the measurement, in nanoseconds, as asked for.
    pub omit_ns: i64,
    /// The streams, in the order in which they were connected.
    pub streams: Vec<Stream>,
    /// Whether the two sides have told each other what they measured: only then is there a word of the other side.
    pub exchanged: bool,
    /// Time of the processor that the side's own process took.
    pub cpu: Option<Cpu>,
    /// The same of the other side, by its word.
    pub peer_cpu: Option<Cpu>,
    /// The congestion controls of TCP.
    pub congestion: Congestion,
    /// Why the test ended early, in iperf3's words.
    pub error: Option<String>,
    /// The other side's report, if the client asked for it (`--get-server-output`).
    pub server: Option<Box<Report>>,
    /// What was asked for, as it stands in the file (`start.test_start`), without what is 0.
    pub settings: Value,
}

/// One side of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// It began the test.
    Client {
        /// The server as it was named.
        server: String,
        /// Its port; `None` if it is not recorded.
        port: Option<u16>,
    },
    /// It was asked.
    Server {
        /// The client's address.
        client: String,
    },
}

/// What carries the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// How long a test was to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So long, in nanoseconds.
    Time(i64),
    /// Until so much was sent.
    Bytes(u64),
    /// Until so many calls had sent.
    Blocks(u64),
    /// It does not say.
    Unknown,
}

/// An address and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub host: String,
    /// The port; `None` if it is not recorded.
    pub port: Option<u16>,
}

/// One stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    /// iperf3's number for it: the descriptor of its socket.
    pub socket: i64,
    /// This side's end.
    pub local: Endpoint,
    /// The other side's end.
    pub remote: Endpoint,
    /// Whether this side sends on it.
    pub sends: bool,
    /// What was read interval by interval, in order of time.
    pub intervals: Vec<Interval>,
    /// What it came to, without what was omitted.
    pub total: Total,
}

/// An interval of a stream. What an interval does not say is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Since the start of the test, omitted time included.
    pub from_ns: i64,
    /// The same.
    pub to_ns: i64,
    /// Before the measurement (`-O`).
    pub omitted: bool,
    /// A sender has written so much, a receiver has read so much.
    pub bytes: u64,
    /// Datagrams: of a sender those sent; of a receiver those due, lost ones included.
    pub packets: Option<u64>,
    /// Datagrams that are missing, less those that came late after all: may be negative.
    pub lost: Option<i64>,
    /// Mean deviation of the transit time (RFC 1889, section 6.3.1), in milliseconds.
    pub jitter_ms: Option<f64>,
    /// TCP's state at the end of the interval; only of a sender, on systems that tell.
    pub tcp: Option<State>,
}

/// What TCP tells a sender. What a version or a system does not tell is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// Packets sent again in the interval.
    pub retransmits: Option<u64>,
    /// Congestion window.
    pub cwnd_bytes: Option<u64>,
    /// The peer's window.
    pub snd_wnd_bytes: Option<u64>,
    /// Smoothed round-trip time.
    pub rtt_us: Option<u64>,
    /// Its variation.
    pub rttvar_us: Option<u64>,
}

/// What a stream came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Total {
    /// How long this side says it took, in nanoseconds.
    pub lasted_ns: Option<i64>,
    /// Payload that this side sent or received.
    pub own_bytes: Option<u64>,
    /// Packets that TCP sent again, if this side sends, or the other has said so.
    pub retransmits: Option<u64>,
    /// What the receiving side received, if that is this one, or it has said so.
    pub received: Option<Received>,
}

/// What a receiver received.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Received {
    /// Payload; `None` where only datagrams are told.
    pub bytes: Option<u64>,
    /// How long it received, in nanoseconds.
    pub lasted_ns: Option<i64>,
    /// Datagrams due, lost ones included.
    pub packets: Option<u64>,
    /// Of these missing.
    pub lost: Option<i64>,
    /// In milliseconds.
    pub jitter_ms: Option<f64>,
    /// Datagrams that came after one with a higher number.
    pub out_of_order: Option<u64>,
}

/// Processor time of a process, in percent of one core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpu {
    /// In all.
    pub total_percent: f64,
    /// In the program.
    pub user_percent: f64,
    /// In the kernel, for the program.
    pub system_percent: f64,
}

/// Congestion controls, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Congestion {
    /// Of the sending side.
    pub sender: Option<String>,
    /// Of the receiving side.
    pub receiver: Option<String>,
}
