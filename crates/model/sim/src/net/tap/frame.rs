//! One packet's headers: Ethernet, IPv4 (RFC 791), TCP (RFC 9293) or UDP (RFC 768).

use super::Addressing;
use crate::net::train::{Body, Ecn, PayloadCounted, Sack, Step, Train};

const ETHERNET: usize = 14;
const IP: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
/// Most option bytes a TCP header holds.
const OPTIONS: usize = 40;

const FIN: u8 = 1;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;
const ECE: u8 = 64;
const CWR: u8 = 128;
/// Kinds of the AccECN option (RFC 9768, section 3.2.3): the first field is EE0B in one, EE1B in the other.
const ACCECN0: u8 = 172;
const ACCECN1: u8 = 174;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// The headers of a packet, and how long it is with its payload.
pub(super) struct Frame {
    bytes: [u8; ETHERNET + IP + TCP + OPTIONS],
    headers: usize,
    /// Bytes, Ethernet header included.
    pub length: u32,
}

/// What differs from one TCP packet to another.
#[derive(Default)]
struct Segment {
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    /// The flag AE, which is not among these eight (RFC 9768, section 3.1).
    is_ae: bool,
    window: u16,
    options: Options,
}

/// TCP options, padded to words.
#[derive(Default)]
struct Options {
    bytes: Vec<u8>,
}

impl Options {
    /// Timestamps after two bytes of padding, as all stacks write them (RFC 7323 appendix A).
    fn timestamps(&mut self, value: u32, echo: u32) {
        self.bytes.extend_from_slice(&[1, 1, 8, 10]);
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self.bytes.extend_from_slice(&echo.to_be_bytes());
    }

    /// As many blocks as fit (RFC 2018 section 3); a duplicate is the first (RFC 2883).
    fn sack(&mut self, sack: &Sack, number: impl Fn(u64) -> u32) {
        let room = (OPTIONS - self.bytes.len() - 4) / 8;
        let blocks: Vec<_> = sack.duplicate.iter().chain(sack.blocks.iter()).take(room).collect();
        if blocks.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(&[1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            self.bytes.extend_from_slice(&number(block.start).to_be_bytes());
            self.bytes.extend_from_slice(&number(block.end).to_be_bytes());
        }
    }

    /// Payload counted by its ECN field, in an option of two fields.
    fn marks(&mut self, counted: &PayloadCounted, of_flow: Ecn) {
        let kind = if of_flow == Ecn::Capable { ACCECN0 } else { ACCECN1 };
        self.bytes.extend_from_slice(&[kind, PayloadCounted::OPTION as u8]);
        for field in [counted.capable, counted.marked] {
            self.bytes.extend_from_slice(&field.to_be_bytes()[1..]);
        }
    }

    /// Of a SYN: segment size, SACK permitted, timestamps, window scale.
    fn handshake(&mut self, addressing: &Addressing, value: u32, echo: u32) {
        // Timestamps take 12 bytes of each segment's room, which the announced size does not know of.
        let announced = addressing.mss + if addressing.timestamps { 12 } else { 0 };
        self.bytes.extend_from_slice(&[2, 4]);
        self.bytes.extend_from_slice(&(announced.min(65_535) as u16).to_be_bytes());
        if addressing.timestamps {
            self.timestamps(value, echo);
            // In the place of their padding.
            self.bytes[4..6].copy_from_slice(&[4, 2]);
        } else {
            self.bytes.extend_from_slice(&[1, 1, 4, 2]);
        }
        self.bytes.extend_from_slice(&[1, 3, 3, addressing.window_scale]);
    }
}

impl Frame {
    /// Packet `i` of `train`, counted from 0. `place`: where a packet's first byte stands in its stream.
    pub(super) fn of(train: &Train, i: u32, addressing: &Addressing, place: impl Fn(u64) -> u64) -> Frame {
        // Sequence numbers are counted modulo 2^32 and begin with 1 after the SYN.
        let number = |packet: u64| place(packet).wrapping_add(1) as u32;
        let scaled = |window: u64| (window >> addressing.window_scale).min(65_535) as u16;
        let mut s = Segment { acknowledgement: 1, flags: ACK, ..Segment::default() };
        let id;
        let mut carries = false;
        match &train.body {
            Body::Data(data) => {
                let packet = data.first + u64::from(i);
                carries = true;
                // What is sent again differs; what an interface gave back and took later does not.
                id = packet.wrapping_add(u64::from(data.stamp));
                s.sequence = number(packet);
                s.window = 65_535;
                if data.last && i + 1 == train.packets {
                    s.flags |= FIN;
                }
                if data.is_pushed(train.packets - 1 - i) {
                    s.flags |= PSH;
                }
                if data.cwr && i == 0 {
                    s.flags |= CWR;
                }
                if addressing.timestamps {
                    s.options.timestamps(data.stamp, data.echo);
                }
            }
            Body::Ack(ack) => {
                let next = ack.next + u64::from(i) * u64::from(ack.stride);
                id = next;
                s.sequence = 1;
                s.acknowledgement = number(next);
                s.window = scaled(ack.window);
                if ack.ece {
                    s.flags |= ECE;
                }
                if let Some(marks) = &ack.marks {
                    // The field ACE is where AE, CWR and ECE were (RFC 9768, figure 3).
                    s.is_ae = marks.ace & 4 != 0;
                    s.flags |= if marks.ace & 2 != 0 { CWR } else { 0 };
                    s.flags |= if marks.ace & 1 != 0 { ECE } else { 0 };
                }
                if addressing.timestamps {
                    s.options.timestamps(ack.stamp, ack.echo);
                }
                if let Some(option) = ack.marks.and_then(|marks| marks.option) {
                    s.options.marks(&option, train.ecn);
                }
                if let Some(sack) = &ack.sack {
                    s.options.sack(sack, number);
                }
            }
            Body::Handshake { step, stamp, echo, window } => {
                id = 0;
                s.sequence = u32::from(*step == Step::Confirm);
                // The window of a SYN is not scaled (RFC 7323 section 2.2).
                s.window = (*window).min(65_535) as u16;
                (s.flags, s.acknowledgement) = match step {
                    Step::Syn => (SYN, 0),
                    Step::Reply => (SYN | ACK, 1),
                    Step::Confirm => (ACK, 1),
                };
                match step {
                    Step::Syn | Step::Reply => s.options.handshake(addressing, *stamp, *echo),
                    Step::Confirm if addressing.timestamps => s.options.timestamps(*stamp, *echo),
                    Step::Confirm => {}
                }
            }
            Body::WindowProbe { una, stamp, echo } => {
                id = u64::from(*stamp);
                s.sequence = number(*una).wrapping_sub(1);
                s.window = 65_535;
                if addressing.timestamps {
                    s.options.timestamps(*stamp, *echo);
                }
            }
            Body::Datagram { first } => return Frame::udp(train, first + u64::from(i), addressing),
        }
        Frame::tcp(train, id, carries, &s, addressing)
    }

    fn tcp(train: &Train, id: u64, carries: bool, s: &Segment, addressing: &Addressing) -> Frame {
        let header = TCP + s.options.bytes.len();
        let headers = ETHERNET + IP + header;
        let length = train.frame.max(headers as u32);
        // What a frame without data has beyond its headers is padding of Ethernet.
        let payload = if carries { length as usize - headers } else { 0 };
        let mut frame = Frame { bytes: [0; ETHERNET + IP + TCP + OPTIONS], headers, length };
        frame.addresses(train.ecn, id, PROTOCOL_TCP, header + payload, addressing);

        let tcp = &mut frame.bytes[ETHERNET + IP..headers];
        tcp[0..2].copy_from_slice(&addressing.source.1.to_be_bytes());
        tcp[2..4].copy_from_slice(&addressing.destination.1.to_be_bytes());
        tcp[4..8].copy_from_slice(&s.sequence.to_be_bytes());
        tcp[8..12].copy_from_slice(&s.acknowledgement.to_be_bytes());
        tcp[12] = (header as u8 / 4) << 4 | u8::from(s.is_ae);
        tcp[13] = s.flags;
        tcp[14..16].copy_from_slice(&s.window.to_be_bytes());
        tcp[TCP..].copy_from_slice(&s.options.bytes);
        let sum = checksum(tcp, pseudo_header(PROTOCOL_TCP, header + payload, addressing));
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn udp(train: &Train, number: u64, addressing: &Addressing) -> Frame {
        // The number counts as header here: the rest of the payload is zero.
        let headers = ETHERNET + IP + UDP + 8;
        let length = train.frame.max((ETHERNET + IP + UDP) as u32);
        let datagram = length as usize - ETHERNET - IP;
        let headers = headers.min(length as usize);
        let mut frame = Frame { bytes: [0; ETHERNET + IP + TCP + OPTIONS], headers, length };
        frame.addresses(train.ecn, number, PROTOCOL_UDP, datagram, addressing);

        let udp = &mut frame.bytes[ETHERNET + IP..headers];
        udp[0..2].copy_from_slice(&addressing.source.1.to_be_bytes());
        udp[2..4].copy_from_slice(&addressing.destination.1.to_be_bytes());
        udp[4..6].copy_from_slice(&(datagram as u16).to_be_bytes());
        let room = udp.len() - UDP;
        udp[UDP..].copy_from_slice(&number.to_be_bytes()[8 - room..]);
        let sum = match checksum(udp, pseudo_header(PROTOCOL_UDP, datagram, addressing)) {
            // Zero says that there is no checksum (RFC 768).
            0 => 0xffff,
            sum => sum,
        };
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    /// Ethernet and IP around `content` bytes.
    fn addresses(&mut self, ecn: Ecn, id: u64, protocol: u8, content: usize, addressing: &Addressing) {
        let (source, destination) = (addressing.source.0.octets(), addressing.destination.0.octets());
        // Locally administered addresses, made of those of IP.
        self.bytes[0..2].copy_from_slice(&[2, 0]);
        self.bytes[2..6].copy_from_slice(&destination);
        self.bytes[6..8].copy_from_slice(&[2, 0]);
        self.bytes[8..12].copy_from_slice(&source);
        self.bytes[12..14].copy_from_slice(&[8, 0]);

        let ip = &mut self.bytes[ETHERNET..ETHERNET + IP];
        ip[0] = 0x45;
        ip[1] = match ecn {
            Ecn::NotCapable => 0,
            Ecn::Scalable => 1,
            Ecn::Capable => 2,
            Ecn::Marked => 3,
        };
        ip[2..4].copy_from_slice(&((IP + content) as u16).to_be_bytes());
        ip[4..6].copy_from_slice(&(id as u16).to_be_bytes());
        // Do not fragment; 64 hops.
        ip[6] = 0x40;
        ip[8] = 64;
        ip[9] = protocol;
        ip[12..16].copy_from_slice(&source);
        ip[16..20].copy_from_slice(&destination);
        let sum = checksum(ip, 0);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    /// The headers, and of a datagram its number.
    pub(super) fn headers(&self) -> &[u8] {
        &self.bytes[..self.headers]
    }
}

/// What TCP's and UDP's checksums cover beyond themselves.
fn pseudo_header(protocol: u8, length: usize, addressing: &Addressing) -> u64 {
    let half = |address: u32| u64::from(address >> 16) + u64::from(address & 0xffff);
    half(addressing.source.0.to_bits())
        + half(addressing.destination.0.to_bits())
        + u64::from(protocol)
        + length as u64
}

/// The Internet checksum (RFC 1071) of `bytes` and a sum of words. Payload that is zero adds nothing.
fn checksum(bytes: &[u8], start: u64) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    let mut sum = bytes.chunks(2).map(word).sum::<u64>() + start;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
