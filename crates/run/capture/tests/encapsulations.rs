//! Link layers, tunnels, extension headers and snapshot lengths: one frame each.

#[path = "support/write.rs"]
mod write;

use std::io::Cursor;
use wirespeed_capture::{
    Body, CaptureFacts, Ecn, Flags, Input, LinkType, Packet, Passage, Reader, SkipReason, Tunnels,
};
use write::{Frame, Order, Pcap, Tcp};

const SEGMENT: Tcp<'_> = Tcp {
    ports: [40_000, 443],
    seq: 0x1234_5678,
    ack: 0x9abc_def0,
    flags: write::ACK | write::PSH,
    options: &[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6],
    payload: 100,
};

fn read_frame(link_type: u32, frame: Frame) -> (Option<Packet>, CaptureFacts) {
    let bytes = write::pcap(Pcap::Nanoseconds, Order::Little, link_type, &[frame]);
    let mut reader = Reader::open(Input::Reader(Box::new(Cursor::new(bytes))), Tunnels::default()).unwrap();
    let packet = reader.next_packet();
    assert_eq!(reader.next_packet(), None);
    (packet, reader.into_facts())
}

/// The packet of a frame that has [`SEGMENT`] in it.
fn packet(name: &str, link_type: u32, bytes: Vec<u8>) -> Packet {
    let (packet, facts) = read_frame(link_type, Frame::new(1, bytes));
    let packet = packet.unwrap_or_else(|| panic!("{name}: {:?}", facts.skipped));
    let segment = packet.segment().unwrap_or_else(|| panic!("{name}: no TCP"));
    assert_eq!((segment.seq, segment.ack), (SEGMENT.seq, SEGMENT.ack), "{name}");
    assert_eq!((packet.source.port, packet.destination.port), (40_000, 443), "{name}");
    assert_eq!(segment.payload_bytes, 100, "{name}");
    assert_eq!(segment.options.timestamps.map(|both| (both.value, both.echo)), Some((5, 6)), "{name}");
    assert_eq!(segment.flags, Flags::ACK | Flags::PSH, "{name}");
    packet
}

fn skipped(link_type: u32, frame: Frame) -> SkipReason {
    let (packet, facts) = read_frame(link_type, frame);
    assert_eq!(packet, None);
    *facts.skipped.keys().next().unwrap()
}

fn gre(flags: u16, inner: u16, fields: &[u8], payload: &[u8]) -> Vec<u8> {
    let gre = [&flags.to_be_bytes(), &inner.to_be_bytes(), fields, payload].concat();
    write::frame_v4(&write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 47, &gre))
}

fn in_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    write::frame_v4(&write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 17, &write::udp([5_555, port], payload)))
}

#[test]
fn link_layers_are_removed() {
    let (v4, v6) = (SEGMENT.ipv4(), write::ipv6(6, &SEGMENT.bytes()));
    let with = |head: &[u8], rest: &[u8]| [head, rest].concat();
    let sll = |kind: u8| {
        let mut head = vec![0, kind, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
        head.extend(&v4);
        head
    };
    let mut sll2 = vec![8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    sll2.extend(&v4);
    let snap = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], v4.as_slice()].concat();
    for (name, link_type, bytes, passage) in [
        ("Ethernet", 1, write::frame_v4(&v4), Passage::Unknown),
        ("Ethernet with IPv6", 1, write::ether(0x86dd, &v6), Passage::Unknown),
        ("802.3 with SNAP", 1, write::ether(snap.len() as u16, &snap), Passage::Unknown),
        ("NULL, little endian", 0, with(&[2, 0, 0, 0], &v4), Passage::Unknown),
        ("NULL, IPv6 of macOS", 0, with(&[30, 0, 0, 0], &v6), Passage::Unknown),
        ("LOOP", 108, with(&[0, 0, 0, 24], &v6), Passage::Unknown),
        ("raw", 101, v4.clone(), Passage::Unknown),
        ("raw of OpenBSD", 14, v6.clone(), Passage::Unknown),
        ("IPv6", 229, v6.clone(), Passage::Unknown),
        ("SLL sent", 113, sll(4), Passage::Outgoing),
        ("SLL received", 113, sll(0), Passage::Incoming),
        ("SLL2", 276, sll2, Passage::Outgoing),
        ("PPP", 9, with(&[0xff, 3, 0, 0x21], &v4), Passage::Unknown),
        ("PPP, compressed protocol", 9, with(&[0x21], &v4), Passage::Unknown),
        ("PPP HDLC with IPv6", 50, with(&[0xff, 3, 0, 0x57], &v6), Passage::Unknown),
        ("PPPoE", 51, with(&[0x11, 0, 0, 7, 0, 0, 0, 0x21], &v4), Passage::Unknown),
        ("Cisco HDLC", 104, with(&[0x0f, 0, 8, 0], &v4), Passage::Unknown),
    ] {
        assert_eq!(packet(name, link_type, bytes).passage, passage, "{name}");
    }
    assert_eq!(skipped(147, Frame::new(1, v4)), SkipReason::LinkType(LinkType(147)));
}

#[test]
fn tags_labels_and_tunnels_are_removed() {
    let v4 = SEGMENT.ipv4();
    let ethernet = write::frame_v4(&v4);
    let v6 = write::ipv6(6, &SEGMENT.bytes());
    let with = |head: &[u8], rest: &[u8]| [head, rest].concat();
    let vni = [8, 0, 0, 0, 0, 0, 42, 0];
    let vlan_in_vxlan = write::ether(0x8100, &with(&[0, 5, 8, 0], &v4));
    for (name, bytes) in [
        ("802.1Q", write::ether(0x8100, &with(&[0, 5, 8, 0], &v4))),
        ("802.1ad and 802.1Q", write::ether(0x88a8, &with(&[0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], &v6))),
        ("MPLS", write::ether(0x8847, &with(&[0, 1, 1, 64], &v4))),
        ("MPLS, two labels", write::ether(0x8847, &with(&[0, 1, 0, 64, 0, 2, 1, 64], &v6))),
        ("MPLS, pseudowire", write::ether(0x8847, &with(&[0, 1, 1, 64, 0, 0, 0, 0], &ethernet))),
        ("PPPoE", write::ether(0x8864, &with(&[0x11, 0, 0, 7, 0, 0, 0, 0x21], &v4))),
        ("GRE", gre(0, 0x0800, &[], &v4)),
        ("GRE with key and sequence", gre(0x3000, 0x86dd, &[0; 8], &v6)),
        ("GRE with checksum and Ethernet", gre(0x8000, 0x6558, &[0; 4], &ethernet)),
        ("GRE with MPLS", gre(0, 0x8847, &[], &with(&[0, 1, 1, 64], &v4))),
        ("ERSPAN I", gre(0, 0x88be, &[], &ethernet)),
        ("ERSPAN II", gre(0x1000, 0x88be, &[0; 4], &with(&[0; 8], &ethernet))),
        ("ERSPAN III", gre(0x1000, 0x22eb, &[0; 4], &with(&[0; 12], &ethernet))),
        ("PPTP", gre(0x3081, 0x880b, &[0; 12], &with(&[0xff, 3, 0, 0x21], &v4))),
        ("VXLAN", in_udp(4789, &with(&vni, &ethernet))),
        ("VXLAN of old Linux", in_udp(8472, &with(&vni, &vlan_in_vxlan))),
        (
            "GENEVE with options",
            in_udp(6081, &with(&[2, 0, 0x65, 0x58, 0, 0, 42, 0, 1, 2, 3, 4, 5, 6, 7, 8], &ethernet)),
        ),
        ("IPv4 in IPv4", write::frame_v4(&write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 4, &v4))),
        ("IPv6 in IPv4", write::frame_v4(&write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 41, &v6))),
        ("IPv4 in IPv6", write::ether(0x86dd, &write::ipv6(4, &v4))),
    ] {
        packet(name, 1, bytes.clone());
        let (_, facts) = read_frame(1, Frame::new(1, bytes));
        assert_eq!(facts.decapsulated, 1, "{name}");
    }
}

#[test]
fn tunnel_ports_of_other_traffic_are_udp() {
    let (packet, _) = read_frame(1, Frame::new(1, in_udp(4789, b"\0plain")));
    let Body::Udp(datagram) = packet.unwrap().body else { panic!("not UDP") };
    assert_eq!((datagram.payload_bytes, datagram.head()), (6, b"\0plain".as_slice()));
}

#[test]
fn extension_headers_are_skipped() {
    let tcp = SEGMENT.bytes();
    let with = |headers: &[&[u8]]| [headers.concat(), tcp.clone()].concat();
    let hop_by_hop = [60u8, 0, 1, 4, 0, 0, 0, 0];
    let destination = [43, 0, 1, 4, 0, 0, 0, 0];
    let routing = [44, 0, 0, 0, 0, 0, 0, 0];
    let atomic = [51, 0, 0, 0, 0, 0, 0, 1];
    let authentication = [6, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let all = with(&[&hop_by_hop, &destination, &routing, &atomic, &authentication]);
    let packet = packet("extensions", 1, write::ether(0x86dd, &write::ipv6(0, &all)));
    assert_eq!(packet.segment().unwrap().ip_id, None);

    let mut options = SEGMENT.ipv4();
    options[0] = 0x46;
    options.splice(20..20, [0x94, 4, 0, 0]);
    let total = options.len() as u16;
    options[2..4].copy_from_slice(&total.to_be_bytes());
    self::packet("IPv4 options", 1, write::frame_v4(&options));
}

#[test]
fn fragments_are_counted() {
    let mut first = SEGMENT.ipv4();
    first[6] = 0x20;
    assert_eq!(skipped(1, Frame::new(1, write::frame_v4(&first))), SkipReason::Fragment);
    let fragment = [6, 0, 0, 1, 0, 0, 0, 1];
    let v6 = write::ipv6(44, &[fragment.as_slice(), &SEGMENT.bytes()].concat());
    assert_eq!(skipped(1, Frame::new(1, write::ether(0x86dd, &v6))), SkipReason::Fragment);
}

#[test]
fn other_protocols_are_counted_by_kind() {
    assert_eq!(skipped(1, Frame::new(1, write::ether(0x0806, &[0; 28]))), SkipReason::EtherType(0x0806));
    let icmp = write::frame_v4(&write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 1, &[8, 0, 0, 0]));
    assert_eq!(skipped(1, Frame::new(1, icmp)), SkipReason::Protocol(1));
    let lcp = [0xff, 3, 0xc0, 0x21, 1, 1, 0, 4];
    assert_eq!(skipped(9, Frame::new(1, lcp.to_vec())), SkipReason::Ppp(0xc021));
    let nested = (0..30).fold(SEGMENT.ipv4(), |inner, _| write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 4, &inner));
    assert_eq!(skipped(1, Frame::new(1, write::frame_v4(&nested))), SkipReason::TooManyLayers);
}

#[test]
fn headers_of_wrong_length_are_malformed() {
    let mut short_total = SEGMENT.ipv4();
    short_total[2..4].copy_from_slice(&39u16.to_be_bytes());
    assert_eq!(skipped(1, Frame::new(1, write::frame_v4(&short_total))), SkipReason::Malformed);
    let mut short_offset = SEGMENT.ipv4();
    short_offset[32] = 0x40;
    assert_eq!(skipped(1, Frame::new(1, write::frame_v4(&short_offset))), SkipReason::Malformed);
    let mut long_offset = Tcp { payload: 0, options: &[], ..SEGMENT }.ipv4();
    long_offset[32] = 0xf0;
    assert_eq!(skipped(1, Frame::new(1, write::frame_v4(&long_offset))), SkipReason::Malformed);
}

#[test]
fn lengths_are_those_of_the_wire_and_not_of_the_capture() {
    let whole = write::frame_v4(&SEGMENT.ipv4());
    // Padding of a short frame is not payload.
    let short = write::frame_v4(&Tcp { payload: 0, options: &[], ..SEGMENT }.ipv4());
    let padded = [short, vec![0; 6]].concat();
    let (packet, _) = read_frame(1, Frame::new(1, padded));
    assert_eq!(packet.unwrap().payload_bytes(), 0);
    // Ethernet 14, IPv4 20, TCP 32.
    for snaplen in 0..=66 {
        let frame = Frame::new(1, whole.clone()).cut(snaplen);
        if snaplen < 50 {
            assert_eq!(skipped(1, frame), SkipReason::CutHeader, "{snaplen}");
            continue;
        }
        let (packet, facts) = read_frame(1, frame);
        let packet = packet.unwrap();
        let segment = packet.segment().unwrap();
        assert_eq!((segment.payload_bytes, packet.wire_bytes), (100, 166), "{snaplen}");
        assert_eq!(segment.options.are_cut, snaplen < 66, "{snaplen}");
        assert_eq!(segment.options.timestamps.is_some(), snaplen == 66, "{snaplen}");
        assert_eq!((facts.cut, facts.cut_options), (1, u64::from(snaplen < 66)));
    }
}

#[test]
fn super_packets_without_a_length_have_that_of_the_frame() {
    let large = Tcp { payload: 100_000, ..SEGMENT };
    let payload = |bytes: Vec<u8>| {
        let (packet, facts) = read_frame(1, Frame::new(1, bytes).cut(128));
        packet.unwrap_or_else(|| panic!("{:?}", facts.skipped)).payload_bytes()
    };
    // BIG TCP, and segmentation offload where the length is filled in later.
    assert_eq!(payload(write::frame_v4(&large.ipv4())), 100_000);
    assert_eq!(payload(write::ether(0x86dd, &write::ipv6(6, &large.bytes()))), 100_000);
    let jumbo = 8 + 32 + 100_000u32;
    let header = [&[6, 0, 0xc2, 4], jumbo.to_be_bytes().as_slice()].concat();
    // Bytes behind the packet show that the option counts.
    let v6 = write::ipv6(0, &[header, large.bytes(), vec![0; 9]].concat());
    assert_eq!(payload(write::ether(0x86dd, &v6)), 100_000);
    let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0], write::frame_v4(&large.ipv4()).as_slice()].concat();
    let mut udp = vec![0, 1, 0x12, 0xb5, 0, 0, 0, 0];
    udp.extend(vxlan);
    assert_eq!(payload(write::frame_v4(&write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 17, &udp))), 100_000);
}

#[test]
fn fields_of_the_ip_header_are_those_of_the_innermost() {
    let mut inner = SEGMENT.ipv4();
    (inner[1], inner[8]) = (3, 17);
    let outer = write::frame_v4(&write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 4, &inner));
    let packet = packet("marked", 1, outer);
    let segment = packet.segment().unwrap();
    assert_eq!((segment.ecn, segment.ttl, segment.ip_id), (Ecn::Ce, 17, Some(0x1234)));
    assert_eq!(packet.source.to_string(), "10.0.0.1:40000");
}

#[test]
fn accurate_ecn_flag_is_the_ninth() {
    let tcp = Tcp { flags: 0x1c2, ..SEGMENT };
    let (packet, _) = read_frame(1, Frame::new(1, write::frame_v4(&tcp.ipv4())));
    let flags = packet.unwrap().segment().unwrap().flags;
    assert_eq!(flags, Flags::AE | Flags::CWR | Flags::ECE | Flags::SYN);
}
