//! File formats: packets, times, counters and damage.

#[path = "support/write.rs"]
mod write;

use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};
use std::io::{Cursor, Read, Write};
use wirespeed_capture::{
    CaptureError, CaptureFacts, Compression, FileFormat, Input, LinkType, Packet, Passage, Reader,
    SkipReason, Tunnels,
};
use write::{Frame, Order, Pcap, Tcp};

const TIME_NS: u64 = 1_700_000_000_123_456_789;

fn open(bytes: Vec<u8>) -> Result<Reader, CaptureError> {
    Reader::open(Input::Reader(Box::new(Cursor::new(bytes))), Tunnels::default())
}

fn read(bytes: Vec<u8>) -> (Vec<Packet>, CaptureFacts) {
    let mut reader = open(bytes).unwrap();
    let packets = std::iter::from_fn(|| reader.next_packet()).collect();
    (packets, reader.into_facts())
}

/// Frames with ascending sequence numbers, a millisecond apart.
fn frames(count: u32) -> Vec<Frame> {
    let frame = |number| {
        let tcp = Tcp { seq: number, payload: 100, ..Tcp::default() };
        Frame::new(TIME_NS + u64::from(number) * 1_000_000, write::frame_v4(&tcp.ipv4()))
    };
    (0..count).map(frame).collect()
}

fn sequence_numbers(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|packet| packet.segment().unwrap().seq).collect()
}

#[test]
fn pcap_is_read_in_both_orders_and_all_formats() {
    for (kind, format, time_ns) in [
        (Pcap::Microseconds, FileFormat::PcapMicroseconds, TIME_NS / 1_000 * 1_000),
        (Pcap::Nanoseconds, FileFormat::PcapNanoseconds, TIME_NS),
        (Pcap::Modified, FileFormat::PcapModified, TIME_NS / 1_000 * 1_000),
    ] {
        for order in [Order::Little, Order::Big] {
            let (packets, facts) = read(write::pcap(kind, order, 1, &frames(3)));
            assert_eq!(sequence_numbers(&packets), [0, 1, 2], "{kind:?} {order:?}");
            assert_eq!(packets[0].time_ns, time_ns as i64);
            assert_eq!((packets[2].ordinal, packets[2].wire_bytes), (3, 154));
            let passage = if kind == Pcap::Modified { Passage::Outgoing } else { Passage::Unknown };
            assert_eq!(packets[0].passage, passage);
            assert_eq!((facts.format, facts.damaged_tail.clone()), (format, None));
            assert_eq!((facts.all.packets, facts.tcp.bytes), (3, 3 * 154));
            assert_eq!(facts.first_ns, Some(time_ns as i64));
            assert_eq!(facts.last_ns, Some(time_ns as i64 + 2_000_000));
            assert_eq!(facts.interfaces[0].link_type, LinkType::ETHERNET);
        }
    }
}

#[test]
fn pcapng_has_interfaces_times_comments_and_drops() {
    for order in [Order::Little, Order::Big] {
        let frame = &frames(1)[0];
        let options = |code, value: &[u8]| write::option(order, code, value);
        let mut file = write::section(order, &[options(1, b"of the file"), options(4, b"dumpcap")]);
        file.extend(write::interface(
            order,
            1,
            96,
            &[options(2, b"eth0"), options(9, &[9]), options(11, b"\0tcp")],
        ));
        // Ticks of 2^-20 s, 10 s later.
        file.extend(write::interface(
            order,
            101,
            0,
            &[options(9, &[0x80 | 20]), options(14, &order.u64(10))],
        ));
        file.extend(write::enhanced(
            order,
            0,
            TIME_NS,
            frame,
            &[options(2, &order.u32(1)), options(4, &order.u64(7))],
        ));
        let raw = Frame::new(0, Tcp { seq: 9, ..Tcp::default() }.ipv4());
        file.extend(write::enhanced(
            order,
            1,
            3 << 19,
            &raw,
            &[options(2, &order.u32(2)), options(1, b"of packet 2")],
        ));
        file.extend(write::simple(order, frame));
        file.extend(write::statistics(order, 0, &[(4, 1000), (5, 3), (7, 4)]));
        // A block of a kind that is not known, and names.
        file.extend(write::block(order, 0x0bad_cafe, &[1, 2, 3, 4], &[]));
        // Another section begins its interfaces at 0 again. It may have the other order.
        let other = if order == Order::Little { Order::Big } else { Order::Little };
        file.extend(write::section(other, &[write::option(other, 4, b"dumpcap")]));
        file.extend(write::interface(other, 1, 0, &[]));
        file.extend(write::enhanced(other, 0, TIME_NS / 1_000, frame, &[]));
        file.extend(write::enhanced(other, 5, 0, frame, &[]));
        let (packets, facts) = read(file);

        assert_eq!(facts.damaged_tail, None);
        assert_eq!(sequence_numbers(&packets), [0, 9, 0, 0]);
        let times: Vec<_> = packets.iter().map(|packet| packet.time_ns).collect();
        assert_eq!(times[..2], [TIME_NS as i64, 11_500_000_000]);
        assert_eq!(times[2], times[1], "a simple packet block has no time");
        assert_eq!(times[3], (TIME_NS / 1_000 * 1_000) as i64);
        let interfaces: Vec<_> = packets.iter().map(|packet| packet.interface).collect();
        assert_eq!(interfaces, [0, 1, 0, 2]);
        assert_eq!([packets[0].passage, packets[1].passage], [Passage::Incoming, Passage::Outgoing]);

        assert_eq!((facts.sections, facts.interfaces.len(), facts.without_time), (2, 3, 2));
        let first = &facts.interfaces[0];
        assert_eq!((first.name.as_deref(), first.filter.as_deref()), (Some("eth0"), Some("tcp")));
        assert_eq!((first.snaplen, first.ticks_per_second, first.packets), (96, 1_000_000_000, 2));
        assert_eq!(first.dropped_between_packets, 7);
        let drops = first.drops.unwrap();
        assert_eq!(
            (drops.received, drops.dropped_by_interface, drops.dropped_by_system),
            (Some(1000), Some(3), Some(4))
        );
        assert_eq!(facts.reported_drops(), Some(7));
        assert_eq!(facts.interfaces[1].ticks_per_second, 1 << 20);
        assert_eq!(facts.comments, ["of the file", "packet 2: of packet 2"]);
        assert_eq!(facts.captured_by, ["dumpcap"]);
        assert_eq!(facts.skipped[&SkipReason::UnknownInterface].packets, 1);
    }
}

#[test]
fn gzip_and_zstd_are_recognized_by_content_and_may_have_several_members() {
    let plain = write::ethernet(&frames(2_000));
    let (first, second) = plain.split_at(70_001);
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd =
        |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    let skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3].as_slice();
    for (compression, bytes) in [
        (Compression::None, plain.clone()),
        (Compression::Gzip, [gzip(first), gzip(second)].concat()),
        (Compression::Zstd, [skippable, &zstd(first), skippable, &zstd(second)].concat()),
    ] {
        let (packets, facts) = read(bytes.clone());
        assert_eq!((packets.len(), facts.damaged_tail), (2_000, None), "{compression:?}");
        assert_eq!(facts.compression, compression);
        if compression != Compression::None {
            let (packets, facts) = read(bytes[..bytes.len() - 20].to_vec());
            assert!(packets.len() > 900, "{compression:?}: {}", packets.len());
            let tail = facts.damaged_tail.unwrap();
            assert!(tail.offset > 70_001 && tail.reason.contains("cannot be read further"), "{tail}");
        }
    }
}

#[test]
fn damaged_tail_has_its_offset_and_all_before_is_delivered() {
    let whole = write::ethernet(&frames(3));
    let start_of_third = (whole.len() - 24) / 3 * 2 + 24;
    for missing in [1, 100, 160] {
        let (packets, facts) = read(whole[..whole.len() - missing].to_vec());
        let tail = facts.damaged_tail.unwrap();
        assert_eq!((packets.len(), tail.offset), (2, start_of_third as u64), "{tail}");
    }
    let mut too_large = whole.clone();
    too_large[start_of_third + 8..start_of_third + 12].fill(0xff);
    let (packets, facts) = read(too_large);
    assert_eq!(packets.len(), 2);
    assert!(facts.damaged_tail.unwrap().to_string().contains("4294967295 bytes"));
    // A file system after a crash has zeros where the data was not written.
    let zeros = [whole.as_slice(), &[0; 4096]].concat();
    let (packets, facts) = read(zeros);
    assert_eq!((packets.len(), facts.all.packets), (3, 3));
    assert_eq!(facts.damaged_tail.unwrap().offset, whole.len() as u64);
}

#[test]
fn file_of_another_format_is_an_error_with_a_remedy() {
    let error = |bytes: &[u8]| open(bytes.to_vec()).err().unwrap().to_string();
    assert!(error(b"").contains("0 bytes"));
    assert!(error(&write::ethernet(&[])[..10]).contains("10 bytes"));
    assert!(error(b"hello, this is no capture").contains("68 65 6c 6c"));
    assert!(error(b"snoop\0\0\0 and so on and so on").contains("editcap"));
    assert!(error(b"\xfd7zXZ\0 and so on and so on ..").contains("xz -dc"));
    let missing =
        Reader::open(Input::named("/nonexistent/file.pcap".as_ref()), Tunnels::default()).err().unwrap();
    assert_eq!(missing.to_string(), "cannot open /nonexistent/file.pcap");
}

/// Delivers bytes in pieces, as a pipe does.
struct Slow(Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 13 + 1;
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn reading_in_small_pieces_makes_no_difference() {
    let bytes = write::ethernet(&frames(50));
    let mut reader =
        Reader::open(Input::Reader(Box::new(Slow(Cursor::new(bytes.clone()), 0))), Tunnels::default())
            .unwrap();
    let packets: Vec<_> = std::iter::from_fn(|| reader.next_packet()).collect();
    assert_eq!(packets, read(bytes).0);
}

#[test]
fn frames_before_others_in_time_are_counted() {
    let mut frames = frames(4);
    frames.swap(1, 2);
    let (packets, facts) = read(write::ethernet(&frames));
    assert_eq!((packets.len(), facts.times_out_of_order), (4, 1));
}

/// Packets of a pcapng file as crate `pcap-parser` reads them.
fn packets_by_pcap_parser(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = PcapNGReader::new(1 << 20, bytes).unwrap();
    let mut packets = Vec::new();
    loop {
        match reader.next() {
            Ok((used, block)) => {
                if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block {
                    let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                    packets.push((ticks, packet.packet_data().to_vec()));
                }
                reader.consume(used);
            }
            Err(PcapError::Eof) => return packets,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn packets_are_those_that_pcap_parser_finds() {
    for order in [Order::Little, Order::Big] {
        let mut file = write::section(order, &[]);
        file.extend(write::interface(order, 1, 0, &[write::option(order, 9, &[9])]));
        let frames = frames(40);
        for (number, frame) in frames.iter().enumerate() {
            let comment = vec![write::option(order, 1, &vec![b'c'; number])];
            let options = if number % 3 == 0 { comment } else { Vec::new() };
            let frame = frame.clone().cut(60 + number);
            file.extend(write::enhanced(order, 0, frame.time_ns, &frame, &options));
        }
        let theirs = packets_by_pcap_parser(&file);
        let (ours, _) = read(file);
        assert_eq!(theirs.len(), ours.len());
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert_eq!(theirs.0 as i64, ours.time_ns);
            let seq = u32::from_be_bytes(theirs.1[38..42].try_into().unwrap());
            assert_eq!(seq, ours.segment().unwrap().seq);
        }
    }
}
