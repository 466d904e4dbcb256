//! Captures and frames for tests.

#![allow(dead_code, reason = "each program of tests uses a part")]

/// Order of the bytes in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, number: u16) -> [u8; 2] {
        if self == Order::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }

    pub fn u32(self, number: u32) -> [u8; 4] {
        if self == Order::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }

    pub fn u64(self, number: u64) -> [u8; 8] {
        if self == Order::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }
}

/// Format of a pcap file, by its first number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Pcap {
    Microseconds = 0xa1b2_c3d4,
    Nanoseconds = 0xa1b2_3c4d,
    Modified = 0xa1b2_cd34,
}

/// A frame that was captured.
#[derive(Debug, Clone)]
pub struct Frame {
    pub time_ns: u64,
    pub bytes: Vec<u8>,
    /// Bytes on the wire.
    pub wire_bytes: u32,
}

impl Frame {
    pub fn new(time_ns: u64, bytes: Vec<u8>) -> Self {
        Frame { time_ns, wire_bytes: bytes.len() as u32, bytes }
    }

    /// As a capture with a snapshot length has it.
    pub fn cut(mut self, snaplen: usize) -> Self {
        self.bytes.truncate(snaplen);
        self
    }
}

pub fn pcap_head(kind: Pcap, order: Order, link_type: u32) -> Vec<u8> {
    let mut file = order.u32(kind as u32).to_vec();
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    for word in [0, 0, 262_144, link_type] {
        file.extend(order.u32(word));
    }
    file
}

pub fn pcap_record(kind: Pcap, order: Order, frame: &Frame) -> Vec<u8> {
    let tick = if kind == Pcap::Nanoseconds { 1 } else { 1_000 };
    let (seconds, rest) = (frame.time_ns / 1_000_000_000, frame.time_ns % 1_000_000_000);
    let mut record = Vec::new();
    for word in [seconds as u32, (rest / tick) as u32, frame.bytes.len() as u32, frame.wire_bytes] {
        record.extend(order.u32(word));
    }
    if kind == Pcap::Modified {
        record.extend(order.u32(3));
        record.extend(order.u16(0x0800));
        // PACKET_OUTGOING, and padding.
        record.extend([4, 0]);
    }
    record.extend(&frame.bytes);
    record
}

pub fn pcap(kind: Pcap, order: Order, link_type: u32, frames: &[Frame]) -> Vec<u8> {
    let mut file = pcap_head(kind, order, link_type);
    file.extend(frames.iter().flat_map(|frame| pcap_record(kind, order, frame)));
    file
}

/// A nanosecond pcap file of Ethernet frames.
pub fn ethernet(frames: &[Frame]) -> Vec<u8> {
    pcap(Pcap::Nanoseconds, Order::Little, 1, frames)
}

pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = order.u16(code).to_vec();
    option.extend(order.u16(value.len() as u16));
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

pub fn block(order: Order, kind: u32, body: &[u8], options: &[Vec<u8>]) -> Vec<u8> {
    let mut rest = body.to_vec();
    rest.resize(rest.len().next_multiple_of(4), 0);
    if !options.is_empty() {
        rest.extend(options.iter().flatten());
        rest.extend([0; 4]);
    }
    let length = order.u32(rest.len() as u32 + 12);
    [order.u32(kind).as_slice(), &length, &rest, &length].concat()
}

pub fn section(order: Order, options: &[Vec<u8>]) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body, options)
}

pub fn interface(order: Order, link_type: u16, snaplen: u32, options: &[Vec<u8>]) -> Vec<u8> {
    let mut body = order.u16(link_type).to_vec();
    body.extend([0, 0]);
    body.extend(order.u32(snaplen));
    block(order, 1, &body, options)
}

/// An enhanced packet block. `ticks` is the time in the unit of the interface.
pub fn enhanced(order: Order, interface: u32, ticks: u64, frame: &Frame, options: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    let words = [interface, (ticks >> 32) as u32, ticks as u32, frame.bytes.len() as u32, frame.wire_bytes];
    body.extend(words.iter().flat_map(|word| order.u32(*word)));
    body.extend(&frame.bytes);
    block(order, 6, &body, options)
}

pub fn simple(order: Order, frame: &Frame) -> Vec<u8> {
    let mut body = order.u32(frame.wire_bytes).to_vec();
    body.extend(&frame.bytes);
    block(order, 3, &body, &[])
}

/// Interface statistics with packets received (4) and dropped by the interface (5) and by the system (7).
pub fn statistics(order: Order, interface: u32, counters: &[(u16, u64)]) -> Vec<u8> {
    let body = [order.u32(interface), order.u32(0), order.u32(0)].concat();
    let options: Vec<_> =
        counters.iter().map(|(code, number)| option(order, *code, &order.u64(*number))).collect();
    block(order, 5, &body, &options)
}

pub const SYN: u16 = 0x002;
pub const FIN: u16 = 0x001;
pub const RST: u16 = 0x004;
pub const PSH: u16 = 0x008;
pub const ACK: u16 = 0x010;
pub const CWR: u16 = 0x080;

/// A TCP segment for tests.
#[derive(Debug, Clone, Copy)]
pub struct Tcp<'a> {
    pub ports: [u16; 2],
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    pub options: &'a [u8],
    pub payload: usize,
}

impl Default for Tcp<'_> {
    fn default() -> Self {
        Tcp { ports: [40_000, 443], seq: 0, ack: 0, flags: ACK, options: &[], payload: 0 }
    }
}

impl Tcp<'_> {
    /// Header and payload, with a checksum of 0.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.ports.iter().flat_map(|port| port.to_be_bytes()));
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        let header = 20 + self.options.len().next_multiple_of(4);
        bytes.extend(((header as u16 / 4) << 12 | self.flags).to_be_bytes());
        bytes.extend(1000u16.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.options);
        bytes.resize(header, 0);
        bytes.resize(header + self.payload, b'x');
        bytes
    }

    /// Within IPv4, from 10.0.0.1 to 10.0.0.2.
    pub fn ipv4(&self) -> Vec<u8> {
        ipv4([10, 0, 0, 1], [10, 0, 0, 2], 6, &self.bytes())
    }

    /// The same in the other direction.
    pub fn ipv4_back(&self) -> Vec<u8> {
        ipv4([10, 0, 0, 2], [10, 0, 0, 1], 6, &self.bytes())
    }
}

pub fn ipv4(from: [u8; 4], to: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = u16::try_from(20 + payload.len()).unwrap_or(0);
    let mut bytes = vec![0x45, 0];
    bytes.extend(total.to_be_bytes());
    bytes.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
    bytes.extend(from);
    bytes.extend(to);
    bytes.extend(payload);
    bytes
}

/// IPv6 from fd00::1 to fd00::2.
pub fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend(u16::try_from(payload.len()).unwrap_or(0).to_be_bytes());
    bytes.extend([next_header, 64]);
    for last in [1, 2] {
        bytes.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    bytes.extend(payload);
    bytes
}

pub fn udp(ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

/// An Ethernet header with `ether_type`, and what it carries.
pub fn ether(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    bytes.extend(ether_type.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// An Ethernet frame with IPv4.
pub fn frame_v4(ip: &[u8]) -> Vec<u8> {
    ether(0x0800, ip)
}
