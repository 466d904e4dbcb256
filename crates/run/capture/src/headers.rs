//! Headers of a frame: from its link layer through tunnels to TCP or UDP.
//!
//! Headers of IP, TCP and UDP are read by crate `etherparse`. Those around them are a few fixed fields each.

mod ip;
mod link;
mod tcp;

use crate::facts::{LinkType, SkipReason};
use crate::segment::{Packet, Passage};

/// UDP ports of tunnels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnels {
    /// Destination ports of VXLAN (RFC 7348).
    pub vxlan_ports: Vec<u16>,
    /// Destination ports of GENEVE (RFC 8926).
    pub geneve_ports: Vec<u16>,
}

impl Default for Tunnels {
    /// 4789 and 8472 are VXLAN: the assigned port, and the one that Linux had before. 6081 is GENEVE.
    fn default() -> Self {
        Tunnels { vxlan_ports: vec![4789, 8472], geneve_ports: vec![6081] }
    }
}

/// Headers within each other, at most. Real ones have up to ten, such as QinQ, MPLS and Ethernet over GRE.
const MOST_LAYERS: usize = 24;

/// A header that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Ethernet,
    /// The protocol of an EtherType.
    EtherType(u16),
    Mpls,
    Pppoe,
    Ppp,
    /// IPv4 or IPv6, by the version in its first byte.
    Ip,
    /// The protocol of an IP header: a transport header, or a tunnel.
    Protocol,
    Gre,
    Vxlan,
    Geneve,
}

/// Walks through the headers of a frame.
struct Walk<'a> {
    frame: &'a [u8],
    /// Offset of the next header.
    at: usize,
    /// Offset of the end of the innermost packet by its lengths. The captured bytes may end before, and those of the frame
    /// after.
    end: usize,
    tunnels: &'a Tunnels,
    /// Fields of the innermost IP header.
    ip: ip::IpLayer,
    packet: &'a mut Packet,
    is_encapsulated: bool,
}

/// Reads the headers of a frame with `wire_bytes` bytes, of which `frame` was captured. Addresses, direction and transport
/// header go to `packet`, in place: a copy for each step would take as long as the reading.
///
/// Returns whether there was a tunnel, a tag of a VLAN, or a label.
///
/// # Errors
/// Why the frame is only counted.
#[inline]
pub(crate) fn headers(
    link_type: LinkType,
    frame: &[u8],
    wire_bytes: u32,
    tunnels: &Tunnels,
    packet: &mut Packet,
) -> Result<bool, SkipReason> {
    packet.passage = Passage::Unknown;
    let mut walk = Walk {
        frame,
        at: 0,
        end: wire_bytes as usize,
        tunnels,
        ip: ip::IpLayer::default(),
        packet,
        is_encapsulated: false,
    };
    let mut layer = walk.link(link_type)?;
    for _ in 0..MOST_LAYERS {
        layer = match layer {
            Layer::Ethernet => walk.ethernet()?,
            Layer::EtherType(number) => walk.ether_type(number)?,
            Layer::Mpls => walk.mpls()?,
            Layer::Pppoe => walk.pppoe()?,
            Layer::Ppp => walk.ppp()?,
            Layer::Ip => walk.ip()?,
            Layer::Gre => walk.gre()?,
            Layer::Vxlan => walk.vxlan()?,
            Layer::Geneve => walk.geneve()?,
            Layer::Protocol => match walk.protocol()? {
                Some(layer) => {
                    walk.is_encapsulated = true;
                    layer
                }
                None => return Ok(walk.is_encapsulated),
            },
        };
    }
    Err(SkipReason::TooManyLayers)
}

impl<'a> Walk<'a> {
    /// The captured bytes from the next header on.
    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.frame.get(self.at..).unwrap_or_default()
    }

    /// `count` bytes from the next header on.
    #[inline]
    fn peek(&self, count: usize) -> Result<&'a [u8], SkipReason> {
        self.rest().get(..count).ok_or(SkipReason::CutHeader)
    }

    #[inline]
    fn u16_at(&self, offset: usize) -> Result<u16, SkipReason> {
        let bytes = self.rest().get(offset..offset + 2).ok_or(SkipReason::CutHeader)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }
}
