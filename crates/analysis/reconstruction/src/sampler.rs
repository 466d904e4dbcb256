//! Payload that each flow of a capture had sent and had acknowledged, on a grid of time.

use std::collections::{BTreeMap, VecDeque};
use wirespeed_capture::{Captured, Connection, EndReason, Flags, Observer, Segment};

/// A flow of a capture: number of its connection, from 1, and the direction of its data.
pub(crate) type FlowKey = (u64, usize);

/// State of a flow at the end of an interval. Counts are since the start of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Row {
    /// Number of the interval, from 0.
    pub slot: i64,
    /// Payload in data packets.
    pub sent_bytes: u64,
    /// Data packets on the wire.
    pub packets: u64,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Payload that was sent and not acknowledged.
    pub outstanding_bytes: u64,
    /// Smoothed time from a data packet to its acknowledgment (RFC 6298, 2), in nanoseconds.
    pub rtt_ns: Option<i64>,
    /// Least such time so far.
    pub min_rtt_ns: Option<i64>,
}

/// One flow.
#[derive(Debug, Clone, Default)]
struct Flow {
    rows: Vec<Row>,
    now: Row,
    /// Sequence number after the newest payload.
    highest: i64,
    /// Sequence number of the FIN.
    fin_at: Option<i64>,
    /// Recent packets, by which copies are recognized that the wire did not have.
    recent: VecDeque<(i64, Option<u16>, Option<u32>)>,
    /// Data packets without an acknowledgment, in order.
    waiting: VecDeque<Waiting>,
}

/// A data packet without an acknowledgment.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// Sequence number after its payload.
    end: i64,
    t_ns: i64,
    /// An acknowledgment may be for another copy (Karn's algorithm).
    is_retransmitted: bool,
}

/// Keeps the state of all flows of a capture, on a grid that becomes coarser with the length of the capture.
#[derive(Debug, Clone)]
pub struct Sampler {
    flows: BTreeMap<FlowKey, Flow>,
    width_ns: i64,
    origin_ns: Option<i64>,
    /// Numbers of open connections, by slot.
    open: Vec<Option<u64>>,
    count: u64,
}

/// Width of the grid at first.
const WIDTH_NS: i64 = 10_000_000;
/// So many rows has a flow; then the width doubles.
const MOST_ROWS: usize = 8_192;
/// So many packets of a flow are compared with a new one.
const RECENT: usize = 64;
/// So many packets of a flow wait for an acknowledgment; newer ones give no RTT.
const WAITING: usize = 1 << 16;

impl Default for Sampler {
    fn default() -> Self {
        Sampler { flows: BTreeMap::new(), width_ns: WIDTH_NS, origin_ns: None, open: Vec::new(), count: 0 }
    }
}

impl Sampler {
    /// Width of the grid, in nanoseconds.
    pub(crate) fn width_ns(&self) -> i64 {
        self.width_ns
    }

    /// The time of the first TCP packet, in nanoseconds since the Unix epoch.
    pub(crate) fn origin_ns(&self) -> i64 {
        self.origin_ns.unwrap_or(0)
    }

    /// The rows of a flow, in order of time: those of intervals in which it changed.
    pub(crate) fn rows(&self, key: FlowKey) -> Vec<Row> {
        let Some(flow) = self.flows.get(&key) else { return Vec::new() };
        let mut rows = flow.rows.clone();
        rows.push(flow.now);
        rows
    }

    fn coarser(&mut self) {
        self.width_ns *= 2;
        for flow in self.flows.values_mut() {
            for row in flow.rows.iter_mut().chain([&mut flow.now]) {
                row.slot = row.slot.div_euclid(2);
            }
            // The last of each interval, and none of that which is not over.
            let now = flow.now.slot;
            let mut kept: Vec<Row> = Vec::with_capacity(flow.rows.len() / 2 + 1);
            for row in flow.rows.iter().filter(|row| row.slot < now) {
                match kept.last_mut() {
                    Some(last) if last.slot == row.slot => *last = *row,
                    _ => kept.push(*row),
                }
            }
            flow.rows = kept;
        }
    }

    /// The flow at a time, with a row for the interval before if that is over.
    fn flow(&mut self, key: FlowKey, t_ns: i64) -> &mut Flow {
        if self.flows.get(&key).is_some_and(|flow| flow.rows.len() >= MOST_ROWS) {
            self.coarser();
        }
        let slot = t_ns.div_euclid(self.width_ns);
        let flow = self.flows.entry(key).or_insert_with(|| Flow {
            now: Row { slot, ..Row::default() },
            highest: 1,
            ..Flow::default()
        });
        // Times that go back belong to the interval of the newest.
        if slot > flow.now.slot {
            flow.rows.push(flow.now);
            flow.now.slot = slot;
        }
        flow
    }
}

impl Flow {
    fn data(&mut self, t_ns: i64, captured: &Captured, segment: &Segment) {
        let end = captured.seq64 + i64::from(segment.payload_bytes);
        if segment.flags.contains(Flags::FIN) {
            self.fin_at = Some(end);
        }
        if segment.payload_bytes == 0 {
            return;
        }
        let value = segment.options.timestamps.map(|timestamps| timestamps.value);
        let identity = (captured.seq64, segment.ip_id, value);
        let is_identified = segment.ip_id.is_some_and(|id| id != 0) && value.is_some();
        if is_identified && self.recent.contains(&identity) {
            return;
        }
        self.recent.push_back(identity);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        self.now.sent_bytes += u64::from(segment.payload_bytes);
        self.now.packets += u64::from(captured.wire_packets.max(1));
        if captured.seq64 < self.highest {
            let old = self.waiting.iter_mut().filter(|waiting| waiting.end > captured.seq64);
            old.take_while(|waiting| waiting.end <= end).for_each(|waiting| waiting.is_retransmitted = true);
        } else if self.waiting.len() < WAITING {
            self.waiting.push_back(Waiting { end, t_ns, is_retransmitted: false });
        }
        self.highest = self.highest.max(end);
        self.outstanding();
    }

    fn acknowledged(&mut self, t_ns: i64, ack64: i64) {
        let (mut newest, mut is_certain) = (None, true);
        while let Some(first) = self.waiting.front().filter(|first| first.end <= ack64) {
            newest = Some(first.t_ns);
            is_certain &= !first.is_retransmitted;
            self.waiting.pop_front();
        }
        if let Some(sent_ns) = newest.filter(|_| is_certain) {
            let rtt = t_ns - sent_ns;
            let before = self.now.rtt_ns;
            self.now.rtt_ns = Some(before.map_or(rtt, |before| before + (rtt - before) / 8));
            self.now.min_rtt_ns = Some(self.now.min_rtt_ns.map_or(rtt, |least| least.min(rtt)));
        }
        // The FIN is a sequence number, and no payload.
        let ack64 = self.fin_at.map_or(ack64, |fin| ack64.min(fin));
        self.now.acked_bytes = self.now.acked_bytes.max((ack64 - 1).max(0) as u64);
        self.outstanding();
    }

    fn outstanding(&mut self) {
        self.now.outstanding_bytes = ((self.highest - 1).max(0) as u64).saturating_sub(self.now.acked_bytes);
    }
}

impl Observer for Sampler {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        let Some(segment) = captured.packet.segment() else { return };
        let origin = *self.origin_ns.get_or_insert(captured.packet.time_ns);
        let t_ns = captured.packet.time_ns - origin;
        let slot = connection.slot as usize;
        if slot >= self.open.len() {
            self.open.resize(slot + 1, None);
        }
        let count = &mut self.count;
        let number = *self.open[slot].get_or_insert_with(|| {
            *count += 1;
            *count
        });
        if segment.flags.intersects(Flags::SYN | Flags::RST) {
            return;
        }
        let (own, other) =
            ((number, captured.direction.index()), (number, captured.direction.reverse().index()));
        if segment.payload_bytes > 0 || segment.flags.contains(Flags::FIN) && self.flows.contains_key(&own) {
            self.flow(own, t_ns).data(t_ns, captured, segment);
        }
        if let Some(ack64) = captured.ack64
            && self.flows.contains_key(&other)
        {
            self.flow(other, t_ns).acknowledged(t_ns, ack64);
        }
    }

    fn ended(&mut self, connection: &Connection, _: EndReason) {
        if let Some(open) = self.open.get_mut(connection.slot as usize) {
            *open = None;
        }
    }
}
