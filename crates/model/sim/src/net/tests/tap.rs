//! A capture read back by a parser that shares nothing with its writer.

use super::reference::data;
use crate::net::{Ack, Addressing, Body, Ecn, Sack, Step, Tap, Train};
use std::net::Ipv4Addr;
use wirespeed_units::{SimTime, Span};

const A: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 40_000);
const B: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 2), 5001);

/// 1448 bytes in frames of 1514, with timestamps.
fn forth() -> Addressing {
    Addressing { source: A, destination: B, mss: 1448, timestamps: true, window_scale: 7 }
}

/// All packets are full.
fn place(packet: u64) -> u64 {
    packet * 1448
}

fn back() -> Addressing {
    Addressing { source: B, destination: A, ..forth() }
}

fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// Words that include their checksum add up to all ones.
fn verifies(parts: &[&[u8]]) -> bool {
    let mut bytes = parts.concat();
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    let mut sum: u64 = bytes.chunks(2).map(be).sum();
    while sum >> 16 > 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

#[derive(Debug)]
struct Packet {
    nanoseconds: u64,
    length: u64,
    ip: Vec<u8>,
    /// TCP or UDP header with what follows.
    content: Vec<u8>,
}

impl Packet {
    fn sequence(&self) -> u64 {
        be(&self.content[4..8])
    }

    fn acknowledgement(&self) -> u64 {
        be(&self.content[8..12])
    }

    fn header(&self) -> usize {
        usize::from(self.content[12] >> 4) * 4
    }

    fn payload(&self) -> usize {
        self.content.len() - self.header()
    }

    /// Options by kind, without padding.
    fn options(&self) -> Vec<(u8, Vec<u8>)> {
        let (mut options, mut i) = (Vec::new(), 20);
        while i < self.header() {
            match self.content[i] {
                1 => i += 1,
                kind => {
                    let length = usize::from(self.content[i + 1]);
                    options.push((kind, self.content[i + 2..i + length].to_vec()));
                    i += length;
                }
            }
        }
        options
    }

    fn option(&self, kind: u8) -> Vec<u8> {
        self.options().into_iter().find(|o| o.0 == kind).map(|o| o.1).unwrap()
    }
}

/// Reads a capture of whole packets, and checks every length and checksum on the way.
fn read(file: &[u8]) -> Vec<Packet> {
    assert_eq!((le(&file[0..4]), le(&file[4..6]), le(&file[6..8])), (0xa1b2_3c4d, 2, 4));
    assert_eq!(le(&file[20..24]), 1, "Ethernet");
    let (mut packets, mut rest) = (Vec::new(), &file[24..]);
    while !rest.is_empty() {
        let nanoseconds = le(&rest[0..4]) * 1_000_000_000 + le(&rest[4..8]);
        let (kept, length) = (le(&rest[8..12]), le(&rest[12..16]));
        assert_eq!(kept, length, "these tests keep all");
        let frame = &rest[16..16 + kept as usize];
        rest = &rest[16 + kept as usize..];
        assert_eq!(frame[12..14], [8, 0]);
        let total = be(&frame[16..18]) as usize;
        let (ip, content) = (frame[14..34].to_vec(), frame[34..14 + total].to_vec());
        assert!(verifies(&[&ip]), "IP checksum");
        let pseudo = [&ip[12..20], &[0, ip[9]], &(content.len() as u16).to_be_bytes()].concat();
        assert!(verifies(&[&pseudo, &content]), "TCP or UDP checksum");
        packets.push(Packet { nanoseconds, length, ip, content });
    }
    packets
}

#[test]
fn data_has_its_numbers_flags_and_times() {
    let mut train = data(0, 3, 3, 1514, 5_000_000_000_000, 121_120);
    train.ecn = Ecn::Capable;
    if let Body::Data(data) = &mut train.body {
        (data.stamp, data.echo, data.last, data.cwr) = (77, 55, true, true);
    }
    let mut tap = Tap::new(65_535, 1_600_000_000);
    tap.see(&train, &forth(), place);
    assert_eq!(tap.packets(), 3);
    let packets = read(&tap.finish());
    for (i, packet) in packets.iter().enumerate() {
        assert_eq!(packet.nanoseconds, 1_600_000_005_000_000_000 + i as u64 * 121_120 / 1000);
        assert_eq!((packet.length, packet.payload()), (1514, 1448));
        assert_eq!(packet.sequence(), (3 + i as u64) * 1448 + 1);
        assert_eq!(packet.acknowledgement(), 1);
        assert_eq!(packet.option(8), [0, 0, 0, 77, 0, 0, 0, 55]);
        assert_eq!(
            (packet.ip[1], &packet.ip[12..16], &packet.ip[16..20]),
            (2, &[10, 0, 0, 1][..], &[10, 0, 0, 2][..])
        );
        assert_eq!((be(&packet.content[0..2]), be(&packet.content[2..4])), (40_000, 5001));
    }
    let flags: Vec<u8> = packets.iter().map(|p| p.content[13]).collect();
    assert_eq!(flags, [0x90, 0x10, 0x11], "CWR on the first, FIN on the last");
}

#[test]
fn numbers_wrap_at_32_bits() {
    let mut tap = Tap::new(65_535, 0);
    let first = (1_u64 << 32) / 1448;
    tap.see(&data(0, first, 2, 1514, 0, 0), &forth(), place);
    let sequences: Vec<u64> = read(&tap.finish()).iter().map(Packet::sequence).collect();
    assert_eq!(sequences, [(first * 1448 + 1) % (1 << 32), ((first + 1) * 1448 + 1) % (1 << 32)]);
    assert!(sequences[1] < 1448);
}

fn ack(packets: u32, sack: Option<Sack>) -> Train {
    let ack = Ack {
        next: 10,
        stride: 2,
        window: 6_400_000,
        stamp: 9,
        echo: 8,
        ece: true,
        asks: false,
        marks: None,
        sack: sack.map(Box::new),
    };
    let body = Body::Ack(ack);
    let (at, gap) = (SimTime::START, Span::us(1));
    Train { at, gap, packets, frame: 66, flow: 0, ecn: Ecn::NotCapable, body }
}

#[test]
fn acknowledgements_have_strides_windows_and_blocks() {
    let mut tap = Tap::new(65_535, 0);
    tap.see(&ack(2, None), &back(), place);
    let sack = Sack { duplicate: Some(4..5), blocks: [20..30, 12..14, 40..41].into_iter().collect() };
    tap.see(&ack(1, Some(sack)), &back(), place);
    let packets = read(&tap.finish());
    // The last has come at the time of the first, and was seen after it.
    let numbers: Vec<u64> = packets.iter().map(Packet::acknowledgement).collect();
    assert_eq!(numbers, [14_481, 14_481, 12 * 1448 + 1]);
    let plain = &packets[0];
    assert_eq!((plain.length, plain.payload(), plain.content[13]), (66, 0, 0x50));
    assert_eq!(be(&plain.content[14..16]), 50_000, "6.4 MB scaled by 2^7");
    let blocks: Vec<u64> = packets[1].option(5).chunks(4).map(be).collect();
    assert_eq!(blocks, [4, 5, 20, 30, 12, 14].map(|n| n * 1448 + 1), "three beside timestamps");
}

#[test]
fn handshakes_announce_and_datagrams_count() {
    let mut tap = Tap::new(65_535, 0);
    let handshake = |step| Train {
        packets: 1,
        frame: 74,
        body: Body::Handshake { step, stamp: 3, echo: 0, window: 100_000 },
        ..ack(1, None)
    };
    tap.see(&handshake(Step::Syn), &forth(), place);
    tap.see(&handshake(Step::Reply), &back(), place);
    tap.see(&Train { frame: 1000, body: Body::Datagram { first: 258 }, ..ack(2, None) }, &forth(), place);
    tap.see(&Train { frame: 44, body: Body::Datagram { first: 258 }, ..ack(1, None) }, &forth(), place);
    let packets = read(&tap.finish());
    let udp: Vec<&Packet> = packets.iter().filter(|p| p.ip[9] == 17).collect();
    let syn: Vec<&Packet> = packets.iter().filter(|p| p.ip[9] == 6).collect();
    assert_eq!((syn[0].content[13], syn[1].content[13]), (2, 18));
    assert_eq!((syn[0].sequence(), syn[1].acknowledgement(), syn[0].length), (0, 1, 74));
    assert_eq!(syn[0].option(2), [5, 180], "1460 announced");
    assert_eq!((syn[0].option(3), syn[0].option(4)), (vec![7], vec![]));
    let numbers: Vec<u64> = [udp[0], udp[2]].iter().map(|p| be(&p.content[8..16])).collect();
    assert_eq!(numbers, [258, 259]);
    assert_eq!((udp[0].length, udp[0].content.len()), (1000, 966));
    assert_eq!(udp[1].content[8..], [1, 2], "what has room of the number");
}

#[test]
fn overlapping_trains_are_sorted_and_packets_are_cut() {
    let mut tap = Tap::new(60, 0);
    tap.see(&data(0, 0, 10, 1514, 0, 1_000_000), &forth(), place);
    tap.see(&data(1, 0, 10, 1514, 500_000, 1_000_000), &forth(), place);
    let file = tap.finish();
    assert_eq!(file.len(), 24 + 20 * (16 + 60));
    let times: Vec<u64> = file[24..].chunks(76).map(|r| le(&r[4..8])).collect();
    assert_eq!(times, (0..20).map(|i| i * 500).collect::<Vec<u64>>());
    assert!(file[24..].chunks(76).all(|r| le(&r[8..12]) == 60 && le(&r[12..16]) == 1514));
}
