//! Packets for tests: those of a run of the model, and those of a script.
#![allow(dead_code, reason = "each test uses a part")]

use wirespeed_capture::{
    Address, Body, Captured, Connection, Direction, Ecn, EndReason, Endpoint, Flags, Observer, Opened,
    Options as TcpOptions, Packet, Part, Passage, SackBlock, Segment, Timestamps, Transport,
};
use wirespeed_scenario::Run;
use wirespeed_sim::{Outcome, simulate};
use wirespeed_trace::{Analyzer, FlowTrace, Options, Trace};

/// The runs of a scenario.
pub fn runs(scenario: &str) -> Vec<Run> {
    match wirespeed_scenario::parse(scenario, "test", &[], None) {
        Ok(study) => study.runs,
        Err(error) => panic!("{error}\n{scenario}"),
    }
}

/// Carries a run out on the model.
pub fn outcome(run: &Run) -> Outcome {
    simulate(run, &mut |_| true).unwrap_or_else(|ended| panic!("{ended:?}"))
}

/// The capture at a host.
pub fn trace(outcome: &Outcome, host: &str) -> Trace {
    let (_, file) = outcome.captures.iter().find(|(name, _)| name == host).expect("the host has a capture");
    analyze(file)
}

/// The data of the only connection, which its client sends.
pub fn flow(trace: &Trace) -> &FlowTrace {
    trace.connections[0].from_client.as_ref().expect("the client sends")
}

/// The analysis of a pcap file in memory, as the model writes it: connections begin with a SYN, and no port is used again.
pub fn analyze(file: &[u8]) -> Trace {
    let mut analyzer = Analyzer::new(Options::default());
    let mut connections: Vec<Connection> = Vec::new();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut ordinal) = (24, 0);
    while at < file.len() {
        let time_ns = i64::from(word(at)) * 1_000_000_000 + i64::from(word(at + 4));
        let end = at + 16 + word(at + 8) as usize;
        ordinal += 1;
        let wire_bytes = word(at + 12);
        if let Some(packet) = packet(&file[at + 16..end], ordinal, time_ns, wire_bytes) {
            feed(&mut analyzer, &mut connections, packet);
        }
        at = end;
    }
    for connection in &connections {
        analyzer.ended(connection, EndReason::EndOfCapture);
    }
    analyzer.finish()
}

fn feed(analyzer: &mut Analyzer, connections: &mut Vec<Connection>, packet: Packet) {
    let segment = *packet.segment().expect("only TCP is fed");
    let is_of = |connection: &Connection| {
        let pair = (connection.client, connection.server);
        pair == (packet.source, packet.destination) || pair == (packet.destination, packet.source)
    };
    let index = connections.iter().position(is_of).unwrap_or_else(|| {
        let index = connections.len();
        connections.push(Connection {
            index: index as u32,
            slot: index as u32,
            transport: Transport::Tcp,
            client: packet.source,
            server: packet.destination,
            opened: Opened::Syn,
            first_ns: packet.time_ns,
            last_ns: packet.time_ns,
            ends: [Endpoint::default(); 2],
        });
        index
    });
    let connection = &mut connections[index];
    let direction = match packet.source == connection.client {
        true => Direction::ClientToServer,
        false => Direction::ServerToClient,
    };
    let end = &mut connection.ends[direction.index()];
    end.packets += 1;
    end.payload_bytes += u64::from(segment.payload_bytes);
    if segment.flags.contains(Flags::SYN) {
        *end = Endpoint {
            isn: Some(segment.seq),
            mss: segment.options.mss,
            window_scale: segment.options.window_scale,
            sack_permitted: segment.options.sack_permitted,
            has_timestamps: segment.options.timestamps.is_some(),
            has_all_options: true,
            ..*end
        };
    }
    let mss = connection.segment_bytes(direction).unwrap_or(1448);
    let captured = Captured {
        packet,
        connection: index as u32,
        direction,
        seq64: i64::from(segment.seq),
        ack64: segment.flags.contains(Flags::ACK).then_some(i64::from(segment.ack)),
        wire_packets: segment.payload_bytes.div_ceil(mss).max(1),
        part: Part::Whole,
    };
    analyzer.packet(&captured, connection);
}

fn packet(frame: &[u8], ordinal: u64, time_ns: i64, wire_bytes: u32) -> Option<Packet> {
    let two = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let four = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let ip = &frame[14..];
    if ip[9] != 6 {
        return None;
    }
    let tcp = &ip[20..];
    let header = usize::from(tcp[12] >> 4) * 4;
    let address = |at: usize, port: usize| {
        Address::v4(ip[at..at + 4].try_into().expect("four bytes"), two(tcp, port))
    };
    let segment = Segment {
        seq: four(tcp, 4),
        ack: four(tcp, 8),
        flags: Flags::from_bits(u16::from(tcp[13])),
        window: two(tcp, 14),
        payload_bytes: u32::from(two(ip, 2)) - 20 - header as u32,
        options: options(&tcp[20..header]),
        ecn: Ecn::from_bits(ip[1]),
        ip_id: Some(two(ip, 4)),
        ttl: ip[8],
    };
    Some(Packet {
        ordinal,
        time_ns,
        interface: 0,
        wire_bytes,
        source: address(12, 0),
        destination: address(16, 2),
        passage: Passage::Unknown,
        body: Body::Tcp(segment),
    })
}

fn options(bytes: &[u8]) -> TcpOptions {
    let mut options = TcpOptions::default();
    let mut at = 0;
    while at < bytes.len() {
        let four = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if bytes[at] == 1 {
            at += 1;
            continue;
        }
        let length = usize::from(bytes[at + 1]);
        match bytes[at] {
            2 => options.mss = Some(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]])),
            3 => options.window_scale = Some(bytes[at + 2]),
            4 => options.sack_permitted = true,
            5 => {
                for block in (at + 2..at + length).step_by(8) {
                    let block = SackBlock { left: four(block), right: four(block + 4) };
                    options.sack.push(block).expect("an option has four blocks at most");
                }
            }
            8 => options.timestamps = Some(Timestamps { value: four(at + 2), echo: four(at + 6) }),
            other => panic!("the model does not write option {other}"),
        }
        at += length;
    }
    options
}
