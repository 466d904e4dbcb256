//! The analysis of a capture, packet by packet.

use crate::connection::State;
use crate::result::{ConnectionTrace, Trace};
use crate::sequence::{ConnectionSequence, FlowSequence};
use crate::udp::Streams;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use wirespeed_capture::{
    Body, CaptureError, CaptureFacts, Captured, Connection, EndReason, Input, Observer, Settings, Transport,
};

/// Most points of all open connections, up to 300 MB: enough for the largest connection with both directions.
const MOST_POINTS: usize = 4 * FlowSequence::MOST;
/// Most connections that collect points at once.
const MOST_COLLECTING: usize = 4_096;

/// Limits of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// So many connections are kept in the result: those with most bytes.
    pub keep: usize,
    /// Only the connection with this number, from 1 in the order of first packets.
    pub only: Option<u64>,
    /// Collect the points of a time-sequence graph, see [`Trace::sequence`].
    pub points: bool,
    /// Only the UDP stream with this number, from 1 in the order of first packets.
    pub only_stream: Option<u64>,
    /// Read RTP headers of UDP streams, with this clock rate of dynamic payload types, in Hz.
    pub rtp_hz: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options { keep: 1_000, only: None, only_stream: None, rtp_hz: None, points: false }
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
    /// Points of the largest connection that has ended, with the bytes of its largest flow and its number.
    largest: Option<((u64, u64), Option<ConnectionSequence>)>,
    /// Connections that collect points.
    collecting: usize,
    /// Points since memory was last bounded, at most.
    collected: usize,
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
            sequence: self.largest.and_then(|(_, sequence)| sequence),
        }
    }

    fn keep(&mut self, mut state: State, connection: &Connection, reason: EndReason) {
        let sequence = state.take_points();
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
        let number = state.number;
        let ended = state.finish(connection, reason);
        if self.options.points {
            let flows = [&ended.from_client, &ended.from_server];
            let most = flows.into_iter().flatten().map(|flow| flow.unique_bytes).max();
            let rank = most.map(|bytes| (bytes, number));
            if let Some(rank) = rank.filter(|rank| self.largest.as_ref().is_none_or(|(of, _)| of < rank)) {
                self.largest = Some((rank, sequence));
            }
        }
        self.kept.insert(number, ended);
    }

    /// Discards the points of the connections with fewest, where all take too much memory.
    fn bound_memory(&mut self) {
        let mut counts: Vec<(usize, usize)> = Vec::new();
        for (slot, state) in self.open.iter().enumerate() {
            counts.extend(
                state.as_ref().filter(|state| state.has_points()).map(|state| (state.points(), slot)),
            );
        }
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let (mut points, mut kept) = (0, 0);
        for (count, slot) in counts {
            points += count;
            if kept > 0 && (points > MOST_POINTS / 2 || kept >= MOST_COLLECTING / 2) {
                if let Some(state) = &mut self.open[slot] {
                    state.discard_points();
                }
            } else {
                kept += 1;
            }
        }
        (self.collecting, self.collected) = (kept, 0);
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
                let is_wanted =
                    self.options.points && self.options.only.is_none_or(|only| only == self.connections);
                self.collecting += usize::from(is_wanted);
                place.insert(Box::new(State::new(self.connections, t, is_wanted)))
            }
        };
        if self.options.only.is_none_or(|only| only == state.number) {
            state.packet(t, captured, segment, connection);
            self.collected += usize::from(state.has_points());
        }
        if self.collecting > MOST_COLLECTING || self.collected > MOST_POINTS / 2 {
            self.bound_memory();
        }
    }

    fn ended(&mut self, connection: &Connection, reason: EndReason) {
        if connection.transport == Transport::Udp {
            self.streams.ended(connection, self.options);
            return;
        }
        let state = self.open.get_mut(connection.slot as usize).and_then(Option::take);
        let Some(state) = state else { return };
        self.collecting -= usize::from(state.has_points());
        if self.options.only.is_none_or(|only| only == state.number) {
            self.keep(*state, connection, reason);
        }
    }
}
