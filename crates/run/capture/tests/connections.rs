//! Connections: who opened them, where they end, and super-packets.

#[path = "support/write.rs"]
mod write;

use std::io::Cursor;
use wirespeed_capture::{
    CaptureFacts, Captured, Connection, Direction, EndReason, Flags, Input, Limits, Observer, Opened, Part,
    Separate, Settings, read,
};
use write::{ACK, CWR, FIN, Frame, PSH, RST, SYN, Tcp};

use Direction::{ClientToServer, ServerToClient};

#[derive(Default)]
struct Seen {
    packets: Vec<(Captured, Connection)>,
    ended: Vec<(Connection, EndReason)>,
}

impl Observer for Seen {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        self.packets.push((*captured, *connection));
    }

    fn ended(&mut self, connection: &Connection, reason: EndReason) {
        self.ended.push((*connection, reason));
    }
}

impl Seen {
    /// Connection, direction, and both numbers of each packet.
    fn places(&self) -> Vec<(u32, Direction, i64, Option<i64>)> {
        let place = |(captured, _): &(Captured, Connection)| {
            (captured.connection, captured.direction, captured.seq64, captured.ack64)
        };
        self.packets.iter().map(place).collect()
    }

    fn connections(&self) -> Vec<u32> {
        self.packets.iter().map(|(captured, _)| captured.connection).collect()
    }

    fn reasons(&self) -> Vec<EndReason> {
        self.ended.iter().map(|(_, reason)| *reason).collect()
    }
}

fn input(frames: &[Frame]) -> Input<'static> {
    Input::Reader(Box::new(Cursor::new(write::ethernet(frames))))
}

fn track_with(limits: Limits, frames: &[Frame]) -> (Seen, CaptureFacts) {
    let mut seen = Seen::default();
    let settings = Settings { limits, ..Settings::default() };
    let facts = read(input(frames), &settings, &mut seen).unwrap();
    (seen, facts)
}

fn track(frames: &[Frame]) -> Seen {
    track_with(Limits::default(), frames).0
}

const SYN_OPTIONS: &[u8] = &[2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];

/// A packet from the client, or back, at second `at`.
fn packet(at: u64, direction: Direction, tcp: Tcp<'_>) -> Frame {
    let ip = match direction {
        ClientToServer => tcp.ipv4(),
        ServerToClient => Tcp { ports: [tcp.ports[1], tcp.ports[0]], ..tcp }.ipv4_back(),
    };
    Frame::new(at * 1_000_000_000, write::frame_v4(&ip))
}

fn handshake(at: u64, client_isn: u32, server_isn: u32) -> Vec<Frame> {
    let syn = Tcp { seq: client_isn, flags: SYN, options: SYN_OPTIONS, ..Tcp::default() };
    let syn_ack = Tcp {
        seq: server_isn,
        ack: client_isn.wrapping_add(1),
        flags: SYN | ACK,
        options: SYN_OPTIONS,
        ..Tcp::default()
    };
    let ack = Tcp { seq: client_isn.wrapping_add(1), ack: server_isn.wrapping_add(1), ..Tcp::default() };
    vec![
        packet(at, ClientToServer, syn),
        packet(at, ServerToClient, syn_ack),
        packet(at, ClientToServer, ack),
    ]
}

#[test]
fn numbers_count_from_the_syn_across_the_wrap() {
    let mut frames = handshake(0, u32::MAX - 10, 7);
    let data = |seq: u32| Tcp { seq, ack: 8, payload: 100, ..Tcp::default() };
    frames.push(packet(1, ClientToServer, data(u32::MAX - 9)));
    frames.push(packet(1, ClientToServer, data(90)));
    frames.push(packet(1, ServerToClient, Tcp { seq: 8, ack: 190, ..Tcp::default() }));
    let seen = track(&frames);
    assert_eq!(
        seen.places(),
        [
            (0, ClientToServer, 0, None),
            (0, ServerToClient, 0, Some(1)),
            (0, ClientToServer, 1, Some(1)),
            (0, ClientToServer, 1, Some(1)),
            (0, ClientToServer, 101, Some(1)),
            (0, ServerToClient, 1, Some(201)),
        ]
    );
    let (connection, reason) = seen.ended[0];
    assert_eq!((connection.opened, reason), (Opened::Syn, EndReason::EndOfCapture));
    assert_eq!(connection.client.to_string(), "10.0.0.1:40000");
    let client = connection.sender(ClientToServer);
    assert_eq!((client.isn, client.mss, client.window_scale), (Some(u32::MAX - 10), Some(1460), Some(7)));
    assert!(client.sack_permitted && client.has_timestamps && client.has_all_options);
    assert_eq!((client.packets, client.payload_bytes, client.largest_payload), (4, 200, 100));
    assert_eq!(connection.segment_bytes(ClientToServer), Some(1448));
}

#[test]
fn numbers_stay_right_over_gigabytes() {
    let mut frames = handshake(0, 5, 5);
    let mut seq = 6u32;
    for number in 0..100 {
        frames.push(packet(number, ClientToServer, Tcp { seq, ack: 6, payload: 1, ..Tcp::default() }));
        seq = seq.wrapping_add(200_000_000);
        // The capture has only one packet in many; the ACKs show the rest.
        frames.push(packet(number, ServerToClient, Tcp { seq: 6, ack: seq, ..Tcp::default() }));
    }
    let seen = track(&frames);
    let (last, _) = seen.packets.last().unwrap();
    assert_eq!(last.ack64, Some(100 * 200_000_000 + 1));
}

#[test]
fn connection_without_a_handshake_begins_at_1() {
    let data = Tcp { seq: 1_000, ack: 500, payload: 10, ..Tcp::default() };
    let seen = track(&[
        packet(0, ServerToClient, data),
        packet(0, ClientToServer, Tcp { seq: 500, ack: 1_010, ..data }),
    ]);
    assert_eq!(seen.places(), [(0, ServerToClient, 1, Some(1)), (0, ClientToServer, 1, Some(11))]);
    assert_eq!(seen.ended[0].0.opened, Opened::Midstream);
    assert_eq!(seen.ended[0].0.server.port, 443);
}

#[test]
fn late_syn_belongs_to_the_connection_it_opened() {
    let mut frames = handshake(0, 100, 900);
    frames.rotate_left(1);
    let seen = track(&frames);
    assert_eq!(seen.connections(), [0, 0, 0]);
    let (connection, _) = seen.ended[0];
    assert_eq!(connection.opened, Opened::SynAck);
    assert_eq!(connection.sender(ClientToServer).isn, Some(100));
    assert_eq!(seen.places()[2], (0, ClientToServer, 0, None));
}

#[test]
fn retransmitted_syn_opens_nothing() {
    let mut frames = handshake(0, 100, 900);
    frames.insert(0, frames[0].clone());
    frames.insert(2, frames[2].clone());
    assert_eq!(track(&frames).connections(), [0; 5]);
}

#[test]
fn simultaneous_open_is_one_connection() {
    let syn = |seq| Tcp { seq, flags: SYN, options: SYN_OPTIONS, ..Tcp::default() };
    let answer = |seq, ack| Tcp { seq, ack, flags: SYN | ACK, options: SYN_OPTIONS, ..Tcp::default() };
    let seen = track(&[
        packet(0, ClientToServer, syn(100)),
        packet(0, ServerToClient, syn(900)),
        packet(0, ClientToServer, answer(100, 901)),
        packet(0, ServerToClient, answer(900, 101)),
    ]);
    assert_eq!(seen.connections(), [0; 4]);
    assert_eq!(seen.ended[0].0.opened, Opened::Simultaneous);
}

fn close(at: u64, client_seq: u32, server_seq: u32) -> Vec<Frame> {
    let tcp = |seq, ack, flags| Tcp { seq, ack, flags, ..Tcp::default() };
    vec![
        packet(at, ClientToServer, tcp(client_seq, server_seq, FIN | ACK)),
        packet(at, ServerToClient, tcp(server_seq, client_seq + 1, FIN | ACK)),
        packet(at, ClientToServer, tcp(client_seq + 1, server_seq + 1, ACK)),
    ]
}

#[test]
fn port_is_reused_after_a_close_even_with_a_near_number() {
    let mut frames = handshake(0, 100, 900);
    frames.extend(close(1, 101, 901));
    frames.extend(handshake(2, 50_000, 60_000));
    let seen = track(&frames);
    assert_eq!(seen.connections(), [[0; 6].as_slice(), &[1; 3]].concat());
    assert_eq!(seen.reasons(), [EndReason::Closed, EndReason::EndOfCapture]);
    assert_eq!(seen.ended[1].0.slot, 0, "the place of the first is free");
}

#[test]
fn port_is_reused_after_a_reset_and_after_a_missing_end() {
    let mut frames = handshake(0, 100, 900);
    frames.push(packet(1, ServerToClient, Tcp { seq: 901, flags: RST, ..Tcp::default() }));
    frames.extend(handshake(2, 50_000, 60_000));
    frames.extend(handshake(3, 0x8000_0000, 0x9000_0000));
    let seen = track(&frames);
    assert_eq!(seen.connections(), [[0; 4].as_slice(), &[1; 3], &[2; 3]].concat());
    assert_eq!(seen.reasons(), [EndReason::Reset, EndReason::Replaced, EndReason::EndOfCapture]);
}

#[test]
fn refused_connection_is_followed_by_another_attempt() {
    let syn = |seq| packet(0, ClientToServer, Tcp { seq, flags: SYN, ..Tcp::default() });
    let refusal = |ack| packet(0, ServerToClient, Tcp { ack, flags: RST | ACK, ..Tcp::default() });
    let seen = track(&[syn(100), refusal(101), syn(70_000), refusal(70_001)]);
    assert_eq!(seen.connections(), [0, 0, 1, 1]);
    assert_eq!(seen.places()[1], (0, ServerToClient, 0, Some(1)));
}

#[test]
fn syn_within_the_window_of_an_open_connection_opens_nothing() {
    let mut frames = handshake(0, 100, 900);
    frames.push(packet(1, ClientToServer, Tcp { seq: 101, ack: 901, payload: 1_000, ..Tcp::default() }));
    frames.push(packet(1, ClientToServer, Tcp { seq: 9_000, flags: SYN, ..Tcp::default() }));
    let seen = track(&frames);
    assert_eq!(seen.connections(), [0; 5]);
    assert_eq!(seen.ended[0].0.sender(ClientToServer).isn, Some(100));
}

#[test]
fn quiet_connections_end_and_memory_stays_bounded() {
    let flow = |port: u16, at| {
        packet(at, ClientToServer, Tcp { ports: [port, 443], seq: 1, payload: 1, ..Tcp::default() })
    };
    let limits = Limits { most_open: 10, ..Limits::default() };
    let frames: Vec<_> = (0..1_000).map(|number| flow(10_000 + number, u64::from(number) / 10)).collect();
    let (seen, facts) = track_with(limits, &frames);
    assert_eq!((facts.connections, facts.most_open), (1_000, 10));
    assert!(seen.ended.iter().all(|(connection, _)| connection.slot < 10));
    assert_eq!(seen.reasons().iter().filter(|reason| **reason == EndReason::Idle).count(), 990);

    let idle = Limits { idle_ns: 60_000_000_000, ..Limits::default() };
    let (seen, facts) = track_with(idle, &[flow(1, 0), flow(2, 100), flow(2, 101), flow(1, 102)]);
    assert_eq!((facts.connections, facts.most_open), (3, 2));
    assert_eq!(seen.reasons()[0], EndReason::Idle);
}

#[test]
fn one_packet_with_a_wrong_time_ends_no_other_connection() {
    let flow = |port: u16, at| {
        packet(at, ClientToServer, Tcp { ports: [port, 443], seq: 1, payload: 1, ..Tcp::default() })
    };
    let mut frames: Vec<_> = (0..20).map(|number| flow(1 + number % 4, u64::from(number))).collect();
    frames.insert(10, flow(1, 2_000_000_000));
    let (_, facts) = track_with(Limits::default(), &frames);
    assert!(facts.connections <= 5, "{}", facts.connections);
}

#[test]
fn udp_flow_has_its_payload_and_first_sender() {
    let payload: Vec<u8> = (0..200).collect();
    let ip = write::ipv4([10, 0, 0, 9], [10, 0, 0, 1], 17, &write::udp([53, 4_000], &payload));
    let seen = track(&[Frame::new(0, write::frame_v4(&ip))]);
    let (captured, connection) = &seen.packets[0];
    assert_eq!(connection.client.port, 53);
    assert_eq!((captured.seq64, captured.ack64), (0, None));
    let wirespeed_capture::Body::Udp(datagram) = captured.packet.body else { panic!("not UDP") };
    assert_eq!((datagram.payload_bytes, datagram.head()), (200, &payload[..64]));
}

#[test]
fn super_packet_is_taken_apart_by_the_mss() {
    let mut frames = handshake(0, 100, 900);
    let options = [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
    let flags = ACK | PSH | CWR | FIN;
    let tcp = Tcp { seq: 101, ack: 901, flags, options: &options, payload: 1448 * 3 + 10, ..Tcp::default() };
    frames.push(packet(1, ClientToServer, tcp).cut(80));
    let (mut seen, mut apart) = (Seen::default(), Seen::default());
    let facts = read(input(&frames), &Settings::default(), &mut seen).unwrap();
    assert_eq!(facts.super_packets, 1);
    assert_eq!(seen.packets[3].0.wire_packets, 4);
    read(input(&frames), &Settings::default(), &mut Separate(&mut apart)).unwrap();
    let parts = &apart.packets[3..];
    let sizes: Vec<_> = parts.iter().map(|(part, _)| part.packet.payload_bytes()).collect();
    assert_eq!(sizes, [1448, 1448, 1448, 10]);
    let seqs: Vec<_> = parts.iter().map(|(part, _)| part.seq64).collect();
    assert_eq!(seqs, [1, 1449, 2897, 4345]);
    let segment = |number: usize| *parts[number].0.packet.segment().unwrap();
    assert_eq!(segment(0).flags, Flags::ACK | Flags::CWR);
    assert_eq!(segment(1).flags, Flags::ACK);
    assert_eq!(segment(3).flags, Flags::ACK | Flags::PSH | Flags::FIN);
    assert_eq!(segment(2).ip_id, Some(0x1236));
    assert_eq!(parts[0].0.packet.wire_bytes, 1514);
    assert_eq!(parts[3].0.part, Part::Derived { number: 3, of: 4 });
    assert_eq!(parts[3].0.end64(), seen.packets[3].0.end64());
    assert!(parts.iter().all(|(part, _)| part.packet.ordinal == 4 && part.packet.time_ns == 1_000_000_000));
}
