//! The result as text for a terminal. Its first line is the finding.

mod detail;
pub mod quantity;
mod stream;
mod table;
mod words;

use crate::artefact::DuplicateCause;
use crate::capture_point::Position;
use crate::limit::Limit;
use crate::result::{ConnectionTrace, FlowTrace, Trace};
use crate::slow_start::SlowStartEnd;
use crate::udp::UdpStream;
use quantity::{duration, percent, rate, size, things};
use std::cmp::Reverse;
use wirespeed_capture::CaptureFacts;

pub use detail::connection;
pub use quantity::count;
pub use stream::stream;

/// So many connections are in the table, if not all of them are wanted.
pub const USUAL_ROWS: usize = 20;

/// The summary of a capture: the finding, problems of the capture, and a table of at most `rows` connections, those with most bytes.
pub fn summary(trace: &Trace, facts: &CaptureFacts, rows: usize) -> String {
    let mut text = finding(trace);
    text.push('\n');
    for problem in problems(facts) {
        text += &format!("Capture: {problem}.\n");
    }
    if !trace.connections.is_empty() {
        text += &format!("\n{}", table::connections(trace, rows));
    }
    if !trace.streams.is_empty() {
        text += &format!("\n{}", stream::streams(trace, rows));
    }
    text
}

/// The finding about the connection or UDP stream with most data, in a line.
pub fn finding(trace: &Trace) -> String {
    match largest_flow(trace) {
        Largest::Flow(connection, flow, names) => {
            // A single packet has no rate.
            let mut parts = vec![match flow.duration_ns {
                0 => format!("{} of data", size(flow.unique_bytes)),
                time => format!("{} in {}", rate(flow.goodput_bps), duration(time)),
            }];
            parts.extend(slow_start(flow));
            parts.extend(losses(flow));
            parts.extend(artefacts(flow));
            parts.extend(limiting_factor(flow));
            format!("Connection {}, {} -> {}: {}.", connection.number, names.0, names.1, parts.join("; "))
        }
        Largest::Stream(largest) => stream::finding(largest),
        Largest::None => match trace.total_connections {
            0 => "The capture has no TCP or UDP packets.".into(),
            number => format!("{} without data.", things(number, "TCP connection")),
        },
    }
}

/// The connection or the UDP stream with most data.
pub fn largest(trace: &Trace) -> (Option<&ConnectionTrace>, Option<&UdpStream>) {
    match largest_flow(trace) {
        Largest::Flow(connection, ..) => (Some(connection), None),
        Largest::Stream(stream) => (None, Some(stream)),
        Largest::None => (None, None),
    }
}

/// The flow or stream with most data, with the names of its sender and receiver.
enum Largest<'a> {
    Flow(&'a ConnectionTrace, &'a FlowTrace, (&'a str, &'a str)),
    Stream(&'a UdpStream),
    None,
}

fn largest_flow(trace: &Trace) -> Largest<'_> {
    let flow = trace.connections.iter().flat_map(flows).max_by_key(|(_, flow, _)| flow.unique_bytes);
    let stream = trace.streams.iter().max_by_key(|stream| (stream.payload_bytes, Reverse(stream.number)));
    match (flow, stream) {
        (Some((_, flow, _)), Some(stream)) if stream.payload_bytes > flow.unique_bytes => {
            Largest::Stream(stream)
        }
        (Some((connection, flow, names)), _) => Largest::Flow(connection, flow, names),
        (None, Some(stream)) => Largest::Stream(stream),
        (None, None) => Largest::None,
    }
}

/// The flows of a connection with the names of their sender and receiver.
fn flows(connection: &ConnectionTrace) -> impl Iterator<Item = (&ConnectionTrace, &FlowTrace, (&str, &str))> {
    let (client, server) = (connection.client.as_str(), connection.server.as_str());
    let forward = connection.from_client.iter().map(move |flow| (connection, flow, (client, server)));
    forward.chain(connection.from_server.iter().map(move |flow| (connection, flow, (server, client))))
}

fn slow_start(flow: &FlowTrace) -> Option<String> {
    let end = flow.slow_start.end;
    let is_at_sender = flow.capture_point.position == Position::Sender;
    match end {
        SlowStartEnd::NotCaptured | SlowStartEnd::NotEnded => None,
        _ => Some(format!(
            "slow start ended in round {} {}",
            flow.slow_start.round,
            words::slow_start_end(end, is_at_sender)
        )),
    }
}

fn losses(flow: &FlowTrace) -> Vec<String> {
    let losses = flow.losses;
    let retransmissions = flow.retransmissions;
    let mut parts = Vec::new();
    if losses.before_capture_point > 0 {
        parts
            .push(format!("{} lost before the capture point", things(losses.before_capture_point, "packet")));
    }
    if losses.after_capture_point > 0 {
        parts.push(format!("{} lost after the capture point", things(losses.after_capture_point, "packet")));
    }
    if retransmissions.spurious() > 0 {
        parts.push(format!("{} without need", things(retransmissions.spurious(), "retransmission")));
    }
    if parts.is_empty() {
        parts.push("no loss in the network".into());
    }
    parts
}

fn artefacts(flow: &FlowTrace) -> Vec<String> {
    let artefacts = flow.artefacts;
    let mut parts = Vec::new();
    match artefacts.duplicate_cause {
        DuplicateCause::None => {}
        DuplicateCause::HardwareDuplicates => {
            parts.push(format!(
                "{}, which are not losses",
                things(artefacts.duplicates, "hardware duplicate")
            ));
        }
        DuplicateCause::CapturedTwice => parts.push("the capture has nearly every packet twice".into()),
        DuplicateCause::NetworkDuplicates => {
            parts.push(format!("{} arrived twice", things(artefacts.duplicates, "packet")));
        }
    }
    if artefacts.missed_packets > 0 {
        parts.push(format!(
            "the capture lacks about {} that arrived",
            things(artefacts.missed_packets, "packet")
        ));
    }
    parts
}

/// The main limiting factor, if one had most of the time.
fn limiting_factor(flow: &FlowTrace) -> Option<String> {
    let total = flow.limits.total_ns().max(1) as f64;
    let (limit, time) = flow.limits.shares().into_iter().max_by_key(|&(_, time)| time)?;
    let share = time as f64 / total;
    (share > 0.5 && flow.total_rounds > 2 && limit != Limit::Recovery)
        .then(|| format!("limited by the {} for {} of the time", words::limit(limit), percent(share)))
}

/// Reasons not to trust parts of the capture, each as a clause.
pub fn problems(facts: &CaptureFacts) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(tail) = &facts.damaged_tail {
        problems.push(format!("the file is damaged or truncated {tail}; everything before was read"));
    }
    if let Some(drops) = facts.reported_drops().filter(|&drops| drops > 0) {
        problems.push(format!("it reports {} as dropped by the capture", things(drops, "packet")));
    }
    if facts.times_out_of_order > 0 {
        problems.push(format!(
            "{} earlier than the packet before: do not trust small time differences",
            things(facts.times_out_of_order, "time")
        ));
    }
    if facts.cut_options > 0 {
        problems.push(format!(
            "the snapshot length cut the TCP options of {}: SACK and timestamps may be missing",
            things(facts.cut_options, "packet")
        ));
    }
    if facts.super_packets > 0 {
        problems.push(format!(
            "{} of segmentation offload: counts and rates within them are derived",
            things(facts.super_packets, "super-packet")
        ));
    }
    let skipped: u64 = facts.skipped.values().map(|packets| packets.packets).sum();
    if skipped > 0 {
        problems.push(format!(
            "no TCP or UDP that can be read in {} of {}",
            count(skipped),
            things(facts.all.packets, "frame")
        ));
    }
    problems
}
