//! A stream as a flow: its sending and its receiving end, as far as somebody says something of them.

use super::{MergeError, Sides, Source};
use crate::import::{Interval, Protocol, Report, Stream};

/// A flow, and who speaks of its ends.
pub struct Flow<'a> {
    pub number: u32,
    pub label: String,
    pub protocol: Protocol,
    pub from: &'static str,
    pub to: &'static str,
    pub sender: Option<End<'a>>,
    pub receiver: Option<End<'a>>,
}

/// One end, as the side where it is tells of it.
#[derive(Clone, Copy)]
pub struct End<'a> {
    pub report: &'a Report,
    pub stream: &'a Stream,
}

impl Flow<'_> {
    /// The time of the last that is known.
    pub fn end_ns(&self) -> i64 {
        let ends = self.sender.iter().chain(&self.receiver);
        ends.map(|end| end.last_ns().max(end.total_ns().unwrap_or(0))).max().unwrap_or(0)
    }

    /// What the receiving side received, measured there: by itself, or by its word to the other side.
    pub fn received(&self) -> Option<&crate::import::Received> {
        let own = self.receiver.and_then(|end| end.stream.total.received.as_ref());
        own.or_else(|| self.sender?.stream.total.received.as_ref())
    }
}

impl<'a> End<'a> {
    pub fn intervals(&self) -> &'a [Interval] {
        &self.stream.intervals
    }

    fn last_ns(&self) -> i64 {
        self.intervals().last().map_or(0, |interval| interval.to_ns)
    }

    /// Where the measurement begins.
    pub fn omitted_ns(&self) -> i64 {
        self.intervals().iter().rfind(|interval| interval.omitted).map_or(0, |interval| interval.to_ns)
    }

    /// Bytes before the measurement.
    pub fn omitted_bytes(&self) -> u64 {
        let omitted = self.intervals().iter().filter(|interval| interval.omitted);
        omitted.fold(0, |sum: u64, interval| sum.saturating_add(interval.bytes))
    }

    /// When this end's total was taken.
    pub fn total_ns(&self) -> Option<i64> {
        self.stream.total.lasted_ns.map(|lasted| self.omitted_ns() + lasted)
    }
}

/// The flows of a test: the streams of the side that leads, joined with those of the other.
pub fn pair(sides: &Sides) -> Result<Vec<Flow<'_>>, MergeError> {
    let lead = sides.leading();
    let other = sides.all().find(|source| !std::ptr::eq(*source, lead));
    if let Some(other) = other
        && other.report.streams.len() != lead.report.streams.len()
    {
        let (a, b) = (lead.report.streams.len(), other.report.streams.len());
        return Err(differ(lead, other, format!("{a} and {b} of them")));
    }
    let both_ways = lead.report.streams.iter().any(|stream| stream.sends != lead.report.streams[0].sends);
    let name = super::info::host_name(&lead.report);
    let far = super::info::other(name);
    let mut flows: Vec<Flow> = Vec::new();
    for (number, stream) in lead.report.streams.iter().enumerate() {
        let near_end = End { report: &lead.report, stream };
        let far_end = match other {
            Some(other) => Some(partner(lead, other, stream, number)?),
            None => None,
        };
        let (from, to) = if stream.sends { (name, far) } else { (far, name) };
        let (sender, receiver) =
            if stream.sends { (Some(near_end), far_end) } else { (far_end, Some(near_end)) };
        let label = match both_ways {
            true => format!("{from} to {to} {}", flows.iter().filter(|flow| flow.from == from).count() + 1),
            false => format!("stream {}", number + 1),
        };
        flows.push(Flow {
            number: number as u32,
            label,
            protocol: lead.report.protocol,
            from,
            to,
            sender,
            receiver,
        });
    }
    Ok(flows)
}

/// The other end of a stream: the same ports; where addresses were translated on the way, the same place in the order.
fn partner<'a>(
    lead: &Source,
    other: &'a Source,
    stream: &Stream,
    number: usize,
) -> Result<End<'a>, MergeError> {
    let same = |s: &&Stream| {
        s.local.port.is_some() && (s.local.port, s.remote.port) == (stream.remote.port, stream.local.port)
    };
    let streams = &other.report.streams;
    let found = streams.iter().find(same).unwrap_or(&streams[number]);
    if found.sends == stream.sends {
        let who = if stream.sends { "send" } else { "receive" };
        return Err(differ(lead, other, format!("both sides {who} on stream {}", number + 1)));
    }
    Ok(End { report: &other.report, stream: found })
}

fn differ(a: &Source, b: &Source, reason: String) -> MergeError {
    MergeError::DifferentStreams { files: [a.name.clone(), b.name.clone()], reason }
}
