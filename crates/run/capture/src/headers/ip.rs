//! IP with its options and extension headers, the tunnels in IP, and the transport headers.

use super::{Layer, Walk, tcp};
use crate::facts::SkipReason;
use crate::segment::{Address, Body, Datagram, Ecn, Segment};
use etherparse::err::{ipv4, ipv6};
use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, UdpHeaderSlice};
use std::net::{IpAddr, Ipv4Addr};

const HOP_BY_HOP: u8 = 0;
const IPV4: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6: u8 = 41;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const GRE: u8 = 47;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const MPLS: u8 = 137;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;
/// Jumbo payload (RFC 2675): a length of four bytes.
const JUMBO_OPTION: u8 = 0xc2;
const EXTENSIONS_MOST: usize = 8;

/// Fields of an IP header that go with the packet in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IpLayer {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    ecn: Ecn,
    dscp: u8,
    ip_id: Option<u16>,
    ttl: u8,
}

impl Default for IpLayer {
    fn default() -> Self {
        let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        IpLayer {
            source: nowhere,
            destination: nowhere,
            protocol: 0,
            ecn: Ecn::NotEct,
            dscp: 0,
            ip_id: None,
            ttl: 0,
        }
    }
}

impl Walk<'_> {
    #[inline]
    pub(super) fn ip(&mut self) -> Result<Layer, SkipReason> {
        self.ip = match self.peek(1)?[0] >> 4 {
            4 => self.ipv4()?,
            6 => self.ipv6()?,
            _ => return Err(SkipReason::Malformed),
        };
        Ok(Layer::Protocol)
    }

    #[inline]
    fn ipv4(&mut self) -> Result<IpLayer, SkipReason> {
        let header = Ipv4HeaderSlice::from_slice(self.rest()).map_err(|error| match error {
            ipv4::HeaderSliceError::Len(_) => SkipReason::CutHeader,
            ipv4::HeaderSliceError::Content(_) => SkipReason::Malformed,
        })?;
        let header_bytes = header.slice().len();
        let total = usize::from(header.total_len());
        if header.is_fragmenting_payload() {
            return Err(SkipReason::Fragment);
        }
        let layer = IpLayer {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: header.protocol().0,
            ecn: Ecn::from_bits(header.ecn().value()),
            dscp: header.dcp().value(),
            ip_id: Some(header.identification()),
            ttl: header.ttl(),
        };
        // Without a length: captured before segmentation offload, or BIG TCP.
        if total != 0 {
            self.end = self.at + total;
        }
        self.at += header_bytes;
        Ok(layer)
    }

    #[inline]
    fn ipv6(&mut self) -> Result<IpLayer, SkipReason> {
        let header = Ipv6HeaderSlice::from_slice(self.rest()).map_err(|error| match error {
            ipv6::HeaderSliceError::Len(_) => SkipReason::CutHeader,
            ipv6::HeaderSliceError::Content(_) => SkipReason::Malformed,
        })?;
        let payload = usize::from(header.payload_length());
        let mut layer = IpLayer {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: header.next_header().0,
            ecn: Ecn::from_bits(header.ecn().value()),
            dscp: header.dscp().value(),
            ip_id: None,
            ttl: header.hop_limit(),
        };
        self.at += 40;
        if payload != 0 {
            self.end = self.at + payload;
        }
        let packet_start = self.at;
        for _ in 0..EXTENSIONS_MOST {
            let bytes = match layer.protocol {
                HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HOST_IDENTITY | SHIM6 => {
                    (usize::from(self.peek(2)?[1]) + 1) * 8
                }
                AUTHENTICATION => (usize::from(self.peek(2)?[1]) + 2) * 4,
                FRAGMENT => {
                    // Offset and "more" are zero in an atomic fragment (RFC 6946).
                    if self.u16_at(2)? & !0b110 != 0 {
                        return Err(SkipReason::Fragment);
                    }
                    8
                }
                _ => return Ok(layer),
            };
            let extension = self.peek(bytes)?;
            if layer.protocol == HOP_BY_HOP
                && payload == 0
                && let Some(jumbo) = jumbo_bytes(extension)
            {
                self.end = packet_start.saturating_add(jumbo);
            }
            layer.protocol = self.peek(1)?[0];
            self.at += bytes;
        }
        Err(SkipReason::TooManyLayers)
    }

    #[inline]
    pub(super) fn protocol(&mut self) -> Result<Option<Layer>, SkipReason> {
        match self.ip.protocol {
            TCP => self.tcp(),
            UDP => self.udp(),
            IPV4 | IPV6 => Ok(Some(Layer::Ip)),
            GRE => Ok(Some(Layer::Gre)),
            MPLS => Ok(Some(Layer::Mpls)),
            other => Err(SkipReason::Protocol(other)),
        }
    }

    #[inline]
    fn tcp(&mut self) -> Result<Option<Layer>, SkipReason> {
        let bytes = self.end.checked_sub(self.at).ok_or(SkipReason::Malformed)?;
        let captured = self.rest();
        let header = tcp::header(&captured[..captured.len().min(bytes)], bytes)?;
        let IpLayer { source, destination, ecn, dscp, ip_id, ttl, .. } = self.ip;
        self.packet.source = Address { ip: source, port: header.source_port };
        self.packet.destination = Address { ip: destination, port: header.destination_port };
        self.packet.body = Body::Tcp(Segment { ecn, dscp, ip_id, ttl, ..header.segment });
        Ok(None)
    }

    fn udp(&mut self) -> Result<Option<Layer>, SkipReason> {
        const HEADER: usize = 8;
        let bytes = self.end.checked_sub(self.at).ok_or(SkipReason::Malformed)?;
        let captured = self.rest();
        let captured = &captured[..captured.len().min(bytes)];
        let too_short = if bytes < HEADER { SkipReason::Malformed } else { SkipReason::CutHeader };
        let header = UdpHeaderSlice::from_slice(captured).map_err(|_| too_short)?;
        let payload = match usize::from(header.length()) {
            // A jumbogram (RFC 2675, 4), or a packet captured before segmentation offload.
            0 => bytes - HEADER,
            length => length.checked_sub(HEADER).ok_or(SkipReason::Malformed)?,
        };
        let captured = &captured[HEADER..];
        let captured = &captured[..captured.len().min(payload)];
        let port = header.destination_port();
        // The flag that the identifier of the network is valid is set in every packet (RFC 7348, 5).
        let is_vxlan =
            self.tunnels.vxlan_ports.contains(&port) && captured.first().is_some_and(|flags| flags & 8 != 0);
        let is_geneve = self.tunnels.geneve_ports.contains(&port)
            && captured.first().is_some_and(|version| version >> 6 == 0);
        if is_vxlan || is_geneve {
            self.at += HEADER;
            return Ok(Some(if is_vxlan { Layer::Vxlan } else { Layer::Geneve }));
        }
        self.packet.source = Address { ip: self.ip.source, port: header.source_port() };
        self.packet.destination = Address { ip: self.ip.destination, port };
        self.packet.body = Body::Udp(Datagram::new(payload as u32, captured));
        Ok(None)
    }

    /// GRE (RFC 2784, RFC 2890), with ERSPAN in it.
    pub(super) fn gre(&mut self) -> Result<Layer, SkipReason> {
        const CHECKSUM: u16 = 0x8000;
        const ROUTING: u16 = 0x4000;
        const KEY: u16 = 0x2000;
        const SEQUENCE: u16 = 0x1000;
        const ACKNOWLEDGMENT: u16 = 0x0080;
        const PPP: u16 = 0x880b;
        const ERSPAN: u16 = 0x88be;
        const ERSPAN_3: u16 = 0x22eb;
        let (flags, inner) = (self.u16_at(0)?, self.u16_at(2)?);
        let version = flags & 7;
        if flags & ROUTING != 0 || version > 1 {
            return Err(SkipReason::Protocol(self.ip.protocol));
        }
        let mut fields = CHECKSUM & flags | KEY & flags | SEQUENCE & flags;
        // The enhanced header of PPTP (RFC 2637).
        if version == 1 {
            fields |= flags & ACKNOWLEDGMENT;
        }
        self.at += 4 + 4 * fields.count_ones() as usize;
        match inner {
            PPP => Ok(Layer::Ppp),
            // Type II has a header of its own; type I, without sequence numbers, does not.
            ERSPAN => {
                self.at += if flags & SEQUENCE != 0 { 8 } else { 0 };
                Ok(Layer::Ethernet)
            }
            ERSPAN_3 => {
                let has_more = self.peek(12)?[11] & 1 == 1;
                self.at += if has_more { 20 } else { 12 };
                Ok(Layer::Ethernet)
            }
            other => Ok(Layer::EtherType(other)),
        }
    }
}

/// The length in the jumbo payload option of a hop-by-hop header.
fn jumbo_bytes(header: &[u8]) -> Option<usize> {
    let mut options = header.get(2..)?;
    while let [kind, rest @ ..] = options {
        if *kind == 0 {
            options = rest;
            continue;
        }
        let length = usize::from(*rest.first()?);
        let value = rest.get(1..1 + length)?;
        if *kind == JUMBO_OPTION && length == 4 {
            return Some(u32::from_be_bytes([value[0], value[1], value[2], value[3]]) as usize);
        }
        options = &rest[1 + length..];
    }
    None
}
