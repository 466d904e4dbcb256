//! Link layers, tags and labels, and the tunnels that carry frames.

use super::{Layer, Walk};
use crate::facts::{LinkType, SkipReason};
use crate::segment::Passage;

/// Numbers of the registry at tcpdump.org/linktypes.html.
impl LinkType {
    /// BSD loopback, with the address family in the order of the host.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// PPP.
    pub const PPP: LinkType = LinkType(9);
    /// PPP in HDLC framing.
    pub const PPP_HDLC: LinkType = LinkType(50);
    /// PPPoE without its Ethernet header.
    pub const PPP_ETHER: LinkType = LinkType(51);
    /// IPv4 or IPv6 without a link layer.
    pub const RAW: LinkType = LinkType(101);
    /// Cisco HDLC.
    pub const C_HDLC: LinkType = LinkType(104);
    /// OpenBSD loopback, with the address family in network order.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux cooked capture, as of `tcpdump -i any` before version 4.99.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// IPv4.
    pub const IPV4: LinkType = LinkType(228);
    /// IPv6.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux cooked capture, version 2, as of `tcpdump -i any`.
    pub const LINUX_SLL2: LinkType = LinkType(276);
}

/// `DLT_RAW` of most systems and of OpenBSD, which some programs write to files.
const RAW_OF_SYSTEMS: [LinkType; 2] = [LinkType(12), LinkType(14)];

const ETHER_IPV4: u16 = 0x0800;
const ETHER_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad, and two numbers that were used for stacks before.
const ETHER_TAGS: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
const ETHER_MPLS: [u16; 2] = [0x8847, 0x8848];
const ETHER_PPPOE_SESSION: u16 = 0x8864;
/// Transparent Ethernet bridging, in GRE and GENEVE.
pub(super) const ETHER_ETHERNET: u16 = 0x6558;
/// Smaller numbers are lengths (IEEE 802.3, 3.2.6).
const ETHER_SMALLEST: u16 = 0x0600;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_MPLS: u16 = 0x0281;

impl Walk<'_> {
    /// Removes the header of a link type, and names the next one.
    #[inline]
    pub(super) fn link(&mut self, link_type: LinkType) -> Result<Layer, SkipReason> {
        let (bytes, layer) = match link_type {
            LinkType::ETHERNET => (0, Layer::Ethernet),
            LinkType::LINUX_SLL => {
                self.packet.passage = Passage::of_packet_type(self.u16_at(0)?);
                (16, Layer::EtherType(self.u16_at(14)?))
            }
            LinkType::LINUX_SLL2 => {
                let head = self.peek(20)?;
                let (kind, ether_type) = (head[10], u16::from_be_bytes([head[0], head[1]]));
                self.packet.passage = Passage::of_packet_type(kind.into());
                (20, Layer::EtherType(ether_type))
            }
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => (0, Layer::Ip),
            other if RAW_OF_SYSTEMS.contains(&other) => (0, Layer::Ip),
            // The address families of IPv6 differ between systems; the version in the IP header does not.
            LinkType::NULL | LinkType::LOOP => (4, Layer::Ip),
            LinkType::PPP | LinkType::PPP_HDLC => (0, Layer::Ppp),
            LinkType::PPP_ETHER => (0, Layer::Pppoe),
            LinkType::C_HDLC => (4, Layer::EtherType(self.u16_at(2)?)),
            other => return Err(SkipReason::LinkType(other)),
        };
        self.at += bytes;
        Ok(layer)
    }

    #[inline]
    pub(super) fn ethernet(&mut self) -> Result<Layer, SkipReason> {
        let ether_type = self.u16_at(12)?;
        self.at += 14;
        Ok(Layer::EtherType(ether_type))
    }

    #[inline]
    pub(super) fn ether_type(&mut self, number: u16) -> Result<Layer, SkipReason> {
        match number {
            ETHER_IPV4 | ETHER_IPV6 => Ok(Layer::Ip),
            _ if ETHER_TAGS.contains(&number) => {
                let inner = self.u16_at(2)?;
                self.at += 4;
                self.is_encapsulated = true;
                Ok(Layer::EtherType(inner))
            }
            _ if ETHER_MPLS.contains(&number) => Ok(Layer::Mpls),
            ETHER_PPPOE_SESSION => Ok(Layer::Pppoe),
            ETHER_ETHERNET => Ok(Layer::Ethernet),
            // LLC with SNAP, and the organization of Ethernet (RFC 1042).
            _ if number < ETHER_SMALLEST && self.peek(6) == Ok(&[0xaa, 0xaa, 3, 0, 0, 0]) => {
                let inner = self.u16_at(6)?;
                self.at += 8;
                Ok(Layer::EtherType(inner))
            }
            _ => Err(SkipReason::EtherType(number)),
        }
    }

    /// Removes a stack of labels (RFC 3032). No field names what follows.
    pub(super) fn mpls(&mut self) -> Result<Layer, SkipReason> {
        self.is_encapsulated = true;
        loop {
            let is_last = self.peek(4)?[2] & 1 == 1;
            self.at += 4;
            if is_last {
                break;
            }
        }
        match self.peek(1)?[0] >> 4 {
            // The four bytes before a frame in a pseudowire (RFC 4385), and Ethernet behind them.
            0 => {
                self.at += 4;
                Ok(Layer::Ethernet)
            }
            4 | 6 => Ok(Layer::Ip),
            _ => Ok(Layer::Ethernet),
        }
    }

    /// PPPoE (RFC 2516): six bytes, and the protocol of PPP.
    pub(super) fn pppoe(&mut self) -> Result<Layer, SkipReason> {
        self.peek(6)?;
        self.at += 6;
        self.is_encapsulated = true;
        Ok(Layer::Ppp)
    }

    /// PPP (RFC 1661), with two more bytes as of HDLC (RFC 1662), or without.
    pub(super) fn ppp(&mut self) -> Result<Layer, SkipReason> {
        if self.peek(2)? == [0xff, 0x03] {
            self.at += 2;
        }
        let first = self.peek(1)?[0];
        // The least significant bit is set in the last byte of the number.
        let (bytes, protocol) = if first & 1 == 1 { (1, first.into()) } else { (2, self.u16_at(0)?) };
        self.at += bytes;
        match protocol {
            PPP_IPV4 | PPP_IPV6 => Ok(Layer::Ip),
            PPP_MPLS => Ok(Layer::Mpls),
            other => Err(SkipReason::Ppp(other)),
        }
    }

    /// VXLAN (RFC 7348), without or with the field for the protocol of its extension GPE.
    pub(super) fn vxlan(&mut self) -> Result<Layer, SkipReason> {
        self.peek(8)?;
        self.at += 8;
        Ok(Layer::Ethernet)
    }

    /// GENEVE (RFC 8926).
    pub(super) fn geneve(&mut self) -> Result<Layer, SkipReason> {
        let options = usize::from(self.peek(8)?[0] & 0x3f) * 4;
        let inner = self.u16_at(2)?;
        self.at += 8 + options;
        Ok(Layer::EtherType(inner))
    }
}
