//! Rows of the flow table: a row an interval. Both ends' intervals of the same number share a row; nobody knows by how
//! much the two clocks differ, which begin with the test on each side.

use super::flow::{End, Flow};
use crate::import::{Protocol, State};
use wirespeed_record::FlowSample;

/// Ends whose times differ by less than this part of an interval are taken as one instant.
const TOGETHER: f64 = 0.05;
/// Intervals are asked for in multiples of so much, in nanoseconds, and are of 0.1 s at least.
const TICK_NS: i64 = 10_000_000;
/// What is later than the last interval by less than this, in nanoseconds, is its end.
const SAME_NS: i64 = 1_000_000;

/// What one end has come to at an instant, cumulative.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    t_ns: i64,
    bytes: u64,
    packets: Option<u64>,
    retransmits: Option<u64>,
    state: State,
}

/// The sampling grid: the usual length of an interval, without what the timer was late.
pub fn step(flows: &[Flow]) -> i64 {
    let ends = flows.iter().flat_map(|flow| flow.sender.iter().chain(&flow.receiver));
    let mut lengths: Vec<i64> =
        ends.flat_map(|end| end.intervals()).map(|interval| interval.to_ns - interval.from_ns).collect();
    lengths.sort_unstable();
    let usual = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    if usual < TICK_NS { usual } else { (usual + TICK_NS / 2) / TICK_NS * TICK_NS }
}

/// The rows of a flow in order of time.
pub fn of(flow: &Flow, step_ns: i64) -> Vec<FlowSample> {
    let sent = flow.sender.map_or_else(Vec::new, |end| readings(&end, true));
    let received = flow.receiver.map_or_else(Vec::new, |end| readings(&end, false));
    let told = (!sent.is_empty() && received.is_empty()).then(|| arrived_at_last(flow)).flatten();
    let mut rows = Vec::new();
    // Before the first byte every count is 0, and no state is known.
    if let Some(first) = sent.first() {
        let zero = Reading {
            packets: first.packets.map(|_| 0),
            retransmits: first.retransmits.map(|_| 0),
            ..Reading::default()
        };
        let arrived = told.map(|_| 0).or(received.is_empty().then_some(0));
        rows.push(sender_row(flow, &zero, arrived));
    }
    for reading in &sent {
        let most = told.unwrap_or(u64::MAX);
        rows.push(sender_row(flow, reading, received.is_empty().then_some(reading.bytes.min(most))));
    }
    if let (Some(last), Some(told)) = (rows.last_mut(), told) {
        last.delivered_bytes = Some(told);
    }
    let near_ns = (step_ns as f64 * TOGETHER) as i64;
    let first =
        received.first().map(|first| Reading { packets: first.packets.map(|_| 0), ..Reading::default() });
    let mut from = 0;
    let on_their_own = rows.len();
    for reading in first.iter().chain(&received) {
        let found = (from..on_their_own).find(|at| (rows[*at].t_ns - reading.t_ns).abs() <= near_ns);
        match found {
            Some(at) => {
                fill_receiver(flow, reading, &mut rows[at]);
                from = at + 1;
            }
            None => {
                let mut row = FlowSample::empty(reading.t_ns, flow.number);
                fill_receiver(flow, reading, &mut row);
                rows.push(row);
            }
        }
    }
    rows.sort_by_key(|row| row.t_ns);
    rows
}

/// What had arrived in all, by the word of a receiver that says nothing else.
fn arrived_at_last(flow: &Flow) -> Option<u64> {
    let end = flow.sender?;
    let received = flow.received()?;
    let bytes = received.bytes.or_else(|| {
        let datagrams = i64::try_from(received.packets?).ok()?.checked_sub(received.lost?)?;
        u64::try_from(datagrams).ok()?.checked_mul(end.report.block_bytes?)
    })?;
    end.omitted_bytes().checked_add(bytes)
}

fn readings(end: &End, sends: bool) -> Vec<Reading> {
    let mut all: Vec<Reading> = Vec::new();
    let mut now = Reading::default();
    for interval in end.intervals() {
        let packets = match (interval.packets, interval.lost) {
            (Some(due), Some(lost)) if !sends => {
                i64::try_from(due).ok().and_then(|due| u64::try_from(due.saturating_sub(lost)).ok())
            }
            (packets, _) => packets,
        };
        now.t_ns = interval.to_ns;
        now.bytes = now.bytes.saturating_add(interval.bytes);
        now.packets = added(now.packets, packets, all.is_empty());
        now.state = interval.tcp.unwrap_or_default();
        now.retransmits = added(now.retransmits, now.state.retransmits, all.is_empty());
        // Of two at one instant the later is the whole.
        if all.last().is_some_and(|last| last.t_ns == now.t_ns) {
            all.pop();
        }
        all.push(now);
    }
    // A test that was broken off has more in its total than in its intervals.
    if let (Some(t_ns), Some(bytes)) = (end.total_ns(), end.stream.total.own_bytes)
        && t_ns > now.t_ns + SAME_NS
        && let Some(bytes) = bytes.checked_add(end.omitted_bytes()).filter(|bytes| *bytes >= now.bytes)
    {
        all.push(Reading { t_ns, bytes, ..Reading::default() });
    }
    all
}

/// A count that was once not told is not known from then on.
fn added(sum: Option<u64>, more: Option<u64>, is_first: bool) -> Option<u64> {
    let sum = if is_first { Some(0) } else { sum };
    sum?.checked_add(more?)
}

fn sender_row(flow: &Flow, reading: &Reading, delivered: Option<u64>) -> FlowSample {
    let is_udp = flow.protocol == Protocol::Udp;
    let state = &reading.state;
    let ns = |us: Option<u64>| us.and_then(|us| i64::try_from(us).ok()?.checked_mul(1000));
    FlowSample {
        delivered_bytes: delivered,
        // Of TCP it is what was written, which is not yet sent, and not what was sent again.
        sent_bytes: is_udp.then_some(reading.bytes),
        data_packets_out: reading.packets.filter(|_| is_udp),
        retrans_packets: reading.retransmits,
        cwnd_bytes: state.cwnd_bytes,
        snd_wnd_bytes: state.snd_wnd_bytes.and_then(|bytes| u32::try_from(bytes).ok()),
        rtt_ns: ns(state.rtt_us),
        rttvar_ns: ns(state.rttvar_us),
        ..FlowSample::empty(reading.t_ns, flow.number)
    }
}

fn fill_receiver(flow: &Flow, reading: &Reading, row: &mut FlowSample) {
    // What was read had come in order; what waits in the receive buffer is in neither.
    row.delivered_bytes = Some(reading.bytes);
    row.read_bytes = Some(reading.bytes);
    row.data_packets_in = reading.packets.filter(|_| flow.protocol == Protocol::Udp);
}
