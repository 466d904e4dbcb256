//! A connection: its handshake, and the flow of data in each direction.

use crate::flow::{Context, Flow};
use crate::result::{ConnectionTrace, Ended};
use crate::sequence::{
    AckMarks, AckPoint, ConnectionSequence, DataClass, DataMarks, DataPoint, FlowSequence,
};
use wirespeed_capture::{Captured, Connection, Direction, EndReason, Flags, Segment};

/// Payload of a full packet where nothing is known about it.
const USUAL_MSS: u32 = 1_448;

/// A connection that is followed.
#[derive(Debug)]
pub(crate) struct State {
    pub number: u64,
    first_ns: i64,
    last_ns: i64,
    handshake: Handshake,
    flows: [Option<Box<Flow>>; 2],
    early_retransmissions: Vec<(Direction, i64, u64)>,
    points: Points,
}

/// The points of a connection for figures.
#[derive(Debug, Default)]
enum Points {
    /// They are not wanted, or took too much memory.
    #[default]
    Off,
    /// Those of directions that have no data yet. The others are in the flows.
    On([Option<Box<FlowSequence>>; 2]),
}

impl Points {
    /// Those of a direction without data.
    fn of(&mut self, direction: Direction) -> Option<&mut FlowSequence> {
        match self {
            Points::Off => None,
            Points::On(points) => points[direction.index()].as_deref_mut(),
        }
    }

    fn take(&mut self, direction: Direction) -> Option<Box<FlowSequence>> {
        match self {
            Points::Off => None,
            Points::On(points) => points[direction.index()].take(),
        }
    }
}

/// Times of the handshake.
#[derive(Debug, Clone, Copy, Default)]
struct Handshake {
    syn: Option<i64>,
    reply: Option<i64>,
    confirm: Option<i64>,
    is_repeated: bool,
}

impl State {
    /// `with_points`: points for figures are collected.
    pub(crate) fn new(number: u64, t: i64, with_points: bool) -> State {
        State {
            number,
            first_ns: t,
            last_ns: t,
            handshake: Handshake::default(),
            flows: [None, None],
            early_retransmissions: Vec::new(),
            points: match with_points {
                true => Points::On([Some(Box::default()), Some(Box::default())]),
                false => Points::Off,
            },
        }
    }

    /// Whether points for figures are collected.
    pub(crate) fn has_points(&self) -> bool {
        matches!(self.points, Points::On(_))
    }

    /// How many points were collected.
    pub(crate) fn points(&self) -> usize {
        self.flows.iter().flatten().map(|flow| flow.points()).sum()
    }

    /// Collects no more points, and discards those that were collected.
    pub(crate) fn discard_points(&mut self) {
        self.points = Points::Off;
        self.flows.iter_mut().flatten().for_each(|flow| flow.discard_points());
    }

    /// A packet at `t`, in nanoseconds since the start of the capture.
    pub(crate) fn packet(&mut self, t: i64, captured: &Captured, segment: &Segment, connection: &Connection) {
        self.last_ns = self.last_ns.max(t);
        let direction = captured.direction;
        if segment.flags.contains(Flags::SYN) {
            self.syn(t, captured, direction, segment);
        } else if direction == Direction::ClientToServer && self.handshake.reply.is_some() {
            self.handshake.confirm.get_or_insert(t);
        }
        let has_ack = segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::RST);
        if has_ack && let Some(flow) = &mut self.flows[direction.reverse().index()] {
            let context =
                context(t, direction.reverse(), connection, connection.window_bytes(direction, segment));
            flow.acknowledgment(captured, segment, context);
        } else if has_ack {
            self.acknowledgment_without_data(t, captured, segment, connection);
        }
        if segment.flags.contains(Flags::RST) {
            let at = (captured.seq64, captured.end64());
            self.control_point(t, captured, direction, at, DataClass::First);
        }
        if segment.payload_bytes > 0 {
            self.open(direction, connection);
        }
        if !segment.flags.intersects(Flags::SYN | Flags::RST)
            && let Some(flow) = &mut self.flows[direction.index()]
        {
            flow.data(captured, segment, context(t, direction, connection, None));
        }
    }

    /// An acknowledgment to an end that has sent no data yet.
    fn acknowledgment_without_data(
        &mut self,
        t: i64,
        captured: &Captured,
        segment: &Segment,
        connection: &Connection,
    ) {
        let Some(points) = self.points.of(captured.direction.reverse()) else { return };
        let Some(ack) = captured.ack64 else { return };
        let point = AckPoint {
            t,
            packet: captured.packet.ordinal,
            ack,
            window: connection.window_bytes(captured.direction, segment),
            marks: AckMarks::of(segment),
            in_flight: None,
        };
        points.add_ack(point, captured.sack64());
    }

    /// A point for a SYN or RST.
    fn control_point(
        &mut self,
        t: i64,
        captured: &Captured,
        direction: Direction,
        (start, end): (i64, i64),
        class: DataClass,
    ) {
        let Some(segment) = captured.packet.segment() else { return };
        let point = DataPoint {
            t,
            packet: captured.packet.ordinal,
            start,
            end,
            class,
            marks: DataMarks::of(segment),
            packets: 1,
            in_flight: 0,
        };
        match &mut self.flows[direction.index()] {
            Some(flow) => flow.control_point(point),
            None => {
                if let Some(points) = self.points.of(direction) {
                    points.add_data(point);
                }
            }
        }
    }

    fn syn(&mut self, t: i64, captured: &Captured, direction: Direction, segment: &Segment) {
        let packet = captured.packet.ordinal;
        let time = match segment.flags.contains(Flags::ACK) {
            true => &mut self.handshake.reply,
            false => &mut self.handshake.syn,
        };
        let class = if time.is_some() { DataClass::Handshake } else { DataClass::First };
        if time.is_some() {
            self.handshake.is_repeated = true;
            if self.early_retransmissions.len() < 16 {
                self.early_retransmissions.push((direction, t, packet));
            }
        }
        time.get_or_insert(t);
        self.control_point(t, captured, direction, (captured.seq64, captured.seq64 + 1), class);
    }

    /// The first data of a direction.
    fn open(&mut self, direction: Direction, connection: &Connection) {
        let place = &mut self.flows[direction.index()];
        if place.is_some() {
            return;
        }
        let mut flow = Box::<Flow>::default();
        if let Some(points) = self.points.take(direction) {
            flow.collect(points);
        }
        if connection.sender(direction).isn.is_some() {
            flow.begin(1);
        }
        if let Handshake { syn: Some(syn), reply: Some(reply), confirm: Some(confirm), is_repeated: false } =
            self.handshake
        {
            let (to_server, to_client) = (reply - syn, confirm - reply);
            match direction {
                Direction::ClientToServer => flow.handshake_rtt(to_client, to_server),
                Direction::ServerToClient => flow.handshake_rtt(to_server, to_client),
            }
        }
        for &(of, t, packet) in &self.early_retransmissions {
            if of == direction {
                flow.handshake_retransmitted(t, packet);
            }
        }
        *place = Some(flow);
    }

    /// The points for figures, if they were collected.
    pub(crate) fn take_points(&mut self) -> Option<ConnectionSequence> {
        if !self.has_points() {
            return None;
        }
        let [from_client, from_server] =
            self.flows.each_mut().map(|flow| flow.as_mut().and_then(|flow| flow.take_points()));
        Some(ConnectionSequence { number: self.number, from_client, from_server })
    }

    /// The result.
    pub(crate) fn finish(self, connection: &Connection, reason: EndReason) -> ConnectionTrace {
        let [from_client, from_server] = self.flows;
        let trace = |flow: Option<Box<Flow>>, direction: Direction| {
            let flow = flow.filter(|flow| flow.has_data())?;
            Some(flow.finish(mss(connection, direction)))
        };
        ConnectionTrace {
            number: self.number,
            client: connection.client.to_string(),
            server: connection.server.to_string(),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            has_handshake: self.handshake.syn.is_some() && self.handshake.reply.is_some(),
            ended: match reason {
                EndReason::Closed => Ended::Closed,
                EndReason::Reset => Ended::Reset,
                EndReason::Replaced | EndReason::Idle | EndReason::EndOfCapture => Ended::Unseen,
            },
            from_client: trace(from_client, Direction::ClientToServer),
            from_server: trace(from_server, Direction::ServerToClient),
        }
    }
}

fn mss(connection: &Connection, direction: Direction) -> u32 {
    connection.segment_bytes(direction).unwrap_or(USUAL_MSS).max(1)
}

fn context(t: i64, direction: Direction, connection: &Connection, window: Option<u64>) -> Context {
    Context { t, mss: mss(connection, direction), window }
}
