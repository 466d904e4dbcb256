//! A connection: its handshake, and the flow of data in each direction.

use crate::flow::{Context, Flow};
use crate::result::{ConnectionTrace, Ended};
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
    pub(crate) fn new(number: u64, t: i64) -> State {
        State {
            number,
            first_ns: t,
            last_ns: t,
            handshake: Handshake::default(),
            flows: [None, None],
            early_retransmissions: Vec::new(),
        }
    }

    /// A packet at `t`, in nanoseconds since the start of the capture.
    pub(crate) fn packet(&mut self, t: i64, captured: &Captured, segment: &Segment, connection: &Connection) {
        self.last_ns = self.last_ns.max(t);
        let direction = captured.direction;
        if segment.flags.contains(Flags::SYN) {
            self.syn(t, captured.packet.ordinal, direction, segment);
        } else if direction == Direction::ClientToServer && self.handshake.reply.is_some() {
            self.handshake.confirm.get_or_insert(t);
        }
        let has_ack = segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::RST);
        if has_ack && let Some(flow) = &mut self.flows[direction.reverse().index()] {
            let context =
                context(t, direction.reverse(), connection, connection.window_bytes(direction, segment));
            flow.acknowledgment(captured, segment, context);
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

    fn syn(&mut self, t: i64, packet: u64, direction: Direction, segment: &Segment) {
        let time = match segment.flags.contains(Flags::ACK) {
            true => &mut self.handshake.reply,
            false => &mut self.handshake.syn,
        };
        if time.is_some() {
            self.handshake.is_repeated = true;
            if self.early_retransmissions.len() < 16 {
                self.early_retransmissions.push((direction, t, packet));
            }
        }
        time.get_or_insert(t);
    }

    /// The first data of a direction.
    fn open(&mut self, direction: Direction, connection: &Connection) {
        let place = &mut self.flows[direction.index()];
        if place.is_some() {
            return;
        }
        let mut flow = Box::<Flow>::default();
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
