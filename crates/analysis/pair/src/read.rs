//! Both passes over two captures, and the result.

use crate::alignment::{Alignment, sides, usual_ns};
use crate::change::of_handshake;
use crate::clock::Clock;
use crate::connections::{in_second, pair};
use crate::error::PairError;
use crate::feed::{Feed, FirstPass};
use crate::lane::Frame;
use crate::matcher::{Matcher, Paired};
use crate::reordering::Reordering;
use crate::result::{Counts, Direction, PairTrace, PairedConnection, Path, Point};
use crate::survey::Survey;
use std::path::{self, PathBuf};
use wirespeed_capture::{
    CaptureFacts, Captured, Connection, Direction as Way, EndReason, Input, Observer, Settings,
};
use wirespeed_trace::{Analyzer, FlowTrace, Trace};

/// Limits and assumptions of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Of each capture alone.
    pub trace: wirespeed_trace::Options,
    /// The clocks of both captures agree, as where one machine made both or PTP keeps them together. Then one-way delays are exact.
    pub clocks_agree: bool,
}

/// A capture that can be read twice.
pub struct Side<'a> {
    /// Its name, for messages.
    pub name: PathBuf,
    /// Opens it from its start.
    pub open: Box<dyn Fn() -> Input<'a> + 'a>,
}

impl<'a> Side<'a> {
    /// A file.
    ///
    /// # Errors
    /// If it is standard input (`-`).
    pub fn file(path: &'a path::Path) -> Result<Side<'a>, PairError> {
        if path.as_os_str() == "-" {
            return Err(PairError::StandardInput);
        }
        Ok(Side { name: path.into(), open: Box::new(move || Input::File(path)) })
    }
}

/// An observer that does nothing.
struct Nothing;

impl Observer for Nothing {
    fn packet(&mut self, _: &Captured, _: &Connection) {}
    fn ended(&mut self, _: &Connection, _: EndReason) {}
}

/// Compares two captures of the same connections.
///
/// # Errors
/// If one cannot be read or has no TCP packets, or if both have no packets in common.
pub fn read(
    sides: &[Side<'_>; 2],
    settings: &Settings,
    options: Options,
) -> Result<(PairTrace, [CaptureFacts; 2]), PairError> {
    read_with(sides, settings, options, [&mut Nothing, &mut Nothing])
}

/// The same. Each of `observers` receives the packets of one capture.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    files: &[Side<'_>; 2],
    settings: &Settings,
    options: Options,
    observers: [&mut dyn Observer; 2],
) -> Result<(PairTrace, [CaptureFacts; 2]), PairError> {
    let [one, other] = observers;
    let (first, first_trace, first_facts) = first_pass(&files[0], settings, options, one)?;
    let (second, second_trace, second_facts) = first_pass(&files[1], settings, options, other)?;
    let (surveys, facts) = ([&first, &second], [first_facts, second_facts]);
    let (wire, since) = (
        first.as_on_the_wire.common(&second.as_on_the_wire),
        first.since_handshake.common(&second.since_handshake),
    );
    // Behind a device that changes addresses or numbers, packets have only the numbers since the handshake in common.
    let common = if wire.len() >= since.len() / 2 { wire } else { since };
    let mut differences: Vec<i64> = common.iter().map(|(one, other)| other.t_ns - one.t_ns).collect();
    differences.sort_unstable();
    let links = pair(surveys, &common, differences.get(differences.len() / 2).copied());
    let counts = [first_trace.total_connections, second_trace.total_connections];
    let nothing = || PairError::NothingInCommon {
        first: files[0].name.clone(),
        first_connections: counts[0],
        second: files[1].name.clone(),
        second_connections: counts[1],
    };
    let mut alignment = Alignment::new(&common, &links, surveys).ok_or_else(nothing)?;
    let are_clients_first = sides(&links, &common, surveys);
    alignment.usual_ns = usual_ns(&links, &are_clients_first, &common);
    let frames = frames(&alignment, &facts, first_trace.first_ns);
    let mut pairs = Vec::new();
    for (link, is_client_first) in links.iter().zip(are_clients_first) {
        let [number, other] = link.numbers;
        if let (Some(one), Some(other)) = (first.connection(number), second.connection(other)) {
            pairs.push(Paired::new(*link, is_client_first, [one, other]));
        }
    }
    let open = |at: usize| {
        let file: &Side<'_> = &files[at];
        Feed::open((file.open)(), settings)
            .map_err(|source| PairError::Capture { path: file.name.clone(), source })
    };
    let mut feeds = [open(0)?, open(1)?];
    let mut matcher = Matcher::new(pairs, frames);
    matcher.read(&mut feeds, &alignment);
    let traces = [first_trace, second_trace];
    let result = Finished { matcher, surveys, traces, options }.result();
    if result.from_first.counts.delivered + result.from_second.counts.delivered == 0 {
        return Err(nothing());
    }
    Ok((result, facts))
}

fn first_pass(
    file: &Side<'_>,
    settings: &Settings,
    options: Options,
    extra: &mut dyn Observer,
) -> Result<(Survey, Trace, CaptureFacts), PairError> {
    let mut pass = FirstPass { analyzer: Analyzer::new(options.trace), survey: Survey::default(), extra };
    let facts = wirespeed_capture::read((file.open)(), settings, &mut pass)
        .map_err(|source| PairError::Capture { path: file.name.clone(), source })?;
    let trace = pass.analyzer.finish();
    if trace.total_packets == 0 {
        return Err(PairError::Empty { path: file.name.clone() });
    }
    Ok((pass.survey, trace, facts))
}

fn frames(alignment: &Alignment, facts: &[CaptureFacts; 2], origin_ns: i64) -> [Frame; 2] {
    let median = alignment.median_ns();
    let [ahead, back] = alignment.usual_ns.map(|usual| usual.unwrap_or(median));
    let span = |point: Point| {
        let facts = &facts[point.index()];
        (facts.first_ns.unwrap_or(i64::MIN / 4), facts.last_ns.unwrap_or(i64::MAX / 4))
    };
    Direction::ALL.map(|direction| Frame {
        is_from_first: direction == Direction::FromFirst,
        origin_ns,
        preserved: alignment.preserved,
        near_ns: span(direction.near()),
        far_ns: span(direction.far()),
        usual_ns: if direction == Direction::FromFirst { ahead } else { -back },
        half_rtt_ns: ((ahead - back) / 2).max(0),
    })
}

struct Finished<'a> {
    matcher: Matcher,
    surveys: [&'a Survey; 2],
    traces: [Trace; 2],
    options: Options,
}

impl Finished<'_> {
    fn result(mut self) -> PairTrace {
        let [forward, reverse] = &self.matcher.envelopes;
        let clock = match self.options.clocks_agree {
            true => Clock::agreeing(forward, reverse),
            false => Clock::fit(forward, reverse),
        };
        let pairs = std::mem::take(&mut self.matcher.pairs);
        let total = pairs.len() as u64;
        let mut connections: Vec<PairedConnection> =
            pairs.into_iter().filter_map(|paired| self.connection(paired, &clock)).collect();
        let sums = Direction::ALL.map(|direction| self.sum(&connections, direction, &clock));
        let bytes =
            |connection: &PairedConnection| std::cmp::Reverse(connection.payload_bytes.iter().sum::<u64>());
        connections.sort_by_key(|connection| (bytes(connection), connection.numbers));
        connections.truncate(self.options.trace.keep.max(1));
        connections.sort_by_key(|connection| connection.numbers);
        let [from_first, from_second] = sums;
        PairTrace {
            clock,
            from_first,
            from_second,
            connections,
            total_connections: total,
            only_in: [0, 1].map(|file| self.traces[file].total_connections.saturating_sub(total)),
            traces: self.traces,
        }
    }

    fn connection(&self, mut paired: Paired, clock: &Clock) -> Option<PairedConnection> {
        let [one, other] = [0, 1].map(|file| {
            self.surveys[file].connection(paired.link.numbers[file]).map(|found| found.connection)
        });
        let (one, other) = (one?, other?);
        let mut changes = Vec::new();
        for way in Way::ALL {
            let direction = paired.direction(way);
            let second_way = in_second(&paired.link, way);
            changes.extend(match direction {
                Direction::FromFirst => of_handshake(&one, &other, [way, second_way], direction),
                Direction::FromSecond => of_handshake(&other, &one, [second_way, way], direction),
            });
        }
        let way_of = |direction: Direction| {
            if paired.direction(Way::ClientToServer) == direction {
                Way::ClientToServer
            } else {
                Way::ServerToClient
            }
        };
        let payload = |way: Way| match paired.direction(way) {
            Direction::FromFirst => one.sender(way).payload_bytes,
            Direction::FromSecond => other.sender(in_second(&paired.link, way)).payload_bytes,
        };
        let payload_bytes = Way::ALL.map(payload);
        let ways = Direction::ALL.map(way_of);
        let (link, is_client_first) = (paired.link, paired.is_client_first);
        let lanes = [paired.lanes[0].take(), paired.lanes[1].take()];
        let mut paths = Vec::new();
        for ((direction, lane), way) in Direction::ALL.into_iter().zip(lanes).zip(ways) {
            let flow = |point: Point| {
                let way = if point == Point::Second { in_second(&link, way) } else { way };
                self.flow(point, link.numbers[point.index()], way)
            };
            let (near, far) = (flow(direction.near()), flow(direction.far()));
            let lost_before = near.map(|flow| flow.losses.before_capture_point);
            let lost_after = far.map(|flow| flow.losses.after_capture_point);
            let mut path = Path { lost_before, lost_after, ..empty() };
            if let Some(mut lane) = lane {
                path.counts = lane.counts;
                path.delays = lane.differences.delays(delay(clock, direction));
                path.reordering = lane.reordering();
                path.lost = std::mem::take(&mut lane.lost);
                path.lost.sort_by_key(|lost| (lost.packet, lost.start));
                changes.extend(std::mem::take(&mut lane.changes).finish(direction));
            }
            paths.push(path);
        }
        let from_second = paths.pop()?;
        let from_first = paths.pop()?;
        let in_first = |way: Way| in_second(&link, way);
        let ends = |way: Way| {
            let address = |connection: &Connection, way: Way| match way {
                Way::ClientToServer => connection.client.to_string(),
                Way::ServerToClient => connection.server.to_string(),
            };
            [address(&one, way), address(&other, in_first(way))]
        };
        Some(PairedConnection {
            numbers: link.numbers,
            client: ends(Way::ClientToServer),
            server: ends(Way::ServerToClient),
            is_flipped: link.is_flipped,
            client_side: if is_client_first { Point::First } else { Point::Second },
            payload_bytes,
            from_first,
            from_second,
            changes,
        })
    }

    fn flow(&self, point: Point, number: u64, way: Way) -> Option<&FlowTrace> {
        let connections = &self.traces[point.index()].connections;
        let at = connections.binary_search_by_key(&number, |connection| connection.number).ok()?;
        match way {
            Way::ClientToServer => connections[at].from_client.as_ref(),
            Way::ServerToClient => connections[at].from_server.as_ref(),
        }
    }

    fn sum(&self, connections: &[PairedConnection], direction: Direction, clock: &Clock) -> Path {
        let mut sum = empty();
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0) + more);
            }
        };
        for path in connections.iter().map(|connection| connection.path(direction)) {
            sum.counts.add(&path.counts);
            add(&mut sum.lost_before, path.lost_before);
            add(&mut sum.lost_after, path.lost_after);
            let (all, one) = (&mut sum.reordering, &path.reordering);
            all.packets += one.packets;
            all.max_extent_packets = all.max_extent_packets.max(one.max_extent_packets);
            all.max_late_ns = all.max_late_ns.max(one.max_late_ns);
        }
        sum.delays = self.matcher.differences[direction.index()].delays(delay(clock, direction));
        sum
    }
}

fn empty() -> Path {
    Path {
        counts: Counts::default(),
        lost_before: None,
        lost_after: None,
        delays: None,
        reordering: Reordering::default(),
        lost: Vec::new(),
    }
}

/// Makes a delay of a time of the first clock and a difference of times.
fn delay(clock: &Clock, direction: Direction) -> impl Fn(i64, i64) -> i64 {
    move |x, difference| match direction {
        Direction::FromFirst => difference - clock.offset_of_packet(direction, x),
        Direction::FromSecond => difference + clock.offset_of_packet(direction, x),
    }
}
