//! A packet as a capture has it: addresses, times, lengths, and the fields of its TCP or UDP header.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::{BitOr, BitOrAssign};

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// IPv4 or IPv6 address.
    pub ip: IpAddr,
    /// TCP or UDP port.
    pub port: u16,
}

impl Address {
    /// Address of an IPv4 host, such as `Address::v4([192, 0, 2, 1], 443)`.
    pub const fn v4(octets: [u8; 4], port: u16) -> Self {
        let [a, b, c, d] = octets;
        Address { ip: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), port }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::net::SocketAddr::new(self.ip, self.port).fmt(f)
    }
}

/// Transport protocol of a packet. Packets of others are counted, not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// IP protocol 6.
    Tcp,
    /// IP protocol 17.
    Udp,
}

/// Both ends of a flow, the same for packets of both directions.
///
/// They are those of the innermost IP header. The tag of a VLAN and the identifier of a tunnel are not part of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Protocol.
    pub transport: Transport,
    /// The smaller address.
    pub lower: Address,
    /// The larger address.
    pub higher: Address,
}

impl FlowKey {
    /// Key of a packet from `one` to `other`, or back.
    pub fn new(transport: Transport, one: Address, other: Address) -> Self {
        let (lower, higher) = if one <= other { (one, other) } else { (other, one) };
        FlowKey { transport, lower, higher }
    }
}

/// Whether a packet left or entered the host at the capture point, where the capture records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Passage {
    /// Not recorded.
    #[default]
    Unknown,
    /// The host received it.
    Incoming,
    /// The host sent it.
    Outgoing,
}

impl Passage {
    /// By the packet type of a Linux packet socket: 4 is `PACKET_OUTGOING`, and 0 to 3 are kinds of received packets.
    pub(crate) fn of_packet_type(kind: u16) -> Self {
        match kind {
            0..=3 => Passage::Incoming,
            4 => Passage::Outgoing,
            _ => Passage::Unknown,
        }
    }
}

/// A captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Number of the packet in its file, from 1. Wireshark shows the same number.
    pub ordinal: u64,
    /// Time of the capture, in nanoseconds since the Unix epoch.
    pub time_ns: i64,
    /// Index in [`CaptureFacts::interfaces`](crate::CaptureFacts::interfaces).
    pub interface: u32,
    /// Bytes of the whole frame on its link, with all headers.
    pub wire_bytes: u32,
    /// From where it came.
    pub source: Address,
    /// To where it goes.
    pub destination: Address,
    /// Direction relative to the captured host.
    pub passage: Passage,
    /// Its transport header.
    pub body: Body,
}

impl Packet {
    /// A place for a packet that is read.
    pub(crate) const EMPTY: Packet = Packet {
        ordinal: 0,
        time_ns: 0,
        interface: 0,
        wire_bytes: 0,
        source: Address::v4([0; 4], 0),
        destination: Address::v4([0; 4], 0),
        passage: Passage::Unknown,
        body: Body::Udp(Datagram { payload_bytes: 0, head: [0; Datagram::HEAD], head_bytes: 0 }),
    };

    /// Key of its flow.
    pub fn key(&self) -> FlowKey {
        FlowKey::new(self.transport(), self.source, self.destination)
    }

    /// Its protocol.
    pub fn transport(&self) -> Transport {
        match self.body {
            Body::Tcp(_) => Transport::Tcp,
            Body::Udp(_) => Transport::Udp,
        }
    }

    /// Bytes of payload that the packet carried on the wire.
    pub fn payload_bytes(&self) -> u32 {
        match &self.body {
            Body::Tcp(segment) => segment.payload_bytes,
            Body::Udp(datagram) => datagram.payload_bytes,
        }
    }

    /// Its TCP segment.
    pub fn segment(&self) -> Option<&Segment> {
        match &self.body {
            Body::Tcp(segment) => Some(segment),
            Body::Udp(_) => None,
        }
    }
}

/// Transport header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// TCP.
    Tcp(Segment),
    /// UDP.
    Udp(Datagram),
}

/// Flags of a TCP header (RFC 9293, 3.1; AE: RFC 9768).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(u16);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Flags = Flags(0x001);
    /// Synchronizes sequence numbers.
    pub const SYN: Flags = Flags(0x002);
    /// Resets the connection.
    pub const RST: Flags = Flags(0x004);
    /// Push.
    pub const PSH: Flags = Flags(0x008);
    /// The acknowledgment number is valid.
    pub const ACK: Flags = Flags(0x010);
    /// The urgent pointer is valid.
    pub const URG: Flags = Flags(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x080);
    /// Accurate ECN (RFC 9768), formerly the nonce sum.
    pub const AE: Flags = Flags(0x100);

    /// The lower nine bits of `bits`, in the order of the header.
    pub const fn from_bits(bits: u16) -> Self {
        Flags(bits & 0x1ff)
    }

    /// The bits as in the header.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether all flags of `others` are set.
    pub const fn contains(self, others: Flags) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether a flag of `others` is set.
    pub const fn intersects(self, others: Flags) -> bool {
        self.0 & others.0 != 0
    }

    /// These flags without those of `others`.
    pub const fn without(self, others: Flags) -> Self {
        Flags(self.0 & !others.0)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// The ECN field of an IP header (RFC 3168, 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(1).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The lower two bits of a traffic class.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// A TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number; it is valid with [`Flags::ACK`].
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// The window field, not scaled. See [`Connection::window_bytes`](crate::Connection::window_bytes).
    pub window: u16,
    /// Bytes of payload by the IP header, also where fewer were captured. A packet of TSO or BIG TCP that has no length
    /// in its IP header has the length of its frame.
    pub payload_bytes: u32,
    /// Options.
    pub options: Options,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Differentiated services code point (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// Identification field of an IPv4 header.
    pub ip_id: Option<u16>,
    /// Time to live, or hop limit.
    pub ttl: u8,
}

impl Segment {
    /// Sequence numbers that it occupies: payload, SYN and FIN.
    pub fn sequence_length(&self) -> u32 {
        let flag = |flag| u32::from(self.flags.contains(flag));
        self.payload_bytes.wrapping_add(flag(Flags::SYN)).wrapping_add(flag(Flags::FIN))
    }

    /// Packet `number`, from 0, of the `of` packets with up to `most` bytes of payload that a super-packet is on the wire; and the
    /// bytes of payload before it. With `of` = 1 it is the segment itself.
    ///
    /// Flags are as segmentation sets them: CWR on the first, FIN and PSH on the last. The identification of IPv4 counts up.
    /// Source: net/ipv4/tcp_offload.c and net/ipv4/af_inet.c of Linux.
    pub fn wire_packet(&self, most: u32, number: u32, of: u32) -> (Segment, u32) {
        let before = most.saturating_mul(number).min(self.payload_bytes);
        let mut flags = self.flags;
        if number > 0 {
            flags = flags.without(Flags::CWR);
        }
        if number + 1 < of {
            flags = flags.without(Flags::FIN | Flags::PSH);
        }
        let segment = Segment {
            seq: self.seq.wrapping_add(before),
            payload_bytes: (self.payload_bytes - before).min(most),
            flags,
            ip_id: self.ip_id.map(|id| id.wrapping_add(number as u16)),
            ..*self
        };
        (segment, before)
    }
}

/// Options of a TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size, in bytes.
    pub mss: Option<u16>,
    /// Shift of the window field.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018).
    pub sack_permitted: bool,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// The snapshot length ended before the options did: any of them may be missing.
    pub are_cut: bool,
}

/// The timestamps option (RFC 7323, 3.2), in ticks of the hosts' clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Timestamps {
    /// TSval.
    pub value: u32,
    /// TSecr.
    pub echo: u32,
}

/// A SACK block: the bytes from `left` to before `right`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SackBlock {
    /// First sequence number.
    pub left: u32,
    /// Sequence number after the last.
    pub right: u32,
}

/// Up to four SACK blocks, in the order of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; SackBlocks::MOST],
    count: u8,
}

impl SackBlocks {
    /// As many as fit into the options of a TCP header.
    pub const MOST: usize = 4;

    /// Adds a block.
    ///
    /// # Errors
    /// The block, if there are four already.
    pub fn push(&mut self, block: SackBlock) -> Result<(), SackBlock> {
        let place = self.blocks.get_mut(usize::from(self.count)).ok_or(block)?;
        *place = block;
        self.count += 1;
        Ok(())
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
}

impl std::ops::Deref for SackBlocks {
    type Target = [SackBlock];
    fn deref(&self) -> &[SackBlock] {
        self.as_slice()
    }
}

/// A UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes of payload by the UDP header.
    pub payload_bytes: u32,
    head: [u8; Datagram::HEAD],
    head_bytes: u8,
}

impl Datagram {
    /// Most bytes of payload that are kept.
    pub const HEAD: usize = 64;

    /// A datagram with the first bytes of its captured payload.
    pub fn new(payload_bytes: u32, captured: &[u8]) -> Self {
        let length = captured.len().min(Self::HEAD);
        let mut head = [0; Self::HEAD];
        head[..length].copy_from_slice(&captured[..length]);
        Datagram { payload_bytes, head, head_bytes: length as u8 }
    }

    /// The first bytes of the payload, as many as were captured, at most [`Datagram::HEAD`].
    pub fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.head_bytes)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_have_one_key() {
        let [a, b] = [Address::v4([10, 0, 0, 2], 1), Address::v4([10, 0, 0, 1], 2)];
        assert_eq!(FlowKey::new(Transport::Tcp, a, b), FlowKey::new(Transport::Tcp, b, a));
        assert_ne!(FlowKey::new(Transport::Tcp, a, b), FlowKey::new(Transport::Udp, a, b));
    }

    #[test]
    fn fifth_sack_block_is_returned() {
        let mut blocks = SackBlocks::default();
        for left in 0..4 {
            blocks.push(SackBlock { left, right: left + 1 }).unwrap();
        }
        let fifth = SackBlock { left: 9, right: 10 };
        assert_eq!(blocks.push(fifth), Err(fifth));
        assert_eq!(blocks.len(), 4);
    }

    #[test]
    fn syn_and_fin_occupy_a_sequence_number_each() {
        let segment = Segment { payload_bytes: 5, flags: Flags::SYN | Flags::FIN, ..Segment::default() };
        assert_eq!(segment.sequence_length(), 7);
    }
}
