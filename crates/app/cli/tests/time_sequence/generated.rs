//! A generated capture of a flow at its sender, of any length, whose losses and copies are known.

use std::io::{BufWriter, Write};
use std::path::Path;

const MSS: u32 = 1_448;
const RTT_NS: u64 = 10_000_000;
/// Packets of a round, and its length: each round is acknowledged before the next.
const WINDOW: u32 = 500;
const ROUND_NS: u64 = 30_000_000;
/// Between two packets of a round.
const GAP_NS: u64 = 10_000;
/// In every Nth round, a packet is lost and retransmitted.
pub const ROUNDS_OF_A_LOSS: u32 = 10;
/// In every Nth round, a packet is captured twice.
pub const ROUNDS_OF_A_COPY: u32 = 25;

/// Numbers of packets in a generated capture.
#[derive(Debug, Clone, Copy, Default)]
pub struct Content {
    /// Data packets that were sent, with retransmissions.
    pub data: u64,
    pub retransmitted: u64,
    pub copies: u64,
    pub acks: u64,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    t_ns: u64,
    is_data: bool,
    seq: u32,
    ack: u32,
    payload: u32,
    flags: u8,
    id: u16,
    sack: Option<(u32, u32)>,
}

const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Writes a capture with `segments` segments of new data.
pub fn write(file: &Path, segments: u32) -> Content {
    let mut out = BufWriter::new(std::fs::File::create(file).unwrap());
    // pcap with nanoseconds, Ethernet.
    let words: [u32; 6] = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 96, 1];
    words.iter().for_each(|word| out.write_all(&word.to_le_bytes()).unwrap());
    let plain = Packet { t_ns: 0, is_data: true, seq: 0, ack: 1, payload: 0, flags: ACK, id: 0, sack: None };
    let mut content = Content::default();
    for packet in [
        Packet { flags: SYN, ack: 0, ..plain },
        Packet { t_ns: RTT_NS, is_data: false, flags: SYN | ACK, ack: 1, ..plain },
        Packet { t_ns: RTT_NS, seq: 1, ..plain },
    ] {
        put(&mut out, &packet);
    }
    let (mut sent, mut id) = (0, 1_u16);
    for round in 0..segments.div_ceil(WINDOW) {
        let begin = 2 * RTT_NS + u64::from(round) * ROUND_NS;
        let packets = WINDOW.min(segments - sent);
        let first = 1 + sent * MSS;
        let lost = (round % ROUNDS_OF_A_LOSS == 9).then_some(packets / 3);
        let mut round_packets = Vec::new();
        let mut reached = first;
        for number in 0..packets {
            let t_ns = begin + u64::from(number) * GAP_NS;
            let seq = first + number * MSS;
            let flags = if number % 16 == 15 { ACK | PSH } else { ACK };
            let data = Packet { t_ns, seq, payload: MSS, flags, id, ..plain };
            id = id.wrapping_add(1).max(1);
            round_packets.push(data);
            if round % ROUNDS_OF_A_COPY == 7 && number == packets / 2 {
                round_packets.push(Packet { t_ns: t_ns + GAP_NS / 4, ..data });
                content.copies += 1;
            }
            let is_lost = lost == Some(number);
            if lost.is_none_or(|lost| lost > number) {
                reached = seq + MSS;
            }
            // A hole is reported at once; otherwise every second packet is acknowledged.
            let has_hole = lost.is_some_and(|lost| lost < number);
            if !is_lost && (has_hole || number % 2 == 1 || number + 1 == packets) {
                let sack = has_hole.then(|| (reached + MSS, seq + MSS));
                let t_ns = t_ns + RTT_NS;
                round_packets.push(Packet { t_ns, is_data: false, seq: 1, ack: reached, sack, ..plain });
                content.acks += 1;
            }
        }
        if let Some(lost) = lost {
            let t_ns = begin + u64::from(lost + 8) * GAP_NS + RTT_NS;
            round_packets.push(Packet { t_ns, seq: first + lost * MSS, payload: MSS, id, ..plain });
            id = id.wrapping_add(1).max(1);
            let ack = first + packets * MSS;
            let t_ns = t_ns + RTT_NS;
            round_packets.push(Packet { t_ns, is_data: false, seq: 1, ack, ..plain });
            content.acks += 1;
            content.retransmitted += 1;
        }
        round_packets.sort_by_key(|packet| packet.t_ns);
        round_packets.iter().for_each(|packet| put(&mut out, packet));
        sent += packets;
    }
    out.flush().unwrap();
    content.data = u64::from(segments) + content.retransmitted;
    content
}

/// A record of a packet, cut after its headers.
fn put(out: &mut impl Write, packet: &Packet) {
    let is_syn = packet.flags & SYN != 0;
    let mut options = vec![1, 1, 8, 10];
    let value = (packet.t_ns / 1_000_000) as u32 + 1;
    let echo = if packet.ack == 0 { 0 } else { value.saturating_sub(10).max(1) };
    options.extend(value.to_be_bytes());
    options.extend(echo.to_be_bytes());
    if is_syn {
        // MSS 1460, SACK permitted, windows shifted by 7.
        options.extend([2, 4, 0x05, 0xb4, 4, 2, 1, 3, 3, 7, 1, 1]);
    }
    if let Some((left, right)) = packet.sack {
        options.extend([1, 1, 5, 10]);
        options.extend(left.to_be_bytes());
        options.extend(right.to_be_bytes());
    }
    let header = 20 + options.len();
    let (sender, receiver): ([u8; 4], [u8; 4]) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (from, to, ports) = match packet.is_data {
        true => (sender, receiver, (40_000_u16, 5_001_u16)),
        false => (receiver, sender, (5_001, 40_000)),
    };
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend((20 + header as u16 + packet.payload as u16).to_be_bytes());
    frame.extend(if packet.is_data { packet.id } else { 0 }.to_be_bytes());
    frame.extend([0x40, 0, 64, 6, 0, 0]);
    frame.extend(from);
    frame.extend(to);
    frame.extend(ports.0.to_be_bytes());
    frame.extend(ports.1.to_be_bytes());
    frame.extend(packet.seq.to_be_bytes());
    frame.extend(packet.ack.to_be_bytes());
    frame.extend([((header / 4) as u8) << 4, packet.flags]);
    frame.extend(20_000_u16.to_be_bytes());
    frame.extend([0, 0, 0, 0]);
    frame.extend(options);
    let head = [
        (packet.t_ns / 1_000_000_000) as u32,
        (packet.t_ns % 1_000_000_000) as u32,
        frame.len() as u32,
        frame.len() as u32 + packet.payload,
    ];
    head.iter().for_each(|word| out.write_all(&word.to_le_bytes()).unwrap());
    out.write_all(&frame).unwrap();
}
