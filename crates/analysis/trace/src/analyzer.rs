//! The analysis of a capture, packet by packet.

use crate::connection::State;
use crate::result::{ConnectionTrace, Trace};
use crate::udp::Streams;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use wirespeed_capture::{
    Body, CaptureError, CaptureFacts, Captured, Connection, EndReason, Input, Observer, Settings, Transport,
};

/// Limits of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// So many connections are kept in the result: those with most bytes.
    pub keep: usize,
    /// Only the connection with this number, from 1 in the order of first packets.
    pub only: Option<u64>,
    /// Only the UDP stream with this number, from 1 in the order of first packets.
    pub only_stream: Option<u64>,
    /// Read RTP headers of UDP streams, with this clock rate of dynamic payload types, in Hz.
    pub rtp_hz: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options { keep: 1_000, only: None, only_stream: None, rtp_hz: None }
    }
}

/// Reads a capture to its end and analyzes it.
///
/// # Errors
/// If the input cannot be opened, or is not a capture. Damage further on is in the facts.
pub fn read(
    input: Input<'_>,
    settings: &Settings,
    options: Options,
) -> Result<(Trace, CaptureFacts), CaptureError> {
    let mut analyzer = Analyzer::new(options);
    let facts = wirespeed_capture::read(input, settings, &mut analyzer)?;
    Ok((analyzer.finish(), facts))
}

/// Follows the TCP connections and UDP streams of a capture.
#[derive(Debug, Default)]
pub struct Analyzer {
    options: Options,
    /// Open connections by [`Connection::slot`].
    open: Vec<Option<Box<State>>>,
    kept: BTreeMap<u64, ConnectionTrace>,
    /// Bytes and numbers of those kept, least first.
    sizes: BinaryHeap<Reverse<(u64, u64)>>,
    connections: u64,
    packets: u64,
    streams: Streams,
    udp_packets: u64,
    origin: Option<i64>,
    last: i64,
    earliest: i64,
}

impl Analyzer {
    /// An analysis within `options`.
    pub fn new(options: Options) -> Analyzer {
        Analyzer { options, ..Analyzer::default() }
    }

    /// The result.
    pub fn finish(self) -> Trace {
        let (streams, total_streams) = self.streams.finish();
        Trace {
            connections: self.kept.into_values().collect(),
            total_connections: self.connections,
            total_packets: self.packets,
            streams,
            total_streams,
            total_udp_packets: self.udp_packets,
            first_ns: self.origin.unwrap_or(0),
            duration_ns: self.last - self.earliest,
        }
    }

    fn keep(&mut self, state: State, connection: &Connection, reason: EndReason) {
        let bytes: u64 = connection.ends.iter().map(|end| end.payload_bytes).sum();
        let key = (bytes, state.number);
        if self.kept.len() >= self.options.keep.max(1) {
            match self.sizes.peek() {
                Some(&Reverse(least)) if least < key => {
                    self.sizes.pop();
                    self.kept.remove(&least.1);
                }
                _ => return,
            }
        }
        self.sizes.push(Reverse(key));
        self.kept.insert(state.number, state.finish(connection, reason));
    }
}

impl Observer for Analyzer {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        let origin = *self.origin.get_or_insert(captured.packet.time_ns);
        let t = captured.packet.time_ns - origin;
        (self.earliest, self.last) = (self.earliest.min(t), self.last.max(t));
        let segment = match &captured.packet.body {
            Body::Tcp(segment) => segment,
            Body::Udp(datagram) => {
                self.udp_packets += 1;
                self.streams.packet(t, captured, datagram, connection, self.options);
                return;
            }
        };
        self.packets += 1;
        let slot = connection.slot as usize;
        if slot >= self.open.len() {
            self.open.resize_with(slot + 1, || None);
        }
        let state = match &mut self.open[slot] {
            Some(state) => state,
            place => {
                self.connections += 1;
                place.insert(Box::new(State::new(self.connections, t)))
            }
        };
        if self.options.only.is_none_or(|only| only == state.number) {
            state.packet(t, captured, segment, connection);
        }
    }

    fn ended(&mut self, connection: &Connection, reason: EndReason) {
        if connection.transport == Transport::Udp {
            self.streams.ended(connection, self.options);
            return;
        }
        let state = self.open.get_mut(connection.slot as usize).and_then(Option::take);
        let Some(state) = state else { return };
        if self.options.only.is_none_or(|only| only == state.number) {
            self.keep(*state, connection, reason);
        }
    }
}
