//! The second pass: both captures side by side.

use crate::alignment::Alignment;
use crate::connections::{Link, in_second};
use crate::delay::Thinned;
use crate::envelope::Envelope;
use crate::feed::Feed;
use crate::lane::{Frame, Lane, Progress};
use crate::pieces::pieces;
use crate::result::{Direction, Point};
use crate::sighting::{Alike, Sighting};
use crate::survey::Surveyed;
use wirespeed_capture::{Captured, Connection, Direction as Way, EndReason, Observer};

/// A connection that both captures have, while its packets are matched.
#[derive(Debug, Clone)]
pub(crate) struct Paired {
    /// Its numbers.
    pub link: Link,
    /// Its client is on the side of the first capture.
    pub is_client_first: bool,
    /// Most payload of a packet on the wire, by direction.
    segment_bytes: [u32; 2],
    /// Difference of sequence numbers, second capture less first, by direction.
    shifts: [u32; 2],
    /// By direction.
    pub lanes: [Option<Box<Lane>>; 2],
    has_ended: [bool; 2],
}

impl Paired {
    pub(crate) fn new(link: Link, is_client_first: bool, found: [&Surveyed; 2]) -> Paired {
        let mut paired = Paired {
            link,
            is_client_first,
            segment_bytes: [u32::MAX; 2],
            shifts: [0; 2],
            lanes: [None, None],
            has_ended: [false; 2],
        };
        for way in Way::ALL {
            let direction = paired.direction(way);
            let ways = [way, in_second(&link, way)];
            let bytes = [0, 1].map(|file| found[file].connection.segment_bytes(ways[file]));
            paired.segment_bytes[direction.index()] = bytes.into_iter().flatten().min().unwrap_or(u32::MAX);
            let isn = [0, 1].map(|file| found[file].connection.sender(ways[file]).isn);
            if let [Some(first), Some(second)] = isn {
                paired.shifts[direction.index()] = second.wrapping_sub(first);
            }
        }
        paired
    }

    /// The direction between the capture points of packets that the first capture takes to go this way.
    pub(crate) fn direction(&self, way: Way) -> Direction {
        match (way == Way::ClientToServer) == self.is_client_first {
            true => Direction::FromFirst,
            false => Direction::FromSecond,
        }
    }
}

/// Both captures, while their packets are matched.
pub(crate) struct Matcher {
    /// Connections that both captures have.
    pub pairs: Vec<Paired>,
    /// Of each capture and number of a connection, from 1: its place in `pairs`.
    places: [Vec<Option<u32>>; 2],
    /// Numbers of open connections, by slot.
    open: [Vec<Option<u64>>; 2],
    count: [u64; 2],
    progress: [i64; 2],
    last_ns: [Option<i64>; 2],
    frames: [Frame; 2],
    /// Least differences of times, far less near, by direction.
    pub envelopes: [Envelope; 2],
    /// Differences of times, far less near, by direction.
    pub differences: [Thinned; 2],
}

/// Longer pauses of a capture count as this one: nothing arrives meanwhile, and a clock may be set.
const PAUSE_NS: i64 = 1_000_000_000;
/// So many delays of all connections are kept.
const DELAYS: usize = 1 << 16;

impl Matcher {
    pub(crate) fn new(pairs: Vec<Paired>, frames: [Frame; 2]) -> Matcher {
        let mut places: [Vec<Option<u32>>; 2] = Default::default();
        for (at, paired) in pairs.iter().enumerate() {
            for (file, &number) in paired.link.numbers.iter().enumerate() {
                let number = number as usize;
                if number >= places[file].len() {
                    places[file].resize(number + 1, None);
                }
                places[file][number] = Some(at as u32);
            }
        }
        Matcher {
            pairs,
            places,
            open: Default::default(),
            count: [0; 2],
            progress: [0; 2],
            last_ns: [None; 2],
            frames,
            envelopes: Default::default(),
            differences: [Thinned::new(DELAYS), Thinned::new(DELAYS)],
        }
    }

    /// Reads both to their ends, so that packets of the same time are read together.
    pub(crate) fn read(&mut self, feeds: &mut [Feed; 2], alignment: &Alignment) {
        loop {
            let point = match (feeds[0].next(), feeds[1].next()) {
                (Some(first), Some(second)) if alignment.beside(first) <= second as i64 => Point::First,
                (Some(_), None) => Point::First,
                (_, Some(_)) => Point::Second,
                (None, None) => break,
            };
            let file = point.index();
            self.step(feeds, point);
            if feeds[file].next().is_none() {
                self.step(feeds, point);
                self.progress[file] = i64::MAX;
            }
        }
        for at in 0..self.pairs.len() {
            self.finish(at);
        }
    }

    fn step(&mut self, feeds: &mut [Feed; 2], point: Point) {
        let file = point.index();
        let Some(t_ns) = feeds[file].step(&mut AtPoint { point, matcher: self }) else { return };
        let passed = self.last_ns[file].map_or(0, |last| t_ns.saturating_sub(last).clamp(0, PAUSE_NS));
        self.progress[file] += passed;
        self.last_ns[file] = Some(t_ns);
    }

    fn packet(&mut self, point: Point, at: usize, captured: &Captured) {
        let Some(segment) = captured.packet.segment() else { return };
        let paired = &mut self.pairs[at];
        let way = match point {
            Point::First => captured.direction,
            Point::Second => in_second(&paired.link, captured.direction),
        };
        let direction = paired.direction(way);
        let reverse = Direction::ALL[1 - direction.index()];
        let is_near = direction.near() == point;
        let shifts = match point {
            Point::First => [0; 2],
            Point::Second => [paired.shifts[direction.index()], paired.shifts[reverse.index()]],
        };
        let progress = Progress {
            near: self.progress[direction.near().index()],
            far: self.progress[direction.far().index()],
        };
        let (envelope, differences) =
            (&mut self.envelopes[direction.index()], &mut self.differences[direction.index()]);
        let mut matched = |dot: crate::envelope::Dot| {
            envelope.add(dot);
            differences.add(dot.x, dot.y);
        };
        let [own, other] = [direction, reverse].map(|direction| self.frames[direction.index()]);
        let most = paired.segment_bytes[direction.index()];
        let lane = paired.lanes[direction.index()].get_or_insert_with(|| Box::new(Lane::new(own)));
        let alike = Alike { preserved: own.preserved, sack: paired.shifts == [0; 2] };
        for piece in pieces(captured, segment, most) {
            let sighting =
                Sighting::new(&piece, captured.packet.time_ns, captured.packet.ordinal, shifts, alike);
            match is_near {
                true => lane.sent(sighting, progress, &mut matched),
                false => lane.arrived(sighting, progress, &mut matched),
            }
        }
        if is_near && let Some(ack64) = captured.ack64 {
            let lane = paired.lanes[reverse.index()].get_or_insert_with(|| Box::new(Lane::new(other)));
            lane.acknowledged(ack64);
        }
    }

    /// Both captures have no more of a connection.
    fn finish(&mut self, at: usize) {
        for direction in Direction::ALL {
            let index = direction.index();
            let (envelope, differences) = (&mut self.envelopes[index], &mut self.differences[index]);
            if let Some(lane) = &mut self.pairs[at].lanes[index] {
                lane.finish(&mut |dot| {
                    envelope.add(dot);
                    differences.add(dot.x, dot.y);
                });
            }
        }
    }
}

/// The packets of one capture.
struct AtPoint<'a> {
    point: Point,
    matcher: &'a mut Matcher,
}

impl Observer for AtPoint<'_> {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        if captured.packet.segment().is_none() {
            return;
        }
        let (file, slot) = (self.point.index(), connection.slot as usize);
        let open = &mut self.matcher.open[file];
        if slot >= open.len() {
            open.resize(slot + 1, None);
        }
        let count = &mut self.matcher.count[file];
        let number = *open[slot].get_or_insert_with(|| {
            *count += 1;
            *count
        });
        let place = self.matcher.places[file].get(number as usize).copied().flatten();
        if let Some(place) = place {
            self.matcher.packet(self.point, place as usize, captured);
        }
    }

    fn ended(&mut self, connection: &Connection, _: EndReason) {
        let file = self.point.index();
        let open = self.matcher.open[file].get_mut(connection.slot as usize).and_then(Option::take);
        let place = open.and_then(|number| self.matcher.places[file].get(number as usize).copied().flatten());
        let Some(place) = place else { return };
        self.matcher.pairs[place as usize].has_ended[file] = true;
        if self.matcher.pairs[place as usize].has_ended == [true; 2] {
            self.matcher.finish(place as usize);
        }
    }
}
