//! Interfaces: veth pairs, addresses, routes, neighbours, offloads.

use crate::netlink::Netlink;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use wirespeed_host::Interface;
use wirespeed_host::netlink::{Request, attribute, find, messages, u32_at};
use wirespeed_host::sources::link;
use wirespeed_scenario::run::Offloads;

/// One end of a veth pair to be made.
#[derive(Debug, Clone)]
pub struct Port {
    /// Interface name.
    pub name: String,
    /// Descriptor of the namespace it goes to.
    pub namespace: i32,
    /// Ethernet address.
    pub mac: [u8; 6],
    /// MTU in bytes.
    pub mtu: u32,
    /// Queue length in packets.
    pub txqueuelen: u32,
}

impl Port {
    fn message(&self) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(self.name.clone()),
            LinkAttribute::Address(self.mac.to_vec()),
            LinkAttribute::Mtu(self.mtu),
            LinkAttribute::TxQueueLen(self.txqueuelen),
            LinkAttribute::NetNsFd(self.namespace),
        ];
        message
    }
}

/// Makes a veth pair, each end in its namespace.
///
/// # Errors
/// What the kernel answered.
pub fn create_pair(netlink: &mut Netlink, ends: &[Port; 2]) -> io::Result<()> {
    let mut message = ends[0].message();
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(ends[1].message()))),
    ]));
    netlink.create(RouteNetlinkMessage::NewLink(message))
}

/// Lists the interfaces of the socket's namespace, with their counters.
///
/// # Errors
/// What the kernel answered.
pub fn list(netlink: &mut Netlink) -> io::Result<Vec<Interface>> {
    Ok(link::parse(&netlink.ask(&link::request())?))
}

/// Index of the interface by which packets to an address leave; `from`: their source address, if it is known. `None` if there
/// is no route. The kernel is asked as for one packet (RTM_GETROUTE).
///
/// # Errors
/// What the kernel answered.
pub fn way_out(netlink: &mut Netlink, from: Option<IpAddr>, to: IpAddr) -> io::Result<Option<u32>> {
    /// `struct rtmsg` (linux/rtnetlink.h).
    const RTMSG: usize = 12;
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let (from, to) = (from.map(octets).unwrap_or_default(), octets(to));
    // The lengths of both prefixes in bits; that of an address that is not given is zero.
    let mut payload = vec![family as u8, to.len() as u8 * 8, from.len() as u8 * 8];
    payload.resize(RTMSG, 0);
    payload.extend(attribute(libc::RTA_DST, &to));
    if !from.is_empty() {
        payload.extend(attribute(libc::RTA_SRC, &from));
    }
    let request = Request {
        name: "route".into(),
        protocol: libc::NETLINK_ROUTE,
        kind: libc::RTM_GETROUTE,
        flags: 0,
        payload,
    };
    let answer = netlink.ask(&request)?;
    let route = messages(&answer).find(|message| message.kind == libc::RTM_NEWROUTE);
    Ok(route.and_then(|route| u32_at(find(route.payload.get(RTMSG..)?, libc::RTA_OIF)?, 0)))
}

/// Brings an interface up.
///
/// # Errors
/// What the kernel answered.
pub fn up(netlink: &mut Netlink, index: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    netlink.change(RouteNetlinkMessage::SetLink(message))
}

/// Sets the MTU of an interface in bytes, and the number of packets that wait for it at most.
///
/// # Errors
/// The kernel's answer.
pub fn set_room(netlink: &mut Netlink, index: u32, mtu: u32, packets: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(packets)];
    netlink.change(RouteNetlinkMessage::SetLink(message))
}

/// Gives an interface an IPv4 address with a /30 around it.
///
/// # Errors
/// What the kernel answered.
pub fn add_address(netlink: &mut Netlink, index: u32, address: Ipv4Addr) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = 30;
    message.header.index = index;
    message.attributes.push(AddressAttribute::Local(IpAddr::V4(address)));
    message.attributes.push(AddressAttribute::Address(IpAddr::V4(address)));
    netlink.create(RouteNetlinkMessage::NewAddress(message))
}

/// The next hop of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// A neighbour.
    Neighbour(Ipv4Addr),
    /// All that is behind the interface of that number.
    Interface(u32),
}

/// Routes one host.
///
/// # Errors
/// The kernel's answer.
pub fn add_route(netlink: &mut Netlink, destination: Ipv4Addr, hop: Hop) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.destination_prefix_length = 32;
    message.header.table = libc::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.kind = RouteType::Unicast;
    message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(destination)));
    let (scope, attribute) = match hop {
        Hop::Neighbour(via) => (RouteScope::Universe, RouteAttribute::Gateway(RouteAddress::Inet(via))),
        Hop::Interface(index) => (RouteScope::Link, RouteAttribute::Oif(index)),
    };
    message.header.scope = scope;
    message.attributes.push(attribute);
    netlink.create(RouteNetlinkMessage::NewRoute(message))
}

/// Fixes the Ethernet address of a neighbour, so that no ARP packet disturbs the counters.
///
/// # Errors
/// What the kernel answered.
pub fn add_neighbour(netlink: &mut Netlink, index: u32, address: Ipv4Addr, mac: [u8; 6]) -> io::Result<()> {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.attributes.push(NeighbourAttribute::Destination(NeighbourAddress::Inet(address)));
    message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
    netlink.create(RouteNetlinkMessage::NewNeighbour(message))
}

/// Switches segmentation and merging of an interface in the calling thread's namespace (ethtool ioctl).
///
/// # Errors
/// What the kernel answered, with the name of the offload.
pub fn set_offloads(name: &str, offloads: Offloads) -> io::Result<()> {
    // linux/ethtool.h
    const ETHTOOL_STSO: u32 = 0x1f;
    const ETHTOOL_SGSO: u32 = 0x24;
    const ETHTOOL_SGRO: u32 = 0x2c;
    for (command, value, what) in [
        (ETHTOOL_STSO, offloads.tso, "tso"),
        (ETHTOOL_SGSO, offloads.gso, "gso"),
        (ETHTOOL_SGRO, offloads.gro, "gro"),
    ] {
        // `struct ethtool_value`: command and data.
        let mut argument = [command.to_ne_bytes(), u32::from(value).to_ne_bytes()].concat();
        wirespeed_host::ethtool::ioctl(name, &mut argument)
            .map_err(|e| io::Error::new(e.kind(), format!("offload {what} of {name}: {e}")))?;
    }
    Ok(())
}
